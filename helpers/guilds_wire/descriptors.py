"""Writing to a descriptor until all is written, whatever kind it is."""

from __future__ import annotations

import os


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, also to a pipe that its owner has made non-blocking. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            import select  # only a caller with such a pipe pays for it

            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
