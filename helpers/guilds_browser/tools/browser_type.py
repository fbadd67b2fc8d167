"""browser_type: press keys at the end of what stands in an element, as a person would."""

from __future__ import annotations

import asyncio
import time

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import (
    OtherFrames,
    cut_short,
    explained,
    lost_focus,
    require_editable,
    require_taken,
    told_value,
    where,
)
from guilds_browser.locate import aim
from guilds_browser.tab import STEP_SECONDS, DocumentGoneError, ScriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element

KEYS_MOST = 400
"""So many characters are pressed one by one (about 2 ms each); what follows is put in at once, as a paste is."""

KEYS_AT_A_TIME = 20


async def browser_type(call: BrowserCall, target: str, text: str, submit: bool) -> str:
    """Type it, press Enter if `submit`, and read the value back.

    Raises ToolError as `aim` does, `invalid_arguments` for what is not editable, and `conflict` when the element does
    not take the focus.
    """
    element = await aim(call, target)
    require_editable(call, element)
    found: dict[str, Any] | None = None
    others = OtherFrames(call, element)
    async with call.watch(element) as watch:
        call.begin()
        try:
            await others.guard()
            require_taken(call, element, await element.ask("startTyping", False, *call.browser.refs(1)))
            whole = await _press(call, element, text)
            if submit:
                found = await _typed(call, element)
                submit = not found["moved"]
            if submit:
                async with asyncio.timeout(STEP_SECONDS):
                    await call.tab.page.keyboard.press("Enter")
        except PlaywrightError as problem:
            if not await watch.accounts_for(problem):
                raise await explained(call, element, problem) from problem
        except DocumentGoneError:  # the keys led elsewhere, which the watch tells
            whole = True
        await watch.settle()
        try:
            if not watch.is_leaving:
                last = await _typed(call, element, over=True)
                await others.relieve(last)
                call.read_back(element, last)
                submit = submit and not last["lost"]
                found = last  # the value after Enter, where that leaves the page
        except (DocumentGoneError, ScriptError, TimeoutError):  # its page has gone, and the watch has told that
            pass
        if submit and watch.is_quiet:
            call.notes.append("submitted with Enter: no navigation")
    return _said(call, element, text, whole, found)


async def _typed(call: BrowserCall, element: Element, *, over: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = await element.ask("typed", over, *call.browser.refs(1))
    call.browser.refs_used(found["next"])
    return found


def _said(call: BrowserCall, element: Element, text: str, whole: bool, found: dict[str, Any] | None) -> str:
    if found is None:
        return f"typed into {element.label}"
    count = min(found["count"], len(text))
    document = found.get("document", element.document)
    if found["lost"] and count == 0:
        raise lost_focus(call, element, found["focus"], found.get("document"))
    part = ""
    if found["lost"] or (found["moved"] and not whole):
        part = f" {count} of {len(text)} characters, then the focus moved: {where(call, document, found['focus'])}"
    elif not whole:
        part = f" {count} of {len(text)} characters: time was up"
    elif found["moved"]:
        call.notes.append(f"the focus moved: {where(call, document, found['focus'])}")
    if found["most"] is not None:
        call.notes.append(cut_short(found["most"]))
    value = told_value(found)
    if value is None:
        call.notes.append("the element is gone since: the page has removed or replaced it; take a browser_snapshot")
    return f"typed into {element.label}{part}" + (f": value {value}" if value is not None else "")


async def _press(call: BrowserCall, element: Element, text: str) -> bool:
    """Press the keys; False when it ended before the last one: time was up, or the element lost the focus."""
    keyboard = call.tab.page.keyboard
    give_up = time.monotonic() + STEP_SECONDS
    if element.state["type"] in ("number", "email"):  # these have no caret that could be set
        await keyboard.press("End")
    keys = text[:KEYS_MOST]
    for start in range(0, len(keys), KEYS_AT_A_TIME):
        if time.monotonic() > give_up or (start and (await _typed(call, element))["moved"]):
            return False
        async with asyncio.timeout(STEP_SECONDS):
            await keyboard.type(keys[start : start + KEYS_AT_A_TIME])
    if len(text) > KEYS_MOST:
        async with asyncio.timeout(STEP_SECONDS):
            if element.state["tag"] in ("input", "textarea"):
                await element.ask("typeRest", text[KEYS_MOST:])
            else:
                await keyboard.insert_text(text[KEYS_MOST:])
    return True
