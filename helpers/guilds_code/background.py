"""Background commands: started, kept track of and ended, over all runs, for the life of the container.

Each has a supervisor, a process that outlives the helper: it is the command's parent and subreaper, takes its output
into the log, and writes its end down. What is known of a command is one file, `background/<id>.json` in the run-time
folder, replaced at once. Whether it lives is read off the process, by pid, start time and boot.
"""

from __future__ import annotations

import os
import time

from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError
from guilds_wire.lean import dumps, loads
from guilds_wire.linger import detach, follow
from guilds_wire.log import LIMIT_VARIABLE, Log, limit_bytes
from guilds_wire.process import GRACE_SECONDS, SIGTERM, end_processes, run
from guilds_wire.processes import boot_id, of_call, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.places import Places
    from guilds_wire.process import Command, Ended

STOP_SECONDS = GRACE_SECONDS * 3
"""How long a supervisor gets to end its command before we do it ourselves."""


class BackgroundCommand:
    """What is known of one command. `state` is `running`, `exited`, `stopped` or `lost`."""

    __slots__ = (
        "boot",
        "command",
        "exit_code",
        "id",
        "log",
        "mark",
        "note",
        "pid",
        "seconds",
        "signal",
        "start",
        "started",
        "state",
        "supervisor",
        "supervisor_start",
    )

    def __init__(self, **known: Any) -> None:
        self.id: str = known["id"]
        self.command: str = known["command"]
        self.log: str = known["log"]
        self.mark: str = known["mark"]
        self.boot: str = known["boot"]
        self.pid: int = known["pid"]
        self.start: int = known["start"]
        self.supervisor: int = known["supervisor"]
        self.supervisor_start: int = known["supervisor_start"]
        self.started: float = known["started"]
        self.state: str = known.get("state", "running")
        self.exit_code: int | None = known.get("exit_code")
        self.signal: int | None = known.get("signal")
        self.seconds: float | None = known.get("seconds")
        self.note: str = known.get("note", "")

    @property
    def age_seconds(self) -> int:
        """How long it ran, or has run by now."""
        return int(_now() - self.started if self.seconds is None else self.seconds)

    def save(self, folder: bytes) -> None:
        """Write this down, at once. Raises OSError."""
        path = os.path.join(folder, f"{self.id}.json".encode())
        fresh = path + b"~"
        known = {name: getattr(self, name) for name in self.__slots__}
        with open(fresh, "wb", buffering=0) as file:
            file.write(dumps(known).encode())
        os.rename(fresh, path)


def start(call: Call, command: Command, text: str) -> Result:
    """Start the command and return at once. Raises ToolError: `unavailable`, `io_error`."""
    folder = _folder(call.places)
    log = Log(call.run, call.ids.call_id, limit_bytes())
    if log.keep() is None:
        raise ToolError("io_error", f"the log of a background command can't be written: {log.problem}.")
    assert log.path is not None
    command.untraced = None  # nobody asks where it ends
    id_ = _claim(folder)
    problem = _supervise(call, command, log, folder, id_, text)
    if problem:
        log.discard()
        os.unlink(os.path.join(folder, f"{id_}.json".encode()))
        raise ToolError("unavailable", problem)
    shown = call.workspace.shown(log.path)
    return Result(f"{id_} started; log: {shown}", {"background_id": id_, "log_path": os.fsdecode(log.path)})


def all_commands(places: Places) -> list[BackgroundCommand]:
    """Every command of this container's life, newest first."""
    folder = _folder(places)
    numbers = sorted(_numbers(folder), reverse=True)
    return [found for number in numbers if (found := _load(folder, f"b{number}"))]


def left_running(command: BackgroundCommand) -> list[int]:
    """The processes that an ended command has left, as far as they can be told from others."""
    supervised = command.boot == boot_id() and _lives(command.supervisor, command.supervisor_start)
    return of_call(command.mark, command.supervisor if supervised else os.getpid())


def end_left(command: BackgroundCommand) -> None:
    """End what an ended command has left. Raises ToolError(`io_error`) when that is not possible."""
    end_processes(lambda: left_running(command))


def stop(places: Places, command: BackgroundCommand) -> BackgroundCommand:
    """End a running command with all its processes; how it is then."""
    folder = _folder(places)
    if _lives(command.supervisor, command.supervisor_start):
        os.kill(command.supervisor, SIGTERM)
        give_up = time.monotonic() + STOP_SECONDS
        while time.monotonic() < give_up:
            now = _load(folder, command.id)
            if now and now.state != "running":
                return now
            time.sleep(0.01)
    end_left(command)
    command.state, command.seconds = "stopped", _now() - command.started
    command.save(folder)
    return command


