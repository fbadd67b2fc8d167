"""The declaration of every native tool, once: the helpers validate by it, the command line and the client's
offer are made from it. A helper imports only the module that declares its own tools.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.schema import Schema

HELPERS = {
    "guilds-code": "guilds_wire.tools.code",
    "guilds-browser": "guilds_wire.tools.browser",
    "guilds-script-run": "guilds_wire.tools.scripts",
}
"""Which module declares the tools of a helper."""


class Tool:
    """One tool: its name, who serves it, what a model reads of it, its arguments, its deadline in seconds.

    `call_timeout_seconds` is the longest that a call may take, from outside; a tool's own limits lie below it.
    """

    __slots__ = ("call_timeout_seconds", "description", "helper", "name", "parameters")

    def __init__(
        self, *, name: str, helper: str, description: str, parameters: Schema, call_timeout_seconds: int
    ) -> None:
        self.name = name
        self.helper = helper
        self.description = description
        self.parameters = parameters
        self.call_timeout_seconds = call_timeout_seconds


def tools_of(helper: str) -> dict[str, Tool]:
    """The tools that one helper serves, by name, in their declared order."""
    module = __import__(HELPERS[helper], fromlist=["TOOLS"])
    return {tool.name: tool for tool in module.TOOLS}


def all_tools() -> dict[str, Tool]:
    """Every native tool, by name."""
    return {name: tool for helper in HELPERS for name, tool in tools_of(helper).items()}
