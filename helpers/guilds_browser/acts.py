"""What the acts on fields and buttons share: reading a field back, and telling why Playwright could not act."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from guilds_browser.page_text import shown
from guilds_browser.tab import STEP_SECONDS, DocumentGoneError, ScriptError
from guilds_wire.errors import ToolError
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element

VALUE_MOST_CHARACTERS = 500

_COVER = re.compile(r"(<[^\n]*?>)[^\n]* intercepts pointer events")
_REASONS = (
    ("not stable", "does not stand still; wait for its animation to end and try again"),
    ("not enabled", "is disabled; what enables it has to be done first"),
    ("not visible", "is not visible; take a browser_snapshot to see what is"),
    ("outside of the viewport", "lies outside of what can be scrolled into view"),
)


async def explained(call: BrowserCall, element: Element, problem: PlaywrightError) -> Exception:
    """Why Playwright did not act on an element, as an error for the reader."""
    text = str(problem)
    if await call.browser.is_lost():
        return problem
    if "not attached" in text or "detached" in text:
        return ToolError(
            "not_found", f"{element.label} went away while {call.tool} waited for it; take a browser_snapshot."
        )
    if cover := _COVER.search(text):
        return ToolError("conflict", f"{element.label} is covered by {shown(cover[1])}; dismiss it first.")
    for sign, reason in _REASONS:
        if sign in text:
            return ToolError("conflict", f"{element.label} {reason}. Nothing was done.")
    if "Timeout" in text:
        return ToolError(
            "timeout", f"{element.label}: {call.tool} did not end within {STEP_SECONDS:.0f} s; it may have happened."
        )
    return problem


async def value_of(element: Element) -> str | None:
    """What stands in a field now, for the reader; None when the field is gone, with its page as a rule."""
    found = await _read_back(element)
    if found is None:
        return None
    if "secret" in found:
        return "(filled)" if found["secret"] else "(empty)"
    if "checked" in found:
        return "true" if found["checked"] else "false"
    if "files" in found:
        return '"' + shown(", ".join(found["files"]), VALUE_MOST_CHARACTERS) + '"'
    if "options" in found:
        return '"' + shown(", ".join(found["options"]), VALUE_MOST_CHARACTERS) + '"'
    return '"' + shown(found["value"], VALUE_MOST_CHARACTERS) + '"'


async def raw_value(element: Element) -> str | None:
    """The text in a field as it is, never a password's; None when there is none to be had."""
    found = await _read_back(element)
    value = found.get("value") if found else None
    return value if isinstance(value, str) else None


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


async def _read_back(element: Element) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = await element.ask("readBack")
    except (DocumentGoneError, ScriptError, TimeoutError):
        return None
    return None if found.get("gone") else found
