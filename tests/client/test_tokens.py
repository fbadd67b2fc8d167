"""Git tokens reach the sandbox's token file, fresh, and nobody else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from guilds_client import Agent, Run, Token, open_sandbox
from tests.client.asynchronous import asynchronous
from tests.client.fakes import ExecSandbox, envelope

APP = "https://github.com/acme/app"
LIBRARY = "https://github.com/acme/lib"


def token(url: str = APP, value: str = "ghs_first-token", minutes: float = 60) -> Token:
    return Token(url, value, expires_at=datetime.now(UTC) + timedelta(minutes=minutes))


def a_run(sandbox: Any, **options: Any) -> Run:
    return Run(sandbox, agent=Agent("a1", coding=True), **options)


def written(sandbox: ExecSandbox) -> dict[str, str]:
    """The tokens in the token file, by repository."""
    entries = json.loads(sandbox.files["/run/guilds/git-tokens.json"][0])["tokens"]
    return {entry["url"]: entry["token"] for entry in entries}


@asynchronous
async def test_the_tokens_are_there_before_the_first_command_for_their_user_alone(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox, a_run(sandbox, tokens=[token()]) as run:
        message = await run.call("shell", {"command": "true"})
        file = Path(sandbox.runtime_dir, "git-tokens.json")
        mode, content = file.stat().st_mode & 0o777, json.loads(file.read_text())

    entry = content["tokens"][0]
    assert message.metadata["error"] is None
    assert mode == 0o600
    assert (content["version"], entry["url"], entry["username"]) == (1, APP, "x-access-token")
    assert entry["expires_at"].endswith("Z")


@asynchronous
async def test_git_gets_the_token_and_the_model_does_not(folder: Path) -> None:
    fill = "printf 'protocol=https\\nhost=github.com\\npath=acme/app\\n\\n' | git credential fill"
    async with open_sandbox(f"local:{folder}") as sandbox, a_run(sandbox, tokens=[token()]) as run:
        message = await run.call("shell", {"command": fill})

    assert f"password=[redacted:token of {APP}]" in message.content
    assert "first-token" not in str(message)


@asynchronous
async def test_a_token_that_expires_within_ten_minutes_is_replaced_before_a_command() -> None:
    asked = []

    async def source(repository: str) -> Token:
        asked.append(repository)
        return token(repository, "ghs_second-token")

    sandbox = ExecSandbox(lambda _: envelope("ghs_first-token ghs_second-token"))
    run = a_run(sandbox, tokens=[token(minutes=9), token(LIBRARY, "ghs_lib-token")], token_source=source)
    message = await run.call("shell", {"command": "git push"})

    assert asked == [APP]
    assert written(sandbox) == {APP: "ghs_second-token", LIBRARY: "ghs_lib-token"}
    assert "ghs_" not in message.content


@asynchronous
async def test_a_token_with_time_left_is_written_once() -> None:
    sandbox = ExecSandbox(lambda _: envelope(""))
    run = a_run(sandbox, tokens=[token(minutes=11)], token_source=lambda _url: pytest.fail("asked for another"))

    await run.call("shell", {"command": "true"})
    sandbox.files.clear()
    await run.call("shell", {"command": "true"})

    assert sandbox.files == {}


@asynchronous
async def test_a_call_that_runs_no_command_asks_for_no_token() -> None:
    sandbox = ExecSandbox(lambda _: envelope(""))

    await a_run(sandbox, tokens=[token()]).call("file_read", {"path": "a"})

    assert sandbox.files == {}


@asynchronous
async def test_a_source_that_fails_leaves_the_old_token_and_the_result_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def source(_repository: str) -> Token:
        raise RuntimeError("not with ghs_first-token")

    sandbox = ExecSandbox(lambda _: envelope("done"))
    message = await a_run(sandbox, tokens=[token(minutes=5)], token_source=source).call("shell", {"command": "true"})

    assert message.content.startswith("done\n")
    assert message.metadata["tokens_not_renewed"] == [APP]
    assert written(sandbox) == {APP: "ghs_first-token"}
    assert "first-token" not in caplog.text


@pytest.mark.parametrize(
    "fresh",
    [
        None,
        "ghs_second-token",
        Token(APP, "abc"),
        Token(APP, None),  # type: ignore[arg-type]
        Token(APP, "ghs_\ud800second"),
        Token(LIBRARY, "ghs_lib-token"),
        token(minutes=-1, value="ghs_second-token"),
    ],
    ids=["nothing", "text", "too short", "no value", "half a pair", "another repository", "expired"],
)
@asynchronous
async def test_an_answer_of_the_source_that_is_of_no_use_leaves_the_old_token(fresh: Any) -> None:
    sandbox = ExecSandbox(lambda _: envelope("done"))
    run = a_run(sandbox, tokens=[token(minutes=5)], token_source=lambda _url: fresh)

    message = await run.call("shell", {"command": "true"})

    assert message.content.startswith("done\n")
    assert message.metadata["tokens_not_renewed"] == [APP]
    assert written(sandbox) == {APP: "ghs_first-token"}


def test_a_token_does_not_show_its_value() -> None:
    assert "first-token" not in repr(token())


def test_an_expiry_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        Token(APP, "ghs_first-token", expires_at=datetime(2026, 1, 1))
