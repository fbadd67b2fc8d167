"""What a bwrap: sandbox keeps from its agent, and what it leaves."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from guilds_client import Agent, Run, SandboxUnavailableError, open_sandbox
from tests.client.asynchronous import asynchronous
from tests.client.sandboxes import usable


async def inside(folder: Path, script: str, *, network: bool = False) -> str:
    """What a script prints in a sandbox of that folder, both streams as one."""
    async with open_sandbox(f"bwrap:{folder}", network=network) as sandbox:
        await usable(sandbox)
        done = await sandbox.exec(["bash", "-c", f"exec 2>&1\n{script}"], timeout=30)
    return done.stdout.decode()


@asynchronous
async def test_a_sandbox_that_a_command_killed_says_so_from_then_on(folder: Path) -> None:
    async with open_sandbox(f"bwrap:{folder}") as sandbox:
        await usable(sandbox)
        run = Run(sandbox, agent=Agent(id="a", coding=True))
        first = await run.call("shell", {"command": "kill -9 -1; kill -9 2"})
        second = await run.call("shell", {"command": "true"})
        with pytest.raises(SandboxUnavailableError, match="has ended"):
            await sandbox.exec(["true"], timeout=30)

    assert first.content.startswith("ERROR: ")
    assert second.content.startswith("ERROR: The bwrap: sandbox has ended")


@asynchronous
async def test_the_callers_home_can_not_be_read(folder: Path) -> None:
    secret = Path.home() / f".guilds-test-{os.getpid()}"
    secret.write_text("private")
    try:
        printed = await inside(folder, f"cat '{secret}'; ls '{folder.parent}'")
    finally:
        secret.unlink()

    assert "private" not in printed
    assert printed.count("No such file or directory") == 2


@asynchronous
async def test_only_home_tmp_and_the_run_time_folder_can_be_written(folder: Path) -> None:
    places = "/ /usr /etc /var /home /run /opt /proc/sys/kernel /home/agent /tmp /run/guilds"

    printed = await inside(folder, f'for place in {places}; do touch "$place/x" 2>/dev/null && echo "$place"; done')

    assert printed.split() == ["/home/agent", "/tmp", "/run/guilds"]
    assert (folder / "x").exists()


@asynchronous
async def test_its_tmp_is_not_the_machines(folder: Path) -> None:
    mark = Path("/tmp", f"guilds-test-{os.getpid()}")
    mark.write_text("")
    try:
        printed = await inside(folder, "ls /tmp; touch /tmp/from-inside")
    finally:
        mark.unlink()

    assert mark.name not in printed
    assert not Path("/tmp/from-inside").exists()


@asynchronous
async def test_other_processes_can_not_be_seen_nor_signalled(folder: Path) -> None:
    printed = await inside(
        folder, f"ls -d /proc/{os.getpid()}; kill -0 {os.getpid()}; cat /proc/1/cmdline | tr '\\0' ' '"
    )

    assert "No such process" in printed
    assert str(folder) not in printed


@asynchronous
async def test_the_network_is_out_of_reach_unless_it_is_allowed(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo connected"
        without = await inside(folder, connect)
        allowed = await inside(folder, connect, network=True)

    assert "connected" not in without
    assert "connected" in allowed


@asynchronous
async def test_the_callers_environment_is_not_passed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "private")

    assert "private" not in await inside(folder, "env; cat /proc/*/environ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could read it outside")
@asynchronous
async def test_what_only_root_may_read_is_hidden_from_a_root_caller(folder: Path) -> None:
    assert await inside(folder, "cat /etc/shadow") == "cat: /etc/shadow: Permission denied\n"


@asynchronous
async def test_background_commands_and_tmp_last_as_long_as_the_sandbox(folder: Path) -> None:
    async with open_sandbox(f"bwrap:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        await usable(sandbox)
        await run.call("shell", {"command": "echo kept >/tmp/note; exec sleep 300", "background": True})
        status = await run.call("shell_status", {})
        note = await run.call("shell", {"command": "cat /tmp/note; pgrep -x sleep | wc -l"})

    assert status.content.startswith("b1 running")
    assert note.content.startswith("kept\n1\n")


@asynchronous
async def test_nothing_of_it_runs_after_it_is_closed(folder: Path) -> None:
    nap = f"71{os.getpid()}"
    await inside(folder, f"setsid sleep {nap} >/dev/null 2>&1 &")
    await asyncio.sleep(0.5)

    assert subprocess.run(["pgrep", "-x", "-f", f"sleep {nap}"], check=False).returncode == 1


@asynchronous
async def test_where_bubblewrap_can_not_work_the_error_says_why_and_what_local_means(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "bin" / "bwrap"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:/usr/bin:/bin")

    async with open_sandbox(f"bwrap:{folder}") as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"No permissions to create new namespace.*local:PATH"):
            await sandbox.exec(["true"], timeout=30)


@asynchronous
async def test_without_bubblewrap_the_error_says_how_to_install_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)

    async with open_sandbox(f"bwrap:{folder}") as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"apt-get install bubblewrap.*isolates nothing"):
            await sandbox.exec(["true"], timeout=30)
