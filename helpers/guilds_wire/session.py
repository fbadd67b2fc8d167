"""Session mode: a request a line on stdin, an answer a line on stdout, in the order in which they finish.

Requests are served in processes forked from this one, which never does any work itself: a call that crashes, or eats
its memory, takes no other with it, and may change its directory or signals as it likes. Tools that leave their
process as they found it share one, since a fork costs more than they do.
"""

from __future__ import annotations

import gc
import os
import select

from guilds_wire import envelope, lean, request
from guilds_wire.descriptors import write_all
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guilds_wire.request import Request

    Perform = Callable[[Request], dict[str, Any]]

UNDER_WAY_MOST = 32
"""How many requests are served at once; the next line is read when one of them has finished."""

CALLS_OF_A_WORKER_MOST = 1_000
"""Then its process is replaced, so that whatever a tool might leave behind stays bounded."""

NO_ID = "-"
TOO_LONG = b"\n"  # no line holds one
READ_BYTES = 1 << 20
SIGTERM = 15
SIG_DFL = 0


class _TerminatedError(Exception):
    """This process was told to end."""


class _Worker:
    """A process that serves requests, one at a time: the pipes to it and from it, and what it is at.

    `requests` is None for a process that serves one request and ends.
    """

    __slots__ = ("answers", "call_id", "calls", "parts", "pid", "requests")

    def __init__(self, pid: int, answers: int, requests: int | None) -> None:
        self.pid = pid
        self.answers = answers
        self.requests = requests
        self.call_id = ""
        self.calls = 0
        self.parts: list[bytes] = []


def serve(perform: Perform, prepare: Callable[[str], bool], stdout: int) -> int:
    """Serve until stdin ends and all that is under way is answered; the exit status.

    `prepare` imports what the calls of a tool need, here, where every worker finds it, and says whether they leave
    their process as they found it.
    """
    session = _Session(perform, prepare, stdout)
    lean.on_signal((SIGTERM,), _end)
    try:
        return session.to_the_end()
    except _TerminatedError:
        return session.abandon()


