"""From what a caller names, a ref or a selector, to one element, looked at before anything is done with it."""

from __future__ import annotations

import asyncio
import os
import re

from playwright.async_api import Error as PlaywrightError

from guilds_browser.devtools import CommandError
from guilds_browser.page_text import shown
from guilds_browser.tab import FRAME_SECONDS, STEP_SECONDS, DocumentGoneError, ScriptError, dispose
from guilds_wire.errors import ToolError, quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playwright.async_api import ElementHandle, FileChooser, Frame

    from guilds_browser.calls import BrowserCall
    from guilds_browser.tab import Document, Tab

HINTS_MOST = 20_000
"""Of how many refs it is kept where they were and what they stood on."""

COVERED_LOOKS = 3
COVERED_SECONDS = 0.1
"""What slides away by itself gets this long to do so before it is told."""

MATCHES_SHOWN = 5
_REF = re.compile(r"e([1-9]\d{0,9})")
_CAPTURE = re.compile(r"(^|>>)\s*\*[\w:+-]+=")


class GoneError(ToolError):
    """The node went away before anything was done with it."""

    def __init__(self, message: str) -> None:
        super().__init__("not_found", message)


class Element:
    """One element, as it was when it was looked at. `label` is for the reader: `e12 button "Save"`."""

    __slots__ = ("document", "number", "state")

    def __init__(self, document: Document, number: int, state: dict[str, Any]) -> None:
        self.document = document
        self.number = number
        self.state = state

    @property
    def label(self) -> str:
        return label(self.number, self.state["role"], self.state["name"])

    async def handle(self, call: BrowserCall, number: int = 0) -> ElementHandle:
        """Playwright's handle of this very node, or of the one with this ref that stands for it.

        Raises ToolError(`not_found`) when it has gone meanwhile.
        """
        found = await call.tab.handle(self.document, number or self.number)
        if found is None:
            raise gone(self.number, self.state["role"], self.state["name"])
        return found

    async def ask(self, function: str, *arguments: Any) -> Any:
        """What a function of snapshot.js says of it."""
        return await self.document.call(function, self.number, *arguments)


def label(number: int, role: str, name: str) -> str:
    """How an element is named to the reader."""
    name = shown(name)
    return f'e{number} {role} "{name}"' if name else f"e{number} {role}"


def is_ref(target: str) -> bool:
    """Whether a target names one node for good, and not what a selector matches now."""
    return _REF.fullmatch(target.strip()) is not None


def gone(number: int, role: str, name: str) -> GoneError:
    """The error for a ref whose node is no longer in a page."""
    what = f'{role} "{shown(name)}"' if name else role
    return GoneError(f"e{number}{f' ({what})' if what else ''} is gone: the page has changed. Take a browser_snapshot.")


async def locate(call: BrowserCall, target: str, *, aim: bool = False) -> Element:
    """The one element that a ref or a selector stands for; with `aim` scrolled into view and looked at for cover.

    The call's tab becomes the one that the element is in. Raises ToolError: `not_found`, `ambiguous_match`,
    `conflict` for a ref whose node has another role by now, `invalid_arguments` for what is no selector.
    """
    reference = _REF.fullmatch(target.strip())
    number = int(reference[1]) if reference else await _number_of_selector(call, target)
    element = await _look(call, number, aim)
    was, now = element.state["was"], element.state["role"]
    if was != now:
        raise ToolError(
            "conflict",
            f"{label(number, was, element.state['name'])} is a {now} now: the page has changed. "
            "Take a browser_snapshot.",
        )
    return element


async def aim(call: BrowserCall, target: str) -> Element:
    """The element, ready to be clicked or typed into. Raises ToolError as `locate` does, and as `ready` does."""
    return await ready(call, await locate(call, target, aim=True))


