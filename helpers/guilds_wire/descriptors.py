"""Writing to a descriptor until all is written, whatever kind it is."""

from __future__ import annotations

import os
import select


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, also to a pipe that its owner has made non-blocking. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
