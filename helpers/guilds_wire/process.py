"""Running one command to its end: a process group of its own, its output, its time, and all that it leaves.

The command is started as it is. How it ends, and in which directory, is read off the kernel: the process is traced
(ptrace(2)) for its exec and exit events alone, and this process is the subreaper (prctl(2)) of everything the
command starts, so that no descendant is out of reach, whatever session or parent it chose.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from guilds_wire import lean
from guilds_wire.errors import ToolError
from guilds_wire.processes import of_call
from guilds_wire.trace import Tracer, become_subreaper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GRACE_SECONDS = 2.0
"""Between SIGTERM and SIGKILL."""

LINGER_SECONDS = 0.2
"""How long output of processes that outlive the command is waited for, as of `>(tee log)`."""

PIPE_BYTES = 1 << 20  # as much as an ordinary user may ask for (/proc/sys/fs/pipe-max-size)
ARGUMENT_MAX_BYTES = 131_071  # MAX_ARG_STRLEN, execve(2)

SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGCHLD = 1, 2, 9, 15, 17
_NOTED = (SIGCHLD, SIGTERM, SIGINT, SIGHUP)
_UNTRACED = b"u"
_WALL = 0x40000000  # __WALL, waitpid(2): traced children and all others


class Command:
    """What to run: a program by absolute path, its argv and environment, in a directory, with bytes on stdin.

    `mark` is a value that no other call has; it stands in the environment, so that `/proc` shows whose a process is.
    With `untraced` the directory at the end is wanted: the process is traced, or, where that is not permitted,
    started with these variables as well, by which it may tell in another way.
    """

    __slots__ = ("argv", "directory", "environment", "mark", "program", "stdin", "untraced")

    def __init__(
        self,
        program: str,
        argv: list[bytes],
        environment: dict[bytes, bytes],
        directory: bytes,
        mark: str,
        stdin: bytes = b"",
        untraced: dict[bytes, bytes] | None = None,
    ) -> None:
        self.program = program
        self.argv = argv
        self.environment = environment
        self.directory = directory
        self.mark = mark
        self.stdin = stdin
        self.untraced = untraced


class Ended:
    """How a command ended. `exit_code` is 128 + n for signal n (bash(1), "Exit status").

    `directory` is the one it was in at its end, None where that is not known (`untraced` or `directory_problem`
    says why).
    `stopped_by` is None, "timeout", "limit" (the sink took no more) or "signal" (this process was told to stop).
    `left` are the pids that still run; `output` is the pipe they may still write to, None when it has ended.
    """

    __slots__ = (
        "directory",
        "directory_problem",
        "exit_code",
        "left",
        "output",
        "seconds",
        "signal",
        "stopped_by",
        "untraced",
    )

    def __init__(self) -> None:
        self.exit_code = 0
        self.signal: int | None = None
        self.directory: bytes | None = None
        self.directory_problem: str | None = None
        self.untraced: str | None = None
        self.stopped_by: str | None = None
        self.left: list[int] = []
        self.output: int | None = None
        self.seconds = 0.0


def run(
    command: Command,
    sink: Callable[[bytes], bool],
    timeout_seconds: float | None,
    started: Callable[[int], None] = lambda _: None,
) -> Ended:
    """Run to the end and pass all output to `sink`, which returns False when the command is to be ended.

    `started` is called with the pid once the program runs. SIGTERM, SIGINT and SIGHUP to this process end the
    command. Raises ToolError(`unavailable`) when the program can't be started.
    """
    return _Running(command, sink, timeout_seconds).to_the_end(started)


class _Running:
    def __init__(self, command: Command, sink: Callable[[bytes], bool], timeout_seconds: float | None) -> None:
        self.ended = Ended()
        self._sink = sink
        self._mark = command.mark
        self._wake = _wake_pipe()
        self._output, output = os.pipe()
        self._enlarge(self._output)
        self._stdin: int | None = None
        self._to_write = memoryview(command.stdin)
        become_subreaper()
        self._start = time.monotonic()
        self._deadline = None if timeout_seconds is None else self._start + timeout_seconds
        self._kill_at: float | None = None
        self._leave_at: float | None = None
        self._lingered = 0  # bytes that came after the command's end
        self._children = True
        self._spawn(command, output)

    def to_the_end(self, started: Callable[[int], None]) -> Ended:
        try:
            started(self._pid)
        except OSError:
            self._send(SIGKILL)
            raise
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        if self._stdin is not None:
            poll.register(self._stdin, select.POLLOUT)
        output_open = True
        while not self._over(output_open):
            for descriptor, _ in poll.poll(self._milliseconds()):
                if descriptor == self._wake:
                    self._woken()
                elif descriptor == self._output:
                    if not self._pass_on():
                        poll.unregister(self._output)
                        output_open = False
                else:
                    self._feed(poll)
            self._watch_time()
        if output_open:
            output_open = self._drain()
        return self._result(output_open)

    def _spawn(self, command: Command, output: int) -> None:
        gate, open_gate = os.pipe()
        fault, report = os.pipe()
        stdin = os.open("/dev/null", os.O_RDONLY)
        if command.stdin:
            os.close(stdin)
            stdin, self._stdin = os.pipe()
            os.set_blocking(self._stdin, False)
        self._pid = os.fork()
        if self._pid == 0:
            _become(command, gate, open_gate, report, stdin, output)
        for descriptor in (gate, report, stdin, output):
            os.close(descriptor)
        self._tracer = Tracer(self._pid) if command.untraced is not None else None
        if self._tracer and self._tracer.problem:
            os.write(open_gate, _UNTRACED)
        os.close(open_gate)
        problem = _fault_of_start(fault)
        if problem:
            os.waitpid(self._pid, 0)
            raise ToolError("unavailable", f"{command.program} can't be started: {problem}.")

    def _over(self, output_open: bool) -> bool:
        if self._leave_at is None:
            return False
        if not self._children:
            return True
        if self._kill_at is not None:  # what even SIGKILL does not end is another user's, or in the kernel
            return time.monotonic() >= self._kill_at + GRACE_SECONDS
        return not output_open or time.monotonic() >= self._leave_at

    def _milliseconds(self) -> int | None:
        """How long to wait at most: until the next thing that time alone brings."""
        times = [at for at in (self._deadline, self._kill_at, self._leave_at) if at is not None]
        if self._kill_at is not None:
            times = [min(self._kill_at, time.monotonic() + 0.02)]  # orphans end without a sign to us
        return None if not times else max(0, int((min(times) - time.monotonic()) * 1000) + 1)

    def _woken(self) -> None:
        for number in os.read(self._wake, 4096):
            if number != SIGCHLD:
                self._stop("signal")
        self._reap()

    def _reap(self) -> None:
        """Take what the kernel reports of the command, its trace events included, and of its orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | _WALL)
            except ChildProcessError:
                self._children = False
                return
            if pid == 0:
                return
            if pid != self._pid:
                continue
            if os.WIFSTOPPED(status):
                assert self._tracer is not None
                self._tracer.stopped(status)
            else:
                code = os.waitstatus_to_exitcode(status)
                self.ended.signal = -code if code < 0 else None
                self.ended.exit_code = code if code >= 0 else 128 - code
                self.ended.seconds = time.monotonic() - self._start
                self._leave_at = time.monotonic() + LINGER_SECONDS
                self._deadline = None if self._kill_at is None else self._deadline

    def _pass_on(self) -> bool:
        """Hand the next piece of output on; False at its end."""
        piece = os.read(self._output, PIPE_BYTES)
        if self._leave_at is not None and self._kill_at is None:
            self._lingered += len(piece)
            if self._lingered > PIPE_BYTES:  # a loud process that goes on writes to the log from here on
                self._leave_at = 0.0
        if piece and not self._sink(piece):
            self._stop("limit")
        return bool(piece)

    def _feed(self, poll: select.poll) -> None:
        assert self._stdin is not None
        try:
            self._to_write = self._to_write[os.write(self._stdin, self._to_write) :]
        except BrokenPipeError:
            self._to_write = self._to_write[:0]
        if not self._to_write:
            poll.unregister(self._stdin)
            os.close(self._stdin)
            self._stdin = None

    def _watch_time(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None:
            if now >= self._kill_at:
                self._send(SIGKILL)
            self._reap()
        elif self._deadline is not None and now >= self._deadline:
            self._stop("timeout")

    def _stop(self, reason: str) -> None:
        """Begin to end the command with all its processes, once."""
        if self._kill_at is None:
            self.ended.stopped_by = reason
            self._kill_at = time.monotonic() + GRACE_SECONDS
            self._send(SIGTERM)

    def _send(self, number: int) -> None:
        if self._leave_at is None:
            _signal_group(self._pid, number)
        for pid in of_call(self._mark, os.getpid()):
            _signal(pid, number)

    def _drain(self) -> bool:
        """Take what lies in the pipe by now, a pipe's full at most; whether it is still open."""
        os.set_blocking(self._output, False)
        try:
            while self._lingered <= PIPE_BYTES:
                if not self._pass_on():
                    return False
        except BlockingIOError:
            pass
        return True

    def _result(self, output_open: bool) -> Ended:
        if self._children:
            self.ended.left = of_call(self._mark, os.getpid())
        if self._tracer:
            self.ended.directory = self._tracer.directory
            self.ended.directory_problem = self._tracer.directory_problem
            self.ended.untraced = self._tracer.problem
        if output_open and self.ended.left:
            os.set_blocking(self._output, True)
            self.ended.output = self._output
        else:
            os.close(self._output)
        if self._stdin is not None:
            os.close(self._stdin)
        _close_wake_pipe(self._wake)
        return self.ended

    @staticmethod
    def _enlarge(pipe: int) -> None:
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:  # the user's pipes are at their limit (pipe(7)); a small one is only slower
            pass


def _become(command: Command, gate: int, open_gate: int, report: int, stdin: int, output: int) -> None:
    """In the child: wait to be traced, then be the command. Never returns."""
    try:
        os.setsid()
        os.close(open_gate)
        for target, source in enumerate((stdin, output, output)):
            os.dup2(source, target, inheritable=True)
        lean.signal_defaults()
        os.chdir(command.directory)
        environment = command.environment
        if os.read(gate, 1) == _UNTRACED and command.untraced:
            environment = environment | command.untraced
        os.execve(command.program, command.argv, environment)
    except OSError as problem:
        os.write(report, str(problem.strerror).encode())
    finally:
        os._exit(127)


def _fault_of_start(fault: int) -> str:
    """Wait until the program runs (its exec closes the pipe's other end); what went wrong, or ""."""
    problem = os.read(fault, 1000).decode("utf-8", "replace")
    os.close(fault)
    return problem


def _wake_pipe() -> int:
    """A pipe that gets a byte, its number, for every signal that matters here."""
    global _wake_end
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    lean.wake_on_signals(write)
    lean.on_signal(_NOTED, _take_note)
    lean.unblock_signals(_NOTED)
    _wake_end = write
    return read


def _close_wake_pipe(read: int) -> None:
    lean.wake_on_signals(-1)
    os.close(read)
    os.close(_wake_end)


_wake_end = -1


def _take_note(_number: int, _frame: object) -> None:
    """The handler of the signals in _wake_pipe: the byte in the pipe is all that is wanted."""


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # it has just ended, or it is another user's by now
        pass


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def end_processes(find: Callable[[], Iterable[int]]) -> None:
    """End the processes that `find` names, now and until there are none: SIGTERM, then SIGKILL after 2 s."""
    kill_at = time.monotonic() + GRACE_SECONDS
    for pid in find():
        _signal(pid, SIGTERM)
    while pids := list(find()):
        if time.monotonic() >= kill_at:
            for pid in pids:
                _signal(pid, SIGKILL)
        time.sleep(0.02)
        if time.monotonic() >= kill_at + GRACE_SECONDS:
            raise ToolError("io_error", f"processes {pids} can't be ended by this user.")
