"""What the acts on fields and buttons share: clicking, reading a field back, and why Playwright could not act."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import Error as PlaywrightError

from guilds_browser.locate import GoneError, gone, label, locate, remember
from guilds_browser.page_text import shown
from guilds_browser.tab import FRAME_SECONDS, STEP_SECONDS, DocumentGoneError, ScriptError, dispose
from guilds_wire.errors import ToolError
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element
    from guilds_browser.tab import Document
    from guilds_browser.watch import Watch

VALUE_MOST_CHARACTERS = 500
PATIENT_TRIES = 2
"""After as many an element that the page keeps replacing is clicked without the wait for it to stand still."""

_COVER = re.compile(r"(<[^\n]*?>)[^\n]* intercepts pointer events")
_REASONS = (
    ("not stable", "does not stand still; wait for its animation to end and try again"),
    ("not enabled", "is disabled; what enables it has to be done first"),
    ("not visible", "is not visible; take a browser_snapshot to see what is"),
    ("outside of the viewport", "lies outside of what can be scrolled into view"),
)


async def click(
    call: BrowserCall,
    element: Element,
    watch: Watch,
    button: Literal["left", "right", "middle"] = "left",
    *,
    double: bool = False,
) -> None:
    """Click an element that is ready, or its label where that lies over it, at most 5 s. Raises PlaywrightError.

    A page that the click leads to is not waited for here, as Playwright would.
    """
    via = element.state.get("via")
    handle = await element.handle(call, via["number"] if via else 0)
    place: Any = {"position": {"x": via["x"], "y": via["y"]}} if via else {}
    at_once = call.tries > PATIENT_TRIES or bool(via and via["force"])
    clicking = asyncio.ensure_future(
        handle.click(button=button, click_count=2 if double else 1, timeout=1000 * STEP_SECONDS, force=at_once, **place)
    )
    clicking.add_done_callback(lambda _: dispose(handle))
    await watch.during(clicking)


async def explained(call: BrowserCall, element: Element, problem: PlaywrightError) -> Exception:
    """Why Playwright did not act on an element, as an error for the reader."""
    text = str(problem)
    if await call.browser.is_lost():
        return problem
    went = f"{element.label} went away while {call.tool} waited for it; take a browser_snapshot."
    if "not attached" in text:
        return GoneError(went)
    if "detached" in text:  # its frame, which an act may have caused
        return ToolError("not_found", went)
    cover = _COVER.search(text)
    if cover and cover[1].startswith(("<html", "<body")):
        return ToolError("conflict", f"{element.label} is not where it was as it would be clicked: it moves.")
    if cover:
        return ToolError("conflict", f"{element.label} is covered by {await _named(call, element, cover[1])}.")
    for sign, reason in _REASONS:
        if sign in text:
            return ToolError("conflict", f"{element.label} {reason}. Nothing was done.")
    if "Timeout" in text:
        return ToolError(
            "timeout", f"{element.label}: {call.tool} did not end within {STEP_SECONDS:.0f} s; it may have happened."
        )
    return problem


async def _named(call: BrowserCall, element: Element, told: str) -> str:
    """What covers an element, by its ref where a second look shows it."""
    try:
        cover = (await locate(call, f"e{element.number}", aim=True)).state.get("cover")
    except ToolError:
        cover = None
    by = label(cover["number"], cover["role"], cover["name"]) if cover else shown(told)
    return f"{by}; dismiss it first"


def told_value(found: dict[str, Any]) -> str | None:
    """A field's value for the reader, from what `readBack` gives; None when the field is gone."""
    if found.get("gone"):
        return None
    if "secret" in found:
        return "(filled)" if found["secret"] else "(empty)"
    if "checked" in found:
        return "true" if found["checked"] else "false"
    text = ", ".join(found["files"]) if "files" in found else found.get("value", "")
    if "options" in found:
        text = ", ".join(found["options"])
    return '"' + shown(text, VALUE_MOST_CHARACTERS) + '"'


def cut_short(most: int) -> str:
    """What is said of a field that took a part of a text only (`maxlength`)."""
    return f"the field takes at most {most} characters (maxlength): the rest was cut off"


def require_editable(call: BrowserCall, element: Element) -> None:
    """Raises ToolError(`invalid_arguments`) with the tool that fits, unless the element takes keys."""
    state = element.state
    if state["readonly"]:
        raise ToolError("conflict", f"{element.label} is read-only.")
    if state["editable"]:
        return
    button = state["tag"] not in ("select", "input") or state["type"] in ("button", "submit", "reset", "image")
    fits = "browser_click" if button or call.tool == "browser_fill" else "browser_fill"
    raise invalid_argument("target", f"is {element.label}, which is not editable; {fits} fits")


def require_taken(call: BrowserCall, element: Element, found: dict[str, Any]) -> None:
    """Raises ToolError when an act in the page found no element, or one that does not take the focus."""
    if found.get("gone"):
        raise gone(element.number, element.state["role"], element.state["name"])
    if "refused" in found:
        call.browser.refs_used(found["next"])
        raise lost_focus(call, element, found["refused"])


class OtherFrames:
    """The page's other frames: a focus that moves there takes the keys along, and is not seen in the element's own."""

    def __init__(self, call: BrowserCall, element: Element) -> None:
        self._call = call
        self._own = element.document
        self._others: list[Document] = []

    async def guard(self) -> None:
        """Stop all keys there from now on."""
        if len(self._call.tab.page.frames) > 1:
            others = [frame for frame in await self._call.tab.frame_ids() if frame != self._own.frame_id]
            guarded = await asyncio.gather(*(self._guard(frame) for frame in others))
            self._others = [document for document in guarded if document]

    async def relieve(self, found: dict[str, Any]) -> None:
        """Stop no more keys, and add to what the element's own frame found whether any were, and where the focus is."""
        found["document"] = self._own
        others, self._others = self._others, []
        for document in others:
            try:
                told = await document.call("relieve", *self._call.browser.refs(1), seconds=FRAME_SECONDS)
            except (DocumentGoneError, ScriptError, TimeoutError):  # it has gone, and the focus with it
                continue
            self._call.browser.refs_used(told["next"])
            if told["lost"]:
                found["lost"] = found["moved"] = True
            if told["focus"] and (told["lost"] or (found["moved"] and found["document"] is self._own)):
                found["focus"], found["document"] = told["focus"], document

    async def _guard(self, frame_id: str) -> Document | None:
        try:
            document, _ = await self._call.tab.ask(frame_id, "guardAll", seconds=FRAME_SECONDS)
        except (DocumentGoneError, ScriptError, TimeoutError):  # it navigates, or hangs: it takes no keys
            return None
        return document


def lost_focus(
    call: BrowserCall, element: Element, focus: dict[str, Any] | None, document: Document | None = None
) -> ToolError:
    """The error for an element that does not get or keep the focus, so that nothing was put into it."""
    there = where(call, document or element.document, focus)
    return ToolError("conflict", f"{element.label} does not take the focus: {there}. Nothing was put into it.")


def where(call: BrowserCall, document: Document, focus: dict[str, Any] | None) -> str:
    """Where the focus is, for the reader; `document` is the one that it is in."""
    if focus is None:
        return "nothing has it"
    remember(call, document, {focus["number"]: f'{focus["role"]} "{shown(focus["name"])}"'}, call.tab)
    return f"{label(focus['number'], focus['role'], focus['name'])} has it"
