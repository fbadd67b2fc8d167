"""Sandboxes that answer as a test says, for what a real one does seldom."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guilds_client import Completed, Sandbox, SandboxError, Session, SessionEndedError

Request = dict[str, Any]
Answer = Callable[[Request], bytes]


def envelope(text: str, **meta: Any) -> bytes:
    """The line of a helper that succeeded."""
    return base64.b64encode(json.dumps({"ok": True, "text": text, "meta": {"cuts": [], **meta}}).encode())


def refusal(code: str, message: str) -> bytes:
    """The line of a helper that refused."""
    error = {"code": code, "message": message}
    return base64.b64encode(json.dumps({"ok": False, "error": error, "meta": {}}).encode())


class ExecSandbox(Sandbox):
    """A sandbox without sessions: `answer` gives the stdout of each exec of a helper; `requests` are those it got."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.argvs: list[list[str]] = []
        self.files: dict[str, tuple[bytes, int]] = {}

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        timeout: float,  # noqa: ARG002
    ) -> Completed:
        self.argvs.append(list(argv))
        line = self.files[argv[2]][0] if argv[1] == "--request-file" else argv[1].encode()
        return Completed(self.answered(line) + b"\n", b"", 0)

    def answered(self, line: bytes) -> bytes:
        """Take a request in, and answer it."""
        self.requests.append(json.loads(base64.b64decode(line)))
        return self.answer(self.requests[-1])

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.files[path] = data, mode

    async def close(self) -> None:
        pass


class SessionSandbox(ExecSandbox):
    """A sandbox with sessions. `opened` are the sessions, in order."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.opened: list[FakeSession] = []

    async def open_session(self, argv: Sequence[str]) -> Session:  # noqa: ARG002
        self.opened.append(FakeSession(self))
        return self.opened[-1]


class FakeSession(Session):
    """Answers each line at once; `fate` makes it end before it takes the next line, or before it answers it.

    `answers_as` is a call id to answer under instead of the request's.
    """

    def __init__(self, sandbox: SessionSandbox) -> None:
        self._sandbox = sandbox
        self._line = b""
        self.fate = ""
        self.answers_as = ""
        self.exit_code = 1
        self.is_closed = False

    @property
    def is_open(self) -> bool:
        return not self.is_closed

    async def send_line(self, line: bytes) -> None:
        if self.fate == "gone":
            raise SandboxError("The session takes no more requests.")
        self._line = line

    async def receive_line(self) -> bytes:
        await asyncio.sleep(0)
        if self.fate:
            raise SessionEndedError(self.exit_code, argv=["guilds-code"], stderr=b"")
        answer = self._sandbox.answered(self._line)
        call_id = self.answers_as or self._sandbox.requests[-1].get("run", {}).get("call_id", "-")
        return f"{call_id} ".encode() + answer

    async def close(self) -> None:
        self.is_closed = True
