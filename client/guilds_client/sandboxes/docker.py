"""docker: a running container of any engine that speaks Docker's API (Docker, Podman's service)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guilds_client.errors import SandboxUnavailableError
from guilds_client.sandboxes.process import CHUNK_BYTES, Chunk, Process, ProcessSandbox
from guilds_client.sandboxes.remote import RemoteProcess, Stream, header, library, supervised

EXTRA = "docker"
FRAME_HEADER_BYTES = 8
EXIT_CODE_TRIES = 50
EXIT_CODE_PAUSE_SECONDS = 0.02


class DockerSandbox(ProcessSandbox):
    """The container `name` (or its id) on the engine that the environment names (DOCKER_HOST)."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._docker = library("docker", EXTRA)
        self._name = name
        self._engine: Any = None
        self._connecting = threading.Lock()

    async def _start(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:
        told = header(argv, env, stdin_bytes)
        return await RemoteProcess.open(lambda: self._connect(told))

    async def close(self) -> None:
        await super().close()
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    def _connect(self, told: bytes) -> Stream:
        """Start a supervisor in the container; in a thread, since an engine may take its time to answer."""
        with self._connecting, _engine_errors(self._name):
            if self._engine is None:
                self._engine = self._docker.from_env().api
        return _ExecStream(self._engine, self._name, supervised(self.python), told)


class _ExecStream(Stream):
    def __init__(self, api: Any, name: str, argv: Sequence[str], told: bytes) -> None:
        self._api = api
        self._name = name
        self._of = self._left = 0
        with _engine_errors(name):
            self._id = api.exec_create(name, list(argv), stdin=True)["Id"]
            self._raw = api.exec_start(self._id, socket=True)
            self._socket: socket.socket = getattr(self._raw, "_sock", self._raw)
            self._socket.settimeout(None)
            self._socket.sendall(told)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> Chunk | None:
        """A piece of a frame: each has a byte that says which stream, three unused, four for its length."""
        while not self._left:
            head = self._read(FRAME_HEADER_BYTES)
            while head and len(head) < FRAME_HEADER_BYTES:
                more = self._read(FRAME_HEADER_BYTES - len(head))
                head = head + more if more else b""
            if not head:
                return None
            self._of, self._left = head[0], int.from_bytes(head[4:], "big")
        data = self._read(min(self._left, CHUNK_BYTES))
        self._left -= len(data)
        return (self._of, data) if data else None

    def _read(self, most: int) -> bytes:
        try:
            return self._socket.recv(most)
        except OSError:  # what that means, the engine says when it is asked for the exit code
            return b""

    def exit_code(self) -> int:
        with _engine_errors(self._name):
            for _ in range(EXIT_CODE_TRIES):
                state = self._api.exec_inspect(self._id)
                if state["ExitCode"] is not None and not state["Running"]:
                    return int(state["ExitCode"])
                time.sleep(EXIT_CODE_PAUSE_SECONDS)  # the stream may end a moment before the engine knows the code
        raise SandboxUnavailableError(f"The connection to container {self._name} ended before the process did.")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        # The library keeps the whole response beside its stream: closing that closes all that lies in between.
        getattr(self._raw, "_response", self._raw).close()
        self._socket.close()


@contextlib.contextmanager
def _engine_errors(name: str) -> Iterator[None]:
    """The library's errors as ours."""
    errors, requests = library("docker.errors", EXTRA), library("requests", EXTRA)
    try:
        yield
    except errors.NotFound:
        raise SandboxUnavailableError(f"There is no container {name}, or it is gone.") from None
    except errors.APIError as problem:
        raise SandboxUnavailableError(f"Container {name} can't be used: {problem.explanation or problem}") from None
    except (errors.DockerException, requests.RequestException, OSError) as problem:
        raise SandboxUnavailableError(
            f"The container engine can't be reached ({problem}); start it, or set DOCKER_HOST."
        ) from None
