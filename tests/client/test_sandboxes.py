"""What every sandbox does alike: local:, bwrap:, docker: (where an engine answers) and k8s: (both protocols)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from guilds_client import SandboxError, SandboxTimeoutError
from tests.client.asynchronous import asynchronous
from tests.client.sandboxes import KINDS, sandbox_of

pytestmark = pytest.mark.parametrize("kind", KINDS)

WRITES_LATER = "sleep 1; echo late >marker"
AFTER_THAT_SECONDS = 1.5


@asynchronous
async def test_stdout_stderr_and_the_exit_code_come_apart(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        done = await sandbox.exec(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout=30)

    assert (done.stdout, done.stderr, done.exit_code) == (b"out\n", b"err\n", 3)


@asynchronous
async def test_arguments_reach_the_program_untouched(kind: str, folder: Path) -> None:
    odd = ["", " ", "$(id)", "a\nb", "'\"\\", "größe", "--", "*"]

    async with sandbox_of(kind, folder) as sandbox:
        done = await sandbox.exec(["printf", "%s|", *odd], timeout=30)

    assert done.stdout.decode() == "".join(f"{word}|" for word in odd)


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        ([], {}),
        ([""], {}),
        (["echo", "a\0b"], {}),
        (["echo", chr(0xD800)], {}),
        (["echo", 5], {}),
        (["echo"], {"A": "\0"}),
        (["echo"], {"A=B": "x"}),
        (["echo"], {"": "x"}),
        (["echo"], {"A": 5}),
    ],
)
@asynchronous
async def test_what_no_program_can_be_given_is_refused_and_the_sandbox_goes_on(
    kind: str, folder: Path, argv: list[Any], env: dict[str, Any]
) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        beside = asyncio.create_task(sandbox.exec(["sh", "-c", "sleep 0.3; echo beside"], timeout=30))
        await asyncio.sleep(0.1)
        with pytest.raises(SandboxError):
            await sandbox.exec(argv, env=env, timeout=30)
        done = await sandbox.exec(["echo", "on"], timeout=30)
        went_on = await beside

    assert (done.stdout, went_on.stdout) == (b"on\n", b"beside\n")


@asynchronous
async def test_megabytes_pass_both_ways_unchanged(kind: str, folder: Path) -> None:
    data = bytes(range(256)) * 12_000

    async with sandbox_of(kind, folder) as sandbox:
        done = await sandbox.exec(["cat"], stdin=data, timeout=30)

    assert done.stdout == data


@asynchronous
async def test_a_program_that_does_not_read_its_input_ends_all_the_same(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        done = await sandbox.exec(["echo", "done"], stdin=b"x" * 3_000_000, timeout=30)

    assert done.stdout == b"done\n"


@asynchronous
async def test_the_environment_is_added_to(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        done = await sandbox.exec(
            ["sh", "-c", 'echo "$GREETING"; command -v sh'], env={"GREETING": "a=b c"}, timeout=30
        )

    assert done.stdout.startswith(b"a=b c\n/")


@asynchronous
async def test_a_timeout_ends_the_process_inside(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        command = f"cd {sandbox.home}; {WRITES_LATER}"
        with pytest.raises(SandboxTimeoutError):
            await sandbox.exec(["bash", "-c", command], timeout=0.5)
        await asyncio.sleep(AFTER_THAT_SECONDS)
        listed = await sandbox.exec(["ls", sandbox.home], timeout=30)

    assert b"marker" not in listed.stdout


@asynchronous
async def test_a_timeout_ends_what_the_process_started_even_if_it_ignores_sigterm(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        command = f"cd {sandbox.home}; (trap '' TERM; {WRITES_LATER}) & wait"
        with pytest.raises(SandboxTimeoutError):
            await sandbox.exec(["bash", "-c", command], timeout=0.5)
        await asyncio.sleep(AFTER_THAT_SECONDS)
        listed = await sandbox.exec(["ls", sandbox.home], timeout=30)

    assert b"marker" not in listed.stdout


@asynchronous
async def test_a_caller_that_is_cancelled_ends_the_process_inside(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        command = f"cd {sandbox.home}; {WRITES_LATER}"
        call = asyncio.create_task(sandbox.exec(["bash", "-c", command], timeout=30))
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.sleep(AFTER_THAT_SECONDS)
        listed = await sandbox.exec(["ls", sandbox.home], timeout=30)

    assert call.cancelled()
    assert b"marker" not in listed.stdout


@asynchronous
async def test_callers_that_give_up_at_any_moment_leave_no_descriptor_open(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        await sandbox.exec(["true"], timeout=30)
        before = len(os.listdir("/proc/self/fd"))
        for steps in range(36):
            call = asyncio.create_task(sandbox.exec(["true"], timeout=30))
            for _ in range(steps % 12):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
        allowed = before + 10  # an engine's library keeps that many connections for the next call
        async with asyncio.timeout(60):  # connections that were being made are closed once they stand
            while len(os.listdir("/proc/self/fd")) > allowed:
                await asyncio.sleep(0.1)


@asynchronous
async def test_a_program_that_prints_without_end_is_ended(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        with pytest.raises(SandboxError, match="printed over 64 MiB"):
            await sandbox.exec(["cat", "/dev/zero"], timeout=60)


@asynchronous
async def test_a_file_is_written_whole_with_its_mode_and_read_back(kind: str, folder: Path) -> None:
    data = bytes(range(256)) * 4_000

    async with sandbox_of(kind, folder) as sandbox:
        path = f"{sandbox.home}/a folder/data"
        await sandbox.write_file(path, b"old", 0o644)
        await sandbox.write_file(path, data, 0o600)
        read = await sandbox.read_file(path)
        listed = await sandbox.exec(["sh", "-c", f"ls '{sandbox.home}/a folder'; stat -c %a '{path}'"], timeout=30)

    assert read == data
    assert listed.stdout == b"data\n600\n"


@asynchronous
async def test_a_file_that_is_not_there_is_an_error_that_names_it(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        with pytest.raises(SandboxError, match=r"absent\.txt can't be read"):
            await sandbox.read_file(f"{sandbox.home}/absent.txt")


@asynchronous
async def test_a_session_answers_line_by_line_and_ends_when_it_is_closed(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        echo = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"
        session = await sandbox.open_session([sandbox.python, "-c", echo])
        await session.send_line(b"abc")
        first = await session.receive_line()
        await session.send_line(b"x" * 100_000)
        second = await session.receive_line()
        await session.close()
        is_open = session.is_open

    assert (first, second) == (b"cba", b"x" * 100_000)
    assert not is_open


@asynchronous
async def test_closing_the_sandbox_ends_what_is_under_way(kind: str, folder: Path) -> None:
    async with sandbox_of(kind, folder) as sandbox:
        session = await sandbox.open_session(["sleep", "300"])
        await sandbox.close()
        is_open = session.is_open
        with pytest.raises(SandboxError):
            await sandbox.exec(["true"], timeout=5)

    assert not is_open