async def ready(call: BrowserCall, element: Element) -> Element:
    """The element that was aimed at, once it can be acted on. Raises ToolError(`conflict`) when it is covered,
    disabled, invisible or without size.
    """
    for _ in range(COVERED_LOOKS):
        state = element.state
        if state.get("via") or (not state.get("cover") and (state.get("point") or not state["shown"])):
            break
        await asyncio.sleep(COVERED_SECONDS)
        element = await _look(call, element.number, aim=True)
    state = element.state
    if state["disabled"]:
        raise ToolError("conflict", f"{element.label} is disabled; what enables it has to be done first.")
    if not state["shown"] and not state.get("via"):
        raise ToolError("conflict", f"{element.label} is not visible; take a browser_snapshot to see what is.")
    if not all(state["box"]) and not state.get("via"):
        raise ToolError("conflict", f"{element.label} has no size ({state['box'][0]:.0f} by {state['box'][1]:.0f}).")
    if not state["point"]:
        raise ToolError("conflict", f"{element.label} lies outside of what can be scrolled into view.")
    if reason := state.get("reason"):
        raise ToolError("conflict", f"{element.label} {reason}.")
    if cover := state.get("cover") or await _cover_of_frame(call, element):
        raise covered(element, cover)
    return element


def covered(element: Element, cover: dict[str, Any]) -> ToolError:
    """The error for an element that another one lies over."""
    by = label(cover["number"], cover["role"], cover["name"])
    return ToolError("conflict", f"{element.label} is covered by {by}; dismiss it first.")


async def frame_label(call: BrowserCall, frame_id: str) -> str:
    """A frame for the reader, by the ref of its element where that can be had: `frame e3`."""
    try:
        document, _ = await call.tab.ask(frame_id, "headline")  # in the session that it has now
        if outer := await call.tab.around(document):
            found = await _asked_of_frame(call, *outer, "adopt")
            return f"frame e{found['number']}"
    except (DocumentGoneError, ScriptError, TimeoutError, KeyError):  # it has gone again
        pass
    return "a frame"


async def _asked_of_frame(
    call: BrowserCall, document: Document, frame: str, function: str, *arguments: Any
) -> dict[str, Any]:
    """What a function of snapshot.js says of a frame's element, by its handle. Raises DocumentGoneError, KeyError."""
    answer = await document.send(
        "Runtime.callFunctionOn",
        objectId=frame,
        functionDeclaration=f"function (...given) {{ return guilds.{function}(this, ...given) }}",
        arguments=[{"value": value} for value in (*arguments, *call.browser.refs(1))],
        returnByValue=True,
    )
    found: dict[str, Any] = answer["result"]["value"]
    call.browser.refs_used(found["next"])
    return found


async def _cover_of_frame(call: BrowserCall, element: Element) -> dict[str, Any] | None:
    """What lies over the frame that an element is in, or over a frame around that."""
    document, point = element.document, element.state["point"]
    try:
        while outer := await call.tab.around(document):
            document, frame = outer
            found = await _asked_of_frame(call, document, frame, "over", point)
            if cover := found["cover"]:
                remember(call, document, {cover["number"]: f'{cover["role"]} "{shown(cover["name"])}"'}, call.tab)
                return dict(cover)
            point = found["point"]
    except (DocumentGoneError, KeyError):  # the frame navigates; Playwright looks again as it acts
        pass
    return None


def remember(call: BrowserCall, document: Document, lines: dict[int, str], tab: Tab) -> None:
    """Keep where refs are and what they stand on, for the next call and for when they are gone."""
    hints = call.browser.hints
    for number, what in lines.items():
        hints.pop(number, None)
        hints[number] = (tab.target_id, document.frame_id, what)
    while len(hints) > HINTS_MOST:
        del hints[next(iter(hints))]


async def _look(call: BrowserCall, number: int, aim: bool) -> Element:
    """Find the document that knows a ref, and what it says of it. Raises ToolError(`not_found`)."""
    hint = call.browser.hints.get(number)
    if hint and (tab := call.browser.tabs.get(hint[0])):
        element = await _look_in(call, tab, hint[1], number, aim)
        if element:
            return element
    tabs = [call.tab, *(tab for tab in call.browser.tabs.values() if tab is not call.tab)]
    for tab in tabs:
        for frame_id in await _frames_of(tab):
            element = await _look_in(call, tab, frame_id, number, aim)
            if element:
                return element
    raise gone(number, hint[2] if hint else "", "")


async def _look_in(call: BrowserCall, tab: Tab, frame_id: str, number: int, aim: bool) -> Element | None:
    """The element, when the frame's document has it. Raises ToolError(`not_found`) when it had it."""
    looks = aim and tab is call.tab  # a tab in the background is shown first, and then looked at
    first, limit = call.browser.refs(1) if looks else (0, 0)
    try:
        document, state = await tab.ask(frame_id, "inspect", number, looks, first, limit)
        if state["state"] == "unknown":
            return None
        if tab is not call.tab:
            call.tab = tab
            call.browser.make_current(tab)
            await call.to_front()
            return await _look_in(call, tab, frame_id, number, aim)
    except DocumentGoneError:
        return None
    if state["state"] == "gone":
        raise gone(number, state["role"], state["name"])
    call.browser.refs_used(state["next"])
    remember(call, document, {number: f'{state["role"]} "{shown(state["name"])}"'}, tab)
    return Element(document, number, state)


