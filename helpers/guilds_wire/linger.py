"""Processes of ours that outlive a helper: detached from its caller, still taking output into a log."""

from __future__ import annotations

import os

from guilds_wire import lean
from guilds_wire.process import PIPE_BYTES, end_processes
from guilds_wire.processes import of_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.log import Log


def detach(keep: tuple[int, ...]) -> None:
    """In a forked child: own session, standard streams on /dev/null, and no descriptor open but `keep`."""
    os.setsid()
    lean.wake_on_signals(-1)
    lean.signal_defaults()
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    below = 3
    for descriptor in sorted(keep):
        os.closerange(below, descriptor)
        below = descriptor + 1
    os.closerange(below, os.sysconf("SC_OPEN_MAX"))


def follow(output: int, log: Log, mark: str) -> None:
    """Take what comes through the pipe into the log until its end; past the log's limit end the call's processes."""
    while piece := os.read(output, PIPE_BYTES):
        if len(log.take(piece)) < len(piece):
            end_processes(lambda: of_call(mark, os.getpid()))
            return


def follow_in_background(output: int, log: Log, mark: str, folder: int | None) -> None:
    """Leave a process behind that follows the pipe, holding the lock of the run's `folder`."""
    file = log.keep()
    if os.fork() == 0:
        try:
            detach(tuple(descriptor for descriptor in (output, folder, file) if descriptor is not None))
            follow(output, log, mark)
        finally:
            os._exit(0)
    os.close(output)
