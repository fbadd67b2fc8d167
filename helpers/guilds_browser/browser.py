"""The browser as the broker holds it: attached to Chrome, its tabs, and what happened in them.

It starts Chrome and mends blocked tabs before it attaches, keeps the order of the tabs and which is the current
one, answers dialogs, and follows downloads. What a call does with all this is in `calls` and `tools`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from guilds_browser import chrome, devtools
from guilds_browser.forward import PORT_OF_SLOT_0
from guilds_browser.tab import ENGINE, ENGINE_SOURCE, Tab
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, Dialog, FileChooser, Page, Playwright

    from guilds_wire.places import Places

ATTACH_SECONDS = 4.0
ATTACH_MOST = 3
ALIVE_SECONDS = 3.0
ALIVE_BEFORE_NAVIGATION_SECONDS = 1.0
COME_UP_SECONDS = 3.0
NEW_TAB_SECONDS = 4.5
"""How long a tab that an act opened is waited for."""

SAVE_SECONDS = 5.0
"""How long the last bytes of a complete download may take to its file."""

NAME_MOST_BYTES = 255

REFS_RESERVED = 2_000
"""How many numbers for refs are noted as used ahead of need; a broker that is killed wastes at most these."""

STATE_NAME = "guilds-tabs.json"
EVENTS_MOST = 20


class LostError(Exception):
    """Chrome or Playwright's driver has ended, or hangs for good; another broker has to begin anew."""


class Download:
    """A file that Chrome is fetching, under a name of its own until it is complete; then under `path`."""

    def __init__(self, url: str, name: str, fetched_to: str) -> None:
        self.url = url
        self.name = name
        self.path = next(path for path in numbered(os.path.dirname(fetched_to), name) if not os.path.lexists(path))
        self.fetched_to = fetched_to
        self.received = 0
        self.state = "inProgress"
        self.done = asyncio.Event()

    async def save(self) -> None:
        """Give the complete file its name, or one with a number where that is taken; never one that is there."""
        give_up = time.monotonic() + SAVE_SECONDS
        while not self._lies_there() and time.monotonic() < give_up:  # Chrome says that it is complete a little early
            await asyncio.sleep(0.01)
        for path in numbered(os.path.dirname(self.fetched_to), self.name):
            try:
                os.link(self.fetched_to, path)
                os.unlink(self.fetched_to)
                self.path = path
            except FileExistsError:
                continue
            except OSError:  # it keeps the name that it has, and the result says which
                self.path = self.fetched_to
            break
        self.done.set()

    def _lies_there(self) -> bool:
        try:
            return os.stat(self.fetched_to).st_size == self.received
        except OSError:
            return False


def numbered(folder: str, name: str) -> Iterator[str]:
    """Paths in a folder for a file's name, as browsers number them: `a.csv`, `a (1).csv`, and so on."""
    name = os.path.basename(name)
    stem, extension = os.path.splitext("download" if name in ("", ".", "..") else name)
    for number in itertools.count():
        end = os.fsencode((f" ({number})" if number else "") + extension)[-NAME_MOST_BYTES:]
        start = os.fsencode(stem)[: NAME_MOST_BYTES - len(end)].decode(errors="ignore")
        yield os.path.join(folder, start + os.fsdecode(end))


class Happened:
    """What happened since the last answer, whoever caused it; told in the next one, then forgotten."""

    def __init__(self) -> None:
        self.dialogs: list[dict[str, str]] = []
        self.dialogs_more = 0
        self.downloads: list[Download] = []
        self.new_tabs: list[str] = []
        self.told_tabs = False
        self.closed_tabs: list[str] = []
        self.choosers: list[FileChooser] = []
        self.notices: list[str] = []

    def count(self) -> int:
        """How many effects there were that are seen from outside of a page."""
        dialogs = len(self.dialogs) + self.dialogs_more
        return dialogs + len(self.downloads) + len(self.new_tabs) + len(self.closed_tabs) + len(self.choosers)