class _Session:
    def __init__(self, perform: Perform, prepare: Callable[[str], bool], stdout: int) -> None:
        self._perform = perform
        self._prepare = prepare
        self._stdout = stdout
        self._busy: dict[int, _Worker] = {}
        self._idle: list[_Worker] = []
        self._line = bytearray()
        self._too_long = False
        self._waiting: list[bytes] = []  # lines that were read and not yet served, last one first
        self._stdin_open = True
        self._poll = select.poll()
        self._poll.register(stdout, 0)  # reports POLLERR when the reader has gone

    def to_the_end(self) -> int:
        """Serve all there is; the exit status."""
        reading = False
        while self._stdin_open or self._busy or self._waiting:
            while self._waiting and len(self._busy) < UNDER_WAY_MOST:
                self._serve_line(self._waiting.pop())
            if not (self._stdin_open or self._busy):
                continue
            wanted = self._stdin_open and len(self._busy) < UNDER_WAY_MOST
            if wanted != reading:
                (self._poll.register(0, select.POLLIN) if wanted else self._poll.unregister(0))
                reading = wanted
            for descriptor, _ in self._poll.poll():
                if descriptor == self._stdout:
                    return self.abandon()
                if descriptor == 0:
                    self._read()
                elif not self._take_answer(self._busy[descriptor]):
                    return self.abandon()
        self._end_workers()
        return 0

    def abandon(self) -> int:
        """Nobody waits for an answer any more: end what is under way; the exit status."""
        for worker in self._busy.values():
            os.kill(worker.pid, SIGTERM)
        self._end_workers()
        return 1

    def _read(self) -> None:
        piece = os.read(0, READ_BYTES)
        *ends, rest = piece.split(b"\n")
        if not piece:
            self._stdin_open = False
            ends, rest = [b""], b""  # a last line without its end is a line
        lines = []
        for end in ends:
            lines.append(TOO_LONG if self._too_long else bytes(self._line + end).strip())
            self._line.clear()
            self._too_long = False
        self._line += rest
        if len(self._line) > request.REQUEST_MAX_BYTES:
            self._too_long = True
            self._line.clear()
        self._waiting = [line for line in reversed(lines) if line]

    def _serve_line(self, line: bytes) -> None:
        try:
            if line == TOO_LONG:
                raise ToolError("invalid_request", f"A line has over {request.REQUEST_MAX_BYTES} bytes.")
            asked = request.parse(line)
        except ToolError as error:
            self._put(request.call_id_of(line) or NO_ID, envelope.encode(envelope.of_error(error)))
            return
        self._start(asked, line)

    def _start(self, asked: Request, line: bytes) -> None:
        if self._prepare(asked.tool):
            worker = self._idle_worker() or self._fork(None)
            assert worker.requests is not None
            _written(worker.requests, line + b"\n")
        else:
            worker = self._fork(asked)
        worker.call_id = asked.run.call_id
        self._busy[worker.answers] = worker
        self._poll.register(worker.answers, select.POLLIN)

    def _idle_worker(self) -> _Worker | None:
        """One that has nothing to do; those that were killed meanwhile are let go."""
        while self._idle:
            worker = self._idle.pop()
            if os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return worker
            self._forget(worker)
        return None

    def _fork(self, only: Request | None) -> _Worker:
        """A process for one request, or for those that come through its pipe."""
        gc.freeze()  # a collection in the child would write to, and so copy, every page that it shares with us
        answers, answer = os.pipe()
        requests, ask = os.pipe() if only is None else (0, None)
        pid = os.fork()
        if pid == 0:
            os.close(answers)
            self._be_worker(only, requests, answer, ask)
        os.close(answer)
        if only is None:
            os.close(requests)
        return _Worker(pid, answers, ask)

    def _be_worker(self, only: Request | None, requests: int, answer: int, ask: int | None) -> None:
        """In the child. Every other pipe of the session is closed, so that it ends with the session's process."""
        try:
            lean.on_signal((SIGTERM,), SIG_DFL)
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            others = [
                end for worker in (*self._busy.values(), *self._idle) for end in (worker.answers, worker.requests)
            ]
            for descriptor in (null, self._stdout, ask, *others):
                if descriptor is not None:
                    os.close(descriptor)
            if only is not None:
                _written(answer, envelope.encode(self._perform(only)) + b"\n")
                return
            with open(requests, "rb") as lines:
                for line in lines:
                    if not _written(answer, envelope.encode(self._perform(request.parse(line))) + b"\n"):
                        return
        finally:
            os._exit(0)

    def _take_answer(self, worker: _Worker) -> bool:
        """Take what has arrived, and put the answer out when it is whole; False when nobody reads it."""
        part = os.read(worker.answers, READ_BYTES)
        worker.parts.append(part)
        if part and not part.endswith(b"\n"):
            return True
        self._poll.unregister(worker.answers)
        del self._busy[worker.answers]
        line, worker.parts = b"".join(worker.parts), []
        worker.calls += 1
        if part and worker.requests is not None and worker.calls < CALLS_OF_A_WORKER_MOST:
            self._idle.append(worker)
        else:
            code = self._forget(worker)
            if not part:
                line = envelope.encode(envelope.of_error(_lost(code)))
        return self._put(worker.call_id, line.strip())

    def _forget(self, worker: _Worker) -> int:
        """Let a worker end; its exit code."""
        os.close(worker.answers)
        if worker.requests is not None:
            os.close(worker.requests)
        return os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])

    def _end_workers(self) -> None:
        for worker in (*self._busy.values(), *self._idle):
            self._forget(worker)

    def _put(self, call_id: str, line: bytes) -> bool:
        return _written(self._stdout, call_id.encode() + b" " + line + b"\n")


def _written(descriptor: int, data: bytes) -> bool:
    """Write all of it; False when nobody reads."""
    try:
        write_all(descriptor, data)
    except BrokenPipeError:
        return False
    return True


def _end(_number: int, _frame: object) -> None:
    raise _TerminatedError


def _lost(code: int) -> ToolError:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return ToolError("internal", f"The process that served this call {how} before it answered; it may have been done.")
