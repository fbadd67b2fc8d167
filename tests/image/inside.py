"""Run a program of this machine, tests say, against the helpers in a container of the image.

    python -m tests.image.inside exec|session COMMAND [ARGUMENT ...]

The container is made and removed here, and is as shut as the README's. COMMAND finds in $GUILDS_BIN a stand-in for each
helper, which has guilds_client's `docker:` sandbox call it: each call by an exec of its own, or requests by sessions.
COMMAND has this machine's files and programs, but is the user, and sees the processes and the network, of the
container, and its TMPDIR is a folder that the container has under the same path. For root, on Linux.

What a stand-in can't be: the helper's own process. Who ends it has the helper ended in the container with SIGTERM, its
memory is not the helper's, and what `--serve` does at the end of its input is the stand-in's doing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from guilds_client import Completed, HelperClient, Sandbox, SandboxError, Session, open_sandbox
from tests.image.containers import AGENT, Container, container

HELPERS = ("guilds-code", "guilds-browser", "guilds-script-run", "guilds-git-credential")
WITH_SESSIONS = ("guilds-code", "guilds-browser")
CALL_SECONDS = 120
SESSIONS_MOST = 6
UMASK = 0o022
STDIN, EXIT, STDOUT, STDERR = 0, 0, 1, 2
FAILED = 125

STAND_IN = r"""#!/usr/bin/python3 -IS
import os, select, socket, sys
while os.open("/dev/null", os.O_RDWR) < 3:  # the caller may have closed a stream, whose number the socket would get
    pass
wire = socket.socket(socket.AF_UNIX)
wire.connect(os.path.dirname(os.path.realpath(__file__)) + "/socket")
words = [b"%o" % os.umask(0), os.path.basename(__file__).encode(), *map(os.fsencode, sys.argv[1:])]
entries = [name + b"=" + value for name, value in os.environb.items()]
told = b"\0".join([b"%d" % len(words), *words, *entries])
wire.sendall(len(told).to_bytes(4, "big") + told)
poll = select.poll()
poll.register(wire, select.POLLIN)
if not os.isatty(0):
    poll.register(0, select.POLLIN)
answer = b""
while True:
    for descriptor, _ in poll.poll():
        if descriptor == 0:
            data = os.read(0, 65536)
            try:
                wire.sendall(len(data).to_bytes(4, "big") + data)
            except OSError:  # the answer is there already
                data = b""
            if not data:
                poll.unregister(0)
            continue
        data = wire.recv(65536)
        if not data:
            sys.exit("nobody answers any more")
        answer += data
    while len(answer) >= 5 and len(answer) >= 5 + (size := int.from_bytes(answer[1:5], "big")):
        stream, data, answer = answer[0], answer[5 : 5 + size], answer[5 + size :]
        if stream == 0:
            sys.exit(int(data))
        while data:
            data = data[os.write(stream, data) :]
