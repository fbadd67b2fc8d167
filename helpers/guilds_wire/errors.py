"""ToolError: the one way in which a tool refuses or fails, as data for the caller."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MESSAGE_MAX_CHARACTERS = 500
VALUE_MAX_CHARACTERS = 120
"""How much of a wrong value a message quotes."""

CODES = frozenset(
    {
        "invalid_request",
        "unknown_tool",
        "invalid_arguments",
        "path_outside_home",
        "not_found",
        "not_a_file",
        "no_match",
        "ambiguous_match",
        "conflict",
        "engine_failed",
        "unavailable",
        "timeout",
        "io_error",
        "internal",
    }
)


class ToolError(Exception):
    """A call that gives no result: `code` is one of CODES, `message` says what is wrong and what to do.

    `details` lists every problem of the arguments, each `{"path": …, "problem": …}`.
    """

    def __init__(self, code: str, message: str, details: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        assert code in CODES, code
        self.code = code
        self.message = clip(message, MESSAGE_MAX_CHARACTERS)
        self.details = details
        self.meta: dict[str, Any] = {}


def io_error(problem: OSError, shown: str) -> ToolError:
    """The system's own words about a path; `shown` is the path as the caller knows it."""
    return ToolError("io_error", f"{quoted(shown)}: {problem.strerror or problem}.")


def quoted(value: str) -> str:
    """A value for a message: clipped, with control characters made visible."""
    shown = clip(value, VALUE_MAX_CHARACTERS)
    return shown if shown and shown.isprintable() else repr(shown)


def clip(text: str, most: int) -> str:
    """The text, or its first `most` - 1 characters and an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"
