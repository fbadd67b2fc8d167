"""The parent of a process inside a container: an engine leaves an exec'd process running when its caller goes away,
this ends it. Its source is run with `python3 -c`, so it imports the standard library alone, and little of it.

On stdin comes the length of a header and a line end; the header, its fields separated by NUL: how many bytes of
stdin the program gets (`-`: all that come), how many environment entries follow, these, and the program with its
arguments; then the program's stdin. A NUL after that, or the end of stdin, ends the program.
"""

from __future__ import annotations

import os
import select
import sys

AHEAD_BYTES = 1 << 20
READ_BYTES = 1 << 16
GRACE_MILLISECONDS = 4_000
SIGTERM, SIGKILL, SIGPIPE, SIGXFSZ = 15, 9, 13, 25
NOT_EXECUTABLE, NOT_FOUND = 126, 127


def main() -> int:
    """Run the program; its exit code, 128 + n after signal n."""
    size, env, argv = _header()
    theirs, feed = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(feed, False)
    try:
        pid = os.posix_spawnp(
            argv[0],
            argv,
            {**os.environb, **env},
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0)],
            setsid=True,
            setsigdef=(SIGPIPE, SIGXFSZ),
        )
    except OSError as problem:
        print(f"{os.fsdecode(argv[0])}: {problem.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_EXECUTABLE
    os.close(theirs)
    ended = os.pidfd_open(pid)
    if not _feed(feed, ended, None if size == b"-" else int(size)):
        _end(pid, ended)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _header() -> tuple[bytes, dict[bytes, bytes], list[bytes]]:
    length = b""
    while not length.endswith(b"\n"):
        length += _read_exactly(1)
    size, entries, *fields = _read_exactly(int(length)).split(b"\0")
    env = dict(field.split(b"=", 1) for field in fields[: int(entries)])
    return size, env, fields[int(entries) :]


def _read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            sys.exit("the caller went away before it said what to run")
        data += piece
    return data


def _feed(feed: int, ended: int, left: int | None) -> bool:
    """Pass stdin on until the program ends; False when it is to be ended."""
    waiting = bytearray()
    is_open = True
    while True:
        if is_open and left == 0 and not waiting:
            os.close(feed)
            is_open = False
        poll = select.poll()
        poll.register(0, select.POLLIN if len(waiting) < AHEAD_BYTES else 0)
        poll.register(ended, select.POLLIN)
        if waiting and is_open:
            poll.register(feed, select.POLLOUT)
        events = dict(poll.poll())
        if ended in events:
            return True
        if feed in events and is_open:
            is_open = _pass_on(feed, waiting)
        if 0 in events:
            data = os.read(0, READ_BYTES) if events[0] & select.POLLIN else b""
            passed = data if left is None else data[:left]
            if left is not None:
                left -= len(passed)
            if not data or len(passed) < len(data) or (left is None and b"\0" in data):
                return False
            if is_open:
                waiting += passed


def _pass_on(feed: int, waiting: bytearray) -> bool:
    """Write what the program's stdin takes; False when it is closed."""
    try:
        del waiting[: os.write(feed, waiting[:READ_BYTES])]
    except BlockingIOError:
        pass
    except BrokenPipeError:
        waiting.clear()
        os.close(feed)
        return False
    return True


def _end(pid: int, ended: int) -> None:
    os.kill(pid, SIGTERM)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.poll(GRACE_MILLISECONDS)
    os.killpg(pid, SIGKILL)  # what it started may ignore SIGTERM; not yet waited for, it keeps the group's number


sys.exit(main())
