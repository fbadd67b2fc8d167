"""What the four sandboxes share: a process as a stream of chunks, and exec and sessions written once over that."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from guilds_client.errors import SandboxError, SandboxTimeoutError, SessionEndedError
from guilds_client.sandbox import OUTPUT_MAX_BYTES, Completed, Sandbox, Session

STDOUT, STDERR = 1, 2
CHUNK_BYTES = 65_536
CHUNKS_AHEAD = 16
"""How many chunks wait to be read; the process then waits as at a full pipe."""

GRACE_SECONDS = 4
"""Between SIGTERM and SIGKILL: a helper gives its command 2 s, and then answers."""

HELD_OPEN_SECONDS = 1
"""How long an exited process's output may be held open by another that it left behind."""

STDERR_KEPT_BYTES = 8_192

Chunk = tuple[int, bytes]


class Process(ABC):
    """A process in a sandbox. Whoever starts one ends it."""

    def __init__(self) -> None:
        self.chunks: asyncio.Queue[Chunk | None] = asyncio.Queue(CHUNKS_AHEAD)
        self._at_end = False

    async def read(self) -> Chunk | None:
        """The next piece of output with its stream (1 or 2); None when there is no more."""
        if self._at_end:
            return None
        chunk = await self.chunks.get()
        self._at_end = chunk is None
        return chunk

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether it has not been seen to end."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Write to its stdin. Raises OSError when it takes no more."""

    @abstractmethod
    async def end_input(self) -> None:
        """Close its stdin."""

    @abstractmethod
    async def exit_code(self) -> int:
        """Wait for its end; 128 + n after signal n. Raises SandboxError when it can't be known."""

    @abstractmethod
    async def end(self) -> None:
        """End it if it runs: SIGTERM, SIGKILL after a while. Returns when it is gone."""


