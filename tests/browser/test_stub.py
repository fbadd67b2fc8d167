"""The program itself: requests, a session, a person at a command line, and what the stub imports."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.agent_home import BIN, Envelope
from tests.browser.agent import AgentBrowser


@pytest.mark.parametrize(
    "setting", [{"slot": -1}, {"slot": 56236}, {"slot": "3"}, {"slot": True}, {"slot": 1.5}, [], 3]
)
def test_a_slot_that_is_none_is_an_invalid_request(shared_browser: AgentBrowser, setting: Any) -> None:
    body = {"tool": "browser_snapshot", "args": {}, "browser": setting}

    assert shared_browser.home.ask(body).code == "invalid_request"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("browser_fly", {}, "unknown_tool"),
        ("shell", {"command": "id"}, "unknown_tool"),
        ("browser_click", {}, "invalid_arguments"),
        ("browser_click", {"target": "x", "button": "fourth"}, "invalid_arguments"),
        ("browser_fill", {"target": "x", "value": 3}, "invalid_arguments"),
        ("browser_eval", {"script": ""}, "invalid_arguments"),
        ("browser_snapshot", {"depth": 3}, "invalid_arguments"),
    ],
)
def test_a_wrong_request_is_answered_without_a_browser(
    shared_browser: AgentBrowser, tool: str, arguments: dict[str, Any], code: str
) -> None:
    body = json.dumps({"tool": tool, "args": arguments, "browser": {"slot": 1}}).encode()

    answer = shared_browser.home.send(body, "guilds-browser")

    assert answer.code == code
    assert not (shared_browser.home.runtime / "browser-1.sock").exists()


def test_a_large_request_goes_by_file(browser: AgentBrowser) -> None:
    browser.go("/form.html")

    answer = browser.fill("#notes", "word " * 40_000)

    assert answer.text.startswith("filled")
    assert browser.run("return notes.value.length") == 200_000
    assert list((browser.home.runtime / "requests").iterdir()) == []


def test_a_session_answers_every_request_under_its_id(browser: AgentBrowser) -> None:
    browser.go("/plain.html")
    lines = [
        base64.b64encode(
            json.dumps(
                browser.request("eval", 8192, "r1", {"script": f"return {n}"}) | {"run": {"call_id": f"c{n}"}}
            ).encode()
        )
        for n in range(6)
    ]

    done = subprocess.run(
        [BIN / "guilds-browser", "--serve"],
        input=b"\n".join([*lines, b"nonsense"]) + b"\n",
        capture_output=True,
        env=browser.home.environment(),
        timeout=60,
        check=True,
    )

    answers = dict(line.split(b" ", 1) for line in done.stdout.splitlines())
    assert Envelope(answers.pop(b"-")).code == "invalid_request"
    assert {name: Envelope(line).text for name, line in answers.items()} == {f"c{n}".encode(): str(n) for n in range(6)}


def test_by_hand_the_tools_are_commands_without_their_prefix(browser: AgentBrowser) -> None:
    slot = str(browser.slot)

    opened = browser.home.by_hand("guilds-browser", "navigate", browser.site.near + "/plain.html", "--slot", slot)
    shown = browser.home.by_hand("guilds-browser", "snapshot", "--slot", slot)
    refused = browser.home.by_hand("guilds-browser", "click", "e999999", "--slot", slot)
    wrong = browser.home.by_hand("guilds-browser", "click")
    helped = browser.home.by_hand("guilds-browser", "--help")

    assert (opened.returncode, opened.stdout) == (0, f'{browser.site.near}/plain.html "Plain" · HTTP 200\n')
    assert 'heading "Plain page"' in shown.stdout
    assert (refused.returncode, refused.stderr.startswith("error: e999999 is gone")) == (1, True)
    assert wrong.returncode == 2
    assert "screenshot" in helped.stdout


def test_the_stub_imports_none_of_the_heavy_modules() -> None:
    script = (
        "import sys; sys.path += [p for p in sys.argv[1:]]; import guilds_browser.__main__;"
        "print([name for name in sys.argv and ('json', 're', 'socket', 'subprocess', 'asyncio', 'playwright', 'typing',"
        " 'enum', 'signal', 'dataclasses', 'pathlib', 'click') if name in sys.modules])"
    )
    folders = [folder for folder in sys.path if folder]

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script, *folders], capture_output=True, check=True)

    assert done.stdout == b"[]\n"
