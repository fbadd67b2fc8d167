"""`guilds-code --self-test`: what a health check asks for."""

from __future__ import annotations

import subprocess

from tests.agent_home import BIN, AgentHome


def test_all_that_a_sandbox_needs_is_named_with_its_version(home: AgentHome) -> None:
    done = home.by_hand("guilds-code", "--self-test")

    lines = dict(line[6:].split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, done.stdout
    assert {"guilds", "python", "bash", "git", "ripgrep", "click", "home", "run-time folder"} <= set(lines)
    assert lines["home"] == f"{home.path} is writable"


def test_what_is_missing_is_named_with_what_mends_it(home: AgentHome) -> None:
    env = home.environment(PATH="/nowhere", GUILDS_RUNTIME_DIR="/proc/nowhere")

    done = subprocess.run(
        [str(BIN / "guilds-code"), "--self-test"], env=env, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "FAIL  git: " in done.stdout
    assert "apt-get install git" in done.stdout
    assert "FAIL  run-time folder: " in done.stdout