def _supervise(call: Call, command: Command, log: Log, folder: bytes, id_: str, text: str) -> str:
    """Leave a supervisor behind that has started the command; what went wrong, or ""."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.fork() == 0:
                _be_supervisor(call, command, log, folder, id_, text, tell)
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with open(told, "rb") as answer:
        word = answer.read().decode("utf-8", "replace")
    return "" if word == "started" else word or "the supervisor of the background command ended at once."


def _be_supervisor(call: Call, command: Command, log: Log, folder: bytes, id_: str, text: str, tell: int) -> None:
    file = log.keep()
    assert file is not None
    detach((tell, file, call.run.folder()))
    known: list[BackgroundCommand] = []

    def started(pid: int) -> None:
        known.append(_fresh(pid, command, log, id_, text))
        known[0].save(folder)
        os.write(tell, b"started")
        os.close(tell)

    try:
        ended = run(command, lambda piece: len(log.take(piece)) == len(piece), None, started)
    except ToolError as error:
        os.write(tell, error.message.encode())
        return
    except OSError as problem:
        os.write(tell, f"{os.fsdecode(folder)}: {problem.strerror}; the command was ended. Make room there.".encode())
        return
    _write_down(known[0], ended, log)
    known[0].save(folder)
    if ended.output is not None:
        follow(ended.output, log, command.mark)
    _wait_for_the_rest()


def _wait_for_the_rest() -> None:
    """Stay the parent of what is left, so that a stop still finds it."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _write_down(command: BackgroundCommand, ended: Ended, log: Log) -> None:
    command.state = "stopped" if ended.stopped_by == "signal" else "exited"
    command.exit_code, command.signal, command.seconds = ended.exit_code, ended.signal, ended.seconds
    if ended.stopped_by == "limit":
        command.note = f"it printed more than {log.bytes} bytes ({LIMIT_VARIABLE})"
    elif log.problem:
        command.note = f"its log is not whole: {log.problem}"


def _fresh(pid: int, command: Command, log: Log, id_: str, text: str) -> BackgroundCommand:
    process, supervisor = read(pid), read(os.getpid())
    assert log.path is not None
    assert supervisor is not None
    return BackgroundCommand(
        id=id_,
        command=text,
        log=os.fsdecode(log.path),
        mark=command.mark,
        boot=boot_id(),
        pid=pid,
        start=process.start if process else 0,
        supervisor=os.getpid(),
        supervisor_start=supervisor.start,
        started=_now(),
    )


def _load(folder: bytes, id_: str) -> BackgroundCommand | None:
    """One command as it is now; None for a name that is only claimed."""
    known = _read(folder, id_)
    if known is None or known.state != "running" or _is_running(known):
        return known
    if known.boot == boot_id() and _lives(known.supervisor, known.supervisor_start):
        return known  # its supervisor is still ending what the command left, or about to write its end down
    known = _read(folder, id_) or known  # the supervisor may have written and ended in between
    if known.state == "running":
        known.state = "lost"
    return known


def _read(folder: bytes, id_: str) -> BackgroundCommand | None:
    try:
        with open(os.path.join(folder, f"{id_}.json".encode()), "rb") as file:
            content = file.read().decode()
        return BackgroundCommand(**loads(content)) if content else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_running(command: BackgroundCommand) -> bool:
    return command.boot == boot_id() and _lives(command.pid, command.start)


def _lives(pid: int, start: int) -> bool:
    process = read(pid)
    return process is not None and process.start == start


def _claim(folder: bytes) -> str:
    """A name that no command has had."""
    number = max(_numbers(folder), default=0) + 1
    while True:
        path = os.path.join(folder, f"b{number}.json".encode())
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            number += 1
        except OSError as problem:
            raise ToolError("io_error", f"{os.fsdecode(path)}: {problem.strerror}.") from problem
        else:
            return f"b{number}"


def _numbers(folder: bytes) -> list[int]:
    names = [name.removesuffix(b".json") for name in os.listdir(folder) if name.endswith(b".json")]
    return [int(name[1:]) for name in names if name[:1] == b"b" and name[1:].isdigit()]


def _folder(places: Places) -> bytes:
    folder = os.path.join(places.runtime_folder(), b"background")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as problem:
        raise ToolError("io_error", f"{os.fsdecode(folder)}: {problem.strerror}.") from problem
    return folder


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