class ProcessSandbox(Sandbox):
    """exec and sessions for a sandbox that can start a process."""

    def __init__(self) -> None:
        self._processes: set[Process] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @abstractmethod
    async def _start(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:
        """Start a program whose stdin is `stdin_bytes` long (None: open until it is ended)."""

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        errors = bytearray()
        try:
            async with asyncio.timeout(timeout):
                process = await self._open(argv, env or {}, len(stdin or b""))
                try:
                    return await _collect(process, stdin or b"", errors, argv)
                finally:
                    await self._finish(process)
        except TimeoutError:
            raise SandboxTimeoutError(
                f"It took over {timeout:g} s and was ended.", argv=argv, stderr=bytes(errors)
            ) from None

    async def open_session(self, argv: Sequence[str]) -> Session:
        return _ProcessSession(self, await self._open(argv, {}, None), argv)

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(self._finish(process) for process in list(self._processes)), *self._endings)

    async def _open(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:
        if self._is_closed:
            raise SandboxError("The sandbox is closed.", argv=argv)
        _require_startable(argv, env)
        process = await self._start(argv, env, stdin_bytes)
        self._processes.add(process)
        if self._is_closed:  # meanwhile
            await self._finish(process)
            raise SandboxError("The sandbox is closed.", argv=argv)
        return process

    async def _finish(self, process: Process) -> None:
        """End a process, to the end even when the caller is cancelled meanwhile."""
        self._processes.discard(process)
        await to_the_end(process.end(), self._endings)


def _require_startable(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Raises SandboxError for what no program can be started with (execve(2)), before anything is touched."""
    for text in (*argv, *env, *env.values()):
        if not isinstance(text, str):
            raise SandboxError(f"{text!r} can't be part of an argument or of the environment: it is no string.")
        if "\0" in text:
            raise SandboxError("A NUL can't be part of an argument or of the environment.", argv=argv)
        try:
            os.fsencode(text)
        except UnicodeEncodeError as problem:
            raise SandboxError(f"An argument or the environment can't be encoded: {problem}.") from None
    if not argv or not argv[0]:
        raise SandboxError("The program has no name.")
    if bad := [name for name in env if not name or "=" in name]:
        raise SandboxError(f"{bad[0]!r} can't be the name of an environment variable.", argv=argv)


async def to_the_end(work: Awaitable[None], running: set[asyncio.Task[None]]) -> None:
    """Await work that goes on should the caller be cancelled; `running` holds it until it is done."""
    task = asyncio.ensure_future(work)
    running.add(task)
    task.add_done_callback(running.discard)
    await asyncio.shield(task)


async def _collect(process: Process, stdin: bytes, errors: bytearray, argv: Sequence[str]) -> Completed:
    output = bytearray()
    writing = asyncio.create_task(_feed(process, stdin))
    try:
        while chunk := await process.read():
            stream, data = chunk
            (output if stream == STDOUT else errors).extend(data)
            if len(output) + len(errors) > OUTPUT_MAX_BYTES:
                raise SandboxError(f"It printed over {OUTPUT_MAX_BYTES >> 20} MiB and was ended.", argv=argv)
        return Completed(bytes(output), bytes(errors), await process.exit_code())
    finally:
        writing.cancel()


async def _feed(process: Process, stdin: bytes) -> None:
    try:
        if stdin:
            await process.write(stdin)
        await process.end_input()
    except OSError:  # it does not read all of its input, which is its own affair
        pass


class _ProcessSession(Session):
    def __init__(self, sandbox: ProcessSandbox, process: Process, argv: Sequence[str]) -> None:
        self._sandbox = sandbox
        self._process = process
        self._argv = argv
        self._output = bytearray()
        self._errors = b""

    @property
    def is_open(self) -> bool:
        return self._process.is_running

    async def send_line(self, line: bytes) -> None:
        try:
            await self._process.write(line + b"\n")
        except OSError:
            raise SandboxError("The session takes no more requests.", argv=self._argv, stderr=self._errors) from None

    async def receive_line(self) -> bytes:
        searched = 0
        while (end := self._output.find(b"\n", searched)) < 0:
            searched = len(self._output)
            chunk = await self._process.read()
            if chunk is None:
                raise await self._ended()
            if chunk[0] == STDERR:
                self._errors = (self._errors + chunk[1])[-STDERR_KEPT_BYTES:]
                continue
            self._output += chunk[1]
            if len(self._output) > OUTPUT_MAX_BYTES:
                raise SandboxError(f"It answered with over {OUTPUT_MAX_BYTES >> 20} MiB.", argv=self._argv)
        line = bytes(self._output[:end])
        del self._output[: end + 1]
        return line

    async def close(self) -> None:
        await self._sandbox._finish(self._process)

    async def _ended(self) -> SandboxError:
        code = await self._process.exit_code()
        return SessionEndedError(code, argv=self._argv, stderr=self._errors)


@dataclass(frozen=True, slots=True)
class Pipes:
    """Our ends of a process's three pipes, and the descriptors that the process gets."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    theirs: tuple[int, int, int]

    @classmethod
    async def open(cls) -> Pipes:
        """Make them. Whoever starts the process calls `close_theirs` afterwards."""
        loose: list[int] = []
        stdin: asyncio.StreamWriter | None = None
        try:
            for _ in range(3):
                loose += os.pipe()
            their_in, our_in, our_out, their_out, our_err, their_err = loose
            loose.remove(our_in)
            stdin = await _writer(our_in)
            loose.remove(our_out)
            stdout = await _reader(our_out)
            loose.remove(our_err)
            stderr = await _reader(our_err)
        except BaseException:  # a caller that gave up, or no descriptors left
            for descriptor in loose:
                os.close(descriptor)
            if stdin is not None:
                stdin.close()
            raise
        return cls(stdin, stdout, stderr, (their_in, their_out, their_err))

    def close_ours(self) -> None:
        """Close our ends, when no process came to have the others."""
        self.stdin.close()
        for reader in (self.stdout, self.stderr):
            reader.feed_eof()

    def close_theirs(self) -> None:
        """Close the process's ends here, so that its end is seen as the end of its output."""
        for descriptor in self.theirs:
            os.close(descriptor)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class PipeProcess(Process):
    """A process of this machine whose three streams are pipes. `wait` gives its exit code (-n after signal n).

    `kill` is for the whole group, also when the process itself has gone: what it started may ignore SIGTERM.
    """

    def __init__(
        self,
        pipes: Pipes,
        wait: Callable[[], Awaitable[int]],
        terminate: Callable[[], None],
        kill: Callable[[], None],
    ) -> None:
        super().__init__()
        self._stdin = pipes.stdin
        self._terminate = terminate
        self._kill = kill
        self._taken = 0
        self._exit = asyncio.ensure_future(wait())
        self._pump = asyncio.create_task(self._take_output(pipes.stdout, pipes.stderr))

    @property
    def is_running(self) -> bool:
        return not self._exit.done()

    async def write(self, data: bytes) -> None:
        if self._stdin.is_closing():
            raise BrokenPipeError
        self._stdin.write(data)
        await self._stdin.drain()

    async def end_input(self) -> None:
        self._stdin.close()

    async def exit_code(self) -> int:
        code = await asyncio.shield(self._exit)
        return code if code >= 0 else 128 - code

    async def end(self) -> None:
        if self.is_running:
            self._terminate()
            await asyncio.wait((self._exit,), timeout=GRACE_SECONDS)
            self._kill()
            await asyncio.wait((self._exit,))
        self._exit.exception()  # it may be unknown, which concerns whoever asks for the exit code
        self._pump.cancel()
        await asyncio.wait((self._pump,))
        self._stdin.close()

    async def _take_output(self, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader) -> None:
        pumps = {asyncio.create_task(self._take(STDOUT, stdout)), asyncio.create_task(self._take(STDERR, stderr))}
        try:
            while open_pumps := {pump for pump in pumps if not pump.done()}:
                has_exited, before = self._exit.done(), self._taken
                finished, _ = await asyncio.wait(
                    open_pumps if has_exited else {*open_pumps, self._exit},
                    timeout=HELD_OPEN_SECONDS if has_exited else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if has_exited and not finished and self._taken == before and self.chunks.empty():
                    break
            await self.chunks.put(None)
        finally:
            for pump in pumps:
                pump.cancel()

    async def _take(self, stream: int, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(CHUNK_BYTES):
            self._taken += 1
            await self.chunks.put((stream, data))