"""


def main() -> int:
    """The exit code of COMMAND."""
    words = sys.argv[1:]
    if len(words) < 2 or words[0] not in ("exec", "session"):
        print("usage: python -m tests.image.inside exec|session COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return asyncio.run(_run(words[1:], by_session=words[0] == "session"))


async def _run(command: Sequence[str], *, by_session: bool) -> int:
    folder = Path(tempfile.mkdtemp(prefix="g-", dir="/var/tmp"))  # short: tests look for paths in clipped messages
    folder.chmod(0o755)
    shared = folder / "t"
    shared.mkdir()
    os.chown(shared, AGENT, AGENT)
    shared.chmod(0o1777)
    environment = {**os.environ, "TMPDIR": str(shared), "HOME": str(shared), "GUILDS_BIN": str(folder)}
    try:
        with container(volumes={str(shared): str(shared)}) as made:
            async with open_sandbox(made.address) as sandbox, _stand_ins(folder, sandbox, environment, by_session):
                process = await asyncio.create_subprocess_exec(*_joined(made, command), env=environment)
                return await process.wait()
    finally:
        shutil.rmtree(folder)


def _joined(made: Container, command: Sequence[str]) -> list[str]:
    """COMMAND as the container's user among its processes and in its network, with the file systems of this machine.

    It may read what root may, since root's interpreter can lie where nobody else is let in.
    """
    enter = ["nsenter", f"--target={made.pid}", "--net", "--pid", "unshare", "--mount"]
    proc = ["sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh"]
    user = ["setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups", "--no-new-privs"]
    read = [
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    ]
    return [*enter, *proc, *user, *read, *command]


@asynccontextmanager
async def _stand_ins(
    folder: Path, sandbox: Sandbox, environment: Mapping[str, str], by_session: bool
) -> AsyncIterator[None]:
    """A stand-in for each helper in `folder`, and what answers them, for a program started in `environment`."""
    for name in HELPERS:
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    calls = _Calls(sandbox, environment, by_session)
    server = await asyncio.start_unix_server(calls.serve, folder / "socket")
    (folder / "socket").chmod(stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
    try:
        yield
    finally:
        server.close()
        await calls.close()


class _Calls:
    """Answers stand-ins."""

    def __init__(self, sandbox: Sandbox, environment: Mapping[str, str], by_session: bool) -> None:
        self._sandbox = sandbox
        self._environment = environment
        self._by_session = by_session
        self._clients: dict[frozenset[tuple[str, str]], HelperClient] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One call, to its end or to its caller's."""
        stdin: asyncio.Queue[bytes] = asyncio.Queue()
        try:
            (umask, *argv), env = self._asked(await _frame(reader))
            if int(umask, 8) != UMASK:
                argv = ["sh", "-c", 'umask "$0"; exec "$@"', umask, *argv]
            call = asyncio.create_task(self._call(argv, env, stdin, writer))
            feed = asyncio.create_task(_feed(reader, stdin))
            await asyncio.wait((call, feed), return_when=asyncio.FIRST_COMPLETED)
            feed.cancel()
            call.cancel()
            await call
        except (SandboxError, asyncio.CancelledError) as problem:
            await _send(writer, STDERR, f"{problem}\n".encode())
            await _send(writer, EXIT, b"%d" % FAILED)
        finally:
            writer.close()

    async def close(self) -> None:
        """End the sessions."""
        await asyncio.gather(*(client.close() for client in self._clients.values()), *self._closing)

    def _asked(self, told: bytes) -> tuple[list[str], dict[str, str]]:
        """The umask and the command line of a stand-in, and what its environment has that COMMAND's has not."""
        count, *fields = os.fsdecode(told).split("\0")
        entries = dict(entry.partition("=")[::2] for entry in fields[int(count) :])
        env = {name: value for name, value in entries.items() if self._environment.get(name) != value}
        return fields[: int(count)], env

    async def _call(
        self, argv: list[str], env: dict[str, str], stdin: asyncio.Queue[bytes], writer: asyncio.StreamWriter
    ) -> None:
        request = _request(argv) if self._by_session else None
        if request is not None:
            envelope = await self._client(env).call(argv[0], request, timeout=CALL_SECONDS)
            done = Completed(base64.b64encode(json.dumps(envelope).encode()) + b"\n", b"", 0)
        elif argv[1:] == ["--serve"]:
            done = await self._session(argv, env, stdin, writer)
        else:
            given = b"" if _is_request(argv[-1]) else b"".join([data async for data in _all(stdin)])
            done = await self._sandbox.exec(argv, stdin=given, env=env, timeout=CALL_SECONDS)
        await _send(writer, STDERR, done.stderr)
        await _send(writer, STDOUT, done.stdout)
        await _send(writer, EXIT, b"%d" % done.exit_code)

    def _client(self, env: Mapping[str, str]) -> HelperClient:
        key = frozenset(env.items())
        client = self._clients.pop(key, None) or HelperClient(_With(self._sandbox, env))
        self._clients[key] = client
        if len(self._clients) > SESSIONS_MOST:
            oldest = asyncio.create_task(self._clients.pop(next(iter(self._clients))).close())
            self._closing.add(oldest)
            oldest.add_done_callback(self._closing.discard)
        return client

    async def _session(
        self, argv: list[str], env: Mapping[str, str], stdin: asyncio.Queue[bytes], writer: asyncio.StreamWriter
    ) -> Completed:
        """A session that the caller itself speaks to."""
        session = await _With(self._sandbox, env).open_session(argv)
        asked = answered = 0

        async def answer() -> None:
            nonlocal answered
            while True:
                await _send(writer, STDOUT, await session.receive_line() + b"\n")
                answered += 1

        answering = asyncio.ensure_future(answer())
        try:
            rest = b""
            async for data in _all(stdin):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    await session.send_line(line)
                    asked += bool(line)
            if rest:
                await session.send_line(rest)
                asked += 1
            while answered < asked and not answering.done():
                await asyncio.sleep(0.02)
        finally:
            answering.cancel()
            await session.close()
        return Completed(b"", b"", 0)


class _With(Sandbox):
    """A sandbox whose sessions have more in their environment."""

    def __init__(self, inner: Sandbox, env: Mapping[str, str]) -> None:
        self._inner = inner
        self._env = env

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        return await self._inner.exec(argv, stdin=stdin, env={**self._env, **(env or {})}, timeout=timeout)

    async def open_session(self, argv: Sequence[str]) -> Session:
        return await self._inner.open_session(["env", *(f"{name}={value}" for name, value in self._env.items()), *argv])

    async def close(self) -> None:
        """The inner sandbox is its owner's."""


def _request(argv: Sequence[str]) -> dict[str, Any] | None:
    """The request in a command line that is one and can go by a session."""
    with contextlib.suppress(ValueError, IndexError):
        request = json.loads(base64.b64decode(argv[1], validate=True))
        if (
            len(argv) == 2
            and argv[0] in WITH_SESSIONS
            and isinstance(request, dict)
            and isinstance(request.get("run"), dict)
        ):
            return request
    return None


def _is_request(word: str) -> bool:
    """Whether a helper takes it for a request, and so reads no input."""
    return len(word) > 40


async def _frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def _feed(reader: asyncio.StreamReader, stdin: asyncio.Queue[bytes]) -> None:
    """Takes what a stand-in reads; returns when the stand-in is gone."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            await stdin.put(await _frame(reader))


async def _all(stdin: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    """What a stand-in reads, to its end."""
    while data := await stdin.get():
        yield data


async def _send(writer: asyncio.StreamWriter, of: int, data: bytes) -> None:
    if data or of == EXIT:
        with contextlib.suppress(ConnectionError):
            writer.write(bytes([of]) + len(data).to_bytes(4, "big") + data)
            await writer.drain()


if __name__ == "__main__":
    sys.exit(main())
