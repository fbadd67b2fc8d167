"""Session mode: a request a line on stdin, an answer a line on stdout, in the order in which they finish.

Each request is served in a process of its own, forked from this one with everything imported already: one that
crashes, or eats its memory, takes no other with it, and a call may change its directory or signals as it likes.
"""

from __future__ import annotations

import os
import select

from guilds_wire import envelope, lean, request
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guilds_wire.request import Request

UNDER_WAY_MOST = 64
"""How many requests are served at once; the next line is read when one of them has finished."""

NO_ID = "-"
READ_BYTES = 1 << 20
SIGTERM = 15
SIG_DFL = 0


class _TerminatedError(Exception):
    """This process was told to end."""


class _Worker:
    """A request under way: its process, the pipe of its answer, and what has arrived of that."""

    __slots__ = ("call_id", "parts", "pid", "pipe")

    def __init__(self, call_id: str, pid: int, pipe: int) -> None:
        self.call_id = call_id
        self.pid = pid
        self.pipe = pipe
        self.parts: list[bytes] = []


def serve(perform: Callable[[Request], dict[str, Any]], stdout: int) -> int:
    """Serve until stdin ends and all that is under way is answered; the exit status."""
    session = _Session(perform, stdout)
    lean.on_signal((SIGTERM,), _end)
    try:
        return session.to_the_end()
    except _TerminatedError:
        return session.abandon()


class _Session:
    def __init__(self, perform: Callable[[Request], dict[str, Any]], stdout: int) -> None:
        self._perform = perform
        self._stdout = stdout
        self._workers: dict[int, _Worker] = {}
        self._line = bytearray()
        self._too_long = False
        self._stdin_open = True
        self._poll = select.poll()
        self._poll.register(stdout, 0)  # reports POLLERR when the reader has gone

    def to_the_end(self) -> int:
        reading = False
        while self._stdin_open or self._workers:
            wanted = self._stdin_open and len(self._workers) < UNDER_WAY_MOST
            if wanted != reading:
                (self._poll.register(0, select.POLLIN) if wanted else self._poll.unregister(0))
                reading = wanted
            for descriptor, _ in self._poll.poll():
                if descriptor == self._stdout:
                    return self.abandon()
                if descriptor == 0:
                    self._read()
                elif not self._take_answer(self._workers[descriptor]):
                    return self.abandon()
        return 0

    def _read(self) -> None:
        piece = os.read(0, READ_BYTES)
        if not piece:
            self._stdin_open = False
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._line += line
            self._serve_line()
        self._line += rest
        if len(self._line) > request.REQUEST_MAX_BYTES:
            self._too_long = True
            self._line.clear()
        if not piece and self._line:
            self._serve_line()

    def _serve_line(self) -> None:
        line, self._line = bytes(self._line).strip(), bytearray()
        too_long, self._too_long = self._too_long, False
        if not line and not too_long:
            return
        try:
            if too_long:
                raise ToolError("invalid_request", f"a line has over {request.REQUEST_MAX_BYTES} bytes.")
            asked = request.parse(line)
        except ToolError as error:
            self._put(NO_ID, envelope.encode(envelope.of_error(error)))
            return
        self._start(asked)

    def _start(self, asked: Request) -> None:
        pipe, answer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._work(asked, answer)
        os.close(answer)
        self._workers[pipe] = _Worker(asked.run.call_id, pid, pipe)
        self._poll.register(pipe, select.POLLIN)

    def _work(self, asked: Request, answer: int) -> None:
        """In the child: serve the request and end."""
        try:
            lean.on_signal((SIGTERM,), SIG_DFL)
            os.close(self._stdout)
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            line = envelope.encode(self._perform(asked))
            with open(answer, "wb", buffering=0) as pipe:
                pipe.write(line + b"\n")
        finally:
            os._exit(0)

    def _take_answer(self, worker: _Worker) -> bool:
        """Take what has arrived, and put the answer out when it is whole; False when nobody reads it."""
        if part := os.read(worker.pipe, READ_BYTES):
            worker.parts.append(part)
            return True
        self._poll.unregister(worker.pipe)
        os.close(worker.pipe)
        del self._workers[worker.pipe]
        _, status = os.waitpid(worker.pid, 0)
        line = b"".join(worker.parts)
        if not line.endswith(b"\n"):
            line = envelope.encode(envelope.of_error(_lost(os.waitstatus_to_exitcode(status))))
        return self._put(worker.call_id, line.strip())

    def _put(self, call_id: str, line: bytes) -> bool:
        rest = memoryview(call_id.encode() + b" " + line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._stdout, rest) :]
        except BrokenPipeError:
            return False
        return True

    def abandon(self) -> int:
        """The caller is gone: end what is under way."""
        for worker in self._workers.values():
            os.kill(worker.pid, SIGTERM)
        for worker in self._workers.values():
            os.waitpid(worker.pid, 0)
        return 1


def _end(_number: int, _frame: object) -> None:
    raise _TerminatedError


def _lost(code: int) -> ToolError:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return ToolError("internal", f"the process that served this call {how} before it answered; it may have been done.")
