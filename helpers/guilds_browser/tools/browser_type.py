"""browser_type: press keys at the end of what stands in an element, as a person would."""

from __future__ import annotations

import asyncio
import time

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import explained, require_editable, value_of
from guilds_browser.locate import aim
from guilds_browser.tab import STEP_SECONDS, dispose
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element

KEYS_MOST = 400
"""So many characters are pressed one by one (about 2 ms each); what follows is put in at once, as a paste is."""

KEYS_AT_A_TIME = 20


async def browser_type(call: BrowserCall, target: str, text: str, submit: bool) -> str:
    """Type it, press Enter if `submit`, and read the value back.

    Raises ToolError as `aim` does, and `invalid_arguments` for what is not editable.
    """
    element = await aim(call, target)
    require_editable(call, element)
    handle = await element.handle(call)
    try:
        async with call.watch() as watch:
            call.begin()
            try:
                if not await element.ask("caretToEnd"):
                    raise ToolError("conflict", f"{element.label} does not take the focus; browser_click it first.")
                if element.state["type"] in ("number", "email"):  # these have no selection that could be set
                    await call.tab.page.keyboard.press("End")
                typed = await _press(call, text)
                value = await value_of(element)
                if submit:
                    async with asyncio.timeout(STEP_SECONDS):
                        await call.tab.page.keyboard.press("Enter")
            except PlaywrightError as problem:
                if watch.is_quiet:
                    raise await explained(call, element, problem) from problem
                value = None
            if submit or not watch.is_quiet:
                await watch.settle()
            if submit and watch.is_quiet:
                call.notes.append("submitted with Enter: no navigation")
    finally:
        dispose(handle)
    return _said(element, text, typed, value)


def _said(element: Element, text: str, typed: int, value: str | None) -> str:
    whole = "" if typed == len(text) else f" {typed} of {len(text)} characters: time was up"
    now = f": value {value}" if value is not None else ""
    return f"typed into {element.label}{whole}{now}"


async def _press(call: BrowserCall, text: str) -> int:
    """Press the keys; how many characters were typed before the time was up."""
    keyboard = call.tab.page.keyboard
    give_up = time.monotonic() + STEP_SECONDS
    keys = text[:KEYS_MOST]
    for start in range(0, len(keys), KEYS_AT_A_TIME):
        if time.monotonic() > give_up:
            return start
        async with asyncio.timeout(STEP_SECONDS):
            await keyboard.type(keys[start : start + KEYS_AT_A_TIME])
    if len(text) > KEYS_MOST:
        async with asyncio.timeout(STEP_SECONDS):
            await keyboard.insert_text(text[KEYS_MOST:])
    return len(text)
