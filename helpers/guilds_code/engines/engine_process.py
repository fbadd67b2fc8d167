"""An engine at work in a process of its own, so that what crashes or hangs it does so alone.

A program is started in a folder, read as it prints, and ended at a deadline, or with the process that started it; it
gets nothing but its arguments: an empty environment, nothing on stdin, a limit of memory, no descriptors but those it
is to read and one that ends it. A library is called in a fork.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from resource import RLIM_INFINITY, RLIMIT_CORE, RLIMIT_DATA, getrlimit, setrlimit

from guilds_wire import lean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PIPE_BYTES = 1 << 20  # as much as an ordinary user may ask for (/proc/sys/fs/pipe-max-size)
ERRORS_MAX_BYTES = 1 << 20
MEMORY_MAX_BYTES = 1 << 30  # of data; what is mapped from files does not count (RLIMIT_DATA, getrlimit(2))
SIGKILL = 9
CANT_START = 127


def fork(work: Callable[[], None]) -> int:
    """Do work in a process apart, which leaves no core file should it crash. Its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
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

    __slots__ = ("_alive", "_deadline", "_errors", "_output", "_pid", "errors", "exit_code", "timed_out")

    def __init__(
        self, program: bytes, arguments: list[bytes], folder: int | None, keep: Iterable[int], deadline: float
    ) -> None:
        self.errors = b""
        self.exit_code = 0
        self.timed_out = False
        self._deadline = deadline
        self._output, output = os.pipe()
        self._errors, errors = os.pipe()
        alive, self._alive = os.pipe()
        try:
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:  # the user's pipes are at their limit (pipe(7)); a small one is only slower
            pass
        self._pid = os.fork()
        if self._pid == 0:
            _become(program, arguments, folder, keep, alive, output, errors)
        os.close(alive)
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
                left = self._deadline - time.monotonic()
                ready = poll.poll(int(left * 1000)) if left > 0 else []
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
        os.close(self._alive)  # not before: it would be killed


def _become(
    program: bytes,
    arguments: list[bytes],
    folder: int | None,
    keep: Iterable[int],
    alive: int,
    output: int,
    errors: int,
) -> None:
    """In the child: be the program, as long as `alive` has a writer. Never returns."""
    try:
        for descriptor in (*keep, alive):
            os.set_inheritable(descriptor, True)
        for target, source in enumerate((os.open(os.devnull, os.O_RDONLY), output, errors)):
            os.dup2(source, target, inheritable=True)
        if folder is not None:
            os.fchdir(folder)
        fcntl.fcntl(alive, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(alive, fcntl.F_SETSIG, SIGKILL)
        fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC)  # the signal comes once nobody can write to it any more
        setrlimit(RLIMIT_CORE, (0, 0))
        hard = getrlimit(RLIMIT_DATA)[1]
        memory = MEMORY_MAX_BYTES if hard == RLIM_INFINITY else min(hard, MEMORY_MAX_BYTES)
        setrlimit(RLIMIT_DATA, (memory, memory))
        lean.signal_defaults()
        os.execve(program, [program, *arguments], {})
    except OSError as problem:
        os.write(2, str(problem.strerror).encode())
    finally:
        os._exit(CANT_START)
