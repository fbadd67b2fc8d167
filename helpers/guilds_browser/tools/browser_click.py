"""browser_click: click an element as a person would, and say what that caused."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import click, explained
from guilds_browser.locate import aim
from guilds_browser.watch import WATCH_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from guilds_browser.calls import BrowserCall

DIALOG_SECONDS = 0.3
"""How long a dialog that the caller has an answer for may take to open."""


async def browser_click(
    call: BrowserCall,
    target: str,
    button: Literal["left", "right", "middle"],
    double: bool,
    dialog: str | None = None,
) -> str:
    """Click it, at most 5 s. Raises ToolError as `aim` does, before anything is done."""
    element = await aim(call, target)
    async with call.watch(element) as watch:
        call.begin()
        try:
            await click(call, element, watch, button, double=double)
        except PlaywrightError as problem:
            if not await watch.accounts_for(problem):
                raise await explained(call, element, problem) from problem
        await watch.settle(seconds=WATCH_SECONDS if dialog is None else DIALOG_SECONDS)
    if call.file_input:
        call.browser.file_inputs = {element.number: call.file_input[0]}
    how = {"left": "", "right": "right-", "middle": "middle-"}[button] + ("double-" if double else "")
    if watch.is_quiet:
        call.notes.append("no navigation")
    return f"{how}clicked {element.label}"
