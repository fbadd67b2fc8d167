"""Session mode, and the command line that a person uses."""

from __future__ import annotations

import base64
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_home import BIN, AgentHome, Envelope


class Session:
    """`guilds-code --serve`, spoken to a line at a time."""

    def __init__(self, home: AgentHome) -> None:
        self.process = subprocess.Popen(
            [str(BIN / "guilds-code"), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=home.environment(),
            cwd=home.top,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, call_id: str, tool: str, **arguments: Any) -> None:
        body = {"tool": tool, "args": arguments, "run": {"id": "r1", "call_id": call_id}}
        self.line(base64.b64encode(json.dumps(body).encode()) + b"\n")

    def answer(self) -> tuple[str, Envelope]:
        call_id, _, line = self._lines.get(timeout=30).decode().strip().partition(" ")
        return call_id, Envelope(line.encode())

    def end_of_stdin(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(30)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)


@pytest.fixture
def session(home: AgentHome) -> Iterator[Session]:
    session = Session(home)
    yield session
    session.end_of_stdin()


def test_answers_come_in_the_order_in_which_they_finish(session: Session) -> None:
    session.ask("slow", "shell", command="sleep 1; echo slow")
    session.ask("fast", "shell", command="echo fast")

    answers = [session.answer(), session.answer()]

    assert [(call_id, answer.text) for call_id, answer in answers] == [("fast", "fast"), ("slow", "slow")]


def test_a_request_that_fails_does_not_end_the_session(session: Session) -> None:
    session.line(b"no request\n\n")
    session.ask("missing", "file_read", path="missing")
    answers = dict([session.answer(), session.answer()])
    session.ask("good", "shell", command="echo good")

    assert answers["-"].code == "invalid_request"
    assert answers["missing"].code == "not_found"
    assert session.answer()[1].text == "good"


def test_a_refused_request_is_answered_under_its_own_id(session: Session) -> None:
    session.line(base64.b64encode(b'{"tool": "shell", "args": [], "run": {"call_id": "mine"}}') + b"\n")

    call_id, answer = session.answer()

    assert (call_id, answer.code) == ("mine", "invalid_request")


def test_an_idle_worker_that_was_killed_is_replaced(session: Session, home: AgentHome) -> None:
    home.put("a.txt", "one\n")
    session.ask("c1", "file_read", path="a.txt")
    session.answer()
    subprocess.run(["pkill", "-9", "-P", str(session.process.pid)], check=True)
    time.sleep(0.2)

    session.ask("c2", "file_read", path="a.txt")

    assert session.answer()[1].text.endswith("1\tone")


def test_a_request_whose_process_is_killed_is_answered(session: Session) -> None:
    session.ask("c1", "shell", command="kill -9 $PPID; sleep 0.2")

    call_id, answer = session.answer()

    assert call_id == "c1"
    assert answer.code == "internal"
    assert "signal 9" in answer.message


def test_a_last_line_without_its_end_is_a_request(home: AgentHome) -> None:
    session = Session(home)
    session.line(base64.b64encode(b'{"tool": "shell", "args": {"command": "echo a"}, "run": {"call_id": "c"}}'))

    assert session.end_of_stdin() == 0
    assert session.answer()[1].text == "a"


def test_what_is_under_way_is_answered_when_stdin_ends(home: AgentHome) -> None:
    session = Session(home)
    session.ask("c1", "shell", command="sleep 0.5; echo done")

    assert session.end_of_stdin() == 0
    assert session.answer()[1].text == "done"


def test_a_hundred_requests_at_once_are_all_answered(session: Session) -> None:
    for number in range(100):
        session.ask(f"c{number}", "shell", command=f"echo {number}")

    answers = dict(session.answer() for _ in range(100))

    assert {call_id: answer.text for call_id, answer in answers.items()} == {f"c{n}": str(n) for n in range(100)}


def test_a_large_request_and_a_large_answer_pass(session: Session) -> None:
    session.ask("c1", "file_write", path="a.txt", content="x" * 3_000_000)

    assert session.answer()[1].meta["created"] is True


def test_a_session_told_to_end_ends_what_is_under_way(home: AgentHome) -> None:
    session = Session(home)
    session.ask("c1", "shell", command=f"echo $$ >pid; exec sleep 66.{os.getpid()}")
    _wait_for(home.path / "pid")

    session.process.terminate()
    session.process.wait(30)

    assert not os.path.exists(f"/proc/{int((home.path / 'pid').read_text())}")


def test_a_session_whose_reader_is_gone_ends_what_is_under_way(home: AgentHome) -> None:
    asked = base64.b64encode(json.dumps({"tool": "shell", "args": {"command": "echo $$ >pid; exec sleep 67"}}).encode())
    reader, stdout = os.pipe()
    process = subprocess.Popen(
        [str(BIN / "guilds-code"), "--serve"], stdin=subprocess.PIPE, stdout=stdout, env=home.environment()
    )
    os.close(stdout)
    assert process.stdin is not None
    process.stdin.write(asked + b"\n")
    process.stdin.flush()
    _wait_for(home.path / "pid")

    os.close(reader)
    process.wait(30)
    process.stdin.close()

    assert not os.path.exists(f"/proc/{int((home.path / 'pid').read_text())}")


def test_by_hand_the_text_is_printed_as_it_is(home: AgentHome) -> None:
    done = home.by_hand("guilds-code", "shell", "printf 'a  b\\n'; exit 3")

    assert (done.stdout, done.stderr, done.returncode) == ("a  b\nexit_code: 3\n", "", 0)


def test_by_hand_required_arguments_are_positional_and_the_rest_options(home: AgentHome) -> None:
    home.put("a.txt", "one\ntwo\nthree\n")

    done = home.by_hand("guilds-code", "file-read", "a.txt", "--offset", "2", "--limit", "1")

    assert done.stdout == "a.txt · lines 2–2 of 3\n2\ttwo\n[continue with offset=3]\n"


def test_by_hand_an_error_goes_to_stderr_with_exit_1(home: AgentHome) -> None:
    done = home.by_hand("guilds-code", "file-read", "missing.txt")

    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("error: missing.txt does not exist")


@pytest.mark.parametrize(
    "words",
    [
        ("shell",),
        ("shell", "true", "--nosuch"),
        ("shell", "true", "extra"),
        ("shell", "true", "--timeout-seconds", "soon"),
        ("shell", "true", "--timeout-seconds", "601"),
        ("code-search", "x", "--mode", "nosuch"),
        ("nosuch", "x"),
        ("--nosuch",),
    ],
)
def test_by_hand_wrong_usage_exits_2_and_does_nothing(home: AgentHome, words: tuple[str, ...]) -> None:
    done = home.by_hand("guilds-code", *words)

    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr
    assert os.listdir(home.path) == []


def test_help_names_every_tool_and_every_option_of_a_tool(home: AgentHome) -> None:
    all_of_it = home.by_hand("guilds-code", "--help").stdout
    one = home.by_hand("guilds-code", "shell", "--help").stdout

    for name in ("shell", "shell-status", "file-read", "file-edit", "file-write", "code-search", "code-callers"):
        assert f"\n  {name} " in all_of_it
    for word in ("COMMAND", "--timeout-seconds", "--background", "1<=x<=600", "default: 120"):
        assert word in one


def test_the_same_word_as_a_lone_argument_is_a_request_when_it_names_no_command(home: AgentHome) -> None:
    assert home.run([str(BIN / "guilds-code"), "frobnicate"]).code == "invalid_request"


def _wait_for(path: Path) -> None:
    give_up = time.monotonic() + 20
    while not (path.exists() and path.read_text().strip()) and time.monotonic() < give_up:
        time.sleep(0.02)
