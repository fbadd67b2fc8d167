"""browser_fill: replace a field's value, whatever kind of field it is, and say what stands there then."""

from __future__ import annotations

import asyncio
import os

from playwright.async_api import Error as PlaywrightError

from guilds_browser.acts import (
    OtherFrames,
    click,
    cut_short,
    explained,
    lost_focus,
    require_editable,
    require_taken,
    told_value,
)
from guilds_browser.locate import gone, locate, ready
from guilds_browser.page_text import shown
from guilds_browser.tab import STEP_SECONDS, DocumentGoneError, ScriptError, dispose
from guilds_wire.errors import ToolError, clip, quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall
    from guilds_browser.locate import Element
    from guilds_browser.watch import Watch

FILL_WATCH_SECONDS = 0.025
"""What a page does to a value it does at once, or in a timer of some milliseconds."""

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
    "range": "5",
}


async def browser_fill(call: BrowserCall, target: str, value: str) -> str:
    """Fill it, at most 5 s, and read the value back once the page has had 25 ms for its own.

    Raises ToolError as `aim` does; `invalid_arguments` for what is not editable or a value of no use there;
    `not_found` for no such option; `conflict` when the field does not take the focus; for files as Workspace.locate.
    """
    element = await locate(call, target, aim=True)
    control = element.state.get("control") or call.browser.file_inputs.get(element.number)
    if (
        control and not element.state["editable"]
    ):  # a label stands for its field, a button for the chooser that it opened
        element = await locate(call, f"e{control}", aim=True)
    if element.state["type"] == "file":  # as a rule hidden behind a button of the page's own
        fill: _Fill = _Files(call, element, value)
    else:
        element = await ready(call, element)
        fill = await _kind_of(call, element, value)
    async with call.watch(element) as watch:
        call.begin()
        try:
            async with asyncio.timeout(STEP_SECONDS + 1):
                await fill.act(watch)
        except PlaywrightError as problem:
            if not await watch.accounts_for(problem):
                raise await explained(call, element, problem) from problem
        except DocumentGoneError:  # the page's handlers of the value led elsewhere, which the watch tells
            pass
        await watch.settle(seconds=FILL_WATCH_SECONDS)
    return f"filled {element.label}" if watch.is_leaving else await _said(call, fill)


async def _kind_of(call: BrowserCall, element: Element, value: str) -> _Fill:
    state = element.state
    if state["tag"] == "select":
        options = await element.ask("optionsFor")
        if options is None:
            raise gone(element.number, state["role"], state["name"])
        return _Options(call, element, options, value)
    if state["type"] in ("checkbox", "radio") or state["role"] in CHECKED_ROLES:
        return _Checked(call, element, value)
    if state["type"] not in SET_TYPES:
        require_editable(call, element)
    return (_Fill if state["tag"] in ("input", "textarea") else _Rich)(call, element, value)


class _Fill:
    """A text, a date, a number. `wanted` is what should stand there afterwards, as `readBack` compares it."""

    def __init__(self, call: BrowserCall, element: Element, value: str) -> None:
        self.call = call
        self.element = element
        self.value = value
        self.wanted: Any = value
        self.most: int | None = None

    async def act(self, watch: Watch) -> None:  # noqa: ARG002 (a checkbox is clicked, and needs it)
        """Do it. Raises PlaywrightError, DocumentGoneError, ToolError."""
        found = await self.ask("replaceValue", self.value, *self.call.browser.refs(1))
        self.wanted, self.most = found["wanted"], found.get("most")

    async def ask(self, function: str, *arguments: Any) -> dict[str, Any]:
        """What a function of snapshot.js did. Raises ToolError for what it did not do."""
        found: dict[str, Any] = await self.element.ask(function, *arguments)
        if found.get("malformed"):
            raise _malformed(self.element, self.value)
        require_taken(self.call, self.element, found)
        return found

    def stuck(self, found: dict[str, Any]) -> bool:
        """Whether what was read back is what was wanted."""
        return bool(found["same"])


class _Rich(_Fill):
    """Editable content, whose editors listen for what comes before an input: Playwright sends that."""

    async def act(self, watch: Watch) -> None:  # noqa: ARG002 (a checkbox is clicked, and needs it)
        others = OtherFrames(self.call, self.element)
        await others.guard()
        await self.ask("startTyping", True, *self.call.browser.refs(1))
        keyboard = self.call.tab.page.keyboard
        await (keyboard.insert_text(self.value) if self.value else keyboard.press("Delete"))
        found = await self.ask("typed", True, *self.call.browser.refs(1))
        await others.relieve(found)
        if found["lost"]:
            raise lost_focus(self.call, self.element, found["focus"], found["document"])


