"""The stub's work: carry one request to the broker of its slot, which is started when there is none.

Imports next to nothing, since every call pays for it. The broker answers with one line of JSON, an envelope. A
single `BEGUN` byte before that line says that an act has begun which must not be done twice.
"""

from __future__ import annotations

import _socket
import os
import sys
import time

from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError
from guilds_wire.lean import dumps, loads, signal_defaults
from guilds_wire.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.request import Request

BROKER_OPTION = "--broker"
PORT_OF_SLOT_0 = 9300
SLOT_MOST = 65_535 - PORT_OF_SLOT_0

BEGUN = b"!"

CALL_SECONDS = 60.0
ANSWER_SECONDS = 58.0
"""A broker that has not answered by then is taken for hung; the call has to end within CALL_SECONDS."""

ATTEMPTS_MOST = 3
"""One that is about to end, one whose Chrome dies under it, and one more."""

START_SECONDS = 15.0
RETRY_SECONDS = 0.01

LISTENING = b"listening"
"""What a broker tells who started it; anything else is why it can't begin."""

PATH_MAX_BYTES = 107  # sockaddr_un holds 108 with the final NUL (unix(7))
SO_PEERCRED_BYTES = 12  # pid, uid, gid (unix(7))
SIGKILL = 9


def forward(asked: Request, arguments: dict[str, Any]) -> Result:
    """What the broker answers. Raises its ToolError, and of our own `invalid_request`, `unavailable`, `timeout`,
    `engine_failed`.
    """
    slot = _slot(asked)
    run = {"id": asked.run.id, "agent_id": asked.run.agent_id, "call_id": asked.run.call_id, "seq": asked.run.seq}
    limits = {"result_max_bytes": asked.result_max_bytes}
    request = dumps({"tool": asked.tool, "args": arguments, "run": run, "limits": limits}).encode() + b"\n"
    places = Places.from_environment()
    give_up = time.monotonic() + ANSWER_SECONDS
    for _ in range(ATTEMPTS_MOST):
        connection = _connected(places, slot, give_up)
        try:
            answer = _exchange(connection, request, asked.tool, give_up)
        finally:
            connection.close()
        if answer.endswith(b"\n"):
            return _result(loads(answer.removeprefix(BEGUN).decode("utf-8")))
        if answer.startswith(BEGUN):
            raise ToolError(
                "engine_failed",
                f"the browser's broker ended while {asked.tool} was under way: it may have happened. "
                "Take a browser_snapshot to see how the page is now.",
            )
    raise ToolError(
        "unavailable", f"the browser's broker ended each time before {asked.tool} began; nothing was done. Try again."
    )


def address(places: Places, slot: int) -> tuple[bytes, int | None]:
    """The path of a slot's socket, and a descriptor of its folder when the whole path is too long for a socket."""
    name = b"browser-%d.sock" % slot
    path = os.path.join(places.runtime, name)
    if len(path) <= PATH_MAX_BYTES:
        return path, None
    folder = os.open(places.runtime, os.O_PATH | os.O_DIRECTORY)
    return b"/proc/self/fd/%d/%b" % (folder, name), folder


def _slot(asked: Request) -> int:
    setting = asked.body.get("browser", {})
    slot = setting.get("slot", 0) if isinstance(setting, dict) else None
    if type(slot) is not int or not 0 <= slot <= SLOT_MOST:
        raise ToolError(
            "invalid_request",
            f"The request was refused: `browser` is an object whose `slot` is a whole number from 0 to {SLOT_MOST}.",
        )
    return slot


def _result(envelope: Any) -> Result:
    if trace := envelope.pop("traceback", None):
        print(trace, file=sys.stderr)
    meta: dict[str, Any] = envelope["meta"]
    if envelope["ok"]:
        cuts: list[int] = meta.pop("cuts")
        return Result(envelope["text"], meta, cuts)
    error = ToolError(envelope["error"]["code"], envelope["error"]["message"], envelope["error"].get("details"))
    error.meta = meta
    raise error


