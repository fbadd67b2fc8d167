"""browser_scroll: move the page's panel, or the window, by one viewport."""

from __future__ import annotations

from guilds_browser.locate import gone, locate, remember
from guilds_browser.page_text import shown
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall


async def browser_scroll(call: BrowserCall, direction: str, target: str | None = None) -> str:
    """Scroll, and say from where to where. Raises ToolError as `locate` does, and `conflict` for what can't scroll."""
    frame_id, number = call.tab.target_id, 0
    if target is not None:
        element = await locate(call, target)
        frame_id, number = element.document.frame_id, element.number
    call.begin()
    first, limit = call.browser.refs()
    document, found = await call.tab.ask(
        frame_id, "scroll", {"direction": direction, "number": number, "next": first, "limit": limit}
    )
    if found.get("gone"):
        raise gone(number, "", "")
    if found.get("fixed"):
        raise ToolError("conflict", f"{target} and what it is in can't be scrolled {direction}: all of it is shown.")
    call.browser.refs_used(found["next"])
    if found["number"]:
        remember(call, document, {found["number"]: f'panel "{shown(found["name"])}"'}, call.tab)
    return _said(found, direction)


def _said(found: dict[str, Any], direction: str) -> str:
    name = f' "{shown(found["name"])}"' if found["name"] else ""
    what = f"panel e{found['number']}{name}" if found["number"] else "window"
    end = ""
    if direction in ("down", "right") and found["atEnd"]:
        end = ", at end"
    elif direction in ("up", "left") and found["atStart"]:
        end = ", at start"
    return f"{what}: {found['before']} → {found['after']} of {found['whole']}{end}"
