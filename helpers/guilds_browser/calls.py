"""One call at work: its tab, its element, what an act did, and the result that tells it.

A tool gets a BrowserCall and says its own line; what happened besides, and the meta that every result has, is added
here.
"""

from __future__ import annotations

import asyncio
import itertools
import time

from playwright.async_api import Error as PlaywrightError

from guilds_browser.browser import LostError
from guilds_browser.locate import GoneError, is_ref
from guilds_browser.page_text import shown, shown_url
from guilds_browser.tab import STEP_SECONDS, DocumentGoneError, ScriptError
from guilds_browser.watch import Watch
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError, clip, quoted
from guilds_wire.paths import Workspace
from guilds_wire.run_state import RunState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from guilds_browser.browser import Browser
    from guilds_browser.locate import Element
    from guilds_browser.tab import Tab
    from guilds_wire.places import Places
    from guilds_wire.request import Request

UNREPEATABLE = frozenset({"browser_click", "browser_type", "browser_fill", "browser_scroll", "browser_eval"})

LOOKS = frozenset({"browser_snapshot", "browser_screenshot", "browser_navigate"})
"""What is done in a tab that has opened since the last call; others are done in the tab that they were meant for."""

NOTICES_MOST = 5


class BrowserCall:
    """A request at work. `tab` is the one it acts on; `has_begun` says that something may have been done."""

    def __init__(self, request: Request, places: Places, begun: Callable[[], None]) -> None:
        self.request = request
        self.tool = request.tool
        self.has_begun = False
        self.tries = 0
        self.notes: list[str] = []
        self.navigated: list[str] = []
        self.meta: dict[str, Any] = {}
        self.headline: tuple[str, str] | None = None
        self.file_input: tuple[int, str] | None = None
        self.browser: Browser
        self.tab: Tab
        self._places = places
        self._begun = begun
        self._cap_bytes = request.result_max_bytes
        self._before = 0

    async def perform(self, browser: Browser) -> Result:
        """Do what the request asks. Raises ToolError, LostError, TimeoutError (the call's own deadline)."""
        started = time.monotonic()
        self.browser = browser
        browser.start_call(self.request.args.get("dialog"))
        self._before = len(browser.happened.dialogs)
        try:
            text, cuts = await self._do()
            return await self._told(text, cuts, started)
        except ToolError as error:
            raise await self._with_notices(error, started) from error
        except TimeoutError as problem:
            if await browser.is_lost():
                raise LostError("no answer") from problem
            slow = ToolError("timeout", f"Chrome did not answer within {STEP_SECONDS:.0f} s; {self._perhaps()}.")
            raise await self._with_notices(slow, started) from problem
        except (PlaywrightError, DocumentGoneError, ScriptError, OSError) as problem:
            if await browser.is_lost():
                raise LostError(_first_line(problem)) from problem
            raise await self._with_notices(self._failed(problem), started) from problem
        finally:
            browser.end_call()

    def begin(self) -> None:
        """From here on the act may have happened: it is never done again."""
        if not self.has_begun and self.tool in UNREPEATABLE:
            self.has_begun = True
            self._begun()

    def lost(self, lost: LostError) -> ToolError:
        """What is said when Chrome or the driver ended after the act had begun."""
        return ToolError(
            "engine_failed",
            f"the browser ended while {self.tool} was under way ({clip(str(lost), 120)}): it may have happened. "
            "Take a browser_snapshot to see how the page is now.",
        )

    def timed_out(self, seconds: float) -> ToolError:
        """What is said when the whole call took too long."""
        return ToolError("timeout", f"{self.tool} did not end within {seconds:.0f} s; {self._perhaps()}. Try again.")

    @property
    def cap_bytes(self) -> int:
        """How many bytes the tool's own text may have: what is added to it is counted off."""
        return self._cap_bytes - len("\n".join(self._lines()).encode("utf-8", "replace")) - 1

    def read_back(self, element: Element, found: dict[str, Any]) -> None:
        """Take the page's URL and title from what was read back of an element, which spares a look."""
        if element.document.frame_id == self.tab.target_id:
            self.headline = found["headline"]

    def workspace(self) -> Workspace:
        """Home as a wall, and the run's working directory."""
        run = RunState(self._places, self.request.run.id)
        try:
            return Workspace(self._places, run.directory)
        finally:
            run.close()

    def watch(self, element: Element | None = None) -> Watch:
        """Look out for what an act (on an element) causes; use it with `async with` around the act."""
        return Watch(self, element.document if element else None)

    async def _do(self) -> tuple[str, list[int]]:
        navigates = self.tool == "browser_navigate"
        late = self.tool in LOOKS and await self.browser.late_tab()
        tab = await self.browser.current(navigates=navigates)
        self.tab = await self.browser.ensure_answering(tab, navigates=navigates)
        self.browser.make_current(self.tab)
        await self.to_front()
        if late:
            await self._tell_late_tab()
        module = __import__(f"guilds_browser.tools.{self.tool}", fromlist=[self.tool])
        for again in (self.tool in LOOKS and not navigates, False):
            try:
                said = await self._done(getattr(module, self.tool))
                break
            except TimeoutError:
                if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    raise  # the call's deadline, not a step's
                if await self.browser.is_lost():
                    raise LostError("no answer") from None
                self.tab = await self.browser.ensure_answering(self.tab, navigates=False)
                if not again:
                    raise ToolError(
                        "timeout",
                        f"the page did not answer within {STEP_SECONDS:.0f} s of {self.tool}; {self._perhaps()}.",
                    ) from None
                await self.to_front()
        if await self.browser.late_tab():
            self.tab = await self.browser.current()
            self.headline = None
            await self.to_front()
            await self._tell_late_tab()
        return said if isinstance(said, tuple) else (said, [])

    async def _done(self, act: Callable[..., Awaitable[Any]]) -> Any:
        """What a tool says. What a selector matches may be replaced before anything is done with it, over and over: it
        is looked up again then.
        """
        target = self.request.args.get("target")
        give_up = time.monotonic() + STEP_SECONDS
        while True:
            self.tries += 1
            try:
                return await act(self, **self.request.args)
            except GoneError as error:
                if target is None or is_ref(target):
                    raise
                if time.monotonic() > give_up:
                    raise ToolError(
                        "conflict",
                        f"the page replaces what {quoted(target)} matches again and again, each time before "
                        f"{self.tool} could act on it, for {STEP_SECONDS:.0f} s. Nothing was done.",
                    ) from error

    async def _tell_late_tab(self) -> None:
        url, title = await self.tab.headline()
        position = self.browser.position(self.tab)
        self.notes.append(f'new tab {position}: {shown_url(url)} "{shown(title)}", now the current one')

    async def to_front(self) -> None:
        """Show the tab: Chrome neither paints nor takes clicks in one that is in the background."""
        if not self.tab.in_front:
            async with asyncio.timeout(STEP_SECONDS):
                await self.tab.page.bring_to_front()
            self.tab.in_front = True

    def _failed(self, problem: Exception) -> ToolError:
        if isinstance(problem, DocumentGoneError):
            what = f"the page navigated away while {self.tool} was at work; {self._perhaps()}"
            return ToolError("conflict", f"{what}. Take a browser_snapshot and go on from there.")
        return ToolError("engine_failed", f"{self.tool}: {_first_line(problem)}; {self._perhaps()}.")

    def _perhaps(self) -> str:
        return "it may have happened" if self.has_begun else "nothing was done"

    def _lines(self) -> list[str]:
        """What happened besides, a line each."""
        happened = self.browser.happened
        lines = []
        for index, dialog in enumerate(happened.dialogs):
            before = " (before this call)" if index < self._before else ""
            lines.append(f'dialog {dialog["type"]} "{shown(dialog["message"])}" → {dialog["answer"]}{before}')
        lines = [f"{line} ({count} times)" if count > 1 else line for line, count in _counted(lines)]
        if happened.dialogs_more:
            lines.append(f"and {happened.dialogs_more} more dialogs, answered alike")
        lines += [_download_line(download) for download in happened.downloads]
        if happened.choosers:
            what = self.file_input[1] if self.file_input else "the file input"
            lines.append(f"a file chooser opened and was left: use browser_fill with a path on {what}")
        return lines + self.notes + [f"[{notice}]" for notice in happened.notices[:NOTICES_MOST]]

    async def _told(self, text: str, cuts: list[int], started: float) -> Result:
        lines = self._lines()
        await self._fill_meta(started)
        if lines and self.tool == "browser_snapshot":
            above = "\n".join(lines) + "\n"
            result = Result(above + text, self.meta, [cut + len(above) for cut in cuts])
        else:
            result = Result("\n".join([text, *lines]), self.meta, cuts)
        return result.within(self._cap_bytes)

    async def _with_notices(self, error: ToolError, started: float) -> ToolError:
        lines = [line for line in self._lines() if line not in error.message]
        told = ToolError(error.code, "\n".join([error.message, *lines]), error.details)
        if hasattr(self, "tab"):
            await self._fill_meta(started)
            told.meta = self.meta
        return told

    async def _fill_meta(self, started: float) -> None:
        happened = self.browser.happened
        url, title = self.headline or await self.tab.headline()
        self.browser.note_address(url)
        self.meta = {
            "url": clip(url, 2000),
            "title": shown(title, 200),
            "tab": self.browser.position(self.tab),
            "tabs": self.browser.tab_count,
            "duration_ms": round(1000 * (time.monotonic() - started)),
            "navigated": self.navigated,
            "dialog": happened.dialogs,
            "download": [
                {"path": each.path, "bytes": each.received, "url": shown_url(each.url), "state": each.state}
                for each in happened.downloads
            ],
            **self.meta,
        }


def _counted(lines: list[str]) -> list[tuple[str, int]]:
    """Each line with how often it comes in a row."""
    return [(line, len(list(group))) for line, group in itertools.groupby(lines)]


def _download_line(download: Any) -> str:
    if download.state == "completed":
        return f"download {download.path} ({download.received} bytes)"
    if download.state == "canceled":
        return f"download of {shown(download.name)} was cancelled or failed"
    return f"download {download.path} (under way, {download.received} bytes so far)"


def _first_line(problem: BaseException) -> str:
    lines = str(problem).splitlines()
    return clip(lines[0] if lines else type(problem).__name__, 200)
