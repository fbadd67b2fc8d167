"""shell_status: the background commands, or one of them with the end of its log, or its stop."""

from __future__ import annotations

import os

from guilds_code.background import BackgroundCommand, all_commands, end_left, left_running
from guilds_code.background import stop as end
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError, clip, quoted
from guilds_wire.output import clean
from guilds_wire.paths import shown_bytes
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

LOG_LINES = 40
LOG_READ_BYTES = 1 << 20
"""How much of a log's end is looked at; 40 lines are seldom more."""

COMMAND_MAX_CHARACTERS = 200


def shell_status(call: Call, id: str | None = None, stop: bool = False) -> Result:  # noqa: A002
    """Tell of all background commands, or of one. Raises ToolError: `not_found`, `invalid_arguments`, `io_error`."""
    if id is None:
        if stop:
            raise invalid_argument("stop", "needs `id`: which command is to be stopped")
        return _list(call)
    commands = all_commands(call.places)
    command = next((known for known in commands if known.id == id), None)
    if command is None:
        there = ", ".join(known.id for known in commands[:20]) or "none"
        raise ToolError("not_found", f"there is no background command {quoted(id)}; there are: {there}.")
    if stop and command.state == "running":
        return _one(call, end(call.places, command), "")
    left = left_running(command) if command.state != "running" else []
    if left and stop:
        end_left(command)
        return _one(call, command, f"it had ended already; {_processes(left)} it had left running: ended now\n")
    if stop:
        return _one(call, command, "it had ended already, nothing was stopped\n")
    return _one(
        call, command, f"[{_processes(left)} still running: pid {', '.join(map(str, left[:20]))}]\n" if left else ""
    )


def _processes(pids: list[int]) -> str:
    return f"{len(pids)} process{'' if len(pids) == 1 else 'es'}"


def _list(call: Call) -> Result:
    lines = [_line(command) for command in all_commands(call.places)]
    text, shown = "\n".join(lines), len(lines)
    while len(text.encode()) > call.cap_bytes - 60:
        shown -= max(1, shown // 8)
        text = "\n".join(lines[:shown])
    cuts = _ellipses(text)
    if shown < len(lines):
        end = len(text)
        text += f"\n[… {len(lines) - shown} older commands left out]"
        cuts += [end, len(text)]
    return Result(text or "(no background commands)", {}, cuts)


def _ellipses(text: str) -> list[int]:
    """The cuts where commands are clipped; an ellipsis of a command's own counts as one too."""
    return [cut for at, letter in enumerate(text) if letter == "…" for cut in (at, at + 1)]


def _one(call: Call, command: BackgroundCommand, note: str) -> Result:
    head = f"{clip(_line(command), 400)}\n{note}"
    lines = _log_lines(command.log)
    room = call.cap_bytes - len(head.encode()) - 60
    kept = lines
    while kept and len("\n".join(kept).encode()) > room:
        kept = kept[1:]
    if lines and not kept:
        kept = [lines[-1].encode()[-room:].decode("utf-8", "ignore")]
    meta = {
        "background_id": command.id,
        "state": command.state,
        "exit_code": command.exit_code,
        "log_path": command.log,
    }
    if kept == lines:
        return Result(head + ("\n".join(kept) or "(no output)"), meta, _ellipses(head))
    left_out = len("\n".join(lines)) - len("\n".join(kept))
    marker = f"[… {left_out} characters left out]\n"
    cut = len(head)
    return Result(head + marker + "\n".join(kept), meta, [*_ellipses(head), cut, cut + len(marker)])


def _line(command: BackgroundCommand) -> str:
    seconds = command.age_seconds
    if command.state == "running":
        how = f"running {seconds} s"
    elif command.state == "lost":
        how = "lost (it no longer runs, and how it ended is not known)"
    elif command.state == "stopped":
        how = f"stopped after {seconds} s"
    elif command.signal:
        how = f"ended by signal {command.signal} after {seconds} s"
    else:
        how = f"exited {command.exit_code} after {seconds} s"
    note = f" ({command.note})" if command.note else ""
    return f"{command.id} {how}{note}  {clip(shown_bytes(command.command.encode()), COMMAND_MAX_CHARACTERS)}"


def _log_lines(path: str) -> list[str]:
    """The last lines of a log, cleaned; a log that is gone has none."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)  # a FIFO in its place would block
        with open(opened, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LOG_READ_BYTES))
            raw = file.read(LOG_READ_BYTES)
    except OSError as problem:
        return [f"(its log can't be read: {problem.strerror})"]
    if size > LOG_READ_BYTES:
        raw = raw.partition(b"\n")[2] or raw
    text = clean(raw)
    return text.split("\n")[-LOG_LINES:] if text else []