class _Checked(_Fill):
    """A checkbox or what acts as one: `true` or `false`."""

    def __init__(self, call: BrowserCall, element: Element, value: str) -> None:
        if value not in ("true", "false"):
            raise invalid_argument("value", f"is {quoted(value)}; {element.label} takes `true` or `false`")
        if value == "false" and element.state["role"] in ("radio", "menuitemradio"):
            raise invalid_argument("value", f"is false, but {element.label} is unchecked by choosing another one")
        super().__init__(call, element, value)

    async def act(self, watch: Watch) -> None:
        if self.element.state.get("checked", False) != (self.value == "true"):
            await click(self.call, self.element, watch)

    def stuck(self, found: dict[str, Any]) -> bool:
        return bool(found.get("checked", False) == (self.value == "true"))


class _Options(_Fill):
    """A select: options by label, else by value; several of them a line each."""

    def __init__(self, call: BrowserCall, element: Element, options: list[list[Any]], value: str) -> None:
        several = element.state["multiple"]
        wanted = value.split("\n") if several else [value]
        super().__init__(call, element, value)
        self.wanted = sorted(_option(element, options, each) for each in wanted if each or not several)

    async def act(self, watch: Watch) -> None:  # noqa: ARG002 (a checkbox is clicked, and needs it)
        await self.ask("choose", self.wanted)


class _Files(_Fill):
    """A file input: paths inside home, a line each; none empties it."""

    def __init__(self, call: BrowserCall, element: Element, value: str) -> None:
        super().__init__(call, element, value)
        if element.state["disabled"]:
            raise ToolError("conflict", f"{element.label} is disabled; what enables it has to be done first.")
        workspace = call.workspace()
        self._paths = []
        for path in value.split("\n"):
            if path:
                with workspace.locate(path) as located:
                    located.require_file()
                    self._paths.append(os.fsdecode(located.real))
        if len(self._paths) > 1 and not element.state["multiple"]:
            raise invalid_argument("value", f"has {len(self._paths)} paths, but {element.label} takes one file")

    async def act(self, watch: Watch) -> None:  # noqa: ARG002 (a checkbox is clicked, and needs it)
        handle = await self.element.handle(self.call)
        try:
            await handle.set_input_files(self._paths, timeout=1000 * STEP_SECONDS)
        finally:
            dispose(handle)

    def stuck(self, found: dict[str, Any]) -> bool:
        return bool(found["files"] == [os.path.basename(path) for path in self._paths])


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


def _malformed(element: Element, value: str) -> ToolError:
    kind = element.state["type"]
    like = f", such as {EXAMPLES[kind]}" if kind in EXAMPLES else ""
    return invalid_argument("value", f"is {quoted(value)}; {element.label} takes a {kind}{like}")


async def _said(call: BrowserCall, fill: _Fill) -> str:
    """What stands in the field now; where the page has gone elsewhere, the watch has told that."""
    element = fill.element
    filled = f"filled {element.label}"
    try:
        found = await element.ask("readBack", fill.wanted)
    except (DocumentGoneError, ScriptError, TimeoutError):
        return filled
    call.read_back(element, found)
    if (now := told_value(found)) is None:
        call.notes.append("the element is gone since: the page has removed or replaced it; take a browser_snapshot")
        return filled
    if not fill.stuck(found) and _is_masked(fill.value, found.get("value")):
        call.notes.append("the page wrote the value in a form of its own")
    elif not fill.stuck(found):
        call.notes.append("the value did not stick: the page changed it")
    elif fill.most is not None:
        call.notes.append(cut_short(fill.most))
    elif isinstance(fill.wanted, str) and fill.wanted != fill.value and element.state["type"] != "password":
        call.notes.append("the browser normalised the value for this kind of field")
    return f"{filled}: value {now}"


def _is_masked(value: str, now: str | None) -> bool:
    """Whether a page has only put a value's letters and digits in a form, as for a telephone number."""
    letters = "".join(filter(str.isalnum, value))
    return bool(letters) and now is not None and "".join(filter(str.isalnum, now)) == letters