async def _frames_of(tab: Tab) -> list[str]:
    try:
        async with asyncio.timeout(FRAME_SECONDS):
            return await tab.frame_ids()
    except (CommandError, TimeoutError):  # a tab that hangs has no ref that could be used
        return []


async def _number_of_selector(call: BrowserCall, selector: str) -> int:
    """The ref of the one element that a Playwright selector matches, in whatever frame."""
    if _CAPTURE.search(selector):
        raise invalid_argument("target", f"is {quoted(selector)}; a part marked with * can't be chosen here")
    total = 0
    found: list[dict[str, Any]] = []
    for frame in call.tab.page.frames:
        count, numbers = await _matches_in(call, frame, selector)
        total += count
        found += numbers
    if total == 0:
        raise ToolError("not_found", f"no element matches {quoted(selector)}. Take a browser_snapshot.")
    if total > 1:
        first = "; ".join(label(each["number"], each["role"], each["name"][:60]) for each in found[:MATCHES_SHOWN])
        some = "the first five: " if total > MATCHES_SHOWN else ""
        raise ToolError("ambiguous_match", f"{quoted(selector)} matches {total} elements; {some}{first}")
    if not found:
        raise ToolError("conflict", f"what {quoted(selector)} matches can't be reached; take a browser_snapshot.")
    return int(found[0]["number"])


async def _matches_in(call: BrowserCall, frame: Frame, selector: str) -> tuple[int, list[dict[str, Any]]]:
    """How many elements of one frame match, and the refs of the first ones."""
    try:
        count, key = await call.tab.keep(frame, selector)
    except PlaywrightError as problem:
        if frame is not call.tab.page.main_frame and "while parsing" not in str(problem):
            return 0, []  # a frame that went away meanwhile
        raise invalid_argument("target", f"{quoted(selector)} is no ref and no selector: {_reason(problem)}") from None
    if not count:
        return 0, []
    frame_ids = await call.tab.frame_ids()
    if frame is not call.tab.page.main_frame:
        frame_ids = frame_ids[1:]
    for frame_id in frame_ids:
        numbers = await _adopted(call, frame_id, key, min(count, MATCHES_SHOWN))
        if numbers:
            return count, numbers
    return count, []


async def _adopted(
    call: BrowserCall, frame_id: str, key: str, count: int, *, chosen: bool = False
) -> list[dict[str, Any]]:
    """The refs of the nodes that Playwright keeps under a key; none when it is in another document."""
    numbers = []
    try:
        for index in range(count):
            first, limit = call.browser.refs(MATCHES_SHOWN)
            document = await call.tab.document(frame_id)
            found = await call.tab.adopt(document, key, index, first, limit, chosen)
            if found is None:
                break
            call.browser.refs_used(found["next"])
            remember(call, document, {found["number"]: f'{found["role"]} "{shown(found["name"])}"'}, call.tab)
            numbers.append(found)
        if numbers:
            await call.tab.release(document, key)
    except DocumentGoneError:  # it has navigated since its worlds were found
        call.tab.forget_world(frame_id)
    return numbers


async def input_of(call: BrowserCall, chooser: FileChooser) -> tuple[int, str] | None:
    """The ref of the input that a file chooser is for, which need not be in the page, and how it is named."""
    key = os.urandom(12).hex()
    try:
        async with asyncio.timeout(STEP_SECONDS):  # such a handle is in Playwright's own world
            await chooser.element.evaluate("(input, key) => { globalThis[key] = [input] }", key)
        for frame_id in await call.tab.frame_ids():
            for found in await _adopted(call, frame_id, key, 1, chosen=True):
                return found["number"], label(found["number"], found["role"], found["name"])
    except (PlaywrightError, TimeoutError):  # its page has gone
        pass
    finally:
        dispose(chooser.element)
    return None


def _reason(problem: PlaywrightError) -> str:
    return (str(problem).splitlines() or ["?"])[0].rpartition("Error: ")[2][:160]
