"""script_run: the arguments that reach a script, how it runs, how it ends, and the source that a request brings."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.agent_home import BIN, AgentHome, Envelope

ECHO = "import sys\nsys.stdout.write(sys.stdin.read())\n"
ARGUMENTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def put(home: AgentHome, source: str, name: str = "report") -> Path:
    return home.put(f"scripts/{name}.py", source)


def run_raw(home: AgentHome, arguments: str, name: str = "report") -> Envelope:
    """Run a script with this very text as `arguments`."""
    body = f'{{"tool": "script_run", "args": {{"name": "{name}", "arguments": {arguments}}}, "run": {{"id": "r1"}}}}'
    return home.send(body.encode(), "guilds-script-run")


def run_with_source(home: AgentHome, script: Any, name: str = "report") -> Envelope:
    return home.ask({"tool": "script_run", "args": {"name": name}, "run": {"id": "r1"}, "script": script})


def packed(source: str) -> dict[str, str]:
    return {"source": source, "sha256": hashlib.sha256(source.encode()).hexdigest()}


def sleeping(seconds: str) -> list[int]:
    found = subprocess.run(["pgrep", "-f", f"^sleep {seconds}$"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def test_without_arguments_a_script_reads_an_empty_object(home: AgentHome) -> None:
    put(home, ECHO)

    assert home.call("script_run", name="report").text == "{}"


@pytest.mark.parametrize(
    "arguments",
    [
        '{ "z" : 1.10,"a":1e400 , "m": -0, "big": 123456789012345678901234567890.50E+3}',
        '{"n": ' + "9" * 5_000 + "}",
        '{"é": "\\u00e9\\ud83d\\ude00\\u2028\\u0000", "": {"": []}}',
        '{"text": "\\\\ud83d \\"arguments\\": {}", "args": {"arguments": 2}}',
        "{}",
        "{" + ",".join(f'"k{number}":{number}' for number in range(3_000)) + "}",
        '{"deep": ' + "[" * 200 + "]" * 200 + "}",
    ],
    ids=lambda arguments: arguments[:40],
)
def test_arguments_reach_stdin_as_they_were_sent(home: AgentHome, arguments: str) -> None:
    put(home, "import sys\nopen('got', 'w').write(sys.stdin.read())\n")

    run_raw(home, arguments)

    assert (home.path / "got").read_text() == arguments


@given(ARGUMENTS, st.booleans())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example({"\u2028": "\x00", "a": 10**30}, True)
def test_any_json_object_reaches_stdin(home: AgentHome, arguments: dict[str, Any], ascii_only: bool) -> None:
    put(home, "import sys\nopen('got', 'wb').write(sys.stdin.buffer.read())\n")
    text = json.dumps(arguments, ensure_ascii=ascii_only)

    run_raw(home, text)

    assert (home.path / "got").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"a": NaN}', "invalid_request"),
        ('{"a": -Infinity}', "invalid_request"),
        ('{"a": 1,}', "invalid_request"),
        ('{"a": 01}', "invalid_request"),
        ('{"a": "\t"}', "invalid_request"),
        ('{"a": 1, "a": 2}', "invalid_arguments"),
        ('{"a": 1, "\\u0061": 1}', "invalid_arguments"),
        ('{"x": [{"y": {"a": 1, "a": 1}}]}', "invalid_arguments"),
        ('{"a": "\\ud83d"}', "invalid_arguments"),
        ('{"a": ["\\uDE00\\ud83d"]}', "invalid_arguments"),
        ('{"x": [{"\\ud83dx": 1}]}', "invalid_arguments"),
        ("[1]", "invalid_arguments"),
        ("null", "invalid_arguments"),
        ('"{}"', "invalid_arguments"),
        ('{}, "arguments": {}', "invalid_arguments"),
    ],
)
def test_arguments_that_readers_would_differ_about_are_refused_before_the_start(
    home: AgentHome, arguments: str, code: str
) -> None:
    put(home, "open('ran', 'w')\n")

    answer = run_raw(home, arguments)

    assert answer.code == code
    assert not (home.path / "ran").exists()


def test_arguments_are_in_no_argv_and_no_environment(home: AgentHome) -> None:
    put(home, "import os, sys\nprint(sys.argv[1:], 'secret-word' in str(os.environ))\n")

    assert home.call("script_run", name="report", arguments={"key": "secret-word"}).text == "[] False"


def test_a_script_runs_in_home_with_the_environment_of_a_command(home: AgentHome) -> None:
    put(
        home,
        "import os\nprint(os.getcwd())\nprint(*map(os.environ.get, ('PAGER', 'GUILD_RUN_ID', 'GUILDS_HOME', 'PWD')))\n",
    )
    home.call("shell", command="mkdir deep && cd deep")

    answer = home.call("script_run", name="report")

    assert answer.text == f"{home.path}\ncat r1 None {home.path}"
    assert home.call("shell", command="pwd").text == f"{home.path}/deep"


def test_git_in_a_script_is_wired(home: AgentHome) -> None:
    put(home, "import os\nprint(os.environ['GIT_CONFIG_KEY_0'])\n")

    assert home.call("script_run", name="report").text == "credential.https://github.com.helper"


def test_the_result_tells_the_hash_of_what_ran_and_how_it_ended(home: AgentHome) -> None:
    file = put(home, "raise SystemExit(3)\n")

    answer = home.call("script_run", name="report")

    assert answer.text == "(no output)\nexit_code: 3"
    assert answer.meta["script_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (answer.meta["exit_code"], answer.meta["timed_out"], answer.meta["cuts"]) == (3, False, [])
    assert isinstance(answer.meta["duration_ms"], int)
    assert "log_path" not in answer.meta


def test_a_traceback_names_the_lines_of_the_source_and_both_streams_are_one(home: AgentHome) -> None:
    file = put(home, "# one\nimport sys\nprint('out')\nprint('err', file=sys.stderr)\nimport nosuchmodule\n")

    text = home.call("script_run", name="report").text

    assert text.startswith(f'out\nerr\nTraceback (most recent call last):\n  File "{file}", line 5, in <module>')
    assert text.endswith("ModuleNotFoundError: No module named 'nosuchmodule'\nexit_code: 1")


@pytest.mark.parametrize(("end", "code"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("os.abort()", 134)])
def test_what_was_printed_before_a_hard_end_is_there(home: AgentHome, end: str, code: int) -> None:
    put(home, f"import os\nprint('before', end='')\n{end}\n")

    answer = home.call("script_run", name="report", env={"PYTHONUNBUFFERED": ""})

    assert answer.text == f"before\nexit_code: {code}"


def test_every_character_prints_in_every_locale(home: AgentHome) -> None:
    put(home, "print('é🚀')\nprint('\\ud83d')\nprint('end')\n")

    answer = home.call("script_run", name="report", env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})

    assert answer.text == "é🚀\n\\ud83d\nend"


def test_a_module_beside_the_script_or_in_home_does_not_shadow_the_library(home: AgentHome) -> None:
    put(home, "raise SystemExit('shadowed')\n", "json")
    home.put("json.py", "raise SystemExit('shadowed')\n")
    put(home, "import json\nprint(json.dumps(1))\n")

    assert home.call("script_run", name="report").text == "1"
    assert sorted(os.listdir(home.path / "scripts")) == ["json.py", "report.py"]


def test_a_module_of_the_agent_s_own_leaves_no_compiled_file_behind(home: AgentHome) -> None:
    home.put("lib/mine.py", "word = 'mine'\n")
    put(home, "import sys\nsys.path.append('lib')\nimport mine\nprint(mine.word)\n")

    assert home.call("script_run", name="report").text == "mine"
    assert os.listdir(home.path / "lib") == ["mine.py"]


@pytest.mark.parametrize(
    "source",
    ["print('done')\n", "import os\nos.close(0)\nprint('done')\n", "import sys\nsys.stdin.read(10)\nprint('done')\n",
     "import os, time\nos.close(0)\ntime.sleep(0.3)\nprint('done')\n"],
)  # fmt: skip
def test_a_script_that_does_not_take_5_megabytes_of_arguments_ends_as_it_likes(home: AgentHome, source: str) -> None:
    put(home, source)

    answer = home.call("script_run", name="report", arguments={"data": "x" * 5_000_000})

    assert answer.text == "done"
    assert answer.meta["exit_code"] == 0


def test_5_megabytes_of_arguments_are_read_whole_while_the_script_prints(home: AgentHome) -> None:
    put(home, "import sys\nprint('x' * 3_000_000, flush=True)\nprint(len(sys.stdin.read()))\n")

    answer = home.call("script_run", name="report", arguments={"data": "é" * 1_500_000})

    assert answer.text.endswith(f"\n{len(json.dumps({'data': 'é' * 1_500_000}))}")


def test_a_script_that_ignores_sigterm_is_ended_with_its_children(home: AgentHome) -> None:
    put(
        home,
        "import os, signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '7313.1'], start_new_session=True)\n"
        "subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 7313.1; sleep 7313.1'])\n"
        "print('begun')\n"
        "time.sleep(7313)\n",
    )

    answer = home.call("script_run", name="report", limits={"timeout_seconds": 1})

    assert answer.text == "begun\ntimed out after 1 s\nexit_code: 124"
    assert (answer.meta["timed_out"], answer.meta["exit_code"]) == (True, 124)
    assert sleeping("7313.1") == []


def test_a_child_left_running_is_told_and_does_not_hold_the_call(home: AgentHome) -> None:
    put(home, "import subprocess\nprint(subprocess.Popen(['sleep', '7314.2']).pid)\n")

    answer = home.call("script_run", name="report")

    [pid] = sleeping("7314.2")
    os.kill(pid, 9)
    assert answer.text == f"{pid}\n[1 process still running: pid {pid}]"


def test_a_gigabyte_of_output_is_a_head_and_a_tail(home: AgentHome) -> None:
    put(
        home, "import sys\nfor _ in range(1024):\n    sys.stdout.write('line of output\\n' * (1 << 16))\nprint('end')\n"
    )

    answer = home.call("script_run", name="report", env={"SHELL_LOG_MAX_BYTES": str(1 << 24)})

    assert answer.meta["log_limit"]
    assert len(answer.text.encode()) <= 8192
    assert Path(answer.meta["log_path"]).stat().st_size == 1 << 24


@pytest.mark.parametrize(("limit", "least"), [(None, 120), (600, 120), (7, 7), (7.9, 7), (1e300, 120), (10**400, 120)])
def test_the_time_is_two_minutes_or_fewer(limit: float | None, least: int) -> None:
    from guilds_script_run.tools.script_run import _timeout_seconds

    assert _timeout_seconds({"timeout_seconds": limit}) == least


@pytest.mark.parametrize("limit", [0, -1, "9", True, [], 0.5])
def test_a_time_that_is_none_is_refused(home: AgentHome, limit: Any) -> None:
    put(home, "print(1)\n")

    answer = home.call("script_run", name="report", limits={"timeout_seconds": limit})

    assert answer.code == "invalid_request"
    assert "limits.timeout_seconds" in answer.message


@pytest.mark.parametrize(
    "name", ["Bad", "../x", "manifest", "1a", "a.b", "a b", "a\n", "", "a" * 64, "é", "_a", "-a", "a/b"]
)
@pytest.mark.parametrize("tool", ["script_run", "script_remove"])
def test_a_name_that_no_script_has_is_refused(home: AgentHome, tool: str, name: str) -> None:
    put(home, "print(1)\n", "manifest")

    assert home.call(tool, name=name).code == "invalid_arguments"

    assert (home.path / "scripts/manifest.py").exists()


def test_the_longest_name_runs(home: AgentHome) -> None:
    put(home, "print('ok')\n", "a" + "-_9" * 20 + "zz")

    assert home.call("script_run", name="a" + "-_9" * 20 + "zz").text == "ok"


def test_a_missing_script_is_named_with_those_there_are(home: AgentHome) -> None:
    assert home.call("script_run", name="montly").message == "there is no script montly; there are none yet."
    put(home, "", "weekly")
    put(home, "", "daily")
    put(home, "", "Not-One")
    put(home, "", "manifest")

    answer = home.call("script_run", name="montly")

    assert (answer.code, answer.message) == ("not_found", "there is no script montly; there are: daily, weekly.")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path)], ids=["folder", "fifo"])
def test_what_is_no_file_is_no_script(home: AgentHome, make: Any) -> None:
    (home.path / "scripts").mkdir()
    make(home.path / "scripts/report.py")

    assert home.call("script_run", name="report").code == "not_a_file"


def test_a_script_outside_of_home_is_not_run(home: AgentHome) -> None:
    (home.path / "scripts").mkdir()
    (home.top / "out.py").write_text("open('ran', 'w')\n")
    (home.path / "scripts/report.py").symlink_to(home.top / "out.py")

    assert home.call("script_run", name="report").code == "path_outside_home"
    assert run_with_source(home, packed("print(1)\n")).code == "path_outside_home"
    assert not (home.path / "ran").exists()


def test_the_source_of_a_request_becomes_the_file_and_runs(home: AgentHome) -> None:
    source = "print('é')\r\nprint(2)"

    answer = run_with_source(home, packed(source))

    assert answer.text == "é\n2"
    assert (home.path / "scripts/report.py").read_bytes() == source.encode()
    assert answer.meta["script_sha256"] == packed(source)["sha256"]


def test_a_new_source_replaces_the_file_and_the_same_one_leaves_it_alone(home: AgentHome) -> None:
    file = put(home, "print('old')\n")
    run_with_source(home, packed("print('new')\n"))
    before = file.stat()

    answer = run_with_source(home, packed("print('new')\n"))

    after = file.stat()
    assert answer.text == "new"
    assert (before.st_ino, before.st_ctime_ns) == (after.st_ino, after.st_ctime_ns)
    assert os.listdir(home.path / "scripts") == ["report.py"]


@pytest.mark.parametrize(
    "script",
    [{"source": "print(1)\n", "sha256": "0" * 64}, {"source": "print(1)\n"}, {"sha256": "0" * 64}, {}, [], "x", 1,
     {"source": "'\ud83d'", "sha256": "0" * 64}, {"source": 1, "sha256": "0" * 64}, {"source": "", "sha256": None}],
)  # fmt: skip
def test_a_source_that_is_not_what_it_says_is_refused_and_the_old_one_stays(home: AgentHome, script: Any) -> None:
    file = put(home, "open('ran', 'w')\n")

    answer = run_with_source(home, script)

    assert answer.code == "invalid_arguments"
    assert answer.problems[0]["path"] == "$.script"
    assert file.read_text() == "open('ran', 'w')\n"
    assert not (home.path / "ran").exists()


def test_a_refused_call_leaves_the_file_as_it_was(home: AgentHome) -> None:
    file = put(home, "print('old')\n")
    body = {"tool": "script_run", "args": {"name": "report"}, "limits": {"timeout_seconds": 0}, "script": packed("1\n")}

    home.ask(body)

    assert file.read_text() == "print('old')\n"


def test_two_calls_with_one_new_source_at_once_both_run_it(home: AgentHome) -> None:
    body = json.dumps({"tool": "script_run", "args": {"name": "report"}, "script": packed("print('both')\n")}).encode()
    command = [str(BIN / "guilds-script-run"), *home.carried(body)]

    started = [
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=home.environment())
        for _ in range(4)
    ]
    answers = [Envelope(process.communicate(timeout=60)[0].strip()) for process in started]

    assert [answer.text for answer in answers] == ["both"] * 4


def test_a_protected_file_that_has_the_source_runs_as_it_is(home: AgentHome) -> None:
    file = put(home, "print(1)\n")
    file.chmod(0o444)
    before = file.stat()

    answer = run_with_source(home, packed("print(1)\n"))

    assert answer.text == "1"
    after = file.stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o400])
def test_a_protected_file_with_another_source_is_replaced(home: AgentHome, mode: int) -> None:
    file = put(home, "print(1)\n")
    file.chmod(mode)

    answer = run_with_source(home, packed("print(2)\n"))

    assert answer.text == "2"
    assert file.read_text() == "print(2)\n"
    assert os.listdir(home.path / "scripts") == ["report.py"]


def test_a_missing_script_is_told_with_those_that_can_be_run(home: AgentHome) -> None:
    put(home, "", "weekly")
    (home.path / "scripts/folder.py").mkdir()
    (home.path / "scripts/dangling.py").symlink_to("/nonexistent")
    (home.path / "scripts/outside.py").symlink_to("/etc/passwd")
    (home.path / "scripts/linked.py").symlink_to("weekly.py")
    os.mkfifo(home.path / "scripts/pipe.py")

    answer = home.call("script_run", name="nope")

    assert (answer.code, answer.message) == ("not_found", "there is no script nope; there are: linked, weekly.")


def test_without_python_the_answer_says_what_to_install(home: AgentHome) -> None:
    put(home, "print(1)\n")

    answer = home.call("script_run", name="report", env={"PATH": "/nowhere"})

    assert answer.code == "unavailable"
    assert "python3" in answer.message


def test_the_python_on_path_runs_the_script(home: AgentHome) -> None:
    home.put("bin/python3", '#!/bin/sh\necho "$@"\n', 0o755)
    put(home, "")

    answer = home.call("script_run", name="report", env={"PATH": f"{home.path}/bin:/usr/bin:/bin"})

    assert answer.text == f"-u -P {home.path}/scripts/report.py"


def test_removing_a_script_deletes_its_file_and_says_when_it_was_not_there(home: AgentHome) -> None:
    file = put(home, "print(1)\n")

    assert home.call("script_remove", name="report").text == "removed scripts/report.py"

    assert not file.exists()
    assert home.call("script_remove", name="report").text == "scripts/report.py was not there"


def test_removing_a_link_leaves_what_it_leads_to(home: AgentHome) -> None:
    kept = home.put("kept.py", "")
    put(home, "", "other")
    (home.path / "scripts/report.py").symlink_to(kept)

    home.call("script_remove", name="report")

    assert kept.exists()
    assert os.listdir(home.path / "scripts") == ["other.py"]


def test_removing_reaches_no_file_outside_of_home(home: AgentHome) -> None:
    outside = home.top / "outside"
    outside.mkdir()
    (outside / "report.py").write_text("")
    (home.path / "scripts").symlink_to(outside)

    assert home.call("script_remove", name="report").code == "path_outside_home"

    assert (outside / "report.py").exists()


def test_removing_a_folder_is_refused(home: AgentHome) -> None:
    (home.path / "scripts/report.py").mkdir(parents=True)

    assert home.call("script_remove", name="report").code == "not_a_file"


def by_hand(home: AgentHome, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "guilds-script-run"), *words],
        input=stdin,
        capture_output=True,
        text=True,
        env=home.environment(),
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "stdin", "printed"),
    [
        (["report"], "", "{}\n"),
        (["report", "--arguments", '{ "week": 48.0 }'], "", '{ "week": 48.0 }\n'),
        (["--arguments", "{}", "report"], "", "{}\n"),
        (["report", "--arguments", "-"], '{"week": 1e400}', '{"week": 1e400}\n'),
    ],
)
def test_by_hand_a_script_runs_by_its_name_alone(home: AgentHome, words: list[str], stdin: str, printed: str) -> None:
    put(home, ECHO)

    assert by_hand(home, *words, stdin=stdin).stdout == printed


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("{", 2), ('{"a": NaN}', 2), ('{}, "name": "other"', 2), ("", 2), ('{"a": 1, "a": 2}', 1), ("[1]", 1), ("1", 1)],
)
def test_by_hand_arguments_that_are_not_strict_json_are_refused(home: AgentHome, arguments: str, status: int) -> None:
    put(home, "open('ran', 'w')\n")
    put(home, "open('ran', 'w')\n", "other")

    done = by_hand(home, "report", "--arguments", arguments)

    assert (done.returncode, done.stdout) == (status, "")
    assert not (home.path / "ran").exists()


def test_by_hand_a_missing_script_is_an_error_and_a_request_still_a_request(home: AgentHome) -> None:
    missing = by_hand(home, "report")
    malformed = by_hand(home, "Report")

    assert (missing.returncode, missing.stderr) == (1, "error: there is no script report; there are none yet.\n")
    assert Envelope(malformed.stdout.strip().encode()).code == "invalid_request"


def test_help_shows_how_arguments_are_given(home: AgentHome) -> None:
    done = by_hand(home, "--help")

    assert "Usage: guilds-script-run [OPTIONS] NAME" in done.stdout
    assert "--arguments JSON" in done.stdout
