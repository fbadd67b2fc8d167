"""script_run: run a saved Python script with a JSON object on its stdin, to its end or its timeout."""

from __future__ import annotations

import os

from guilds_script_run import saved
from guilds_wire import lean
from guilds_wire.environment import command_environment, fresh_mark
from guilds_wire.errors import ToolError, quoted
from guilds_wire.foreground import run_and_tell
from guilds_wire.process import Command
from guilds_wire.schema import invalid_argument
from guilds_wire.tools.scripts import SCRIPT_TIMEOUT_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.envelope import Result

_ENVIRONMENT = {b"PYTHONIOENCODING": b"utf-8:backslashreplace", b"PYTHONDONTWRITEBYTECODE": b"1"}


def script_run(call: Call, name: str, arguments: dict[str, Any] | None = None) -> Result:
    """Run the script in home; the text is its output and how it ended.

    Raises ToolError: `invalid_arguments`, `invalid_request` (`limits.timeout_seconds`), `not_found`, `not_a_file`,
    `unavailable` (no python3), and what replacing a file raises.
    """
    saved.require_name(name)
    stdin = b"{}" if arguments is None else _stdin(call.request.text, arguments)
    timeout_seconds = _timeout_seconds(call.request.limits)
    if (script := call.request.body.get("script")) is not None:
        saved.put_source(call.places, name, script)
    sha256 = saved.sha256_of(call.places, name)
    result = run_and_tell(call, _command(call, name, stdin), timeout_seconds)
    del result.meta["cwd"]  # the run's own, which a script does not move
    result.meta["script_sha256"] = sha256
    return result


def _command(call: Call, name: str, stdin: bytes) -> Command:
    mark = fresh_mark()
    home = call.places.home
    return Command(
        program=_python(),
        # -u: what was printed before a crash is there. -P: a module beside the script does not shadow the library.
        argv=[b"python3", b"-u", b"-P", os.path.join(home, saved.file_of(name).encode())],
        environment=command_environment(call, mark, home) | _ENVIRONMENT,
        directory=home,
        mark=mark,
        stdin=stdin,
    )


def _python() -> str:
    """The sandbox's own interpreter, not the one that runs the helper."""
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, "python3")
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise ToolError("unavailable", "there is no python3 on PATH in this sandbox; install it (apt-get install python3).")


def _stdin(request: str, arguments: dict[str, Any]) -> bytes:
    """The very text of the request's `arguments`: parsing and writing it anew would change its numbers.

    Raises ToolError(`invalid_arguments`) for what another JSON reader would take in another way, or refuse.
    """
    try:
        text = lean.members(lean.members(request)["args"])["arguments"]
    except ValueError as problem:
        raise invalid_argument("arguments", f"are not strict JSON: {problem}") from None
    if "\\ud" in text.lower() and (half := _half_of_a_pair(arguments)) is not None:
        raise invalid_argument("arguments", f"are not strict JSON: half of a surrogate pair in {half[:80]!a}")
    return text.encode()


def _half_of_a_pair(value: Any) -> str | None:
    """A string in the value, a name included, that can't be encoded."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            rest += item.keys()
            rest += item.values()
        elif isinstance(item, list):
            rest += item
        elif isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError:
                return item
    return None


def _timeout_seconds(limits: dict[str, Any]) -> int:
    """The script's time: SCRIPT_TIMEOUT_SECONDS, or fewer by the caller's limit."""
    limit = limits.get("timeout_seconds")
    if limit is None:
        return SCRIPT_TIMEOUT_SECONDS
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 1:
        raise ToolError(
            "invalid_request",
            f"`limits.timeout_seconds` is {quoted(str(limit))}; it is a number of seconds from 1.",
        )
    return int(min(limit, SCRIPT_TIMEOUT_SECONDS))
