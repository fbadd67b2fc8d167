"""SandboxError: the one family of faults that lie with the sandbox, not with a tool. A tool's own refusal is
guilds_wire's ToolError.
"""

from __future__ import annotations

from collections.abc import Sequence

from guilds_wire.output import clean

STDERR_READ_BYTES = 8_192
STDERR_LINES = 5
STDERR_MAX_CHARACTERS = 600
ARGUMENT_MAX_CHARACTERS = 40
"""A longer argument is not shown: a request's base64 tells a reader nothing, and may hold what is secret."""


class SandboxError(Exception):
    """The sandbox failed: what was wrong, what was run, and the last lines of its stderr.

    `str()` is one line. `text` is the same with its line breaks: a secret of several lines is found in that alone.
    """

    def __init__(self, problem: str, *, argv: Sequence[str] = (), stderr: bytes = b"") -> None:
        self.problem = problem
        self.argv = tuple(argv)
        self.stderr = _last_lines(stderr)
        parts = [problem]
        if self.argv:
            parts.append(f"It was running: {shown(self.argv)}.")
        if self.stderr:
            parts.append(f"Its stderr ended with: {self.stderr}")
        self.text = " ".join(parts)
        super().__init__(one_line(self.text))


class SandboxUnavailableError(SandboxError):
    """The sandbox can't be reached, or is gone."""


class SandboxTimeoutError(SandboxError):
    """A process took longer than its caller allows; it was ended."""


class ProgramMissingError(SandboxError):
    """The program is not in the sandbox."""


class SessionUnsupportedError(SandboxError):
    """The sandbox, or the program, knows no sessions; nothing was done."""


class SessionEndedError(SandboxError):
    """A session's process ended by itself, with `exit_code`."""

    def __init__(self, exit_code: int, *, argv: Sequence[str], stderr: bytes) -> None:
        super().__init__(f"The session ended with exit code {exit_code}.", argv=argv, stderr=stderr)
        self.exit_code = exit_code


class AnswerError(SandboxError):
    """What a helper printed is no envelope."""


def shown(argv: Sequence[str]) -> str:
    """A command line for an error."""
    return " ".join(
        argument if len(argument) <= ARGUMENT_MAX_CHARACTERS else f"({len(argument)} characters)" for argument in argv
    )


def said(problem: BaseException) -> str:
    """What an exception says; the name of its type when it says nothing, or fails to."""
    try:
        return str(problem) or type(problem).__name__
    except Exception:  # a host's own __str__
        return type(problem).__name__


def one_line(text: str) -> str:
    """A text with its line breaks shown as bars."""
    return " | ".join(text.splitlines())


def _last_lines(stderr: bytes) -> str:
    """The end of it as a terminal shows it, after an ellipsis where it was cut."""
    shown = clean(stderr[-STDERR_READ_BYTES:]).strip()
    kept = "\n".join(shown.split("\n")[-STDERR_LINES:])[-STDERR_MAX_CHARACTERS:]
    return kept if kept == shown and len(stderr) < STDERR_READ_BYTES else f"…{kept}"
