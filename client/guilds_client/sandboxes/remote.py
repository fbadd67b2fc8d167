"""What docker: and k8s: share: a process behind a blocking stream of the engine's library, under a supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from guilds_client.errors import SandboxError, SandboxUnavailableError
from guilds_client.sandboxes.process import GRACE_SECONDS, Chunk, Process

SUPERVISOR = Path(__file__).with_name("supervisor.py")
STOP = b"\0"
END_SECONDS = GRACE_SECONDS + 4
CLOSE_SECONDS = 4


class Stream(ABC):
    """An exec's connection. Its methods block; `close` ends the others in any thread."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Write to the supervisor's stdin. Raises OSError."""

    @abstractmethod
    def receive(self) -> Chunk | None:
        """The next piece of output with its stream (1 or 2); None at the end. Raises SandboxError."""

    @abstractmethod
    def exit_code(self) -> int:
        """The supervisor's exit code, after the end. Raises SandboxError."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection."""


def library(name: str, extra: str) -> Any:
    """An engine's library (their types are not complete enough to be checked). Raises SandboxUnavailableError."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise SandboxUnavailableError(f"{problem}; install it: pip install 'guilds[{extra}]'.") from None


def supervised(python: str) -> list[str]:
    """What the engine is asked to run."""
    return [python, "-I", "-S", "-c", SUPERVISOR.read_text("utf-8")]


def header(argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> bytes:
    """What the supervisor is told first."""
    entries = [f"{name}={value}" for name, value in env.items()]
    size = "-" if stdin_bytes is None else str(stdin_bytes)
    fields = [size, str(len(entries)), *entries, *argv]
    told = "\0".join(fields).encode("utf-8", "surrogateescape")
    return b"%d\n%b" % (len(told), told)


class RemoteProcess(Process):
    """A supervised process; a thread of its own takes what comes."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._code: asyncio.Future[int] = self._loop.create_future()
        threading.Thread(target=self._take, name="guilds exec", daemon=True).start()

    @classmethod
    async def open(cls, connect: Callable[[], Stream]) -> RemoteProcess:
        """Connect in a thread. A connection that is made after the caller was cancelled is closed."""
        connecting = asyncio.ensure_future(asyncio.to_thread(connect))
        try:
            return cls(await asyncio.shield(connecting))
        except asyncio.CancelledError:
            connecting.add_done_callback(lambda done: done.cancelled() or done.exception() or done.result().close())
            raise

    @property
    def is_running(self) -> bool:
        return not self._code.done()

    async def write(self, data: bytes) -> None:
        await asyncio.to_thread(self._stream.send, data)

    async def end_input(self) -> None:
        """The supervisor knows how long its program's input is."""

    async def exit_code(self) -> int:
        return await asyncio.shield(self._code)

    async def end(self) -> None:
        if self.is_running:
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(asyncio.to_thread(self._stream.send, STOP), CLOSE_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._to_the_end(), END_SECONDS)
        await asyncio.to_thread(self._stream.close)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._to_the_end(), CLOSE_SECONDS)

    async def _to_the_end(self) -> None:
        while await self.read() is not None:
            pass

    def _take(self) -> None:
        """In the thread: pass on what comes, as fast as it is read."""
        outcome: int | SandboxError
        try:
            while chunk := self._stream.receive():
                self._pass_on(chunk)
            outcome = self._stream.exit_code()
        except SandboxError as problem:
            outcome = problem
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, outcome)
            self._pass_on(None)

    def _pass_on(self, chunk: Chunk | None) -> None:
        asyncio.run_coroutine_threadsafe(self.chunks.put(chunk), self._loop).result()

    def _settle(self, outcome: int | SandboxError) -> None:
        if isinstance(outcome, int):
            self._code.set_result(outcome)
        else:
            self._code.set_exception(outcome)
            self._code.exception()  # whoever asks for the exit code gets it; nobody has to