class Browser:
    """One slot's Chrome, attached to. `is_over` once Chrome or Playwright's driver is gone."""

    def __init__(self, places: Places, slot: int, on_over: Callable[[], None]) -> None:
        self.places = places
        self.port = PORT_OF_SLOT_0 + slot
        self.tabs: dict[str, Tab] = {}
        self.happened = Happened()
        self.dialog_answer: str | None = None
        self.is_over = False
        self.dialogs_open = 0
        self.signal = asyncio.Event()
        self.chrome_pid: int | None = None
        self.hints: dict[int, tuple[str, str, str]] = {}
        self.file_inputs: dict[int, int] = {}
        self._profile = os.path.join(os.fsdecode(places.home), ".chrome", str(slot))
        self._downloads = os.path.join(os.fsdecode(places.home), "downloads")
        self._slot = slot
        self._on_over = on_over
        self._state = _State(os.path.join(self._profile, STATE_NAME))
        self._running: dict[str, Download] = {}
        self._saving: set[asyncio.Task[None]] = set()
        self._coming: dict[str, str | None] = {}
        self._late: list[str] = []
        self._busy = False

    async def attach(self, *, navigates: bool) -> None:
        """Start Chrome if need be, mend the tabs that would hang us, and attach. Raises ToolError(`unavailable`)."""
        driver = asyncio.ensure_future(async_playwright().start())
        try:
            found, self.chrome_pid = await chrome.ensure_chrome(self.places.home, self._slot, self.port)
            self._state.load()
            if self.chrome_pid and self._state.tabs:
                lost = self._state.address or "what it showed"
                self._say(f"Chrome was not running and has been started; the tab at {lost} is gone")
                self._state.tabs = []
            await self._mend(navigates=navigates)  # while the driver starts
            self._playwright: Playwright = await driver
        except BaseException:
            driver.cancel()
            raise
        for attempt in range(ATTACH_MOST):
            if attempt > 0:
                await self._mend(navigates=True)
            try:
                await self._connect(found["webSocketDebuggerUrl"])
                break
            except (PlaywrightError, OSError) as problem:
                if attempt == ATTACH_MOST - 1:
                    raise ToolError(
                        "unavailable", f"Chrome on port {self.port} does not let us attach: {_first_line(problem)}."
                    ) from problem
        await self._take_tabs()

    @property
    def tab_count(self) -> int:
        """How many tabs there are, those whose first page has not come yet included."""
        return len(self._state.tabs)

    async def current(self, *, navigates: bool = False) -> Tab:
        """The current tab; an empty one is opened when there is none. Raises PlaywrightError, ToolError."""
        await self._settle_tabs()
        if self._state.current in self._coming:
            await self._bring_up(self._state.current, navigates)
        tab = self.tabs.get(self._state.current)
        if tab is None:
            await self._context.new_page()
            await self._settle_tabs()
            tab = list(self.tabs.values())[-1]
            self.make_current(tab)
        return tab

    def make_current(self, tab: Tab) -> None:
        """From now on calls are about this tab, also after a broker's restart."""
        if self._state.current != tab.target_id:
            tab.in_front = False
            self._state.current = tab.target_id
            self._state.save()

    def position(self, tab: Tab) -> int:
        """The tab's number, from 1, in the order in which the tabs came."""
        return self._state.tabs.index(tab.target_id) + 1 if tab.target_id in self._state.tabs else 0

    def note_address(self, url: str) -> None:
        """Keep where the current tab is, to tell it should Chrome die."""
        self._state.address = url[:200]

    def start_call(self, dialog_answer: str | None) -> None:
        """A call begins: what opens now is of its making."""
        self.dialog_answer = dialog_answer
        self._busy = True

    def end_call(self) -> None:
        """The call has been answered."""
        self.dialog_answer = None
        self._busy = False
        if not self.happened.told_tabs:
            self._late += self.happened.new_tabs
        self.happened = Happened()
        self._state.settle()

    def refs(self, wanted: int = 0) -> tuple[int, int]:
        """The next free number for a ref and the limit below which numbers may be given out, noted on disk first."""
        return self._state.next, self._state.reserve(max(wanted, REFS_RESERVED))

    def refs_used(self, following: int) -> None:
        """Numbers below `following` have been given out."""
        self._state.next = max(self._state.next, following)

    async def ensure_answering(self, tab: Tab, *, navigates: bool) -> Tab:
        """The tab, or what was put in its place if it hangs or has crashed. Raises ToolError, CommandError."""
        if not tab.crashed:
            if await self._answers(tab, ALIVE_BEFORE_NAVIGATION_SECONDS if navigates else ALIVE_SECONDS):
                return tab
            if await self._stop_loading(tab):
                if not navigates:
                    self._say("the page that was loading had not come, and was given up; this is the one before it")
                return tab
        return await self.unblock(tab, reopen=not navigates)

    async def answers(self, tab: Tab) -> bool:
        """Whether a tab's page runs a trivial script at once. Raises CommandError when Chrome is lost."""
        return await self._answers(tab, devtools.PROBE_SECONDS)

    async def _answers(self, tab: Tab, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                answer = await tab.session.ask("Runtime.evaluate", expression="document.visibilityState")
            tab.in_front = answer["result"].get("value") == "visible"
        except TimeoutError:
            return False
        except devtools.CommandError:
            if await self.is_lost():
                raise
            return False
        return True

    async def _stop_loading(self, tab: Tab) -> bool:
        """Give up a navigation that waits for its server: until then Chrome holds back what is sent to the page."""
        try:
            async with asyncio.timeout(devtools.PROBE_SECONDS):
                await tab.session.ask("Page.stopLoading")
        except (devtools.CommandError, TimeoutError):
            return False
        return await self._answers(tab, devtools.PROBE_SECONDS)

    async def unblock(self, tab: Tab, *, reopen: bool = True) -> Tab:
        """Mend a tab that hangs or has crashed; the tab that stands for it now. Says what was done."""
        url = tab.page.url
        why = "had crashed" if tab.crashed else "did not answer (an endless loop, a dialog that nobody saw, or a crash)"
        for again in (reopen, False):
            target_id, done = await self._unblocked(tab, url, reopen=again)
            self._say(f"the tab at {url[:200]} {why}; {done}, so what was typed there is lost")
            if target_id != tab.target_id:
                self._forget(tab)
                tab = await self._come_up(target_id)
            tab.crashed = False
            self.make_current(tab)
            if await self._answers(tab, devtools.RELOAD_SECONDS):
                return tab
        raise ToolError("unavailable", f"the tab at {url[:120]} {why}; {done}, but it does not answer either.")

    async def _unblocked(self, tab: Tab, url: str, *, reopen: bool) -> tuple[str, str]:
        target = devtools.Target({"id": tab.target_id, "type": "page", "url": url})
        try:
            return await devtools.unblock(self.port, target, reopen=reopen)
        except (OSError, TimeoutError, ValueError) as problem:
            self.is_over = True
            raise LostError(f"Chrome does not answer: {_first_line(problem)}") from problem

    async def _bring_up(self, target_id: str, navigates: bool) -> None:
        """Wait for a new tab's first page, without which nothing can be done there; else give it up."""
        if await self._comes_up(target_id, ALIVE_BEFORE_NAVIGATION_SECONDS if navigates else ALIVE_SECONDS):
            return
        try:
            await devtools.empty(self.port, target_id)
        except OSError:  # it has closed, or `_come_up` says that it hangs
            pass
        await self._come_up(target_id)
        if not navigates:
            self._say("the page of the new tab had not come, and was given up: the tab is empty")

    async def _come_up(self, target_id: str) -> Tab:
        """The tab of a target that was just opened or emptied. Raises ToolError."""
        tab = await self._comes_up(target_id, COME_UP_SECONDS)
        if tab is None:
            raise ToolError("unavailable", "a tab was opened in place of one that hung, but does not come up.")
        return tab

    async def _comes_up(self, target_id: str, seconds: float) -> Tab | None:
        give_up = asyncio.get_running_loop().time() + seconds
        while target_id not in self.tabs:
            if asyncio.get_running_loop().time() > give_up:
                return None
            await asyncio.sleep(0.02)
            await self._settle_tabs()
        return self.tabs[target_id]

    async def is_lost(self) -> bool:
        """Whether Chrome or Playwright's driver is gone, so that this object is of no more use."""
        if not self.is_over:
            try:
                async with asyncio.timeout(2):
                    await self._session.ask("Browser.getVersion")
                    await self._context.cookies("http://127.0.0.1")  # a question that the driver passes on
            except (PlaywrightError, OSError):
                self.is_over = True
        return self.is_over

    async def new_tab(self) -> Tab | None:
        """The tab that the act has just opened, once it can be used; None when it does not come up."""
        give_up = asyncio.get_running_loop().time() + NEW_TAB_SECONDS
        while asyncio.get_running_loop().time() < give_up:
            await self._settle_tabs()
            for target_id in reversed(self.happened.new_tabs):
                if target_id in self.tabs:
                    return self.tabs[target_id]
            if all(target_id in self.happened.closed_tabs for target_id in self.happened.new_tabs):
                return None
            await asyncio.sleep(0.02)
        return None

    async def late_tab(self) -> str | None:
        """Make the tab that a page of ours opened after the act that led to it had been told the current one; its
        target, if there is one.
        """
        await self._settle_tabs()
        late, self._late = self._late, []
        there = self._state.tabs
        late = [target_id for target_id in late if target_id in there and self._state.openers.get(target_id) in there]
        if not late or self._state.current in late:
            return None
        self._state.current = late[-1]
        self._state.save()
        return late[-1]

    def move_to_coming(self) -> int | None:
        """Make the tab that the act opened the current one although its page has not come; its number, if it is there.

        Playwright shows a tab only once its first page is there.
        """
        for target_id in reversed(self.happened.new_tabs):
            if target_id in self._coming:
                self._state.current = target_id
                self._state.save()
                return self._state.tabs.index(target_id) + 1
        return None

    async def _mend(self, *, navigates: bool) -> None:
        try:
            for tab in await devtools.blocked_tabs(self.port):
                target_id, done = await devtools.unblock(self.port, tab, reopen=not navigates)
                self._state.replace(tab.id, target_id)
                self._say(
                    f"the tab at {tab.url[:200]} did not answer (an endless loop, a dialog that nobody saw, or a "
                    f"crash); {done}, so what was typed there is lost"
                )
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as problem:
            raise ToolError("unavailable", f"Chrome on port {self.port} does not answer: {problem}.") from problem

    async def _connect(self, address: str) -> None:
        async with asyncio.timeout(ATTACH_SECONDS + 1):
            self._attached: PlaywrightBrowser = await self._playwright.chromium.connect_over_cdp(
                address, no_defaults=True, is_local=True, timeout=ATTACH_SECONDS * 1000
            )
        self._context: BrowserContext = self._attached.contexts[0]
        self._attached.on("disconnected", lambda _: self._over())
        self._context.on("page", self._page_opened)
        self._context.on("dialog", self._dialog_opened)
        await self._playwright.selectors.register(ENGINE, script=ENGINE_SOURCE, content_script=True)
        self._playwright._impl_obj._connection.on("close", lambda *_: self._over())  # the driver has ended
        session = self._session = await devtools.Session(self.port, address.rpartition("/")[2], "browser").open()
        session.reading.add_done_callback(lambda _: self._over())
        session.on("Target.targetCreated", self._target_created)
        session.on("Target.targetDestroyed", self._target_destroyed)
        session.on("Target.targetCrashed", self._target_crashed)
        session.on("Browser.downloadWillBegin", self._download_begins)
        session.on("Browser.downloadProgress", self._download_goes_on)
        self._quiet = True
        await session.ask("Target.setDiscoverTargets", discover=True)
        self._quiet = False
        os.makedirs(self._downloads, exist_ok=True)
        await session.ask(
            "Browser.setDownloadBehavior", behavior="allowAndName", downloadPath=self._downloads, eventsEnabled=True
        )

    async def _take_tabs(self) -> None:
        for page in self._context.pages:
            self._watch(page)
        self._pages_to_take = list(self._context.pages)
        await self._settle_tabs()

    def _page_opened(self, page: Page) -> None:
        self._watch(page)
        self._pages_to_take.append(page)
        self.signal.set()

    def _watch(self, page: Page) -> None:
        page.on("filechooser", self._chooser_opened)

    async def _settle_tabs(self) -> None:
        """Take in pages that came, drop tabs that went, and see that the current tab is one that is there."""
        pages, self._pages_to_take = self._pages_to_take, []
        for page in pages:
            if page.is_closed():
                continue
            try:
                tab = await Tab.of_page(page, self._context, self.port)
            except (PlaywrightError, OSError):  # it closes, or hangs; a call that needs it finds out
                self._pages_to_take.append(page)
                continue
            self.tabs[tab.target_id] = tab
            self._coming.pop(tab.target_id, None)
        for tab in [tab for tab in self.tabs.values() if tab.is_closed]:
            self._forget(tab)
        there = {tab.target_id: tab.opener for tab in self.tabs.values()} | self._coming
        before = list(self._state.tabs)
        self._state.tabs = [tab for tab in before if tab in there]
        self._state.tabs += [tab for tab in there if tab not in self._state.tabs]
        if self._state.current not in there and self._state.tabs:
            opener = self._state.openers.get(self._state.current)
            self._state.current = opener if opener in there else self._state.tabs[-1]
        self._state.openers = {tab: opener for tab, opener in there.items() if opener}
        if before != self._state.tabs:
            self._state.save()

    def _forget(self, tab: Tab) -> None:
        self.tabs.pop(tab.target_id, None)
        tab.close()

    def _target_created(self, event: dict[str, Any]) -> None:
        info = event["targetInfo"]
        if info["type"] == "page" and not self._quiet:
            new = self.happened.new_tabs if self._busy else self._late
            new.append(info["targetId"])
            self._coming[info["targetId"]] = info.get("openerId")
            del new[:-EVENTS_MOST]
            self.signal.set()

    def _target_destroyed(self, event: dict[str, Any]) -> None:
        self._coming.pop(event["targetId"], None)
        if event["targetId"] in self.tabs or event["targetId"] in self.happened.new_tabs:
            self.happened.closed_tabs.append(event["targetId"])
            del self.happened.closed_tabs[:-EVENTS_MOST]
            self.signal.set()

    def _target_crashed(self, event: dict[str, Any]) -> None:
        if tab := self.tabs.get(event["targetId"]):
            tab.crashed = True
        self.signal.set()

    def _chooser_opened(self, chooser: FileChooser) -> None:
        self.happened.choosers.append(chooser)
        del self.happened.choosers[:-EVENTS_MOST]
        self.signal.set()

    async def _dialog_opened(self, dialog: Dialog) -> None:
        accepted, text = _answer_to(dialog.type, self.dialog_answer)
        answer = "dismissed" if not accepted else "accepted" if text is None else f"accepted with {text!r}"
        if len(self.happened.dialogs) < EVENTS_MOST:
            self.happened.dialogs.append({"type": dialog.type, "message": dialog.message[:500], "answer": answer})
        else:
            self.happened.dialogs_more += 1
        self.dialogs_open += 1
        if accepted and dialog.type == "prompt" and text is None:
            text = dialog.default_value
        try:
            if accepted:
                await (dialog.accept(text) if text is not None else dialog.accept())
            else:
                await dialog.dismiss()
        except PlaywrightError:  # it closed by itself, with its page
            pass
        self.dialogs_open -= 1
        self.signal.set()

    def _download_begins(self, event: dict[str, Any]) -> None:
        fetched_to = os.path.join(self._downloads, event["guid"])
        download = Download(event["url"], event["suggestedFilename"], fetched_to)
        self._running[event["guid"]] = download
        self.happened.downloads.append(download)
        self.signal.set()

    def _download_goes_on(self, event: dict[str, Any]) -> None:
        download = self._running.get(event["guid"])
        if download is None:
            return
        download.received = int(event["receivedBytes"])
        download.state = event["state"]
        if download.state == "inProgress":
            return
        del self._running[event["guid"]]
        if download.state != "completed":
            download.done.set()
            return
        saving = asyncio.ensure_future(download.save())
        self._saving.add(saving)  # else nothing holds it
        saving.add_done_callback(self._saving.discard)

    def _say(self, notice: str) -> None:
        self.happened.notices.append(notice)

    def _over(self) -> None:
        self.is_over = True
        self.signal.set()
        if not self._busy:
            self._on_over()


class _State:
    """What outlives a broker: the tabs' order, the current one, who opened whom, and the numbers used for refs.

    It lies in Chrome's profile, since it is of no use to another Chrome but for the numbers, which never return.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._saved = b""
        self._reserved = 1
        self.next = 1
        self.current = ""
        self.tabs: list[str] = []
        self.openers: dict[str, str | None] = {}
        self.address = ""

    def load(self) -> None:
        """Read what the last broker left; nothing of it is trusted to have a shape."""
        try:
            with open(self._path, "rb") as file:
                kept = json.loads(file.read())
            self.next = self._reserved = int(kept["next"])
            self.current = str(kept["current"])
            self.tabs = [str(tab) for tab in kept["tabs"]]
            self.openers = {str(tab): str(opener) for tab, opener in kept["openers"].items()}
            self.address = str(kept["address"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # the first broker, or a torn profile
            pass

    def reserve(self, count: int) -> int:
        """Note on disk that `count` numbers from `next` on may be in use; the first number beyond them."""
        self._reserved = self.next + count
        try:
            self._write()
        except OSError as problem:
            raise ToolError(
                "io_error",
                f"{self._path} can't be written ({problem.strerror}), so no refs can be given; make room there.",
            ) from problem
        return self._reserved

    def settle(self) -> None:
        """What was reserved and not used is free again."""
        self._reserved = self.next
        self.save()

    def replace(self, old: str, new: str) -> None:
        """A tab has another target now."""
        self.tabs = [new if tab == old else tab for tab in self.tabs]
        if self.current == old:
            self.current = new

    def save(self) -> None:
        """Write what has changed. A disk that refuses costs the next broker the order of the tabs, no more."""
        try:
            self._write()
        except OSError:
            pass

    def _write(self) -> None:
        """Write it whole or not at all. Raises OSError."""
        kept = {
            "next": self._reserved,
            "current": self.current,
            "tabs": self.tabs,
            "openers": self.openers,
            "address": self.address,
        }
        content = json.dumps(kept).encode()
        if content == self._saved:
            return
        fresh = self._path + ".new"
        with open(fresh, "wb") as file:
            file.write(content)
        os.replace(fresh, self._path)
        self._saved = content


def _answer_to(kind: str, chosen: str | None) -> tuple[bool, str | None]:
    """Whether a dialog is accepted, and with which text."""
    if kind in ("alert", "beforeunload"):
        return True, None
    if chosen is None:
        return False, None
    if chosen == "accept":
        return True, None
    return (True, chosen) if kind == "prompt" else (False, None)


def _first_line(problem: BaseException) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0][:200]
