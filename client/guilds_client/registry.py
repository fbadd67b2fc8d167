"""Registry: the tools that there are, those of the helpers and a host's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from guilds_client.native import native_tools
from guilds_client.tool import Handler, OutputFilter, Predicate, Tool, always
from guilds_wire.errors import quoted

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
_NAME_RULE = "its name is 1 to 128 letters, digits, _, - and ."
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


class Registry:
    """The tools by name, in the order in which they were added; the helpers' own come first."""

    def __init__(self) -> None:
        self._tools = {tool.name: tool for tool in native_tools()}

    def add(self, tool: Tool) -> Tool:
        """Register a tool. Raises ValueError for a name that is taken, or that models' interfaces refuse."""
        if not isinstance(tool.name, str) or not _NAME.fullmatch(tool.name):
            raise ValueError(f"no tool can be called {quoted(str(tool.name))}; {_NAME_RULE}")
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name} already; give this one another name")
        self._tools[tool.name] = tool
        return tool

    def tool(
        self,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Any] = NO_PARAMETERS,
        *,
        output_filter: OutputFilter | None = None,
        offered: Predicate = always,
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function; its name and docstring stand in for a name and description not given."""

        def register(handler: Handler) -> Handler:
            shown = description if description is not None else inspect.getdoc(handler) or ""
            self.add(Tool(name or handler.__name__, shown, parameters, handler, output_filter, offered))
            return handler

        return register

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())
