"""The helpers' tools as the registry holds them: when each is offered, and the request that serves a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from guilds_client.helper_client import Envelope
from guilds_client.tool import Handler, Predicate, Tool, ToolContext, ToolFailedError
from guilds_wire.envelope import Result
from guilds_wire.request import RESULT_BYTES_DEFAULT, RESULT_BYTES_LEAST
from guilds_wire.tools import Tool as Declaration
from guilds_wire.tools import all_tools

if TYPE_CHECKING:
    from guilds_client.run import Run

BROWSER_RESULT_MAX_BYTES = 32_768
ANSWER_MARGIN_SECONDS = 15
"""Over a tool's own deadline: what the sandbox takes to start a process and to carry the answer."""

SCRIPT_RUN = "script_run"
RUNS_COMMANDS = frozenset({"shell", SCRIPT_RUN})
"""The tools under which git may ask for a token."""

DECLARED = all_tools()
"""The helpers' own declarations, by name."""

_OFFERED: dict[str, Predicate] = {
    "guilds-code": lambda run: run.agent.coding,
    "guilds-browser": lambda run: run.agent.browser,
    "guilds-script-run": lambda run: run.agent.scripting,
}


def native_tools() -> list[Tool]:
    """The helpers' tools, in their declared order."""
    return [
        Tool(tool.name, tool.description, tool.parameters, _handler(tool), offered=_OFFERED[tool.helper])
        for tool in DECLARED.values()
    ]


async def call_helper(context: ToolContext, tool: Declaration, args: bytes) -> Result:
    """Have the helper do it; `args` is a JSON object. Raises ToolFailedError and SandboxError."""
    envelope = await ask(context, tool, args)
    meta = dict(envelope.get("meta") or {})
    cuts = meta.pop("cuts", None)
    if envelope["ok"]:
        return Result(envelope["text"], meta, cuts)
    raise ToolFailedError(envelope["error"]["message"], meta)


async def ask(context: ToolContext, tool: Declaration, args: bytes) -> Envelope:
    """The helper's envelope. Raises SandboxError."""
    run = context.run
    request: dict[str, Any] = {
        "tool": tool.name,
        "args": orjson.Fragment(args),
        "run": _run_ids(context),
        **_more(run, tool, args),
    }
    timeout = tool.call_timeout_seconds + ANSWER_MARGIN_SECONDS
    return await run.helpers.call(tool.helper, request, timeout=timeout)


def _handler(tool: Declaration) -> Handler:
    async def handler(context: ToolContext, /, **_arguments: Any) -> Result:
        return await call_helper(context, tool, context.arguments_json)

    return handler


def _run_ids(context: ToolContext) -> dict[str, Any]:
    run = context.run
    ids = {"id": run.id, "agent_id": run.agent.id, "call_id": context.call_id, "seq": context.seq}
    return ids if run.visible_from is None else {**ids, "visible_from": run.visible_from}


def _more(run: Run, tool: Declaration, args: bytes) -> dict[str, Any]:
    """What one helper alone knows of a request.

    A helper that keeps to the run's cap itself knows what the model has seen.
    """
    cap = max(RESULT_BYTES_LEAST, run.tool_result_max_bytes)
    if tool.helper == "guilds-browser":
        limits = {"result_max_bytes": min(cap, BROWSER_RESULT_MAX_BYTES)}
        return {"browser": {"slot": run.agent.slot}, "limits": limits}
    if tool.helper == "guilds-code" and cap < RESULT_BYTES_DEFAULT:
        return {"limits": {"result_max_bytes": cap}}
    if tool.name == SCRIPT_RUN:
        name = json.loads(args).get("name")
        script = run.scripts.get(name) if isinstance(name, str) else None
        return {} if script is None else {"script": {"source": script.source, "sha256": script.sha256}}
    return {}
