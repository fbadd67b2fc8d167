"""Run: what the model may be shown now, and one path for every call and its result."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from guilds_client.agent import Agent
from guilds_client.arguments import ECHO_MAX_CHARACTERS, Arguments, ArgumentsError, encode_json, parse_arguments
from guilds_client.errors import SandboxError
from guilds_client.exploration import EDITS, Exploration, explore
from guilds_client.helper_client import HelperClient
from guilds_client.message import ToolMessage
from guilds_client.native import SCRIPT_RUN
from guilds_client.registry import Registry
from guilds_client.sandbox import Sandbox
from guilds_client.scripts import Script, script_tool
from guilds_client.stamp import NO_OUTPUT, capped, trailer, well_formed
from guilds_client.tool import OutputFilter, Tool, ToolContext, ToolFailedError
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError, clip

logger = logging.getLogger("guilds")

Kind = Literal["direct", "group", "schedule"]
MAX_TOOL_CALLS = 60
TOOL_RESULT_VARIABLE = "TOOL_RESULT_MAX_BYTES"
TOOL_RESULT_MAX_BYTES = 65_536
CALLS_AT_ONCE = 8
NAME_MAX_CHARACTERS = 120
RESULT_BYTES_LEAST = 256
INTERRUPTED = "interrupted"


@dataclass(slots=True)
class _Call:
    """One call from its beginning to its message."""

    name: str
    sent: object
    call_id: str
    seq: int
    remaining: int
    is_over_budget: bool
    started: float = field(default_factory=time.monotonic)
    message: ToolMessage | None = None


class Run:
    """One run of an agent in a sandbox: its offer, its budget of calls, its messages.

    `kind` is direct, group or schedule. `visible_from` is the oldest step that the model still sees; a host sets
    it after it has shortened the conversation. `left_out` names the tools that can't be offered, and why.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        agent: Agent,
        kind: Kind = "direct",
        registry: Registry | None = None,
        scripts: Iterable[Script] = (),
        max_tool_calls: int = MAX_TOOL_CALLS,
        tool_result_max_bytes: int | None = None,
        id: str | None = None,  # noqa: A002 (the wire's name)
    ) -> None:
        self.sandbox = sandbox
        self.agent: Agent = agent
        self.kind: Kind = kind
        self.registry = registry or Registry()
        self.scripts = {script.name: script for script in scripts}
        self.max_tool_calls = max_tool_calls
        self.id = id or "r" + os.urandom(8).hex()
        self.visible_from: int | None = None
        self.left_out: dict[str, str] = {}
        self.helpers = HelperClient(sandbox)
        self._result_max_bytes = tool_result_max_bytes or _result_max_bytes()
        self._calls: list[_Call] = []
        self._at_once = asyncio.Semaphore(CALLS_AT_ONCE)
        self._edits = asyncio.Lock()

    @property
    def messages(self) -> list[ToolMessage]:
        """The messages of the calls that have ended, in the order in which they were asked."""
        return [call.message for call in self._calls if call.message is not None]

    @property
    def remaining_tool_calls(self) -> int:
        """How many calls the run may still make."""
        return max(0, self.max_tool_calls - len(self._calls))

    @property
    def exploration(self) -> Exploration:
        """How much of the run so far went into looking before it changed anything."""
        return explore(self.messages, self.sandbox.home)

    def offered(self) -> list[Tool]:
        """What the model may be shown now, by the agent's present flags."""
        return list(self._offered().values())

    async def call(
        self, name: str, arguments: object, *, call_id: str | None = None, seq: int | None = None
    ) -> ToolMessage:
        """Perform one call; `arguments` as the model sent them, a JSON text or an object.

        Never raises for what the model or the sandbox did: the message says it. A call that is cancelled still
        returns its message (`ERROR: interrupted`), and the cancellation arrives at the caller's next await.
        `seq` is the message's step in the conversation, by default one more than the last.
        """
        return await self._perform(self._begin(name, arguments, call_id, seq))

    async def call_many(self, calls: Sequence[tuple[str, object]]) -> list[ToolMessage]:
        """Perform the calls of one batch, some at the same time; their messages in the order asked."""
        begun = [self._begin(name, arguments, None, None) for name, arguments in calls]
        tasks = [asyncio.create_task(self._perform(call)) for call in begun]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            _cancel_later()
        return [call.message or self._end(call, _Failure(INTERRUPTED)) for call in begun]

    async def close(self) -> None:
        """End the sessions that the run keeps open. The sandbox stays open."""
        await self.helpers.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _begin(self, name: str, arguments: object, call_id: str | None, seq: int | None) -> _Call:
        last = self._calls[-1].seq if self._calls else 0
        is_over_budget = self.remaining_tool_calls == 0
        call = _Call(
            name=name,
            sent=arguments,
            call_id=call_id or "c" + os.urandom(8).hex(),
            seq=last + 1 if seq is None else seq,
            remaining=max(0, self.remaining_tool_calls - 1),
            is_over_budget=is_over_budget,
        )
        self._calls.append(call)
        return call

    async def _perform(self, call: _Call) -> ToolMessage:
        try:
            outcome = await self._outcome(call)
        except asyncio.CancelledError:
            outcome = _Failure(INTERRUPTED)
            _cancel_later()
        return self._end(call, outcome)

    async def _outcome(self, call: _Call) -> Result | _Failure:
        """What the call comes to, before its result's path."""
        if call.is_over_budget:
            return _Failure("no tool calls remain; finish with text")
        offered = self._offered()
        tool = offered.get(call.name)
        if tool is None:
            return _Failure(self._not_there(call.name, offered))
        try:
            arguments = parse_arguments(call.sent, tool.parameters)
        except ArgumentsError as problem:
            return _Failure(self._refused(str(problem), call.sent, tool))
        try:
            async with self._at_once:
                if tool.name in EDITS:
                    async with self._edits:
                        return await self._result(call, tool, arguments)
                return await self._result(call, tool, arguments)
        except (ToolFailedError, ToolError) as problem:
            return _Failure(str(problem), problem.meta)
        except SandboxError as problem:
            logger.error("%s: %s", tool.name, problem)
            return _Failure(str(problem))
        except (Exception, SystemExit) as problem:  # a host's handler; the model gets the message
            logger.exception("%s failed", tool.name)
            return _Failure(str(problem) or type(problem).__name__)

    async def _result(self, call: _Call, tool: Tool, arguments: Arguments) -> Result:
        context = ToolContext(self, tool.name, call.call_id, call.seq, arguments.text)
        if inspect.iscoroutinefunction(tool.handler):
            returned = await tool.handler(context, **arguments.values)
        else:
            returned = await asyncio.to_thread(tool.handler, context, **arguments.values)
            if inspect.isawaitable(returned):
                returned = await returned
        if isinstance(returned, str):
            return Result(returned)
        if not isinstance(returned, Result):
            raise TypeError(f"{tool.name} returned {type(returned).__name__}, not a string")
        return returned

    def _end(self, call: _Call, outcome: Result | _Failure) -> ToolMessage:
        """Take what a call came to through the result's path, and keep its message."""
        error = outcome.message if isinstance(outcome, _Failure) else None
        text = outcome.text if isinstance(outcome, Result) else f"ERROR: {outcome.message}"
        tool = self.registry.get(call.name)
        shown = well_formed(text) or NO_OUTPUT
        kept = capped(shown, self._result_max_bytes)
        content = f"{kept}\n{trailer(call.remaining)}"
        call.message = ToolMessage(
            seq=call.seq,
            tool_name=call.name,
            content=content,
            metadata={
                **outcome.meta,
                "tool_name": call.name,
                "duration_ms": round((time.monotonic() - call.started) * 1000),
                "output_filter": _name_of(tool.output_filter) if tool and tool.output_filter else None,
                "truncated": kept is not shown,
                "original_bytes": len(text.encode("utf-8", "replace")),
                "stored_bytes": len(content.encode()),
                "error": error,
            },
        )
        call.sent = None
        return call.message

    def _offered(self) -> dict[str, Tool]:
        """The tools of this moment, by name."""
        offered = {tool.name: tool for tool in self.registry if tool.offered(self)}
        if SCRIPT_RUN in offered:
            for script in self.scripts.values():
                if script.parameters is not None and self.registry.get(script.name) is None:
                    offered[script.name] = script_tool(script, script.parameters)
        return offered

    def _not_there(self, name: str, offered: Mapping[str, Tool]) -> str:
        shown = clip(name, NAME_MAX_CHARACTERS)
        if self.registry.get(name) is not None or name in self.scripts:
            return f"tool {shown} is not offered this run"
        # Models add a prefix or change the case; what is left of the name is the likeliest meaning.
        bare = re.split(r"[^A-Za-z0-9_-]", name[:NAME_MAX_CHARACTERS])[-1].lower()
        near = difflib.get_close_matches(bare, list(offered), 1)
        return f"unknown tool {shown}" + (f"; the closest offered tool is {near[0]}" if near else "")

    def _refused(self, problem: str, sent: object, tool: Tool) -> str:
        echo = clip(sent if isinstance(sent, str) else repr(sent), ECHO_MAX_CHARACTERS)
        schema = encode_json(tool.parameters).decode()
        return f"the arguments of {tool.name} can't be taken: {problem}. Its schema: {schema} You sent: {echo}"


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a call came to that gave no result: the words after `ERROR:`."""

    message: str
    meta: Mapping[str, Any] = field(default_factory=dict)


def _cancel_later() -> None:
    """Deliver a cancellation that a call has turned into its message at the caller's next await.

    A caller that took it back meanwhile (asyncio.timeout does, Task.uncancel) is left alone.
    """
    task = asyncio.current_task()

    def deliver() -> None:
        if task is not None and task.cancelling() and not task.done():
            task.uncancel()
            task.cancel()

    asyncio.get_running_loop().call_soon(deliver)


def _result_max_bytes() -> int:
    text = os.environ.get(TOOL_RESULT_VARIABLE) or str(TOOL_RESULT_MAX_BYTES)
    if not text.isascii() or not text.isdigit() or int(text) < RESULT_BYTES_LEAST:
        raise ValueError(f"{TOOL_RESULT_VARIABLE} is {text!r}; it is a number of bytes, at least {RESULT_BYTES_LEAST}")
    return int(text)


def _name_of(output_filter: OutputFilter) -> str:
    return getattr(output_filter, "__name__", type(output_filter).__name__)
