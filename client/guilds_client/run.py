"""Run: what the model may be shown now, and one path for every call and its result."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import logging
import os
import re
import time
import traceback
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self
from weakref import WeakSet

from guilds_client.agent import Agent
from guilds_client.arguments import (
    ECHO_MAX_CHARACTERS,
    Arguments,
    ArgumentsError,
    check_arguments,
    encode_json,
    parse_arguments,
)
from guilds_client.errors import SandboxError, one_line, said
from guilds_client.exploration import EDITS, Exploration, explore
from guilds_client.helper_client import HelperClient
from guilds_client.message import ToolMessage
from guilds_client.native import DECLARED, RUNS_COMMANDS, SCRIPT_RUN
from guilds_client.redaction import ESCAPE, Redactor, ellipses
from guilds_client.registry import Registry
from guilds_client.sandbox import Sandbox
from guilds_client.schemas import Schema, SchemaError, check_schema, lower_schema
from guilds_client.scripts import Script, script_tool
from guilds_client.stamp import NO_OUTPUT, capped, trailer
from guilds_client.tokens import Token, TokenFile, TokenSource
from guilds_client.tool import Handler, OutputFilter, Tool, ToolContext, ToolFailedError
from guilds_wire.envelope import Result
from guilds_wire.errors import clip
from guilds_wire.output import clean
from guilds_wire.tools.scripts import is_script_name

logger = logging.getLogger("guilds")

_within_a_call: ContextVar[bool] = ContextVar("within a call", default=False)
_cancelled_anew: WeakSet[asyncio.Task[Any]] = WeakSet()
"""Tasks whose cancellation one call has turned into its message: the next one lets it pass."""

Kind = Literal["direct", "group", "schedule"]
MAX_TOOL_CALLS = 60
TOOL_RESULT_VARIABLE = "TOOL_RESULT_MAX_BYTES"
TOOL_RESULT_MAX_BYTES = 65_536
CALLS_AT_ONCE = 8
NAME_MAX_CHARACTERS = 120
RESULT_BYTES_LEAST = 16
STEPS_MOST = 1 << 53
INTERRUPTED = "interrupted"
NO_SCRIPT_NAME = "a script's name is a to z, 0 to 9, _ and -, beginning with a letter, at most 63"


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
    """One run of an agent in a sandbox: its offer, its budget of calls, its secrets, its messages.

    `kind` is direct, group or schedule. `visible_from` is the oldest step that the model still sees; a host sets
    it after it has shortened the conversation. `left_out` names the tools that can't be offered, and why.
    Every value of `secrets`, and every token, is kept out of what the model reads and of what is recorded.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        agent: Agent,
        kind: Kind = "direct",
        secrets: Mapping[str, str] | None = None,
        registry: Registry | None = None,
        scripts: Iterable[Script] = (),
        tokens: Iterable[Token] = (),
        token_source: TokenSource | None = None,
        max_tool_calls: int = MAX_TOOL_CALLS,
        tool_result_max_bytes: int | None = None,
        id: str | None = None,  # noqa: A002 (the wire's name)
    ) -> None:
        self.sandbox = sandbox
        self.agent: Agent = agent
        self.kind: Kind = kind
        self.registry = registry or Registry()
        self.scripts = _by_name(scripts)
        self.max_tool_calls = max_tool_calls
        self.id = id or "r" + os.urandom(8).hex()
        self.visible_from: int | None = None
        self.left_out: dict[str, str] = {}
        self.helpers = HelperClient(sandbox)
        self._redactor = Redactor(secrets)
        self._tokens = TokenFile(sandbox, tokens, token_source, self._redactor)
        self.tool_result_max_bytes = _result_max_bytes(tool_result_max_bytes)
        self._calls: list[_Call] = []
        self._schemas: dict[str, tuple[object, Schema | SchemaError]] = {}
        self._warned: dict[str, str] = {}
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
        """What the model may be shown now, by the agent's present flags, with schemas as models are shown them."""
        return [replace(tool, parameters=deepcopy(schema)) for tool, schema in self._offered().values()]

    async def call(
        self, name: str, arguments: object, *, call_id: str | None = None, seq: int | None = None
    ) -> ToolMessage:
        """Perform one call; `arguments` as the model sent them, a JSON text or an object.

        Never raises for what the model or the sandbox did: the message says it. A call that is cancelled still
        returns its message (`ERROR: interrupted`), and the cancellation arrives at the caller's next await; where
        that is a call again, it ends with CancelledError, and its message is in `messages`.
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
            if _is_cancelled_anew():
                raise
            _cancel_later()
        return [call.message or self._end(call, _Outcome.failed(INTERRUPTED)) for call in begun]

    def redacted(self, value: Any) -> Any:
        """A JSON value with the run's secrets taken out of every string, for what a host records by itself."""
        return self._redactor.redact_all(value)

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
        for step in (seq, self.visible_from):
            if step is not None and not 0 <= step < STEPS_MOST:
                raise ValueError(f"{step} is no step of a conversation; it is a number from 0 to {STEPS_MOST - 1}")
        last = self._calls[-1].seq if self._calls else 0
        is_over_budget = self.remaining_tool_calls == 0
        call = _Call(
            name=str(name),
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
            return self._end(call, await self._outcome(call))
        except asyncio.CancelledError:
            outcome = _Outcome.failed(INTERRUPTED)
            if _is_cancelled_anew():
                self._end(call, outcome)
                raise
            _cancel_later()
        except (Exception, SystemExit) as problem:  # a host's handler; the model gets the message, the log the rest
            logger.error("%s failed\n%s", self.redacted(call.name), self.redacted(traceback.format_exc()))
            outcome = _Outcome.failed(said(problem))
        return self._end(call, outcome)

    async def _outcome(self, call: _Call) -> _Outcome:
        """What the call comes to, before redaction and cap."""
        if call.is_over_budget:
            return _Outcome.failed("no tool calls remain; finish with text")
        offered = self._offered()
        if call.name not in offered:
            return _Outcome.failed(self._not_there(call.name, offered))
        tool, _ = offered[call.name]
        try:
            arguments = parse_arguments(call.sent, tool.parameters)
        except ArgumentsError as problem:
            return _Outcome.failed(self._refused(str(problem), call.sent, tool))
        try:
            async with self._edits if tool.name in EDITS else nullcontext(), self._place():
                result = await self._result(call, tool, arguments)
            return self._filtered(tool, result)
        except ToolFailedError as problem:
            return _Outcome.failed(str(problem), problem.meta)
        except SandboxError as problem:
            fault = one_line(self.redacted(problem.text))
            logger.error("%s: %s", tool.name, fault)
            return _Outcome.failed(fault)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for calls at the same time; a call that a handler makes shares the handler's."""
        if _within_a_call.get():
            yield
            return
        async with self._at_once:
            _within_a_call.set(True)
            try:
                yield
            finally:
                _within_a_call.set(False)

    async def _result(self, call: _Call, tool: Tool, arguments: Arguments) -> Result:
        if tool.name not in DECLARED:  # a helper checks its own
            check_arguments(tool.parameters, arguments.values)
        not_renewed = await self._tokens.refresh() if tool.name in RUNS_COMMANDS or tool.name in self.scripts else []
        context = ToolContext(self, tool.name, call.call_id, call.seq, arguments.text)
        if inspect.iscoroutinefunction(tool.handler):
            returned = await tool.handler(context, **arguments.values)
        else:
            returned = await asyncio.to_thread(_called, tool.handler, context, arguments.values)
            if inspect.isawaitable(returned):
                returned = await returned
        if isinstance(returned, str):
            returned = Result(clean(returned.encode("utf-8", "replace")) if ESCAPE in returned else returned)
        if not isinstance(returned, Result):
            raise TypeError(f"{tool.name} returned {type(returned).__name__}, not a string")
        if not_renewed:
            returned.meta["tokens_not_renewed"] = not_renewed
        return returned

    def _filtered(self, tool: Tool, result: Result) -> _Outcome:
        """The result after the tool's filter, which no longer knows where the helper's cuts were."""
        text, cuts = result.text, result.cuts
        original_bytes = len(text.encode("utf-8", "replace"))
        name = None
        if tool.output_filter is not None:
            name = _name_of(tool.output_filter)
            text, cuts = tool.output_filter(self._redactor.redact(text, cuts)), []
            if not isinstance(text, str):
                raise TypeError(f"the output filter {name} returned {type(text).__name__}, not a string")
        return _Outcome(text, cuts, result.meta, output_filter=name, original_bytes=original_bytes)

    def _end(self, call: _Call, outcome: _Outcome) -> ToolMessage:
        """Take what a call came to through the rest of a result's path, and keep its message."""
        shown = self._redactor.redact(outcome.text, outcome.cuts) or NO_OUTPUT
        kept = capped(shown, self.tool_result_max_bytes)
        content = f"{kept}\n{trailer(call.remaining)}"
        recorded = {**outcome.meta, "tool_name": call.name, "output_filter": outcome.output_filter}
        recorded = self._redactor.redact_all({**recorded, "error": outcome.error})
        if outcome.error is not None:
            recorded["error"] = capped(recorded["error"], self.tool_result_max_bytes)
        call.message = ToolMessage(
            seq=call.seq,
            tool_name=recorded["tool_name"],
            content=content,
            metadata=recorded
            | {
                "duration_ms": round((time.monotonic() - call.started) * 1000),
                "truncated": kept is not shown,
                "original_bytes": outcome.original_bytes,
                "stored_bytes": len(content.encode()),
            },
        )
        call.sent = None
        return call.message

    def _offered(self) -> dict[str, tuple[Tool, Schema]]:
        """The tools of this moment by name, each with its lowered schema."""
        tools = [tool for tool in self.registry if self._is_offered(tool)]
        if any(tool.name == SCRIPT_RUN for tool in tools):
            tools += self._script_tools()
        offered = {}
        for tool in tools:
            schema = self._lowered(tool)
            if schema is not None:
                offered[tool.name] = tool, schema
        return offered

    def _script_tools(self) -> Iterator[Tool]:
        """The scripts that are tools of their own."""
        for script in self.scripts.values():
            if script.parameters is None or self.registry.get(script.name) is not None:
                continue
            tool = script_tool(script, script.parameters)
            if is_script_name(script.name):
                yield tool
            else:
                self._leave_out(tool, NO_SCRIPT_NAME)

    def _is_offered(self, tool: Tool) -> bool:
        try:
            is_offered = bool(tool.offered(self))
        except Exception as problem:  # a host's rule
            self._leave_out(tool, f"its rule failed: {self.redacted(said(problem))}")
            return False
        self.left_out.pop(tool.name, None)
        return is_offered

    def _lowered(self, tool: Tool) -> Schema | None:
        """The tool's schema for a model, made once; None, and said in `left_out`, when it can't be made."""
        known = self._schemas.get(tool.name)
        if known is None or known[0] is not tool.parameters:
            try:
                if tool.name not in DECLARED:
                    check_schema(tool.parameters)
                known = tool.parameters, lower_schema(tool.parameters)
            except SchemaError as problem:
                known = tool.parameters, problem
            self._schemas[tool.name] = known
        lowered = known[1]
        if not isinstance(lowered, SchemaError):
            return lowered
        self._leave_out(tool, f"its schema can't be used: {lowered}")
        return None

    def _leave_out(self, tool: Tool, why: str) -> None:
        self.left_out[tool.name] = why
        if self._warned.get(tool.name) != why:
            self._warned[tool.name] = why
            logger.warning("tool %s is left out: %s", tool.name, why)

    def _not_there(self, name: str, offered: Collection[str]) -> str:
        shown = clip(self._redactor.redact(name), NAME_MAX_CHARACTERS)
        if self.registry.get(name) is not None or name in self.scripts:
            return f"tool {shown} is not offered this run"
        # Models add a prefix or change the case; what is left of the name is the likeliest meaning.
        bare = re.split(r"[^A-Za-z0-9_-]", name[:NAME_MAX_CHARACTERS])[-1].lower()
        ends = sorted((tool for tool in offered if bare.endswith((f"_{tool}", f"-{tool}"))), key=len, reverse=True)
        near = ends or difflib.get_close_matches(bare, offered, 1)
        return f"unknown tool {shown}" + (f"; the closest offered tool is {near[0]}" if near else "")

    def _refused(self, problem: str, sent: object, tool: Tool) -> str:
        echo = clip(self._redactor.redact(sent if isinstance(sent, str) else repr(sent)), ECHO_MAX_CHARACTERS)
        schema = encode_json(tool.parameters).decode()
        return f"the arguments of {tool.name} can't be taken: {problem}. Its schema: {schema} You sent: {echo}"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a call came to: the text with its cuts, what to record, and what was wrong (None: nothing)."""

    text: str
    cuts: Sequence[int]
    meta: Mapping[str, Any]
    error: str | None = None
    output_filter: str | None = None
    original_bytes: int = 0

    @classmethod
    def failed(cls, problem: str, meta: Mapping[str, Any] | None = None) -> _Outcome:
        """A call that gave no result; a message may have been clipped, which shows as an ellipsis."""
        problem = clean(problem.encode("utf-8", "replace")) if ESCAPE in problem else problem
        text = f"ERROR: {problem}"
        return cls(text, ellipses(text), meta or {}, problem, original_bytes=len(text.encode("utf-8", "replace")))


def _called(handler: Handler, context: ToolContext, arguments: Mapping[str, Any]) -> Any:
    """Call a handler in its thread, from where a future can bring any exception but StopIteration."""
    try:
        return handler(context, **arguments)
    except StopIteration as problem:
        raise RuntimeError("StopIteration") from problem


def _cancel_later() -> None:
    """Deliver a cancellation that a call has turned into its message at the caller's next await.

    A caller that took it back meanwhile (asyncio.timeout does, Task.uncancel) is left alone.
    """
    task = asyncio.current_task()

    def deliver() -> None:
        if task is not None and task.cancelling() and not task.done():
            task.uncancel()
            task.cancel()
            _cancelled_anew.add(task)

    asyncio.get_running_loop().call_soon(deliver)


def _is_cancelled_anew() -> bool:
    """Whether this cancellation is one that an earlier call has put off."""
    task = asyncio.current_task()
    if task is None or task not in _cancelled_anew:
        return False
    _cancelled_anew.discard(task)
    return True


def _by_name(scripts: Iterable[Script]) -> dict[str, Script]:
    """Raises ValueError when two have one name."""
    found: dict[str, Script] = {}
    for script in scripts:
        if found.setdefault(script.name, script) is not script:
            raise ValueError(f"two scripts are called {script.name}")
    return found


def _result_max_bytes(asked: int | None) -> int:
    """The cap that a host or the environment asks for. Raises ValueError for one that holds nothing."""
    name, text = TOOL_RESULT_VARIABLE, os.environ.get(TOOL_RESULT_VARIABLE) or str(TOOL_RESULT_MAX_BYTES)
    if asked is not None:
        name, text = "tool_result_max_bytes", str(asked)
    if not text.isascii() or not text.isdigit() or int(text) < RESULT_BYTES_LEAST:
        raise ValueError(f"{name} is {text!r}; it is a number of bytes, at least {RESULT_BYTES_LEAST}")
    return int(text)


def _name_of(output_filter: OutputFilter) -> str:
    return getattr(output_filter, "__name__", type(output_filter).__name__)
