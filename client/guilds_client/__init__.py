"""guilds_client: the orchestrator's side. It offers tools to a model, calls the helpers in a sandbox, and carries
every result through one path. It holds no model loop.
"""

try:
    import orjson  # noqa: F401
except ImportError as problem:
    raise ImportError(f"{problem}: the client needs more than the helpers do; pip install 'guilds[client]'") from None

from guilds_client.agent import Agent
from guilds_client.errors import (
    AnswerError,
    ProgramMissingError,
    SandboxError,
    SandboxTimeoutError,
    SandboxUnavailableError,
    SessionEndedError,
    SessionUnsupportedError,
)
from guilds_client.exploration import Exploration
from guilds_client.helper_client import HelperClient
from guilds_client.message import ToolMessage
from guilds_client.registry import Registry
from guilds_client.run import Run
from guilds_client.sandbox import Completed, Sandbox, Session
from guilds_client.sandboxes import open_sandbox
from guilds_client.schemas import SchemaError, drop_empty_optionals, lower_schema
from guilds_client.scripts import Script
from guilds_client.tokens import Token
from guilds_client.tool import Tool, ToolContext, ToolFailedError, always, never_on_schedule_runs, only_on_direct_runs

__all__ = [
    "Agent",
    "AnswerError",
    "Completed",
    "Exploration",
    "HelperClient",
    "ProgramMissingError",
    "Registry",
    "Run",
    "Sandbox",
    "SandboxError",
    "SandboxTimeoutError",
    "SandboxUnavailableError",
    "SchemaError",
    "Script",
    "Session",
    "SessionEndedError",
    "SessionUnsupportedError",
    "Token",
    "Tool",
    "ToolContext",
    "ToolFailedError",
    "ToolMessage",
    "always",
    "drop_empty_optionals",
    "lower_schema",
    "never_on_schedule_runs",
    "only_on_direct_runs",
    "open_sandbox",
]
