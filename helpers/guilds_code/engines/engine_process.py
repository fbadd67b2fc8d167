"""An engine at work in a process of its own, so that what crashes or hangs it does so alone.

A program is started in a folder, read as it prints, and ended at a deadline; it gets nothing but its arguments: an
empty environment, nothing on stdin, no descriptors but those it is to read. A library is called in a fork.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from guilds_wire import lean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PIPE_BYTES = 1 << 20  # as much as an ordinary user may ask for (/proc/sys/fs/pipe-max-size)
ERRORS_MAX_BYTES = 1 << 20
SIGKILL = 9
CANT_START = 127


def fork(work: Callable[[], None]) -> int:
    """Do work in a process apart, which leaves no core file should it crash. Its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        from resource import RLIMIT_CORE, setrlimit

        setrlimit(RLIMIT_CORE, (0, 0))
        work()
        code = 0
    finally:
        os._exit(code)


class EngineProcess:
    """One run of a program in the folder of a descriptor (None: where this process is).

    `deadline` is a time of time.monotonic(). Once `output` has ended: `exit_code` (negative for a signal),
    `timed_out`, and `errors`, the beginning of what the program said on stderr.
    """

    __slots__ = ("_deadline", "_errors", "_output", "_pid", "errors", "exit_code", "timed_out")

    def __init__(
        self, program: bytes, arguments: list[bytes], folder: int | None, keep: Iterable[int], deadline: float
    ) -> None:
        self.errors = b""
        self.exit_code = 0
        self.timed_out = False
        self._deadline = deadline
        self._output, output = os.pipe()
        self._errors, errors = os.pipe()
        try:
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:  # the user's pipes are at their limit (pipe(7)); a small one is only slower
            pass
        self._pid = os.fork()
        if self._pid == 0:
            _become(program, arguments, folder, keep, output, errors)
        os.close(output)
        os.close(errors)

    def output(self) -> Iterator[bytes]:
        """What it prints, piece by piece. Leaving early ends it."""
        poll = select.poll()
        open_ends = [self._output, self._errors]
        for end in open_ends:
            poll.register(end, select.POLLIN)
        try:
            while open_ends:
                ready = poll.poll(max(0, int((self._deadline - time.monotonic()) * 1000)))
                if not ready:
                    self.timed_out = True
                    return
                for end, _ in ready:
                    piece = os.read(end, PIPE_BYTES)
                    if not piece:
                        poll.unregister(end)
                        open_ends.remove(end)
                    elif end == self._errors:
                        self.errors += piece[: ERRORS_MAX_BYTES - len(self.errors)]
                    else:
                        yield piece
        finally:
            self._end(finished=not open_ends)

    def _end(self, *, finished: bool) -> None:
        if not finished:
            os.kill(self._pid, SIGKILL)
        os.close(self._output)
        os.close(self._errors)
        self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _become(
    program: bytes, arguments: list[bytes], folder: int | None, keep: Iterable[int], output: int, errors: int
) -> None:
    """In the child: be the program. Never returns."""
    try:
        for descriptor in keep:
            os.set_inheritable(descriptor, True)
        for target, source in enumerate((os.open(os.devnull, os.O_RDONLY), output, errors)):
            os.dup2(source, target, inheritable=True)
        if folder is not None:
            os.fchdir(folder)
        lean.signal_defaults()
        os.execve(program, [program, *arguments], {})
    except OSError as problem:
        os.write(2, str(problem.strerror).encode())
    finally:
        os._exit(CANT_START)
