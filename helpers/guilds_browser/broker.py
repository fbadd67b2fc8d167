"""The broker: a process a slot that keeps the connection to Chrome warm and serves one call at a time.

It holds the slot's lock as long as it lives, so that there is one. It ends when Chrome does, when it has been idle,
when it has grown, or when another version of it is installed; the next call starts a new one. It never does an act
twice: what it can't finish it says.
"""

from __future__ import annotations

import os
import socket
import struct
import time

from guilds_browser.forward import BEGUN, LISTENING, SO_PEERCRED_BYTES, address
from guilds_wire.errors import ToolError
from guilds_wire.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from guilds_browser.browser import Browser

CALL_SECONDS = 56.0
"""The longest that a call takes here, waiting for its turn included; the stub gives up a little later."""

IDLE_SECONDS = 30 * 60
LOOK_AROUND_SECONDS = 2.0
MEMORY_MAX_BYTES = 400 << 20
REQUEST_MAX_BYTES = 64 << 20
BACKLOG = 64


def serve(slot: int, lock: int, told: int) -> int:
    """Be the broker of a slot until there is a reason to end; `lock` and `told` are inherited from who started it."""
    os.set_inheritable(lock, False)
    os.set_inheritable(told, False)
    try:
        places = Places.from_environment()
        listener = _listen(places, slot)
        os.chdir("/")
    except (OSError, ToolError) as problem:
        os.write(told, str(problem).encode())
        return 1
    os.write(told, LISTENING)
    os.close(told)  # whoever started us connects now, and waits while the heavy modules are imported
    import asyncio

    async def live() -> None:
        await _Broker(places, slot, listener).run()
        os._exit(0)  # nothing here is worth a tidy end: the driver ends with its pipe

    asyncio.run(live())
    return 0


