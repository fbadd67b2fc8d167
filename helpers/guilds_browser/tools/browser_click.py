"""browser_click: click an element as a person would, and say what that caused."""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import click, explained
from guilds_browser.locate import aim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from guilds_browser.calls import BrowserCall


async def browser_click(
    call: BrowserCall,
    target: str,
    button: Literal["left", "right", "middle"],
    double: bool,
    dialog: str | None = None,  # noqa: ARG001 (the browser has it since the call began)
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
        await watch.settle()
    if call.file_input:
        call.browser.file_inputs = {element.number: call.file_input[0]}
    how = {"left": "", "right": "right-", "middle": "middle-"}[button] + ("double-" if double else "")
    if watch.is_quiet:
        call.notes.append("no navigation")
    return f"{how}clicked {element.label}"
