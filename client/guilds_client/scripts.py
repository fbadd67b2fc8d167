"""Script: a saved Python script of the agent's, and the tool that one with parameters is offered as."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from guilds_client.native import DECLARED, SCRIPT_RUN, call_helper
from guilds_client.tool import Tool, ToolContext
from guilds_wire.envelope import Result


@dataclass(frozen=True, slots=True)
class Script:
    """A saved script: `source` is put into the sandbox when it is run. With `parameters` it is a tool of its own."""

    name: str
    source: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None

    @property
    def sha256(self) -> str:
        """The source's hash, by which the helper knows whether its file is this source."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def script_tool(script: Script, parameters: Mapping[str, Any]) -> Tool:
    """The script as a tool: what the model sends is the script's `arguments`."""

    async def handler(context: ToolContext, /, **_arguments: Any) -> Result:
        args = orjson.dumps({"name": script.name, "arguments": orjson.Fragment(context.arguments_json)})
        return await call_helper(context, DECLARED[SCRIPT_RUN], args)

    description = script.description or f"Run the saved script {script.name}."
    return Tool(script.name, description, parameters, handler)