class _Broker:
    def __init__(self, places: Places, slot: int, listener: socket.socket) -> None:
        import asyncio

        self._places = places
        self._slot = slot
        self._listener = listener
        self._socket = os.stat(os.fsencode(listener.getsockname()))
        self._version = _version()
        self._turn = asyncio.Lock()
        self._open = 0
        self._last_call = time.monotonic()
        self._ended = asyncio.Event()
        self._browser: Browser | None = None

    async def run(self) -> None:
        """Serve until the end, then leave no socket behind."""
        import asyncio

        await asyncio.start_unix_server(self._serve, sock=self._listener, limit=REQUEST_MAX_BYTES)
        while not self._is_over():
            try:
                await asyncio.wait_for(self._ended.wait(), LOOK_AROUND_SECONDS)
            except TimeoutError:
                pass
        self._end()

    def _end(self) -> None:
        """Take no more calls. A call that comes now waits for the lock, and starts the next broker."""
        self._ended.set()
        if self._has_its_socket():
            path, folder = address(self._places, self._slot)
            os.unlink(path)
            if folder is not None:
                os.close(folder)

    def _is_over(self) -> bool:
        if self._ended.is_set():
            return True
        if self._open:
            return False
        return (
            time.monotonic() - self._last_call > IDLE_SECONDS
            or not self._has_its_socket()
            or self._version != _version()
            or (self._browser is not None and _memory_bytes(self._browser.chrome_pid) > MEMORY_MAX_BYTES)
        )

    def _has_its_socket(self) -> bool:
        path, folder = address(self._places, self._slot)
        try:
            return os.path.samestat(os.stat(path), self._socket)
        except OSError:
            return False
        finally:
            if folder is not None:
                os.close(folder)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one call. Hanging up without a word says that nothing was begun."""
        self._open += 1
        try:
            if not self._ended.is_set() and self._version == _version() and _is_own_user(writer):
                answer = await self._answer(await reader.readline(), writer)
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
        except OSError:  # the caller is gone
            pass
        finally:
            if self._version != _version() or (self._browser is not None and self._browser.is_over):
                self._end()
            writer.close()
            self._open -= 1
            self._last_call = time.monotonic()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> bytes | None:
        """The line that answers a request; None when Chrome or the driver died before anything was begun."""
        import json

        from guilds_wire import envelope

        try:
            body = await self._performed(line, writer)
        except ToolError as error:
            body = envelope.of_error(error)
        except ModuleNotFoundError as problem:
            self._end()
            body = envelope.of_error(
                ToolError("unavailable", f"{problem.name} is not installed; pip install 'guilds[browser]'.")
            )
        except Exception as problem:  # the caller gets an answer, and the traceback for its stderr
            import traceback

            body = envelope.of_error(ToolError("internal", f"{type(problem).__name__}: {problem}"))
            body["traceback"] = traceback.format_exc()
        return None if body is None else json.dumps(body).encode() + b"\n"

    async def _performed(self, line: bytes, writer: asyncio.StreamWriter) -> dict[str, Any] | None:
        """The envelope of a request's result. Raises ToolError."""
        import asyncio

        from guilds_browser.browser import LostError
        from guilds_browser.calls import BrowserCall
        from guilds_wire import envelope
        from guilds_wire.request import from_text

        call = BrowserCall(from_text(line.decode()), self._places, begun=lambda: writer.write(BEGUN))
        try:
            async with asyncio.timeout(CALL_SECONDS), self._turn:
                return envelope.of_result(await call.perform(await self._attached(call)))
        except LostError as lost:
            self._end()
            return envelope.of_error(call.lost(lost)) if call.has_begun else None
        except TimeoutError:
            return envelope.of_error(call.timed_out(CALL_SECONDS))

    async def _attached(self, call: Any) -> Browser:
        """The browser, attached to; Chrome is started when it is not there. Raises ToolError, LostError."""
        if self._browser is None:
            from guilds_browser.browser import Browser

            browser = Browser(self._places, self._slot, on_over=self._end)
            try:
                await browser.attach(navigates=call.tool == "browser_navigate")
            except BaseException:
                self._end()  # the next call begins anew, with whatever is installed by then
                raise
            self._browser = browser
        return self._browser


def _listen(places: Places, slot: int) -> socket.socket:
    """The slot's socket, for this user alone. Who holds the lock may remove what a dead broker left."""
    places.runtime_folder()
    path, folder = address(places, slot)
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(mask)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    if folder is not None:
        os.set_inheritable(folder, False)  # kept open: the socket's name goes through it
    return listener


def _is_own_user(writer: asyncio.StreamWriter) -> bool:
    peer: socket.socket = writer.get_extra_info("socket")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, SO_PEERCRED_BYTES))
    return bool(user == os.geteuid())


def _version() -> tuple[tuple[str, int, int], ...]:
    """What is installed, as the names, sizes and times of this package's files and the contract's."""
    own = os.path.dirname(os.path.abspath(__file__))
    found = []
    for folder in (own, os.path.join(own, "tools"), os.path.join(os.path.dirname(own), "guilds_wire")):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith((".py", ".js")):
                        status = entry.stat()
                        found.append((entry.path, status.st_size, status.st_mtime_ns))
        except OSError:  # another version is being installed at this moment
            found.append((folder, 0, 0))
    return tuple(sorted(found))


def _memory_bytes(chrome_pid: int | None) -> int:
    """Resident memory of this process and of Playwright's driver; Chrome is a child of ours when we started it."""
    page = os.sysconf("SC_PAGE_SIZE")
    own = os.getpid()
    with open(f"/proc/{own}/task/{own}/children") as file:
        children = [int(pid) for pid in file.read().split()]
    total = 0
    for pid in (own, *(child for child in children if child != chrome_pid)):
        try:
            with open(f"/proc/{pid}/statm") as file:
                total += int(file.read().split()[1]) * page
        except OSError:  # it has ended meanwhile
            pass
    return total
