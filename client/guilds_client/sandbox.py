"""Sandbox: the seam between the client and the machine that an agent works on, and how one is opened.

It starts programs and moves bytes. It knows no tools, no requests and no envelopes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from guilds_client.errors import SandboxError, SessionUnsupportedError
from guilds_wire.places import DEFAULT_HOME, DEFAULT_RUNTIME

OUTPUT_MAX_BYTES = 64 << 20
"""The most that is taken of one process's stdout and stderr; a process that prints more is ended."""

FILE_TIMEOUT_SECONDS = 60

# The data come by length, not up to an end of input: an exec stream can't close one direction alone everywhere.
_WRITE_FILE = """
import os, sys
path, mode, size = sys.argv[1], int(sys.argv[2], 8), int(sys.argv[3])
os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
part = f"{path}.{os.urandom(6).hex()}"
file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
try:
    while size:
        data = os.read(0, min(size, 1 << 20))
        if not data:
            sys.exit(f"{size} bytes did not arrive")
        size -= len(data)
        while data:
            data = data[os.write(file, data):]
    os.fchmod(file, mode)
    os.fsync(file)
    os.rename(part, path)
except BaseException:
    os.unlink(part)
    raise
"""


@dataclass(frozen=True, slots=True)
class Completed:
    """A process that has ended: its two streams, and its exit code (128 + n after signal n)."""

    stdout: bytes
    stderr: bytes
    exit_code: int


class Session(ABC):
    """A process that takes lines and answers with lines."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the process still runs, as far as is known."""

    @abstractmethod
    async def send_line(self, line: bytes) -> None:
        """Write a line (without its end). Raises SandboxError when the process takes no more."""

    @abstractmethod
    async def receive_line(self) -> bytes:
        """The next line of its stdout (without its end). Raises SandboxError when there is none."""

    @abstractmethod
    async def close(self) -> None:
        """End the process with all that it started; returns when it is gone."""


class Sandbox(ABC):
    """A machine that an agent works on. `exec` and `close` make one; the rest stands on these.

    `home`, `runtime_dir` and `python` are paths inside it.
    """

    home: str = DEFAULT_HOME
    runtime_dir: str = DEFAULT_RUNTIME
    python: str = "python3"

    @abstractmethod
    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program to its end, `env` added to what the sandbox sets; no shell reads `argv`.

        After `timeout` seconds, or when the caller is cancelled, the process is ended inside the sandbox.
        Raises SandboxError.
        """

    async def open_session(self, argv: Sequence[str]) -> Session:
        """Start a program that is spoken to by lines. Raises SandboxError."""
        raise SessionUnsupportedError("This sandbox keeps no sessions.", argv=argv)

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Create or replace a file, whole and at once; missing folders are made (0700). Raises SandboxError."""
        argv = [self.python, "-I", "-S", "-c", _WRITE_FILE, path, f"{mode:o}", str(len(data))]
        done = await self.exec(argv, stdin=data, timeout=FILE_TIMEOUT_SECONDS)
        if done.exit_code != 0:
            raise SandboxError(f"{path} can't be written.", stderr=done.stderr)

    async def read_file(self, path: str) -> bytes:
        """A file's bytes. Raises SandboxError."""
        argv = ["cat", "--", path]
        done = await self.exec(argv, timeout=FILE_TIMEOUT_SECONDS)
        if done.exit_code != 0:
            raise SandboxError(f"{path} can't be read.", stderr=done.stderr)
        return done.stdout

    def program(self, name: str) -> str:
        """What to run for a helper of this name."""
        return name

    @abstractmethod
    async def close(self) -> None:
        """End what was started through this object, and let go of the sandbox."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
