"""What /proc tells of processes: whose they are, whether they live, and when they began (proc(5))."""

from __future__ import annotations

import os

MARK_VARIABLE = b"GUILD_CALL_MARK"
"""Every process of a call has this in its environment, with a value that no other call has."""

_DEAD = (b"Z", b"X")


class Process:
    """One process: pid, parent, state, and start time in clock ticks since boot."""

    __slots__ = ("parent", "pid", "start", "state")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.start = int(fields[19])


def read(pid: int) -> Process | None:
    """The process with this pid; None when there is none, or it has ended and waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            content = file.read()
    except OSError:
        return None
    process = Process(pid, content[content.rindex(b")") + 2 :].split())
    return None if process.state in _DEAD else process


def of_call(mark: str, root: int) -> list[int]:
    """The live processes of a call: all below `root`, which is not among them, and all that bear its mark."""
    processes = [process for name in os.listdir("/proc") if name.isdecimal() and (process := read(int(name)))]
    below = _below(root, processes)
    wanted = mark.encode()
    return [
        process.pid
        for process in processes
        if process.pid != root and (process.pid in below or _mark(process.pid) == wanted)
    ]


def boot_id() -> str:
    """An id that the kernel draws anew at each boot (random(4))."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _below(root: int, processes: list[Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    below: set[int] = set()
    rest = [root]
    while rest:
        new = [pid for pid in children.get(rest.pop(), ()) if pid not in below]
        below.update(new)
        rest += new
    return below


def _mark(pid: int) -> bytes | None:
    """The call's mark that a process was started with; None when it has none, or it is not ours to see."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environment = b"\0" + file.read()
    except OSError:
        return None
    _, found, rest = environment.partition(b"\0" + MARK_VARIABLE + b"=")
    return rest.partition(b"\0")[0] if found else None
