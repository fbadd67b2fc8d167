"""When the broker ends by itself, whom it does not answer, and a Chrome that is shown on a display."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import guilds_wire
from guilds_browser.forward import LISTENING
from tests.browser.agent import AgentBrowser, refs, wait_until

WITH_OTHER_LIMITS = """
import sys
sys.path[:] = sys.argv[5:]
from guilds_browser import broker
broker.LOOK_AROUND_SECONDS = 0.2
setattr(broker, sys.argv[1], 0.5)
broker.serve(*map(int, sys.argv[2:5]))
"""
"""A broker as it is but for one limit, which would take half an hour or 400 MB to reach."""

ASKS = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setgroups([])
os.setuid(65_534)
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
connection.connect(sys.argv[2])
print(connection.recv(1000))
"""


@pytest.fixture
def limited(own_browser: AgentBrowser, request: pytest.FixtureRequest) -> Iterator[AgentBrowser]:
    """A browser whose broker ends half a second after its last call, or with half a byte of memory."""
    own_browser.home.runtime.chmod(0o700)
    lock = os.open(own_browser.home.runtime / f"browser-{own_browser.slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    ready, told = os.pipe()
    folders = [str(Path(guilds_wire.__file__).parent.parent), *sys.path]
    numbers = [str(number) for number in (own_browser.slot, lock, told)]
    broker = subprocess.Popen(
        [sys.executable, "-I", "-c", WITH_OTHER_LIMITS, request.param, *numbers, *folders],
        pass_fds=(lock, told),
        env=own_browser.home.environment(),
    )
    os.close(told)
    os.close(lock)
    assert os.read(ready, 1000) == LISTENING
    os.close(ready)
    yield own_browser
    assert broker.wait(timeout=30) == 0


@pytest.mark.parametrize("limited", ["IDLE_SECONDS", "MEMORY_MAX_BYTES"], indirect=True)
def test_a_broker_that_is_idle_or_has_grown_ends_and_the_next_call_goes_on(limited: AgentBrowser) -> None:
    limited.go("/list.html")  # whichever broker serves these
    before = refs(limited.snapshot())

    assert wait_until(lambda: not limited.socket_path.exists() or limited.brokers())
    assert refs(limited.snapshot()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_can_not_connect_and_gets_no_answer_if_the_sockets_mode_let_him(
    own_browser: AgentBrowser,
) -> None:
    own_browser.go("about:blank")
    socket = own_browser.socket_path
    asked = [sys.executable, "-c", ASKS, str(socket.parent), socket.name]

    refused = subprocess.run(asked, capture_output=True, text=True, check=False)
    socket.chmod(0o666)
    unanswered = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert "PermissionError" in refused.stderr
    assert unanswered.stdout == "b''\n"
    assert own_browser.run("return 1") == 1


def test_chrome_is_shown_where_there_is_a_display(own_browser: AgentBrowser, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    program = tmp_path / "chrome"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{tmp_path}/words\nexec {chromium} --headless "$@"\n')
    program.chmod(0o755)

    answer = own_browser.call("snapshot", env={"GUILDS_CHROME": str(program), "DISPLAY": ":99"})

    assert answer.body["ok"]
    words = (tmp_path / "words").read_text().split("\n")
    assert f"--remote-debugging-port={own_browser.port}" in words
    assert "--headless" not in words
