"""shell: what bash does, the working directory, the environment, time, processes, the log."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent_home import AS_NOBODY, BIN, AgentHome, Envelope


def _bash(home: AgentHome, command: str) -> tuple[str, int]:
    """What bash itself makes of a command."""
    done = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=home.environment(),
        cwd=home.path,
        check=False,
    )
    return done.stdout.decode(), done.returncode


def _sleeping(seconds: str) -> list[int]:
    """The processes that sleep for so long."""
    found = subprocess.run(["pgrep", "-f", f"^sleep {seconds}$"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


@pytest.mark.parametrize(
    "command",
    ["echo a # b", "echo a\\", "cat <<X\na", 'echo "a', "echo $(", "# only", "! true", "if", "exec false",
     "set -e; false; echo on", "trap 'exit 9' EXIT; cd /", "echo `echo a`$'\\x41'!", "(exit 3)", "f() { return 4; }; f",
     "false | true", "set -o pipefail; false | true", "nosuchcommand", "exit 300",
     "shopt -s expand_aliases\nalias q='echo aliased'\nq", "echo $0 $# $BASH_SUBSHELL $SHLVL | cut -c1-9", "echo $-"],
)  # fmt: skip
def test_a_command_gives_what_bash_itself_gives(home: AgentHome, command: str) -> None:
    output, status = _bash(home, command)

    answer = home.call("shell", command=command)

    assert answer.meta["exit_code"] == status
    assert answer.text.split("exit_code: ")[0].strip("\n") == (output.strip("\n") or "(no output)")


def test_a_command_that_looks_like_an_option_is_a_command(home: AgentHome) -> None:
    answer = home.call("shell", command="-x")

    assert answer.text == "bash: line 1: -x: command not found\nexit_code: 127"


def test_a_signal_that_ends_bash_is_128_and_its_number(home: AgentHome) -> None:
    answer = home.call("shell", command="echo a; kill -9 $$")

    assert answer.text == "a\nexit_code: 137"
    assert answer.meta["exit_code"] == 137


def test_bash_can_stop_and_be_continued(home: AgentHome) -> None:
    answer = home.call("shell", command="(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo continued; wait; cd /")

    assert answer.text == "continued"
    assert answer.meta["cwd"] == "/"


def test_signals_that_the_command_traps_reach_it(home: AgentHome) -> None:
    answer = home.call("shell", command="trap 'echo usr' USR1; kill -USR1 $$; echo after")

    assert answer.text == "usr\nafter"


def test_many_children_pass(home: AgentHome) -> None:
    answer = home.call("shell", command="for i in $(seq 300); do /bin/true; done; (cd /) & (cd /) & wait; echo ok")

    assert answer.text == "ok"


@pytest.mark.parametrize(
    "command",
    ["cd d && false", "cd d; exit 3", "set -e; cd d; false", "f() { cd d; }; f", "pushd d >/dev/null",
     "trap 'true' EXIT; cd d", "cd d; exec true", "cd d; cd /; cd - >/dev/null", "eval 'cd d'", "cd d & wait; cd d",
     "cd d; exec bash -c 'cd /'"],
)  # fmt: skip
def test_a_change_of_directory_is_kept(home: AgentHome, command: str) -> None:
    (home.path / "d").mkdir()

    answer = home.call("shell", command=command)

    assert answer.meta["cwd"] == str(home.path / "d")
    assert home.call("shell", command="pwd").text == str(home.path / "d")


@pytest.mark.parametrize("command", ["(cd d)", "cd d | cat", "bash -c 'cd d'", "cd d & wait", "echo $(cd d)"])
def test_a_change_of_directory_below_the_shell_is_not(home: AgentHome, command: str) -> None:
    (home.path / "d").mkdir()

    home.call("shell", command=command)

    assert home.call("shell", command="pwd").text == str(home.path)


@pytest.mark.parametrize("name", [b"a\nb", b"a\xffb", b"a (deleted)", b" a "])
def test_a_directory_with_any_name_is_kept(home: AgentHome, name: bytes) -> None:
    os.mkdir(os.fsencode(home.path) + b"/" + name)
    home.call("shell", command="cd *")

    home.call("shell", command="touch here")

    assert os.listdir(os.fsencode(home.path) + b"/" + name) == [b"here"]


def test_the_directory_of_a_command_that_timed_out_is_not_kept(home: AgentHome) -> None:
    home.call("shell", command="cd /; sleep 61.25", timeout_seconds=1)

    assert home.call("shell", command="pwd").text == str(home.path)


def test_a_directory_that_is_gone_is_replaced_by_its_nearest_parent_and_said_once(home: AgentHome) -> None:
    home.call("shell", command="mkdir -p a/b/c; cd a/b/c")
    (home.path / "a/b").rename(home.path / "a/x")

    answer = home.call("file_read", path="x")
    again = home.call("file_read", path="x")

    assert answer.text == f"[the working directory {home.path}/a/b/c is gone; now in {home.path}/a]\nc/"
    assert answer.meta["cwd_reset"] is True
    assert again.text == "c/"


QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "OWN": "kept",
    "GUILD_RUN_ID": "r1",
    "GUILD_AGENT_ID": "a",
    "GUILD_CALL_ID": "c",
}


def test_the_environment_is_quiet_and_the_callers_own(home: AgentHome) -> None:
    env = {"PAGER": "less", "EDITOR": "vi", "TERM": "xterm", "OWN": "kept"}

    answer = home.call("shell", command=f"printenv {' '.join(QUIET)}", env=env, run={"agent_id": "a", "call_id": "c"})

    assert answer.text.split("\n") == list(QUIET.values())


def test_what_would_disturb_bash_or_ask_is_not_passed_on(home: AgentHome) -> None:
    noise = home.put("noise", "echo NOISE")
    names = ["BASH_ENV", "ENV", "GIT_ASKPASS", "SSH_ASKPASS", "GUILDS_ANY"]

    answer = home.call(
        "shell",
        command="env | grep -E '^(BASH_ENV|ENV|GIT_ASKPASS|SSH_ASKPASS|GUILDS_.*)='",
        env=dict.fromkeys(names, str(noise)),
    )

    assert answer.text == "(no output)\nexit_code: 1"


def test_signals_descriptors_and_session_are_fresh(home: AgentHome) -> None:
    command = "grep SigIgn /proc/self/status; ls /proc/$$/fd; ps -o sid= -p $$ | tr -d ' '; echo $$"
    line = home.carried(json.dumps({"tool": "shell", "args": {"command": command}}).encode())
    trapping = ["bash", "-c", "trap '' HUP INT QUIT PIPE TERM USR1; exec 5</dev/null 9</dev/null; exec \"$@\"", "x"]

    answer = home.run([*trapping, str(BIN / "guilds-code"), *line])

    ignored, zero, one, two, session, pid = answer.text.split("\n")
    assert int(ignored.split()[1], 16) == 0
    assert (zero, one, two) == ("0", "1", "2")
    assert session == pid


def test_there_is_no_terminal_to_ask_at(home: AgentHome) -> None:
    master, terminal = os.openpty()
    line = home.carried(b'{"tool": "shell", "args": {"command": "cat </dev/tty"}}')

    done = subprocess.run(
        [str(BIN / "guilds-code"), *line],
        stdin=terminal,
        stdout=subprocess.PIPE,
        env=home.environment(),
        check=True,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(master)
    os.close(terminal)

    assert "No such device or address" in Envelope(done.stdout.strip()).text


def test_a_timeout_keeps_what_was_printed(home: AgentHome) -> None:
    answer = home.call("shell", command="echo before; sleep 61.5; echo after", timeout_seconds=1)

    assert answer.text == "before\ntimed out after 1 s\nexit_code: 124"
    assert answer.meta["timed_out"] is True


DAEMON = """python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execlp("sleep", "sleep", "62.{n}")
    os._exit(0)
