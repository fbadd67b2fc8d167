"""The commands of the README do what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent_home import BIN

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def _block(title: str, number: int = 0) -> str:
    """An indented block under a heading."""
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", section, re.M)
    return str([block for block in blocks if block.strip()][number]).replace("\n    ", "\n")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "GUILDS_HOME": str(ROOT),
        "GUILDS_RUNTIME_DIR": str(tmp_path),
    }


def _bash(script: str, environment: dict[str, str]) -> str:
    words = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_one_call_by_hand(environment: dict[str, str], tmp_path: Path) -> None:
    commands = _block("One call by hand").replace("GUILDS_RUNTIME_DIR=/tmp/guilds", f"GUILDS_RUNTIME_DIR={tmp_path}")

    printed = _bash(commands.replace("$PWD/.venv/bin", str(BIN)), environment)

    assert "design.md" in printed
    assert "README.md · lines 1–3 of" in printed
    assert "Commands:" in printed


def test_from_python(environment: dict[str, str]) -> None:
    program = _block("From Python").replace("bwrap:.", "local:.")  # tests/client has the other sandboxes

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )

    assert "design.md" in done.stdout
    assert "remaining_tool_calls: 59" in done.stdout


def test_one_call_through_the_client(environment: dict[str, str]) -> None:
    printed = _bash(_block("From Python", 1), environment)

    assert "design.md" in printed


def test_a_call_from_a_program(environment: dict[str, str]) -> None:
    printed = _bash(_block("Calling a helper from a program"), environment)

    assert printed.startswith('{"ok":true,"text":"')


def test_scripts_by_hand(environment: dict[str, str]) -> None:
    assert _bash(_block("Scripts by hand"), environment) == "49\n49\n"


def test_the_git_credential_helper_alone(environment: dict[str, str], tmp_path: Path) -> None:
    blocks = "\n".join(_block("The git credential helper alone", number) for number in range(3))

    printed = _bash(blocks, {**environment, "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"})

    assert "username=x-access-token\npassword=ghs_0123456789\n" in printed


def test_searching_code(environment: dict[str, str]) -> None:
    printed = _bash(_block("Searching code"), environment)

    assert "def clip(text: str, most: int) -> str:" in printed
    assert "pyproject.toml: " in printed
    assert re.search(r"matches in \d+ files$", printed, re.M)


def test_the_code_graph(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "repos").mkdir()
    copy = tmp_path / "home" / "repos" / "guilds"
    shutil.copytree(ROOT / "helpers", copy / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    environment |= {"GUILDS_HOME": str(tmp_path / "home")}

    printed = _bash(
        _block("The code graph").replace("helpers/guilds_wire", "repos/guilds/helpers/guilds_wire"), environment
    )

    assert "most referenced:" in printed
    assert "class Workspace" in printed
    assert "repos/guilds/helpers/guilds_code/tools/file_read.py" in printed
