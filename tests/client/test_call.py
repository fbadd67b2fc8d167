"""One call, from the command line and from a program, in a folder of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GUILDS = Path(sys.executable).parent / "guilds"


def guilds(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path / "run"), "API_KEY": "hunter22"}
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


def test_secrets_are_kept_out_of_both_forms_of_a_result(tmp_path: Path) -> None:
    command = ("call", "--sandbox", "local:.", "--secret", "API_KEY")

    shown = guilds(tmp_path, *command, "shell", '{"command": "echo hunter22"}')
    raw = guilds(tmp_path, *command, "--raw", "shell", '{"command": "echo hunter22"}')

    assert shown.stdout == "[redacted:API_KEY]\nremaining_tool_calls: 59\n"
    assert json.loads(raw.stdout)["text"] == "[redacted:API_KEY]"


def test_secrets_are_kept_out_of_what_a_helper_says_when_it_dies(tmp_path: Path) -> None:
    command = ("call", "--sandbox", "local:.", "--secret", "API_KEY")
    of_the_session = "session=$(ps -o ppid= -p $PPID | tr -d ' ')"
    dies = json.dumps({"command": f"{of_the_session}; echo hunter22 >/proc/$session/fd/2; kill -9 $session $PPID"})

    shown = guilds(tmp_path, *command, "shell", dies)
    raw = guilds(tmp_path, *command, "--raw", "shell", dies)

    assert "[redacted:API_KEY]" in shown.stdout
    assert "[redacted:API_KEY]" in raw.stderr
    assert "hunter22" not in shown.stdout + shown.stderr + raw.stdout + raw.stderr
    assert (shown.returncode, raw.returncode) == (1, 1)


def test_the_tools_are_listed_as_text_and_as_json(tmp_path: Path) -> None:
    listed = guilds(tmp_path, "tools").stdout.splitlines()
    described = json.loads(guilds(tmp_path, "tools", "--json").stdout)

    assert listed[0].startswith("shell ")
    assert [line.split()[0] for line in listed] == [tool["name"] for tool in described]
    assert "additionalProperties" not in described[0]["parameters"]


def test_a_sandbox_that_can_not_be_used_is_one_line_on_stderr(tmp_path: Path) -> None:
    done = guilds(tmp_path, "call", "--sandbox", "local:absent", "shell", "{}")

    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert (done.stdout, done.returncode) == ("", 1)


def test_a_call_leaves_nothing_in_the_run_time_folder_and_a_background_command_is_found_again(tmp_path: Path) -> None:
    call = ("call", "--sandbox", "local:.", "shell")
    guilds(tmp_path, *call, '{"command": "true"}')
    left = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    started = guilds(tmp_path, *call, '{"command": "exec sleep 300", "background": true}')

    listed = guilds(tmp_path, "call", "--sandbox", "local:.", "shell_status", '{"id": "b1", "stop": true}')

    assert left == []
    assert started.stdout.startswith("b1 started")
    assert "b1 stopped" in listed.stdout
