"""What an act causes in the moments after it: a navigation, a tab that opens or closes, a dialog, a download."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from guilds_browser.devtools import BLANK
from guilds_browser.locate import frame_label, input_of
from guilds_browser.page_text import shown, shown_url
from guilds_browser.tab import STEP_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guilds_browser.calls import BrowserCall
    from guilds_browser.devtools import Session
    from guilds_browser.tab import Document, Tab

WATCH_SECONDS = 0.04
NAVIGATION_SECONDS = 5.0
ENDED_SECONDS = 0.3
DOWNLOAD_SECONDS = 5.0

_EVENTS = (
    "Page.frameStartedNavigating",
    "Page.frameNavigated",
    "Page.navigatedWithinDocument",
    "Page.domContentEventFired",
    "Page.frameStoppedLoading",
    "Page.windowOpen",
)
_FRAME_EVENTS = (*_EVENTS[:3], "Page.frameStoppedLoading", "Page.frameDetached")
FRAMES_TOLD_MOST = 3
OTHER_FRAME_SECONDS = 1.0
"""How long a frame that an act was not in is waited for: it may go elsewhere by itself, as advertisements do."""


class Watch:
    """Looks at the call's tab from before the act until `settle` has waited for what it caused."""

    def __init__(self, call: BrowserCall, document: Document | None = None) -> None:
        self._call = call
        self._tab = call.tab
        self._sessions = [call.tab.session]
        if document and document.session is not call.tab.session:  # a frame with a process of its own
            self._sessions.append(document.session)
        self._own_frame = document.frame_id if document else ""
        self._frames: dict[str, str] = {}
        self._frames_coming: set[str] = set()
        self._changed = call.browser.signal
        self._handlers: list[tuple[Session, str, Any]] = []
        self._started = False
        self._committed = False
        self._ready = False
        self._stopped = False
        self._within = False
        self._pending = ""
        self._opened = ""
        self._before = call.browser.happened.count()

    async def __aenter__(self) -> Watch:
        self._changed.clear()
        for name in _EVENTS:
            self._listen(self._tab.session, name, self._note)
        for session in self._sessions:
            for name in _FRAME_EVENTS:
                self._listen(session, name, self._note_frame)
        return self

    async def __aexit__(self, *_: object) -> None:
        for session, name, handler in self._handlers:
            session.remove_listener(name, handler)

    async def during(self, act: asyncio.Future[None]) -> None:
        """Wait until an act has ended, or has begun a navigation; it may end later then. Raises as the act does, and
        TimeoutError.
        """
        act.add_done_callback(lambda done: done.cancelled() or done.exception())
        act.add_done_callback(lambda _: self._changed.set())
        await self._wait(STEP_SECONDS + 1, lambda: act.done() or self._started)
        if act.done():
            act.result()
        elif not self._started:
            raise TimeoutError

    async def settle(self, *, seconds: float = WATCH_SECONDS, expects_download: bool = False) -> None:
        """Wait for what the act caused: at most `seconds` for it to show, and then until it is done.

        What was found is in the call: `navigated`, notes, and the tab that is current now.
        """
        await self._wait(seconds, lambda: self._started or self._within or self._happened())
        await self._tab.catch_up()
        await self._wait(STEP_SECONDS, lambda: not self._call.browser.dialogs_open)
        if expects_download:
            await self._wait(DOWNLOAD_SECONDS, lambda: bool(self._call.browser.happened.downloads))
        elif self._started:
            await self._wait(NAVIGATION_SECONDS, lambda: self._ready or (self._stopped and not self._committed))
            if self._stopped and not self._committed:  # word of a download comes over another session
                await self._wait(ENDED_SECONDS, lambda: bool(self._call.browser.happened.downloads))
        for download in self._call.browser.happened.downloads:
            try:
                async with asyncio.timeout(DOWNLOAD_SECONDS):
                    await download.done.wait()
            except TimeoutError:  # it goes on, and the result says so
                pass
        if self._call.browser.happened.choosers:
            self._call.file_input = await input_of(self._call, self._call.browser.happened.choosers[-1])
        await self._tell_navigation()
        if self._frames and not self._started:
            await self._tell_frames()
        await self._tell_tabs()

    async def accounts_for(self, problem: PlaywrightError) -> bool:
        """Whether an act failed only since it had its effect: the page left, or its tab closed, under it."""
        happened = self._call.browser.happened
        if "has been closed" in str(problem) and not await self._call.browser.is_lost():
            await self._wait(ENDED_SECONDS, lambda: bool(happened.closed_tabs))
        return not self.is_quiet

    @property
    def has_committed(self) -> bool:
        """Whether a new page has taken the place of the old one."""
        return self._committed

    @property
    def is_leaving(self) -> bool:
        """Whether the page waits for the next one, whose server has sent nothing yet; till then it answers nothing."""
        return self._started and not self._committed and not self._stopped

    @property
    def is_quiet(self) -> bool:
        """Whether nothing at all has been seen."""
        return not (self._started or self._within or self._frames or self._happened())

    def _happened(self) -> bool:
        return self._call.browser.happened.count() > self._before

    async def _tell_navigation(self) -> None:
        if self._started and not self._committed and not self._call.browser.happened.downloads:
            if self._stopped:
                self._call.notes.append("a navigation began and ended without a new page")
            else:
                self._call.notes.append(f"still loading {shown_url(self._pending)}")
        elif self._committed or self._within:
            url, title = await self._tab.headline()
            self._call.navigated.append(url)
            late = "" if self._ready or self._within else " (still loading)"
            self._call.notes.append(f'url → {shown_url(url)} "{shown(title)}"{late}')

    async def _tell_frames(self) -> None:
        await self._wait(OTHER_FRAME_SECONDS, lambda: not self._frames_coming)
        if self._own_frame in self._frames_coming:
            await self._wait(NAVIGATION_SECONDS, lambda: self._own_frame not in self._frames_coming)
        for frame_id, url in list(self._frames.items())[:FRAMES_TOLD_MOST]:
            frame = await frame_label(self._call, frame_id)
            if frame_id in self._frames_coming:
                self._call.notes.append(f"{frame}: still loading {shown_url(url)}")
            else:
                self._call.navigated.append(url)
                self._call.notes.append(f"{frame} → {shown_url(url)}")
        if (more := len(self._frames) - FRAMES_TOLD_MOST) > 0:
            self._call.notes.append(f"and {more} more frames went elsewhere")

    async def _tell_tabs(self) -> None:
        browser = self._call.browser
        if browser.happened.new_tabs:
            tab = await browser.new_tab()
            if tab is None and (position := browser.move_to_coming()):
                opened = shown_url(self._opened or BLANK)
                self._call.notes.append(f"new tab {position}: {opened} still loading, now the current one")
                self._call.meta |= {"url": opened, "title": "", "tab": position}
            elif tab is None or not await self._move_to(tab, "new tab {}: {}, now the current one"):
                self._call.notes.append("a tab opened and closed again")
                await self._move_to(await browser.current(), None)
            browser.happened.told_tabs = True
        elif browser.happened.closed_tabs:
            tab = await browser.current()
            if tab is not self._call.tab:
                await self._move_to(tab, "the tab closed; now in tab {}: {}")

    async def _move_to(self, tab: Tab, told: str | None) -> bool:
        """Go on in another tab, and tell that; False when it closes meanwhile."""
        call, browser = self._call, self._call.browser
        try:
            browser.make_current(tab)
            call.tab = tab
            await call.to_front()
            await _until_loaded(tab)
            url, title = await tab.headline()
        except PlaywrightError:
            if tab.is_closed:
                return False
            raise
        if tab.is_closed:
            return False
        if told:
            call.notes.append(told.format(browser.position(tab), f'{shown_url(url)} "{shown(title)}"'))
        return True

    async def _wait(self, seconds: float, done: Any) -> None:
        give_up = asyncio.get_running_loop().time() + seconds
        while not done() and not self._call.browser.is_over:
            self._changed.clear()
            left = give_up - asyncio.get_running_loop().time()
            if left <= 0:
                return
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                return

    def _listen(self, session: Session, name: str, note: Callable[[str, dict[str, Any]], None]) -> None:
        def seen(event: dict[str, Any]) -> None:
            note(name, event)
            self._changed.set()

        session.on(name, seen)
        self._handlers.append((session, name, seen))

    def _note_frame(self, name: str, event: dict[str, Any]) -> None:
        frame_id = event["frame"]["id"] if "frame" in event else event["frameId"]
        if frame_id == self._tab.target_id:
            return
        if name == "Page.frameStartedNavigating":
            if event.get("navigationType") not in ("sameDocument", "historySameDocument") and event["url"] != BLANK:
                self._frames[frame_id] = event["url"]
                self._frames_coming.add(frame_id)
        elif name == "Page.frameDetached" and event.get("reason") != "swap":
            self._frames.pop(frame_id, None)
            self._frames_coming.discard(frame_id)
        elif name == "Page.navigatedWithinDocument":
            self._frames[frame_id] = event["url"]
        else:
            if frame_id in self._frames and name == "Page.frameNavigated":
                self._frames[frame_id] = event["frame"]["url"]
            self._frames_coming.discard(frame_id)

    def _note(self, name: str, event: dict[str, Any]) -> None:
        main = self._tab.target_id
        if name == "Page.windowOpen":
            self._opened = event["url"]
        elif name == "Page.domContentEventFired":
            self._ready = self._committed
        elif name == "Page.frameNavigated":
            if event["frame"]["id"] == main:
                self._started = self._committed = True
                self._ready = event.get("type") == "BackForwardCacheRestore"  # whole, with no event of its content
                self._stopped = False
        elif event["frameId"] != main:
            return
        elif name == "Page.frameStartedNavigating":
            if event.get("navigationType") in ("sameDocument", "historySameDocument"):
                return
            self._started, self._pending = True, event["url"]
            self._committed = self._ready = self._stopped = False
        elif name == "Page.navigatedWithinDocument":
            self._within = True
        else:
            self._stopped = True
            self._ready = self._ready or self._committed


async def _until_loaded(tab: Tab) -> None:
    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=NAVIGATION_SECONDS * 1000)
    except PlaywrightError:  # it loads on, or has closed; the headline tells what it shows
        pass
