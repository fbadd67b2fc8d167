"""The exec endpoint of the Kubernetes API, for tests: WebSocket (RFC 6455) with the channel protocols v4 and v5.

It runs the commands on this machine. As with a kubelet, a client that goes away closes the process's stdin and ends
nothing; the last message of an exec is its status on channel 3; v4 can't close a channel, v5 does so with 255.
Written after the protocol's description (k8s.io/kubernetes, pkg remotecommand), not checked against a cluster here.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
STDIN, STDOUT, STDERR, STATUS, CLOSE_CHANNEL = 0, 1, 2, 3, 255
POD = "/api/v1/namespaces/agents/pods/agent-7/exec"


class KubernetesApi:
    """One pod, `agents/agent-7`, whose processes get `environment`. `protocol` is the newest that is spoken."""

    def __init__(self, environment: Mapping[str, str], protocol: str) -> None:
        self._environment = environment
        self._protocol = protocol
        self.token = "cluster-token"
        self.connections: set[asyncio.StreamWriter] = set()

    async def serve(self) -> asyncio.Server:
        """Listen on a free port of this machine."""
        return await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            target, headers = await _request(reader)
            refusal = self._refusal(target, headers)
            if refusal:
                writer.write(f"HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n".encode())
                return
            offered = [name.strip() for name in headers["sec-websocket-protocol"].split(",")]
            writer.write(_handshake(headers, self._protocol if self._protocol in offered else offered[-1]))
            await self._exec(parse_qs(urlsplit(target).query), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    def _refusal(self, target: str, headers: Mapping[str, str]) -> str | None:
        if headers.get("authorization") != f"Bearer {self.token}":
            return "401 Unauthorized"
        return None if urlsplit(target).path == POD else "404 Not Found"

    async def _exec(
        self, query: Mapping[str, list[str]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *query["command"], stdin=-1, stdout=-1, stderr=-1, env=dict(self._environment), start_new_session=True
            )
        except OSError as problem:
            _send(writer, STATUS, json.dumps({"status": "Failure", "message": str(problem)}).encode())
            return
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        feeding = asyncio.create_task(_feed(reader, writer, process.stdin))
        await asyncio.gather(
            _carry(process.stdout, writer, STDOUT), _carry(process.stderr, writer, STDERR), process.wait()
        )
        feeding.cancel()
        await asyncio.wait([feeding])
        _send(writer, STATUS, json.dumps(_status(process.returncode or 0)).encode())
        _frame(writer, CLOSE, (1000).to_bytes(2, "big"))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
            while await reader.read(65_536):  # until the client has answered the close: else the last frames are lost
                pass


def _status(code: int) -> dict[str, object]:
    if code == 0:
        return {"status": "Success"}
    cause = {"reason": "ExitCode", "message": str(code if code > 0 else 128 - code)}
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if line)
    return lines[0].split(" ")[1], {name.lower(): value for name, value in headers.items()}


def _handshake(headers: Mapping[str, str], protocol: str) -> bytes:
    digest = hashlib.sha1((headers["sec-websocket-key"] + GUID).encode()).digest()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}",
        f"Sec-WebSocket-Protocol: {protocol}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


async def _feed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stdin: asyncio.StreamWriter) -> None:
    """Pass channel 0 on; the client's going away, or v5's close of the channel, is the end of stdin."""
    try:
        while True:
            kind, data = await _read_frame(reader)
            if kind == PING:
                _frame(writer, 10, data)
            elif kind == CLOSE or data[:2] == bytes([CLOSE_CHANNEL, STDIN]):
                return
            elif kind in (TEXT, BINARY) and data[:1] == bytes([STDIN]):
                stdin.write(data[1:])
                await stdin.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        stdin.close()


async def _carry(source: asyncio.StreamReader, writer: asyncio.StreamWriter, channel: int) -> None:
    while data := await source.read(32_768):
        _send(writer, channel, data)
        with contextlib.suppress(ConnectionError):
            await writer.drain()


def _send(writer: asyncio.StreamWriter, channel: int, data: bytes) -> None:
    _frame(writer, BINARY, bytes([channel]) + data)


def _frame(writer: asyncio.StreamWriter, kind: int, data: bytes) -> None:
    length = len(data)
    if length < 126:
        size = bytes([length])
    elif length < 1 << 16:
        size = bytes([126]) + length.to_bytes(2, "big")
    else:
        size = bytes([127]) + length.to_bytes(8, "big")
    if not writer.is_closing():
        writer.write(bytes([0x80 | kind]) + size + data)


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length >= 126:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    mask = await reader.readexactly(4)
    data = await reader.readexactly(length)
    repeated = mask * (length // 4 + 1)
    unmasked = int.from_bytes(data, "big") ^ int.from_bytes(repeated[:length], "big")
    return first & 0x0F, unmasked.to_bytes(length, "big")
