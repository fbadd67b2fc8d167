"""browser_click: click an element as a person would, and say what that caused."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import explained
from guilds_browser.locate import aim
from guilds_browser.tab import STEP_SECONDS, dispose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from guilds_browser.calls import BrowserCall


FRAME_CLICK_SECONDS = 2.5
"""A cover over a frame is seen by Playwright alone, which waits for it to go away."""


async def browser_click(
    call: BrowserCall,
    target: str,
    button: Literal["left", "right", "middle"],
    double: bool,
    dialog: str | None = None,  # noqa: ARG001 (the browser has it since the call began)
) -> str:
    """Click it, at most 5 s. Raises ToolError as `aim` does, before anything is done."""
    element = await aim(call, target)
    handle = await element.handle(call)
    seconds = STEP_SECONDS if element.document.frame_id == call.tab.target_id else FRAME_CLICK_SECONDS
    async with call.watch() as watch:
        call.begin()
        try:
            async with asyncio.timeout(STEP_SECONDS + 1):
                await handle.click(button=button, click_count=2 if double else 1, timeout=1000 * seconds)
        except PlaywrightError as problem:
            if watch.is_quiet:
                raise await explained(call, element, problem) from problem
        finally:
            dispose(handle)
        await watch.settle()
    how = {"left": "", "right": "right-", "middle": "middle-"}[button] + ("double-" if double else "")
    if watch.is_quiet:
        call.notes.append("no navigation")
    return f"{how}clicked {element.label}"
