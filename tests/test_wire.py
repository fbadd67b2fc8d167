"""The wire: how a request arrives, what is refused, what comes back."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_wire import envelope, request
from guilds_wire.errors import ToolError
from guilds_wire.tools import all_tools
from tests.agent_home import BIN, AgentHome, Envelope

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON))
def test_what_is_encoded_comes_back_the_same(meta: dict[str, Any]) -> None:
    line = envelope.encode({"ok": True, "text": "é\ud83d", "meta": meta})

    assert envelope.decode(line) == {"ok": True, "text": "é\ud83d", "meta": meta}
    assert json.loads(base64.b64decode(line)) == {"ok": True, "text": "é\ud83d", "meta": meta}


@given(JSON)
def test_any_json_is_a_request_or_refused_as_one(body: Any) -> None:
    encoded = base64.b64encode(json.dumps(body).encode())

    try:
        outcome = request.parse(encoded).tool
    except ToolError as error:
        outcome = error.code

    assert outcome in ("invalid_request", body["tool"] if isinstance(body, dict) and "tool" in body else "")


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_a_message(raw: bytes) -> None:
    with pytest.raises(ToolError) as caught:
        request.parse(raw)

    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "an array"),
        (b'{"args": {}}', "`tool` is missing"),
        (b'{"tool": 1, "args": {}}', "`tool` is a number"),
        (b'{"tool": "shell", "args": []}', "`args` is an array"),
        (b'{"tool": "shell", "args": {}, "run": 1}', "`run` is a number"),
        (b'{"tool": "shell", "args": {"command": NaN}}', "NaN"),
        (b'{"tool": "shell", "args": {}, "run": {"seq": "1"}}', "`run.seq` is a string"),
        (b'{"tool": "shell", "args": {}, "run": {"seq": true}}', "`run.seq` is a boolean"),
        (b'{"tool": "shell", "args": {}, "run": {"id": null}}', "`run.id` is null"),
        (b'{"tool": "shell", "args": {}, "limits": {"result_max_bytes": 1023}}', "1024 to 1048576"),
        (b'{"tool": "shell", "args": {}, "limits": {"result_max_bytes": "9000"}}', "result_max_bytes"),
        (b'{"tool": "shell", "args": {"command": "\xff"}}', "not UTF-8 at byte 39"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_refused_request_says_what_is_wrong(home: AgentHome, raw: bytes, words: str) -> None:
    answer = home.send(raw)

    assert answer.code == "invalid_request"
    assert words in answer.message


@pytest.mark.parametrize("key", ["id", "agent_id", "call_id"])
@pytest.mark.parametrize("value", ["..", "../x", "a/b", "", ".a", "-a", "a\n", "é", "a" * 129])
def test_an_id_that_is_no_folder_name_is_refused(home: AgentHome, key: str, value: str) -> None:
    answer = home.call("shell", run={key: value}, command="touch made")

    assert answer.code == "invalid_request"
    assert os.listdir(home.path) == []


def test_the_longest_id_is_taken(home: AgentHome) -> None:
    assert home.call("shell", run={"id": "a" * 128}, command="echo $GUILD_RUN_ID").text == "a" * 128


def test_keys_of_a_newer_caller_are_ignored(home: AgentHome) -> None:
    body = {"tool": "shell", "args": {"command": "echo ok"}, "new": 1, "run": {"new": 1}, "limits": {"new": 1}}

    assert home.ask(body).text == "ok"


def test_every_problem_of_the_arguments_is_told_at_once(home: AgentHome) -> None:
    answer = home.call("shell", timeout_seconds=601, background=1, comand="ls")

    assert answer.code == "invalid_arguments"
    assert {problem["path"] for problem in answer.problems} == {
        "$.command",
        "$.timeout_seconds",
        "$.background",
        "$.comand",
    }
    assert "did you mean `command`" in answer.message


@pytest.mark.parametrize("name", ["nosuch", "Shell", "functions.shell", "", "browser_click"])
def test_a_tool_that_this_helper_lacks_is_unknown(home: AgentHome, name: str) -> None:
    answer = home.send(json.dumps({"tool": name, "args": {}}).encode(), "guilds-code")

    assert answer.code == "unknown_tool"


def test_the_message_of_an_error_is_short_whatever_the_value(home: AgentHome) -> None:
    answer = home.ask({"tool": "shell", "args": {"x" * 100_000: 1, "command": "y", "timeout_seconds": 10**300}})

    assert len(answer.message) <= 500


def test_a_request_file_is_gone_before_the_work_starts(home: AgentHome) -> None:
    file = home.runtime / "requests" / "q1"
    body = {"tool": "shell", "args": {"command": f"ls {file.parent} | wc -l"}}
    file.write_bytes(base64.b64encode(json.dumps(body).encode()) + b"\n")

    answer = home.run([str(BIN / "guilds-code"), "--request-file", str(file)])

    assert answer.text == "0"


def test_a_malformed_request_file_is_deleted_too(home: AgentHome) -> None:
    file = home.runtime / "requests" / "q1"
    file.write_text("no request")

    assert home.run([str(BIN / "guilds-code"), "--request-file", str(file)]).code == "invalid_request"
    assert not file.exists()


def _other_places(home: AgentHome) -> list[Path]:
    requests = home.runtime / "requests"
    outside = home.put("q1", base64.b64encode(b'{"tool": "shell", "args": {"command": "touch made"}}'))
    (requests / "folder").mkdir()
    (requests / "folder" / "q1").write_bytes(outside.read_bytes())
    (requests / "link").symlink_to(outside)
    os.mkfifo(requests / "fifo")
    return [
        outside,
        requests / "folder" / "q1",
        requests / "link",
        requests / "fifo",
        requests / "folder",
        requests / "missing",
        requests / ".." / "requests" / "folder" / ".." / ".." / "home",
    ]


def test_anything_else_at_a_request_files_path_is_refused_and_left_alone(home: AgentHome) -> None:
    for path in _other_places(home):
        existed = os.path.lexists(path)

        answer = home.run([str(BIN / "guilds-code"), "--request-file", str(path)])

        assert answer.code == "invalid_request", path
        assert os.path.lexists(path) == existed, path
    assert not (home.path / "made").exists()


def test_a_home_that_is_not_there_is_told(home: AgentHome) -> None:
    answer = home.call("shell", command="true", env={"GUILDS_HOME": str(home.top / "nowhere")})

    assert answer.code == "unavailable"
    assert "GUILDS_HOME" in answer.message


def test_a_cap_of_the_environment_that_is_no_number_is_told(home: AgentHome) -> None:
    answer = home.call("shell", command="true", env={"CODE_RESULT_MAX_BYTES": "lots"})

    assert answer.code == "invalid_request"
    assert "CODE_RESULT_MAX_BYTES" in answer.message


def test_nothing_but_the_envelope_reaches_stdout(home: AgentHome) -> None:
    answer = home.call("shell", command="echo noise >/proc/$PPID/fd/1; echo done")

    assert answer.text == "done"
    assert answer.process is not None
    assert answer.process.stderr == b"noise\n"


def test_without_a_place_for_the_envelope_the_exit_status_is_not_0(home: AgentHome) -> None:
    line = base64.b64encode(b'{"tool": "shell", "args": {"command": "true"}}').decode()

    done = subprocess.run(
        ["bash", "-c", '"$0" "$1" >/dev/full', str(BIN / "guilds-code"), line],
        env=home.environment(),
        check=False,
        capture_output=True,
    )

    assert done.returncode == 1
    assert b"No space left" in done.stderr


def test_closed_standard_streams_do_no_harm(home: AgentHome) -> None:
    line = base64.b64encode(b'{"tool": "shell", "args": {"command": "ls /proc/self/fd | wc -l"}}').decode()

    done = subprocess.run(
        ["bash", "-c", 'exec 7<"$0"; "$0" "$1" <&- 2>&-', str(BIN / "guilds-code"), line],
        env=home.environment(),
        capture_output=True,
        check=False,
    )

    assert Envelope(done.stdout.strip()).text == "4", "0, 1, 2 and that of ls itself"


def test_every_declared_tool_names_its_helper_and_a_deadline() -> None:
    tools = all_tools()

    assert len(tools) == 21
    assert {tool.helper for tool in tools.values()} == {"guilds-code", "guilds-browser", "guilds-script-run"}
    assert all(tool.call_timeout_seconds > 0 for tool in tools.values())
    assert all(schema["description"] for tool in tools.values() for schema in tool.parameters["properties"].values())
