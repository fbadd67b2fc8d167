"""The process that stays inside a bwrap: sandbox and starts the others there. It runs on the standard library alone.

On the socket whose descriptor is its argument, each message is one JSON object. `{"id", "argv", "env"}` with three
descriptors starts a process, which `{"id"}` confirms, or `{"id", "errno"}` denies; `{"id", "signal"}` sends it a
signal (SIGKILL to its whole group; what is left of that when it ends after SIGTERM is killed); `{"id", "exit"}` says
that it has ended (-n: by signal n). The end of the socket ends the sandbox.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

MESSAGE_MAX_BYTES = 1 << 20
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """Serve until the socket ends."""
    caller = socket.socket(fileno=int(sys.argv[1]))
    caller.set_inheritable(False)
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    processes: dict[int, int] = {}  # by pid, the id that the caller gave
    ending: set[int] = set()  # the pids that were sent SIGTERM
    caller.send(b"{}")
    poll = select.poll()
    poll.register(caller, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == woken:
                os.read(woken, 4096)
                _report(caller, processes, ending)
            elif not _take(caller, processes, ending):
                return


def _take(caller: socket.socket, processes: dict[int, int], ending: set[int]) -> bool:
    """Do what one message asks; False at the socket's end."""
    data, descriptors, _, _ = socket.recv_fds(caller, MESSAGE_MAX_BYTES, 3)
    if not data:
        return False
    message = json.loads(data)
    if "signal" in message:
        for pid, known in processes.items():
            if known == message["id"]:
                (os.killpg if message["signal"] == signal.SIGKILL else os.kill)(pid, message["signal"])
                ending.add(pid)
        return True
    try:
        processes[_spawn(message["argv"], message["env"], descriptors)] = message["id"]
        caller.send(json.dumps({"id": message["id"]}).encode())
    except OSError as problem:
        caller.send(json.dumps({"id": message["id"], "errno": problem.errno}).encode())
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


def _spawn(argv: list[str], env: dict[str, str], descriptors: list[int]) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(descriptors)]
    return os.posix_spawnp(
        argv[0],
        argv,
        {**os.environ, **env},
        file_actions=actions,
        setsid=True,
        setsigdef=IGNORED_BY_PYTHON,
    )


def _report(caller: socket.socket, processes: dict[int, int], ending: set[int]) -> None:
    while processes:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None:
            return
        if ended.si_pid in ending:  # not yet waited for, it keeps the group's number
            ending.remove(ended.si_pid)
            os.killpg(ended.si_pid, signal.SIGKILL)
        pid, status = os.waitpid(ended.si_pid, 0)
        if pid in processes:
            answer = {"id": processes.pop(pid), "exit": os.waitstatus_to_exitcode(status)}
            caller.send(json.dumps(answer).encode())


main()
