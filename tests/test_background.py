"""Background commands and shell_status."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.agent_home import AgentHome, Envelope


@pytest.fixture
def own() -> str:
    """A duration that nothing else sleeps for."""
    return f"600.{os.getpid()}{time.monotonic_ns() % 100_000}"


@pytest.fixture(autouse=True)
def _stop_all(home: AgentHome) -> Iterator[None]:
    yield
    for file in (home.runtime / "background").glob("b*.json"):
        home.call("shell_status", id=file.stem, stop=True)


def _start(home: AgentHome, command: str, **more: object) -> Envelope:
    return home.ask({"tool": "shell", "args": {"command": command, "background": True}, "run": {"id": "r1", **more}})


def _ended(home: AgentHome, name: str) -> Envelope:
    assert _soon(lambda: home.call("shell_status", id=name).meta["state"] != "running")
    return home.call("shell_status", id=name)


def test_a_command_starts_and_its_output_goes_to_the_named_log(home: AgentHome, own: str) -> None:
    answer = _start(home, f"echo hello; sleep {own}", call_id="c1")

    log = home.path / ".runs/r1/c1.log"
    assert answer.text == "b1 started; log: .runs/r1/c1.log"
    assert answer.meta == {"background_id": "b1", "log_path": str(log), "cuts": []}
    assert _soon(lambda: log.read_text() == "hello\n")
    assert home.call("shell_status").text.endswith(f" s  echo hello; sleep {own}")


def test_names_are_handed_out_once_under_concurrent_starts(home: AgentHome) -> None:
    answers: list[Envelope] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(_start(home, "true", call_id=f"c{n}"))) for n in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer.meta["background_id"] for answer in answers) == [f"b{n}" for n in range(1, 9)]


def test_the_list_is_newest_first_with_state_time_and_command(home: AgentHome, own: str) -> None:
    _start(home, "exit 3", call_id="c1")
    _ended(home, "b1")
    _start(home, f"sleep {own}", call_id="c2")

    assert home.call("shell_status").text == f"b2 running 0 s  sleep {own}\nb1 exited 3 after 0 s  exit 3"


def test_without_commands_the_list_says_so(home: AgentHome) -> None:
    assert home.call("shell_status").text == "(no background commands)"


def test_a_long_list_keeps_the_newest_within_the_cap(home: AgentHome) -> None:
    for number in range(12):
        _start(home, f"true {number} {'x' * 300}", call_id=f"c{number}")

    text = home.call("shell_status", limits={"result_max_bytes": 1024}).text

    assert text.startswith("b12 ")
    assert "older commands left out" in text
    assert len(text.encode()) <= 1024


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [
        ("exit 5", "b1 exited 5 after 0 s  exit 5", 5),
        ("kill -9 $$", "b1 ended by signal 9 after 0 s  kill -9 $$", 137),
        ("nosuchprogram", "b1 exited 127 after 0 s  nosuchprogram", 127),
    ],
)
def test_an_end_between_calls_is_known(home: AgentHome, command: str, words: str, code: int) -> None:
    _start(home, command)

    answer = _ended(home, "b1")

    assert answer.text.split("\n")[0] == words
    assert (answer.meta["state"], answer.meta["exit_code"]) == ("exited", code)


def test_the_last_forty_lines_of_the_log_are_shown_cleaned(home: AgentHome) -> None:
    _start(home, r"seq 100; printf '\033[31mred\033[0m\n10%%\r20%%\n'")

    lines = _ended(home, "b1").text.split("\n")[1:]

    assert lines == [*map(str, range(63, 101)), "red", "20%"]


def test_the_log_stays_within_the_cap_and_keeps_its_end(home: AgentHome) -> None:
    _start(home, "for i in $(seq 40); do head -c 100 /dev/zero | tr '\\0' x; echo $i; done")
    _ended(home, "b1")

    answer = home.call("shell_status", id="b1", limits={"result_max_bytes": 1024})

    assert len(answer.text.encode()) <= 1024
    assert answer.text.endswith("x40")
    assert "characters left out" in answer.text[slice(*answer.meta["cuts"])]


def test_stop_ends_all_processes_of_the_command(home: AgentHome, own: str) -> None:
    _start(home, f"(trap '' TERM; sleep {own}) & setsid sleep {own} & sleep {own}; echo never")
    assert _soon(lambda: _count(own) == 3)

    answer = home.call("shell_status", id="b1", stop=True)

    assert answer.text.startswith("b1 stopped after ")
    assert (answer.meta["state"], _count(own)) == ("stopped", 0)
    assert "\nnever" not in home.call("shell_status", id="b1").text


def test_stop_of_one_that_has_ended_says_so_and_changes_nothing(home: AgentHome) -> None:
    _start(home, "exit 6")
    _ended(home, "b1")

    answer = home.call("shell_status", id="b1", stop=True)

    assert "it had ended already" in answer.text
    assert (answer.meta["state"], answer.meta["exit_code"]) == ("exited", 6)


def test_an_unknown_id_names_those_there_are(home: AgentHome) -> None:
    _start(home, "true")

    answer = home.call("shell_status", id="b7")

    assert answer.code == "not_found"
    assert "there are: b1" in answer.message


def test_stop_without_id_is_refused(home: AgentHome) -> None:
    assert home.call("shell_status", stop=True).code == "invalid_arguments"


def test_a_command_outlives_its_run_and_the_time_of_other_calls(home: AgentHome, own: str) -> None:
    _start(home, f"sleep {own}")

    home.call("shell", command="sleep 60.5", timeout_seconds=1)

    assert home.call("shell_status", id="b1", run={"id": "r2"}).meta["state"] == "running"


def test_its_run_folder_is_kept_while_it_runs(home: AgentHome, own: str) -> None:
    _start(home, f"sleep {own}", id="old", call_id="c1")
    for number in range(25):
        home.call("shell", command="cd /", run={"id": f"run{number}"})

    runs = {path.name for path in (home.path / ".runs").iterdir()}

    assert "old" in runs
    assert len(runs) == 21


def test_a_command_whose_supervisor_was_killed_is_seen_by_its_process(home: AgentHome, own: str) -> None:
    _start(home, f"sleep {own}")
    state = json.loads((home.runtime / "background/b1.json").read_text())

    os.kill(state["supervisor"], signal.SIGKILL)

    assert home.call("shell_status", id="b1").meta["state"] == "running"
    assert home.call("shell_status", id="b1", stop=True).meta["state"] == "stopped"
    assert _count(own) == 0


@pytest.mark.parametrize("change", [{"start": 1, "supervisor_start": 1}, {"boot": "another"}])
def test_a_process_that_only_has_the_pid_is_not_the_command(
    home: AgentHome, own: str, change: dict[str, object]
) -> None:
    _start(home, f"sleep {own}")
    file = home.runtime / "background/b1.json"
    state = json.loads(file.read_text())
    file.write_text(json.dumps(state | change))

    assert home.call("shell_status", id="b1").meta["state"] == "lost"
    file.write_text(json.dumps(state))


def test_damaged_state_hides_one_command_and_no_other(home: AgentHome) -> None:
    _start(home, "true", call_id="c1")
    _ended(home, "b1")
    (home.runtime / "background/b2.json").write_text("{")

    assert home.call("shell_status").text == "b1 exited 0 after 0 s  true"
    assert _start(home, "true", call_id="c3").meta["background_id"] == "b3"


def test_output_without_end_is_ended_at_the_logs_limit(home: AgentHome) -> None:
    body = {"tool": "shell", "args": {"command": "yes", "background": True}, "run": {"id": "r1", "call_id": "c1"}}
    home.ask(body, env={"SHELL_LOG_MAX_BYTES": "200000"})

    answer = _ended(home, "b1")

    assert "printed more than 200000 bytes" in answer.text
    assert (home.path / ".runs/r1/c1.log").stat().st_size == 200_000


def test_a_supervisor_holds_nothing_of_its_caller_open(home: AgentHome, own: str) -> None:
    _start(home, f"sleep {own}")

    supervisor = json.loads((home.runtime / "background/b1.json").read_text())["supervisor"]

    targets = [os.readlink(f"/proc/{supervisor}/fd/{number}") for number in (0, 1, 2)]
    assert targets == ["/dev/null"] * 3


def _count(seconds: str) -> int:
    count = 0
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    count += file.read() == f"sleep\0{seconds}\0".encode()
            except OSError:
                continue
    return count


def _soon(true: Callable[[], bool], seconds: float = 20) -> bool:
    give_up = time.monotonic() + seconds
    while not true() and time.monotonic() < give_up:
        time.sleep(0.03)
    return true()
