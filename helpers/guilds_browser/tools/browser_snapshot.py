"""browser_snapshot: the page as a compact accessibility tree, with a ref on everything that can be acted on."""

from __future__ import annotations

import re

from guilds_browser.locate import gone, locate, remember
from guilds_browser.page_text import shown, shown_url
from guilds_browser.tab import FRAME_SECONDS, STEP_SECONDS, DocumentGoneError, ScriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall
    from guilds_browser.tab import Document, Tab

CHARACTERS_MOST = 20_000
CHARACTERS_UNLIMITED = 1 << 30
FRAME_LEAST_CHARACTERS = 1_000
FRAMES_DEEP_MOST = 8
PASSES_MOST = 6
"""How often one document is looked at for one snapshot: for more numbers, or closed shadow roots in one another."""

FULL_SECONDS = 20.0
"""A megabyte of lines takes a slow machine this long."""

AROUND_MOST_CHARACTERS = 700
"""The first line (a URL of 300, a title of 120) and the last one."""

AROUND_MOST_BYTES = 500
"""The same for a small cap, in which a long URL of wide characters is left to be cut."""

_REF_LINE = re.compile(r'^ *(?:- )*e(\d+) (\S+(?: "(?:[^"\\]|\\.)*")?)')


async def browser_snapshot(call: BrowserCall, full: bool, target: str | None = None) -> tuple[str, list[int]]:
    """The tree, nearest the viewport first where not all of it fits; of `target` alone if it is given.

    Raises ToolError(`not_found`, `ambiguous_match`) for a target that is not there.
    """
    start, number = call.tab.target_id, 0
    if target is not None:
        element = await locate(call, target)
        start, number = element.document.frame_id, element.number
    room = _Room(call, full)
    page = await room.add(start, number, 0)
    if start == call.tab.target_id:
        call.headline = page["url"], page["title"]
    text = "\n".join([_headline(call, page), *room.lines])
    if page["isPdf"]:
        text += "\n[a PDF, whose text Chrome does not give: browser_screenshot shows it]"
    if not room.left:
        return text, []
    more = "" if full else ", or full=true for more"
    about = "about " if room.rough else ""
    last = f"[{about}{room.left} more nodes are not shown: target=a ref or a selector shows one part{more}]"
    return f"{text}\n{last}", [len(text), len(text)]


def _headline(call: BrowserCall, page: dict[str, Any]) -> str:
    browser = call.browser
    place = f"tab {browser.position(call.tab)} of {browser.tab_count}"
    return f"url {shown_url(page['url'])}   title {shown(page['title'])}   scroll {page['scroll']}%   {place}"


class _Room:
    """The lines so far, and what room is left; documents are added one by one."""

    def __init__(self, call: BrowserCall, full: bool) -> None:
        self.lines: list[str] = []
        self.left = 0
        self.rough = False
        self._call = call
        self._full = full
        self._seconds = FULL_SECONDS if full else STEP_SECONDS
        self._bytes = call.cap_bytes - AROUND_MOST_BYTES
        others = call.request.result_max_bytes - call.cap_bytes  # what else has to be told stands above
        self._characters = CHARACTERS_UNLIMITED if full else CHARACTERS_MOST - AROUND_MOST_CHARACTERS - others

    async def add(self, frame_id: str, number: int, depth: int) -> dict[str, Any]:
        """Add a frame's document, or the part of it below a ref, and the frames in it; what it says of itself."""
        tab = self._call.tab
        document, found = await self._look(tab, frame_id, number, FRAME_SECONDS if depth else self._seconds)
        self.left += found["left"]
        self.rough = self.rough or found["rough"]
        lines = [" " * depth + line for line in found["lines"]]
        self._take(lines)
        self._remember(document, found["lines"], tab)
        if depth // 2 < FRAMES_DEEP_MOST and found["frames"]:
            lines = await self._with_frames(document, lines, found["frames"], depth)
        self.lines = lines if depth == 0 else self.lines
        found["all"] = lines
        return found

    async def _with_frames(
        self, document: Document, lines: list[str], frames: list[list[int]], depth: int
    ) -> list[str]:
        whole: list[str] = []
        at = 0
        for index, inner_depth, number in frames:
            whole += lines[at : index + 1]
            at = index + 1
            whole += await self._frame(document, number, depth + inner_depth)
        return whole + lines[at:]

    async def _frame(self, document: Document, number: int, depth: int) -> list[str]:
        if self._characters < FRAME_LEAST_CHARACTERS or self._bytes < FRAME_LEAST_CHARACTERS:
            self.left += 1
            return []
        try:
            frame_id = await self._call.tab.frame_id_of(document, number)
            if frame_id is None:
                return []
            found: list[str] = (await self.add(frame_id, 0, depth))["all"]
            return found
        except (DocumentGoneError, ScriptError, TimeoutError):
            return [" " * depth + "(this frame does not answer)"]

    async def _look(self, tab: Tab, frame_id: str, number: int, seconds: float) -> tuple[Document, dict[str, Any]]:
        browser, wanted = self._call.browser, 0
        try:
            await tab.mark_listeners(await tab.document(frame_id))
        except DocumentGoneError:  # it navigates; the look below waits for what comes
            tab.forget_world(frame_id)
        for _ in range(PASSES_MOST):
            first, limit = browser.refs(wanted)
            options = {
                "next": first,
                "limit": limit,
                "characters": self._characters,
                "bytes": self._bytes,
                "full": self._full,
                "root": number,
            }
            document, found = await tab.ask(frame_id, "snapshot", options, seconds=seconds)
            if found.get("gone"):
                raise gone(number, "", "")
            browser.refs_used(found["next"])
            if found["short"]:
                wanted = found["needed"] + 1
            elif not found["suspects"] or not await tab.bring_closed_roots(document):
                return document, found
        return document, found

    def _take(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        self._characters -= len(text) + 1
        self._bytes -= len(text.encode("utf-8", "replace")) + 1

    def _remember(self, document: Document, lines: list[str], tab: Tab) -> None:
        found = (_REF_LINE.match(line) for line in lines)
        remember(self._call, document, {int(match[1]): match[2] for match in found if match}, tab)
