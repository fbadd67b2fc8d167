"""HelperClient: a request to a helper in the sandbox, and its envelope back. It offers, redacts and stamps nothing."""

from __future__ import annotations

import asyncio
import binascii
import json
import os
from collections.abc import Mapping
from typing import Any

import orjson

from guilds_client.arguments import encode_json
from guilds_client.errors import (
    AnswerError,
    ProgramMissingError,
    SandboxError,
    SandboxTimeoutError,
    SessionEndedError,
    SessionUnsupportedError,
)
from guilds_client.sandbox import Sandbox, Session
from guilds_client.sandboxes.process import to_the_end
from guilds_wire.errors import ToolError
from guilds_wire.request import ARGUMENT_MAX_BYTES, REQUEST_MAX_BYTES

SERVE = "--serve"
REQUEST_FILE = "--request-file"
IDLE_SESSIONS_MOST = 4
NO_ID = b"-"
WRONG_USAGE = 2
NOT_EXECUTABLE, NOT_FOUND = 126, 127

Envelope = dict[str, Any]


class HelperClient:
    """Calls the helpers of one sandbox for one run.

    A session of each helper is kept open between calls, where the sandbox supports it. A session carries one call
    at a time, so that ending it ends that call's processes alone; calls at the same time have a session each.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._idle: dict[str, list[Session]] = {}
        self._without_sessions: set[str] = set()
        self._endings: set[asyncio.Task[None]] = set()

    async def call(self, helper: str, request: Mapping[str, Any], *, timeout: float) -> Envelope:
        """The envelope that `helper` answers `request` with, within `timeout` seconds; then the call is ended.

        Raises SandboxError. A call whose session died is not repeated: it may have been done.
        """
        line = encode(request)
        call_id = request.get("run", {}).get("call_id")
        if helper not in self._without_sessions:
            try:
                return await self._ask(helper, line, call_id, timeout)
            except SessionUnsupportedError:
                self._without_sessions.add(helper)
        return await self._exec(helper, line, timeout)

    async def close(self) -> None:
        """End the sessions. A later call opens new ones."""
        idle = [session for sessions in self._idle.values() for session in sessions]
        self._idle.clear()
        await asyncio.gather(*(session.close() for session in idle), *self._endings)

    async def _ask(self, helper: str, line: bytes, call_id: str | None, timeout: float) -> Envelope:
        try:
            async with asyncio.timeout(timeout):
                try:
                    return await self._ask_in(helper, line, call_id, self._idle_session(helper))
                except _NotSentError:  # it died while it waited, and took nothing
                    return await self._ask_in(helper, line, call_id, None)
        except TimeoutError:
            raise SandboxTimeoutError(f"{helper} took over {timeout:g} s and was ended.") from None

    async def _ask_in(self, helper: str, line: bytes, call_id: str | None, idle: Session | None) -> Envelope:
        session = idle or await self._sandbox.open_session([self._sandbox.program(helper), SERVE])
        is_sent = False
        try:
            try:
                await session.send_line(line)
                is_sent = True
            except SandboxError:  # how it ended is what its output says
                pass
            envelope = _answer(await session.receive_line(), call_id, helper)
        except BaseException as problem:
            await to_the_end(session.close(), self._endings)
            if isinstance(problem, SessionEndedError):
                raise _why_ended(problem, helper, is_fresh=idle is None, is_sent=is_sent) from None
            raise
        await self._keep(helper, session)
        return envelope

    def _idle_session(self, helper: str) -> Session | None:
        idle = self._idle.get(helper, [])
        while idle:
            session = idle.pop()
            if session.is_open:
                return session
            self._endings.add(asyncio.ensure_future(session.close()))
        return None

    async def _keep(self, helper: str, session: Session) -> None:
        idle = self._idle.setdefault(helper, [])
        if len(idle) < IDLE_SESSIONS_MOST:
            idle.append(session)
        else:
            await to_the_end(session.close(), self._endings)

    async def _exec(self, helper: str, line: bytes, timeout: float) -> Envelope:
        program = self._sandbox.program(helper)
        argv = [program, line.decode()]
        if len(line) > ARGUMENT_MAX_BYTES:
            path = f"{self._sandbox.runtime_dir}/requests/{os.urandom(12).hex()}"
            await self._sandbox.write_file(path, line, 0o600)
            argv = [program, REQUEST_FILE, path]
        done = await self._sandbox.exec(argv, timeout=timeout)
        if done.exit_code in (NOT_EXECUTABLE, NOT_FOUND) and not done.stdout:
            raise _missing(program, done.stderr)
        if done.exit_code != 0:
            raise AnswerError(f"{helper} ended with exit code {done.exit_code}.", argv=argv, stderr=done.stderr)
        return decode(done.stdout, helper, done.stderr)


def encode(request: Mapping[str, Any]) -> bytes:
    """A request as one line of base64. Raises ToolError(`invalid_request`) when it is too large to be sent."""
    body = encode_json(request)
    line = binascii.b2a_base64(body, newline=False)
    if len(line) > REQUEST_MAX_BYTES:
        raise ToolError("invalid_request", f"The request has {len(line)} bytes; at most {REQUEST_MAX_BYTES} are sent.")
    return line


def decode(line: bytes, helper: str, stderr: bytes = b"") -> Envelope:
    """The envelope in a line that a helper printed. Raises AnswerError when it is none."""
    try:
        body = binascii.a2b_base64(line.strip(), strict_mode=True)
        envelope = orjson.loads(body) if b"\\ud" not in body else json.loads(body)  # orjson takes no half of a pair
    except ValueError:
        envelope = None
    if not _is_envelope(envelope):
        raise AnswerError(f"{helper} answered with {len(line)} bytes that are no envelope.", stderr=stderr)
    result: Envelope = envelope
    return result


def _answer(line: bytes, call_id: str | None, helper: str) -> Envelope:
    """The envelope in a session's line: a call id (of the helper's own for a request without one), then the answer.

    Raises AnswerError. A request that the helper could not read is refused under NO_ID.
    """
    answered, _, answer = line.partition(b" ")
    envelope = decode(answer, helper)
    is_refusal = answered == NO_ID and not envelope["ok"]
    if call_id is not None and answered != call_id.encode() and not is_refusal:
        raise AnswerError(f"{helper} answered another call than the one under way, which may have been done.")
    return envelope


def _is_envelope(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("meta", {}), dict):
        return False
    if value.get("ok") is True:
        cuts = value.get("meta", {}).get("cuts", [])
        return isinstance(value.get("text"), str) and isinstance(cuts, list) and all(type(cut) is int for cut in cuts)
    error = value.get("error")
    return value.get("ok") is False and isinstance(error, dict) and isinstance(error.get("message"), str)


def _missing(program: str, stderr: bytes = b"") -> ProgramMissingError:
    return ProgramMissingError(f"{program} is not in the sandbox, or can't be run there.", stderr=stderr)


def _why_ended(problem: SessionEndedError, helper: str, *, is_fresh: bool, is_sent: bool) -> Exception:
    """What a session's end means for the call that it was given."""
    if not is_fresh and not is_sent:
        return _NotSentError()
    if is_fresh and problem.exit_code in (NOT_EXECUTABLE, NOT_FOUND):
        return _missing(helper, problem.stderr.encode())
    if is_fresh and problem.exit_code == WRONG_USAGE:
        return SessionUnsupportedError(f"{helper} keeps no sessions.")
    return SandboxError(
        f"{helper} ended with exit code {problem.exit_code} before it answered; the call may have been done.",
        argv=problem.argv,
        stderr=problem.stderr.encode(),
    )


class _NotSentError(Exception):
    """The request never reached the session."""
