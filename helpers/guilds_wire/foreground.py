"""Running a command for a call and telling of it: its output within the cap, then how it ended, line by line."""

from __future__ import annotations

import os

from guilds_wire.envelope import Result
from guilds_wire.linger import follow_in_background
from guilds_wire.log import LIMIT_VARIABLE, Log, limit_bytes
from guilds_wire.output import OutputShaper
from guilds_wire.process import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.process import Command, Ended

TIMED_OUT_EXIT_CODE = 124  # as timeout(1)
PIDS_MOST = 20

DIRECTORY_FILE_VARIABLE = b"GUILD_DIRECTORY_FILE"
"""Where a shell that is not traced is to leave its last directory (Command.untraced)."""


def run_and_tell(call: Call, command: Command, timeout_seconds: int) -> Result:
    """Run the command to its end and give what a model should read of it.

    The raw output goes to the call's log, which stays when the text leaves something out or a process still runs.
    Raises ToolError as process.run does.
    """
    log = Log(call.run, call.ids.call_id, limit_bytes())
    shaper = OutputShaper(call.cap_bytes)

    def take(piece: bytes) -> bool:
        kept = log.take(piece)
        shaper.feed(kept)
        return len(kept) == len(piece)

    ended = run(command, take, timeout_seconds)
    if ended.stopped_by == "timeout":
        ended.exit_code = TIMED_OUT_EXIT_CODE
    trailers = _keep_directory(call, command, ended) + _trailers(ended, timeout_seconds, log)
    if ended.left or log.bytes * 3 > call.cap_bytes - 200:  # U+FFFD takes 3 bytes for one
        log.keep()
    shaped = shaper.finish(call.cap_bytes, trailers, _log_shown(call, log))
    if ended.output is not None:
        follow_in_background(ended.output, log, command.mark, _folder(call))
    elif shaped.whole and not ended.left:
        log.discard()
    return Result(shaped.text, _meta(call, ended, log), shaped.cuts)


def _folder(call: Call) -> int | None:
    """The run's folder, for its lock; None where there can be none."""
    try:
        return call.run.folder()
    except OSError:
        return None


def _keep_directory(call: Call, command: Command, ended: Ended) -> list[str]:
    """Keep the directory in which the command ended for the run's next call; what the reader must know of that."""
    if command.untraced is None or ended.stopped_by:
        return []
    if ended.untraced:
        ended.directory = _told_directory(command)
    if ended.directory is None:
        return [_not_kept(ended.directory_problem)] if ended.directory_problem else []
    try:
        call.run.set_directory(ended.directory)
    except OSError as problem:
        return [_not_kept(problem.strerror)]
    call.workspace.directory = ended.directory
    return []


def _not_kept(problem: str | None) -> str:
    return f"[the change of directory could not be kept: {problem}]"


def _told_directory(command: Command) -> bytes | None:
    """The directory that a command which could not be traced has left in a file; None when it left none."""
    assert command.untraced is not None
    path = command.untraced[DIRECTORY_FILE_VARIABLE]
    try:
        with open(path, "rb") as file:
            told = file.read()
        os.unlink(path)
    except OSError:
        return None
    return told.removesuffix(b"\n") or None


def _trailers(ended: Ended, timeout_seconds: int, log: Log) -> list[str]:
    lines = []
    if ended.stopped_by == "timeout":
        lines.append(f"timed out after {timeout_seconds} s")
    elif ended.stopped_by == "limit":
        lines.append(f"ended: it printed more than {log.bytes} bytes ({LIMIT_VARIABLE})")
    elif ended.stopped_by == "signal":
        lines.append("ended: the call was interrupted")
    if ended.exit_code:
        lines.append(f"exit_code: {ended.exit_code}")
    if ended.left:
        pids = ", ".join(map(str, ended.left[:PIDS_MOST]))
        more = f" and {len(ended.left) - PIDS_MOST} more" if len(ended.left) > PIDS_MOST else ""
        noun = "process" if len(ended.left) == 1 else "processes"
        lines.append(f"[{len(ended.left)} {noun} still running: pid {pids}{more}]")
    return lines


def _log_shown(call: Call, log: Log) -> str:
    if log.problem:
        return f"not kept ({log.problem})"
    return call.workspace.shown(log.path) if log.path else ""


def _meta(call: Call, ended: Ended, log: Log) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "exit_code": ended.exit_code,
        "cwd": call.workspace.directory.decode("utf-8", "replace"),
        "timed_out": ended.stopped_by == "timeout",
        "output_bytes": log.bytes,
        "duration_ms": round(ended.seconds * 1000),
    }
    if log.path:
        meta["log_path"] = os.fsdecode(log.path)
    if log.problem:
        meta["log_problem"] = log.problem
    if ended.stopped_by == "limit":
        meta["log_limit"] = True
    if ended.stopped_by == "signal":
        meta["interrupted"] = True
    if ended.untraced:
        meta["untraced"] = ended.untraced
    return meta
