"""A request reaches a helper, and what comes back is an envelope or one error that says what went wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from guilds_client import (
    Agent,
    AnswerError,
    HelperClient,
    ProgramMissingError,
    Run,
    SandboxError,
    SandboxTimeoutError,
    open_sandbox,
)
from guilds_wire.request import ARGUMENT_MAX_BYTES
from tests.client.asynchronous import asynchronous
from tests.client.fakes import ExecSandbox, SessionSandbox, envelope, refusal

CODE = "guilds-code"
DONE = envelope("done")


def request(tool: str = "shell_status", **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, "run": {"id": "r1", "call_id": "c1"}}


@asynchronous
async def test_a_request_of_the_greatest_size_is_an_argument_and_a_greater_one_a_file() -> None:
    sandbox = ExecSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    empty = len(json.dumps(request(text=""), separators=(",", ":")))
    fits = ARGUMENT_MAX_BYTES // 4 * 3 - empty

    await client.call(CODE, request(text="x" * fits), timeout=5)
    await client.call(CODE, request(text="x" * (fits + 1)), timeout=5)

    argument, file = sandbox.argvs
    assert len(argument[1]) == ARGUMENT_MAX_BYTES
    assert file[1] == "--request-file"
    assert file[2].startswith("/run/guilds/requests/")
    assert sandbox.files[file[2]][1] == 0o600
    assert sandbox.requests[1]["args"] == {"text": "x" * (fits + 1)}


@asynchronous
async def test_one_session_serves_the_calls_that_follow_each_other() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)

    for _ in range(3):
        await client.call(CODE, request(), timeout=5)
    await client.call("guilds-browser", request(), timeout=5)

    assert len(sandbox.opened) == 2
    assert len(sandbox.requests) == 4


@asynchronous
async def test_closing_the_client_closes_its_sessions() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    await client.call(CODE, request(), timeout=5)

    await client.close()

    assert sandbox.opened[0].is_closed


@asynchronous
async def test_a_session_that_ended_while_it_waited_is_opened_again() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    await client.call(CODE, request(), timeout=5)
    sandbox.opened[0].fate = "gone"

    answer = await client.call(CODE, request(), timeout=5)

    assert answer["text"] == "done"
    assert len(sandbox.opened) == 2


@asynchronous
async def test_a_call_whose_session_dies_under_it_is_not_repeated() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    await client.call(CODE, request(), timeout=5)
    sandbox.opened[0].fate = "dies under way"

    with pytest.raises(SandboxError, match="the call may have been done"):
        await client.call(CODE, request(), timeout=5)
    again = await client.call(CODE, request(), timeout=5)

    assert len(sandbox.requests) == 2
    assert again["text"] == "done"


@asynchronous
async def test_a_helper_that_knows_no_sessions_is_called_by_exec() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    opened = sandbox.open_session

    async def refusing(argv: Any) -> Any:
        session: Any = await opened(argv)
        session.fate, session.exit_code = "dies", 2
        return session

    sandbox.open_session = refusing  # type: ignore[method-assign]
    answers = [await client.call(CODE, request(), timeout=5) for _ in range(2)]

    assert [answer["text"] for answer in answers] == ["done", "done"]
    assert len(sandbox.opened) == 1
    assert len(sandbox.argvs) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"Traceback (most recent call last):",
        base64.b64encode(b"[]"),
        base64.b64encode(b"{}"),
        base64.b64encode(b'{"ok": true}'),
        base64.b64encode(b'{"ok": false, "error": "x"}'),
        base64.b64encode(b'{"ok": true, "text": "x", "meta": {"cuts": ["a"]}}'),
        base64.b64encode(b'{"ok": true, "text": "\xff"}'),
        DONE + DONE,
        DONE + b"\n" + DONE,
        b"\0" * 100_000,
    ],
)
@asynchronous
async def test_output_that_is_no_envelope_is_an_error(answer: bytes) -> None:
    with pytest.raises(AnswerError, match="no envelope"):
        await HelperClient(ExecSandbox(lambda _: answer)).call(CODE, request(), timeout=5)
    with pytest.raises(AnswerError, match="no envelope"):
        await HelperClient(SessionSandbox(lambda _: answer)).call(CODE, request(), timeout=5)


@asynchronous
async def test_an_answer_to_another_call_is_never_taken() -> None:
    sandbox = SessionSandbox(lambda _: DONE)
    client = HelperClient(sandbox)
    await client.call(CODE, request(), timeout=5)
    sandbox.opened[0].answers_as = "c0"

    with pytest.raises(AnswerError, match="answered another call"):
        await client.call(CODE, request(), timeout=5)
    again = await client.call(CODE, request(), timeout=5)

    assert again["text"] == "done"
    assert sandbox.opened[0].is_closed


@asynchronous
async def test_a_refusal_of_a_request_that_the_helper_could_not_read_is_taken() -> None:
    sandbox = SessionSandbox(lambda _: refusal("invalid_request", "not base64"))
    client = HelperClient(sandbox)
    await client.call(CODE, request(), timeout=5)
    sandbox.opened[0].answers_as = "-"

    assert (await client.call(CODE, request(), timeout=5))["error"]["message"] == "not base64"


@asynchronous
async def test_a_newer_helpers_unknown_keys_are_let_through() -> None:
    answer = base64.b64encode(b'{"ok": true, "text": "x", "meta": {"new": [1]}, "more": {}}')

    assert (await HelperClient(ExecSandbox(lambda _: answer)).call(CODE, request(), timeout=5))["more"] == {}


def program(folder: Path, name: str, script: str) -> Path:
    """A program that stands in for a helper."""
    file = folder / name
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec cat /dev/zero", "over 64 MiB"),
        ("echo 'c1 what?'; exec sleep 60", "no envelope"),
        ("echo lost >&2; exit 9", r"ended with exit code 9 before it answered.*stderr ended with: lost"),
        ("kill -9 $$", "ended with exit code 137"),
        ("exec sleep 60", "took over 1 s and was ended"),
    ],
)
@asynchronous
async def test_a_helper_that_fails_is_one_error_line_for_the_model(folder: Path, script: str, said: str) -> None:
    helper = program(folder, "helper", script)
    async with open_sandbox(f"local:{folder}") as sandbox:
        sandbox.program = lambda name: str(helper)  # type: ignore[method-assign]  # noqa: ARG005
        client = HelperClient(sandbox)
        with pytest.raises(SandboxError, match=said) as failed:
            await client.call(CODE, request(), timeout=60 if "64" in said else 1)

    assert "\n" not in str(failed.value)


@asynchronous
async def test_a_helper_that_is_missing_is_named(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox:
        sandbox.program = lambda name: f"/nowhere/{name}"  # type: ignore[method-assign]
        with pytest.raises(ProgramMissingError, match="/nowhere/guilds-code"):
            await HelperClient(sandbox).call(CODE, request(), timeout=5)


@asynchronous
async def test_a_timeout_of_a_session_call_ends_its_command(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox:
        client = HelperClient(sandbox)
        with pytest.raises(SandboxTimeoutError):
            await client.call(CODE, request("shell", command="sleep 1; touch marker"), timeout=0.5)
        answer = await client.call(CODE, request("shell", command="sleep 1; ls"), timeout=10)

    assert "marker" not in answer["text"]


@asynchronous
async def test_a_session_that_was_killed_between_calls_is_opened_again(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        first = await run.call("shell", {"command": "ps -o ppid= -p $PPID"})
        os.kill(int(first.content.split()[0]), signal.SIGKILL)
        await asyncio.sleep(0.5)
        second = await run.call("shell", {"command": "echo again"})

    assert second.content.startswith("again\n")
