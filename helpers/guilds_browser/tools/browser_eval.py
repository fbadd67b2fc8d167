"""browser_eval: run JavaScript in the current page, and give its value as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import re

from guilds_browser.devtools import CommandError
from guilds_browser.page_text import shown
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall

SCRIPT_SECONDS = 30
VALUE_MAX_BYTES = 20_480

_LEADS_ON = re.compile(r"location|submit|click|open|close|history|navigat|reload|href|dispatchEvent")
"""A script with one of these words is followed by the watch that every act has; others are spared its 40 ms."""

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What JSON allows in a string, but UTF-8 can't encode or a reader takes for the end of a line."""

_HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(os.path.dirname(_HERE), "copy_value.js"), encoding="utf-8") as _file:
    _COPY_VALUE = _file.read()
COPY_MAX_CHARACTERS = 2 * VALUE_MAX_BYTES


async def browser_eval(call: BrowserCall, script: str) -> tuple[str, list[int]]:
    """Run the script as the body of an async function, at most 30 s.

    Raises ToolError: `engine_failed` with an exception's message and line, `timeout`.
    """
    expression = (
        f"(async () => {{ const value = await (async () => {{\n{script}\n}})(); "
        f"return ({_COPY_VALUE})(value, {COPY_MAX_CHARACTERS}) }})()"
    )
    call.begin()
    async with call.watch() as watch:
        try:
            async with asyncio.timeout(SCRIPT_SECONDS):
                answer = await call.tab.session.ask(
                    "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
                )
        except TimeoutError:
            await _stop(call)
            raise ToolError(
                "timeout", f"the script did not end within {SCRIPT_SECONDS} s and was stopped; it may have had effects."
            ) from None
        except CommandError as problem:
            if "navigated" not in str(problem) and "destroyed" not in str(problem) and not call.tab.is_closed:
                raise
            await watch.settle()
            call.notes.append("[the page navigated before the script ended; it has no value]")
            return "null", []
        if not watch.is_quiet or _LEADS_ON.search(script):
            await watch.settle()
    if fault := answer.get("exceptionDetails"):
        raise await _threw(call, fault)
    value, odd, was_cut = answer["result"]["value"]
    call.notes += [f"[{shown(what)} has no JSON form]" for what in odd]
    text = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    return _within(call, text, was_cut)


async def _stop(call: BrowserCall) -> None:
    """End a script that runs on; one that only waits has nothing to end."""
    try:
        async with asyncio.timeout(2):
            await call.tab.session.ask("Runtime.terminateExecution")
    except (CommandError, TimeoutError):  # the next call finds a tab that hangs, and mends it
        pass


def _within(call: BrowserCall, text: str, was_cut: bool) -> tuple[str, list[int]]:
    most = min(VALUE_MAX_BYTES, call.cap_bytes - 80)
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most and not was_cut:
        return text, []
    kept = encoded[:most].decode("utf-8", "ignore")
    return f"{kept}\n[cut at {len(kept)} characters: return less]", [len(kept), len(kept)]


async def _threw(call: BrowserCall, fault: dict[str, Any]) -> ToolError:
    """The error for a script that threw: its message, and the line of the script."""
    thrown = fault.get("exception", {})
    description = thrown.get("description") or str(thrown.get("value", fault.get("text", "")))
    if thrown.get("objectId") and thrown.get("subtype") != "error":
        answer = await call.tab.session.ask(
            "Runtime.callFunctionOn",
            objectId=thrown["objectId"],
            functionDeclaration="function () { return JSON.stringify(this) }",
            returnByValue=True,
        )
        description = str(answer["result"].get("value", description))
    message, _, stack = description.partition("\n    at ")
    place = re.search(r"<anonymous>:(\d+):\d+", stack)
    line = int(place[1]) - 1 if place else fault.get("lineNumber", 0)
    at = f" (line {line})" if line > 0 else ""
    return ToolError("engine_failed", f"the script threw {shown(message, 350)}{at}")
