"""One call, from the command line and from a program, in a folder of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GUILDS = Path(sys.executable).parent / "guilds"


def guilds(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    (tmp_path / "home").mkdir(exist_ok=True)
    return subprocess.run(
        [GUILDS, *arguments], capture_output=True, text=True, timeout=60, cwd=tmp_path / "home", env=environment
    )


def test_a_call_from_the_command_line_prints_what_the_model_would_read(tmp_path: Path) -> None:
    done = guilds(tmp_path, "call", "--sandbox", "local:.", "shell", '{"command": "echo hello"}')

    assert done.stdout == "hello\nremaining_tool_calls: 59\n"
    assert "without isolation" in done.stderr
    assert done.returncode == 0


def test_a_raw_call_prints_the_envelope(tmp_path: Path) -> None:
    done = guilds(tmp_path, "call", "--sandbox", "local:.", "--raw", "shell", '{"command": "exit 3"}')

    envelope = json.loads(done.stdout)
    assert envelope["text"] == "(no output)\nexit_code: 3"
    assert envelope["meta"]["exit_code"] == 3


def test_an_error_of_a_tool_makes_the_exit_status_1(tmp_path: Path) -> None:
    done = guilds(tmp_path, "call", "--sandbox", "local:.", "file_read", '{"path": "absent.txt"}')

    assert done.stdout.startswith("ERROR: absent.txt")
    assert done.returncode == 1
