"""browser_fill: replace a field's value, whatever kind of field it is, and say what stands there then."""

from __future__ import annotations

import asyncio
import os

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import explained, raw_value, require_editable, value_of
from guilds_browser.locate import aim, locate
from guilds_browser.page_text import shown
from guilds_browser.tab import STEP_SECONDS, dispose
from guilds_wire.errors import ToolError, clip, quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playwright.async_api import ElementHandle

    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element

ACT_MILLISECONDS = STEP_SECONDS * 1000
CHECKED_ROLES = ("checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio")
SET_TYPES = ("color", "date", "time", "datetime-local", "month", "range", "week")
"""Inputs whose value is set as a whole, since no keys make it up."""

EXAMPLES = {
    "color": "#ff8800",
    "date": "2024-02-29",
    "time": "13:45",
    "datetime-local": "2024-02-29T13:45",
    "month": "2024-02",
    "week": "2024-W09",
    "number": "2.5",
}


async def browser_fill(call: BrowserCall, target: str, value: str) -> str:
    """Fill it, at most 5 s, and read the value back.

    Raises ToolError as `aim` does; `invalid_arguments` for what is not editable or a value of no use there;
    `not_found` for no such option; for files as Workspace.locate does.
    """
    element = await locate(call, target)
    if element.state["type"] == "file":  # as a rule hidden behind a button of the page's own
        fill: _Fill = _Files(call, value)
    else:
        element = await aim(call, target)
        fill = await _kind_of(call, element, value)
    handle = await element.handle(call)
    async with call.watch() as watch:
        call.begin()
        try:
            async with asyncio.timeout(STEP_SECONDS + 1):
                await fill.act(handle)
        except PlaywrightError as problem:
            if watch.is_quiet:
                raise await _refused(call, element, value, problem) from problem
        finally:
            dispose(handle)
        if not watch.is_quiet:
            await watch.settle()
    return await _said(call, element, value)


async def _kind_of(call: BrowserCall, element: Element, value: str) -> _Fill:
    state = element.state
    if state["tag"] == "select":
        options = await element.ask("optionsFor")
        return _Options(element, options, value, several=state["multiple"])
    if state["type"] in ("checkbox", "radio") or state["role"] in CHECKED_ROLES:
        return _Checked(element, value)
    if state["type"] not in SET_TYPES:
        require_editable(call, element)
    return _Fill(value)


class _Fill:
    """A text, a date, a number."""

    def __init__(self, value: str) -> None:
        self._value = value

    async def act(self, handle: ElementHandle) -> None:
        """Do it. Raises PlaywrightError."""
        await handle.fill(self._value, timeout=ACT_MILLISECONDS)


class _Checked(_Fill):
    """A checkbox or what acts as one: `true` or `false`."""

    def __init__(self, element: Element, value: str) -> None:
        if value not in ("true", "false"):
            raise invalid_argument("value", f"is {quoted(value)}; {element.label} takes `true` or `false`")
        if value == "false" and element.state["role"] in ("radio", "menuitemradio"):
            raise invalid_argument("value", f"is false, but {element.label} is unchecked by choosing another one")
        super().__init__(value)

    async def act(self, handle: ElementHandle) -> None:
        await handle.set_checked(self._value == "true", timeout=ACT_MILLISECONDS)


class _Options(_Fill):
    """A select: options by label, else by value; several of them a line each."""

    def __init__(self, element: Element, options: list[list[str]], value: str, *, several: bool) -> None:
        wanted = value.split("\n") if several else [value]
        self._indexes = [_option(element, options, each) for each in wanted if each or not several]
        super().__init__(value)

    async def act(self, handle: ElementHandle) -> None:
        await handle.select_option(index=self._indexes, timeout=ACT_MILLISECONDS)


class _Files(_Fill):
    """A file input: paths inside home, a line each; none empties it."""

    def __init__(self, call: BrowserCall, value: str) -> None:
        super().__init__(value)
        workspace = call.workspace()
        self._paths = []
        for path in value.split("\n"):
            if path:
                with workspace.locate(path) as located:
                    located.require_file()
                    self._paths.append(os.fsdecode(located.real))

    async def act(self, handle: ElementHandle) -> None:
        await handle.set_input_files(self._paths, timeout=ACT_MILLISECONDS)


def _option(element: Element, options: list[list[str]], wanted: str) -> int:
    """The index of an option. Raises ToolError(`not_found`, `conflict`)."""
    label = " ".join(wanted.split())
    for place, sought in ((0, label), (1, wanted)):
        for index, option in enumerate(options):
            if option[place] == sought:
                if option[2]:
                    raise ToolError("conflict", f"option {quoted(wanted)} of {element.label} is disabled.")
                return index
    there = ", ".join(f'"{shown(option[0], 40)}"' for option in options[:12])
    more = f" and {len(options) - 12} more" if len(options) > 12 else ""
    raise ToolError(
        "not_found", clip(f"{element.label} has no option {quoted(wanted)}; there are: {there}{more}.", 490)
    )


async def _refused(call: BrowserCall, element: Element, value: str, problem: PlaywrightError) -> Exception:
    if "Malformed value" in str(problem) or "Cannot type text into input" in str(problem):
        return _malformed(element, value)
    return await explained(call, element, problem)


def _malformed(element: Element, value: str) -> ToolError:
    kind = element.state["type"]
    like = f", such as {EXAMPLES[kind]}" if kind in EXAMPLES else ""
    return invalid_argument("value", f"is {quoted(value)}; {element.label} takes a {kind}{like}")


async def _said(call: BrowserCall, element: Element, value: str) -> str:
    now = await value_of(element)
    if now is None:
        return f"filled {element.label}"
    if element.state["type"] in SET_TYPES and value and now == '""':
        raise _malformed(element, value)
    if not await _stuck(element, value, now):
        call.notes.append("the value did not stick: the page changed it")
    return f"filled {element.label}: value {now}"


async def _stuck(element: Element, value: str, now: str) -> bool:
    state = element.state
    if state["type"] == "password":
        return bool(await element.ask("holds", value))
    if state["type"] in ("checkbox", "radio") or state["role"] in CHECKED_ROLES:
        return now == value
    if state["type"] == "file" or state["tag"] == "select":
        return True
    there = await raw_value(element)
    return there is None or there.replace("\r\n", "\n").rstrip("\n") == value.replace("\r\n", "\n").rstrip("\n")
