"""Chrome's DevTools protocol spoken plainly: a session with a target, and what has to work when a tab hangs.

A session is a WebSocket of its own (RFC 6455), four times as fast as one through Playwright's driver. What Playwright
knows better is left to it: pressing keys and buttons, selectors, dialogs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HOST = "127.0.0.1"
HTTP_SECONDS = 3.0
PROBE_SECONDS = 0.3
RELOAD_SECONDS = 0.6
"""How long a reloaded or reopened tab has to answer before the next, harder means is tried."""

SETTLE_SECONDS = 0.15
"""A tab that was just opened answers before the script that blocks it runs."""

MESSAGE_MAX_BYTES = 64 << 20
BUFFER_BYTES = 1 << 20
BLANK = "about:blank"
EMPTY = "it was closed, and an empty page opened"


class Target:
    """A tab or an out-of-process frame as Chrome lists it."""

    __slots__ = ("id", "kind", "parent", "title", "url")

    def __init__(self, listed: dict[str, str]) -> None:
        self.id = listed["id"]
        self.kind = listed["type"]
        self.parent = listed.get("parentId", "")
        self.url = listed.get("url", "")
        self.title = listed.get("title", "")


class CommandError(ConnectionError):
    """Chrome refuses a command, or its target has gone."""


class Session:
    """A WebSocket to one target, or with `kind` "browser" to Chrome itself. Use it with `async with`, or `open` it.

    `reading` ends when the target has gone.
    """

    def __init__(self, port: int, target_id: str, kind: str = "page") -> None:
        self._port = port
        self._path = f"/devtools/{kind}/{target_id}"
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[str, list[Callable[[dict[str, Any]], None]]] = {}

    async def open(self) -> Session:
        """Connect. Raises OSError."""
        self._reader, self._writer = await asyncio.open_connection(HOST, self._port, limit=BUFFER_BYTES)
        key = base64.b64encode(os.urandom(16)).decode()
        self._writer.write(
            f"GET {self._path} HTTP/1.1\r\nHost: {HOST}:{self._port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            head = b""
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            self._writer.close()
            raise CommandError(f"no such target: {self._path}")
        self.reading = asyncio.ensure_future(self._read())
        return self

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def __aenter__(self) -> Session:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether the target has gone, or we have hung up."""
        return self._writer.is_closing()

    def on(self, event: str, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call a listener with the parameters of each event of this name."""
        self._listeners.setdefault(event, []).append(listener)

    def remove_listener(self, event: str, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call it no more."""
        self._listeners[event].remove(listener)

    def tell(self, method: str, **parameters: Any) -> int:
        """Send a command and do not wait for its answer; its number."""
        self._number += 1
        payload = json.dumps({"id": self._number, "method": method, "params": parameters}).encode()
        size = len(payload)
        if size < 126:
            length = bytes([0x80 | size])
        else:
            length = b"\xfe" + size.to_bytes(2, "big") if size < 65_536 else b"\xff" + size.to_bytes(8, "big")
        # A client has to mask what it sends; the key 0 leaves it as it is (RFC 6455, section 5.3).
        self._writer.write(b"\x81" + length + b"\0\0\0\0" + payload)
        return self._number

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; its result. Raises CommandError."""
        if self.is_closed:
            raise CommandError("the target has gone")
        number = self.tell(method, **parameters)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            return await answer
        finally:
            del self._waiting[number]

    async def _read(self) -> None:
        try:
            while True:
                message = json.loads(await self._message())
                if "id" not in message:
                    for listener in tuple(self._listeners.get(message["method"], ())):
                        listener(message["params"])
                elif (answer := self._waiting.get(message["id"])) and not answer.done():
                    if "error" in message:
                        answer.set_exception(CommandError(message["error"]["message"]))
                    else:
                        answer.set_result(message["result"])
        except (OSError, asyncio.IncompleteReadError):  # it has gone, or we have hung up
            pass
        finally:
            self._writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(CommandError("the target has gone"))

    async def _message(self) -> bytes:
        parts = []
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if size > 125:
                size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8), "big")
            if size > MESSAGE_MAX_BYTES:
                raise ConnectionError(f"a message of {size} bytes")
            parts.append(await self._reader.readexactly(size))
            if first & 0x0F == 8:
                raise ConnectionError("the target has gone")
            if first & 0x80:
                return b"".join(parts)


async def version(port: int) -> dict[str, Any] | None:
    """What Chrome says of itself; None when nothing listens on the port.

    Raises ConnectionError when something else than Chrome answers, or nothing in time.
    """
    try:
        found = await _http(port, "GET", "/json/version")
    except ConnectionRefusedError:
        return None
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as problem:
        raise ConnectionError(f"what listens on port {port} does not answer as Chrome does") from problem
    if not isinstance(found, dict) or "webSocketDebuggerUrl" not in found:
        raise ConnectionError(f"what listens on port {port} is no Chrome")
    return found


async def targets(port: int) -> list[Target]:
    """The tabs and the frames that have a process of their own. Raises OSError."""
    listed = await _http(port, "GET", "/json/list")
    return [Target(entry) for entry in listed if entry.get("type") in ("page", "iframe")]


async def answers(port: int, target_id: str, seconds: float = PROBE_SECONDS) -> bool:
    """Whether a target's page runs a trivial script in time."""
    try:
        async with asyncio.timeout(seconds), Session(port, target_id) as session:
            await session.ask("Runtime.evaluate", expression="1")
    except OSError:
        return False
    return True


async def blocked_tabs(port: int) -> list[Target]:
    """The tabs that do not answer, or have a frame that does not."""
    listed = await targets(port)
    answering = await asyncio.gather(*(answers(port, target.id) for target in listed))
    silent = [target for target, answer in zip(listed, answering, strict=True) if not answer]
    tabs = {target.id: target for target in listed}
    found = {}
    for target in silent:
        while target.kind != "page" and target.parent in tabs:
            target = tabs[target.parent]
        if target.kind == "page":
            found[target.id] = target
    return list(found.values())


async def unblock(port: int, tab: Target, *, reopen: bool) -> tuple[str, str]:
    """Have a tab that does not answer answer again: the id of the tab that now stands for it, and what was done.

    It is reloaded, else closed and its address opened anew if `reopen`, else an empty page takes its place. A tab that
    hangs is half a second in closing, and who attaches waits for it: one that hangs anew is made empty itself.
    """
    if reopen:
        try:
            async with asyncio.timeout(RELOAD_SECONDS), Session(port, tab.id) as session:
                session.tell("Runtime.terminateExecution")
                await session.ask("Page.reload")
            await asyncio.sleep(SETTLE_SECONDS)
            if await answers(port, tab.id):
                return tab.id, "it was reloaded"
        except OSError:  # then the tab has to go
            pass
        if tab.url.startswith(("http:", "https:", "data:")):
            fresh = await _open(port, tab.url)
            await _close(port, tab.id)
            await asyncio.sleep(SETTLE_SECONDS)
            if await answers(port, fresh):
                return fresh, "it was closed and its address opened again"
            tab = Target({"id": fresh, "type": "page"})
            try:
                await empty(port, fresh)
                if await answers(port, fresh):
                    return fresh, EMPTY
            except OSError:  # then it has to go, too
                pass
    blank = await _open(port, BLANK)
    await _close(port, tab.id)
    return blank, EMPTY


async def empty(port: int, target_id: str) -> None:
    """Have a tab give up what it loads and show an empty page. Raises OSError."""
    async with asyncio.timeout(RELOAD_SECONDS), Session(port, target_id) as session:
        await session.ask("Page.stopLoading")
        await session.ask("Page.navigate", url=BLANK)


async def _open(port: int, url: str) -> str:
    from urllib.parse import quote

    opened = await _http(port, "PUT", "/json/new?" + quote(url, safe=""))
    return str(opened["id"])


async def _close(port: int, target_id: str) -> None:
    try:
        await _http(port, "GET", f"/json/close/{target_id}")
    except (OSError, ValueError):  # it has gone by itself
        pass


async def _http(port: int, method: str, path: str) -> Any:
    """One HTTP/1.1 exchange; the JSON of its body."""
    async with asyncio.timeout(HTTP_SECONDS):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            _, found, length = head.partition("\r\ncontent-length:")
            if not found:
                raise ValueError("no content length")
            body = await reader.readexactly(min(int(length.split("\r\n", 1)[0]), MESSAGE_MAX_BYTES))
        finally:
            writer.close()
    if path.startswith("/json/close/"):
        return None
    return json.loads(body)
