"""Log: the whole raw output of one call in a file of the run's folder, bounded, and only when it is wanted."""

from __future__ import annotations

import os

from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.run_state import RunState

LIMIT_VARIABLE = "SHELL_LOG_MAX_BYTES"
LIMIT_DEFAULT_BYTES = 256 << 20
HELD_BYTES = 64 << 10
"""How much is held in memory before a file is made."""


def limit_bytes() -> int:
    """How much output a command may print. Raises ToolError(`invalid_request`)."""
    text = os.environ.get(LIMIT_VARIABLE) or str(LIMIT_DEFAULT_BYTES)
    if not text.isdecimal() or len(text) > 15:
        raise ToolError("invalid_request", f"{LIMIT_VARIABLE} is {text!r}; it is a number of bytes.")
    return int(text)


class Log:
    """Takes output up to `limit_bytes`; `bytes` is what it took. `path` is set once there is a file.

    A disk that refuses does not stop the command: `problem` then says why the file is not whole.
    """

    def __init__(self, run: RunState, name: str, most_bytes: int) -> None:
        self.path: bytes | None = None
        self.problem: str | None = None
        self.bytes = 0
        self._run = run
        self._name = name
        self._most = most_bytes
        self._held: list[bytes] = []
        self._file: int | None = None

    def take(self, piece: bytes) -> bytes:
        """Keep the piece, or as much of it as the limit lets; what was kept."""
        piece = piece[: self._most - self.bytes] if self.bytes + len(piece) > self._most else piece
        self.bytes += len(piece)
        if self._file is not None:
            self._write(piece)
        elif self.problem is None:
            self._held.append(piece)
            if self.bytes > HELD_BYTES:
                self.keep()
        return piece

    def keep(self) -> int | None:
        """Have the output in the file from now on; the file's descriptor, None when the disk refuses."""
        if self._file is None and self.problem is None:
            try:
                self._create()
            except OSError as problem:
                self.problem = problem.strerror or str(problem)
            for piece in self._held:
                self._write(piece)
            self._held.clear()
        return self._file

    def discard(self) -> None:
        """Remove the file again, if there is one: the result holds all of it."""
        if self.path is not None:
            try:
                os.unlink(self.path)
            except OSError:  # the command removed it, or the disk refuses: nothing depends on it
                pass
            self.path = None

    def _create(self) -> None:
        """Make the file under the first name that is free: a repeated call id never spoils an older log."""
        folder = self._run.folder()
        for number in range(1, 1000):
            name = f"{self._name}.log" if number == 1 else f"{self._name}.{number}.log"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
                self._file = os.open(name, flags, 0o600, dir_fd=folder)
            except FileExistsError:
                continue
            self.path = os.path.join(self._run.path, name.encode())
            return
        raise FileExistsError(f"{self._name}.log and 999 more are there already")

    def _write(self, piece: bytes) -> None:
        rest = memoryview(piece)
        try:
            while rest and self._file is not None:
                rest = rest[os.write(self._file, rest) :]
        except OSError as problem:
            self.problem = problem.strerror or str(problem)
            if self._file is not None:
                os.close(self._file)
            self._file = None
            self.discard()  # half a log would be taken for the whole, and only fills the disk