def _exchange(connection: _socket.socket, request: bytes, tool: str, give_up: float) -> bytes:
    """Send the request; whatever came until the broker hung up. Raises ToolError when it hangs."""
    parts: list[bytes] = []
    try:
        connection.settimeout(max(0.1, give_up - time.monotonic()))
        connection.sendall(request)
        while part := connection.recv(1 << 20):
            parts.append(part)
            if part.endswith(b"\n"):
                break
            connection.settimeout(max(0.1, give_up - time.monotonic()))
    except TimeoutError:
        os.kill(_peer(connection)[0], SIGKILL)
        raise ToolError(
            "timeout",
            f"the browser's broker did not answer for {ANSWER_SECONDS:.0f} s and was ended; {tool} may have happened.",
        ) from None
    except OSError:  # it died under way; what it sent before counts
        pass
    return b"".join(parts)


def _connected(places: Places, slot: int, give_up: float) -> _socket.socket:
    """A connection to the slot's broker, which is started when nobody holds its lock. Raises ToolError."""
    give_up = min(give_up, time.monotonic() + START_SECONDS)
    while time.monotonic() < give_up:
        connection = _connect(places, slot)
        if connection is not None:
            return connection
        if not _start_broker(places, slot):  # another call starts it, or the old one is about to end
            time.sleep(RETRY_SECONDS)
    raise ToolError(
        "unavailable", f"the browser's broker of slot {slot} is there but takes no connection; try again in a moment."
    )


def _connect(places: Places, slot: int) -> _socket.socket | None:
    """A connection, or None when nobody listens."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    folder = None
    try:
        path, folder = address(places, slot)
        connection.connect(path)
    except OSError:  # no folder, no socket, or one whose broker is gone
        connection.close()
        return None
    finally:
        if folder is not None:
            os.close(folder)
    if _peer(connection)[1] != os.geteuid():
        connection.close()
        raise ToolError(
            "unavailable", f"the browser's socket of slot {slot} belongs to another user; choose another slot."
        )
    return connection


def _peer(connection: _socket.socket) -> tuple[int, int]:
    """Process id and user id of the other side, as of when it began to listen (unix(7), SO_PEERCRED)."""
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, SO_PEERCRED_BYTES)
    return int.from_bytes(credentials[:4], sys.byteorder), int.from_bytes(credentials[4:8], sys.byteorder)


def _start_broker(places: Places, slot: int) -> bool:
    """Start the broker and wait until it listens; False when somebody holds the lock, who is it or starts it."""
    import fcntl  # only the call that starts a broker pays for it

    path = os.path.join(places.runtime_folder(), b"browser-%d.lock" % slot)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise ToolError("unavailable", f"{os.fsdecode(path)} can't be opened: {problem.strerror}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        _become_broker(slot, lock, told)
    os.close(told)
    os.close(lock)
    os.waitpid(child, 0)
    _require_listening(ready)
    return True


def _require_listening(ready: int) -> None:
    """Wait for the word of a broker that was started. Raises ToolError with its fault when it can't begin."""
    import select

    waiting = select.poll()
    waiting.register(ready, select.POLLIN)
    said = os.read(ready, 1000) if waiting.poll(START_SECONDS * 1000) else b"it hangs"
    os.close(ready)
    if said != LISTENING:
        fault = said.decode("utf-8", "replace") or "it ended at once"
        raise ToolError("unavailable", f"the browser's broker can't be started: {fault}.")


def _become_broker(slot: int, lock: int, told: int) -> None:
    """In the child: leave the caller's session and stdio, so that its exec can end, and run the broker."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal_defaults()
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for descriptor in (lock, told):
            os.set_inheritable(descriptor, True)
        launcher = os.path.abspath(sys.argv[0])
        numbers = [str(number) for number in (slot, lock, told)]
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-X", "utf8", launcher, BROKER_OPTION, *numbers])
    except OSError as problem:
        os.write(told, str(problem).encode())
    finally:
        os._exit(127)