time.sleep(62)'
"""


@pytest.mark.parametrize(
    "command",
    [
        "(trap '' TERM; sleep 62.{n}) & wait",
        "trap '' TERM; sleep 62.{n}; sleep 62.{n}",
        "setsid bash -c 'trap \"\" TERM; sleep 62.{n}' & wait",
        "(setsid sleep 62.{n} &) ; sleep 62.{n}",
        "env -i setsid sleep 62.{n} & sleep 62.{n}",
        "nohup setsid sleep 62.{n} >/dev/null 2>&1 & sleep 62.{n}",
        "kill -STOP $$; sleep 62.{n}",
        DAEMON,
    ],
)
def test_a_timeout_ends_every_process_of_the_call(home: AgentHome, command: str) -> None:
    own = str(os.getpid()) + str(abs(hash(command)))[:4]

    answer = home.call("shell", command=command.replace("{n}", own), timeout_seconds=1)

    assert answer.meta["timed_out"] is True
    assert _sleeping(f"62.{own}") == []


def test_a_timeout_ends_no_process_of_another_call(home: AgentHome) -> None:
    own = f"63.{os.getpid()}"
    home.call("shell", command=f"sleep {own} >/dev/null 2>&1 &")

    home.call("shell", command="sleep 61.75", timeout_seconds=1)

    left = _sleeping(own)
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)


def test_a_process_left_behind_is_named_and_its_output_goes_to_the_log(home: AgentHome) -> None:
    answer = home.call("shell", run={"call_id": "c1"}, command="(sleep 0.5; echo late) & echo now")

    log = home.path / ".runs/r1/c1.log"
    assert answer.text.startswith("now\n[2 processes still running: pid ")
    assert Path(answer.meta["log_path"]) == log
    assert _soon(lambda: log.read_bytes() == b"now\nlate\n")


def test_what_comes_right_after_the_shells_end_is_still_seen(home: AgentHome) -> None:
    answer = home.call("shell", command="echo a > >(read x; echo $x; echo b)")

    assert answer.text == "a\nb"


def test_a_process_that_holds_no_output_is_left_in_peace(home: AgentHome) -> None:
    answer = home.call("shell", command="sleep 1 >/dev/null 2>&1 & echo $!")

    pid = answer.text.split("\n")[0]
    assert answer.text == f"{pid}\n[1 process still running: pid {pid}]"


def test_output_without_end_is_ended_at_the_logs_limit(home: AgentHome) -> None:
    answer = home.call("shell", run={"call_id": "c1"}, command="yes", env={"SHELL_LOG_MAX_BYTES": "300000"})

    assert answer.meta["log_limit"] is True
    assert "SHELL_LOG_MAX_BYTES" in answer.text
    assert (home.path / ".runs/r1/c1.log").stat().st_size == 300_000


def test_a_process_left_behind_is_ended_at_the_logs_limit_too(home: AgentHome) -> None:
    home.call("shell", run={"call_id": "c1"}, command="(sleep 0.3; exec yes) &", env={"SHELL_LOG_MAX_BYTES": "100000"})

    assert _soon(lambda: (home.path / ".runs/r1/c1.log").stat().st_size == 100_000)


def test_output_that_fits_leaves_no_log(home: AgentHome) -> None:
    answer = home.call("shell", command="seq 1000")

    assert answer.text == "\n".join(map(str, range(1, 1001)))
    assert "log_path" not in answer.meta
    assert not list(home.path.glob(".runs/*/*.log"))


def test_output_that_does_not_fit_is_whole_in_the_log(home: AgentHome) -> None:
    answer = home.call("shell", run={"call_id": "c1"}, command="mkdir d; cd d; seq 100000; exit 3")

    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert (home.path / ".runs/r1/c1.log").read_text() == whole
    assert answer.text.startswith("1\n2\n")
    assert answer.text.endswith("\n100000\nexit_code: 3")
    assert f"whole output: {home.path}/.runs/r1/c1.log" in answer.text
    assert answer.meta["output_bytes"] == len(whole)
    assert len(answer.text.encode()) <= 8192
    start, end = answer.meta["cuts"]
    assert answer.text[start:end].strip().startswith("[… ")


def test_a_log_of_a_repeated_call_id_does_not_take_the_place_of_the_first(home: AgentHome) -> None:
    for word in ("one", "two"):
        home.call("shell", run={"call_id": "c1"}, command=f"yes {word} | head -c 100000")

    assert (home.path / ".runs/r1/c1.log").read_bytes().startswith(b"one")
    assert (home.path / ".runs/r1/c1.2.log").read_bytes().startswith(b"two")


def test_a_full_disk_does_not_stop_the_command_and_is_told(home: AgentHome, small_disk: Path) -> None:
    answer = home.call("shell", command="seq 100000; echo end", env={"GUILDS_HOME": str(small_disk)})

    assert answer.text.endswith("\n100000\nend")
    assert "not kept (No space left on device)" in answer.text


def test_a_read_only_home_still_runs_commands_and_tells_what_is_not_kept(home: AgentHome, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    answer = home.call("shell", command="cd /; echo ok", env={"GUILDS_HOME": str(small_disk)})

    assert answer.text == "ok\n[the change of directory could not be kept: Read-only file system]"


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 131_072, "\ud83d"])
def test_a_text_that_can_be_no_command_is_refused(home: AgentHome, value: str) -> None:
    assert home.call("shell", command=value).code == "invalid_arguments"


def test_a_large_command_runs(home: AgentHome) -> None:
    assert home.call("shell", command="echo ok #" + "x" * 131_000).text == "ok"


def test_the_helper_told_to_end_ends_the_command(home: AgentHome) -> None:
    own = f"64.{os.getpid()}"
    process = home.start("shell", command=f"echo on; (trap '' TERM; sleep {own}) & sleep {own}")
    assert _soon(lambda: len(_sleeping(own)) == 2)

    process.terminate()
    answer, _ = process.communicate(timeout=30)

    assert Envelope(answer.strip()).text.startswith("on\nended: the call was interrupted\nexit_code: 143")
    assert _sleeping(own) == []


def test_a_helper_that_was_killed_leaves_no_run_in_the_way(home: AgentHome) -> None:
    own = f"65.{os.getpid()}"
    process = home.start("shell", command=f"sleep {own}")
    assert _soon(lambda: len(_sleeping(own)) == 1)
    process.kill()
    process.wait()
    os.kill(_sleeping(own)[0], signal.SIGKILL)

    assert home.call("shell", command="echo ok").text == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a set-user-id program")
def test_an_ordinary_user_runs_set_user_id_programs_as_the_last_command(home: AgentHome) -> None:
    program = home.put("id", Path("/usr/bin/id").read_bytes())
    program.chmod(0o4755)
    home.let_everybody_in()

    answer = home.run(
        [
            sys.executable,
            "-c",
            AS_NOBODY,
            *home.carried(
                f"""{{"tool": "shell", "args":
        {{"command": "cd .; exec {program} -u"}}}}""".encode()
            ),
        ]
    )

    assert answer.text == "0"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to take tracing away")
def test_where_tracing_is_not_permitted_the_directory_is_kept_all_the_same_and_that_is_told(home: AgentHome) -> None:
    (home.path / "d").mkdir()
    under_a_tracer = ["strace", "-f", "-o", "/dev/null"]

    answer = home.run(
        [
            *under_a_tracer,
            str(BIN / "guilds-code"),
            *home.carried(b'{"tool": "shell", "args": {"command": "cd d; exit 3"}}'),
        ]
    )

    assert answer.meta["cwd"] == str(home.path / "d")
    assert answer.meta["exit_code"] == 3
    assert answer.meta["untraced"] == "Operation not permitted"


def test_memory_stays_flat_whatever_is_printed(home: AgentHome) -> None:
    line = home.carried(b'{"tool": "shell", "args": {"command": "head -c 200M /dev/zero | tr \'\\\\0\' x"}}')
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )

    done = subprocess.run(
        ["python3", "-c", measure, str(BIN / "guilds-code"), *line],
        capture_output=True,
        text=True,
        env=home.environment(),
        check=True,
    )

    assert int(done.stdout) < 60_000, "KiB"


def _soon(true: Callable[[], bool], seconds: float = 10) -> bool:
    give_up = time.monotonic() + seconds
    while not true() and time.monotonic() < give_up:
        time.sleep(0.02)
    return bool(true())
