"""Tool: what a model reads of it, the function behind it, and the rule by which it is offered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guilds_wire.envelope import Result

if TYPE_CHECKING:
    from guilds_client.run import Run

Handler = Callable[..., str | Result | Awaitable[str | Result]]
Predicate = Callable[["Run"], bool]
OutputFilter = Callable[[str], str]


def always(_run: Run) -> bool:
    """Offered on every run."""
    return True


def only_on_direct_runs(run: Run) -> bool:
    """Offered when a person talks to the agent."""
    return run.kind == "direct"


def never_on_schedule_runs(run: Run) -> bool:
    """Offered on direct and group runs."""
    return run.kind != "schedule"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what a model reads of it, the function behind it, what its result passes through, when it is offered.

    `handler(context, **arguments)` returns the result's text, sync (it then runs in a thread) or async.
    `parameters` is a JSON Schema of an object. `output_filter` takes and returns the text.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Handler
    output_filter: OutputFilter | None = None
    offered: Predicate = always


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Which call a handler serves. `arguments_json` are its arguments as they were sent, one JSON object."""

    run: Run
    tool_name: str
    call_id: str
    seq: int
    arguments_json: bytes


class ToolFailedError(Exception):
    """A tool's own refusal, in words for the model; `meta` is recorded as a result's would be."""

    def __init__(self, message: str, meta: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.meta = dict(meta or {})
