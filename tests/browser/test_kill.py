"""Chrome, the driver and the broker are killed at random while calls are under way.

The number of calls comes from GUILDS_TEST_KILL_CALLS (a long run has 200).
"""

from __future__ import annotations

import os
import random
import signal
import time

from tests.agent_home import Envelope
from tests.browser.agent import AgentBrowser, wait_until

CALLS = int(os.environ.get("GUILDS_TEST_KILL_CALLS", "8"))
CALL_SECONDS = 60


def click_while_something_dies(browser: AgentBrowser, number: int, chance: random.Random) -> tuple[Envelope, float]:
    """One click during which Chrome, the driver or the broker is killed, and how long it took."""
    opened = browser.go(f"/count.html?{number}")
    assert opened.body["ok"], opened.body
    victim = chance.choice([browser.chrome, browser.driver, browser.broker])()
    began = time.monotonic()
    call = browser.start("click", target="role=button")
    time.sleep(chance.random() * 0.25)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return browser.answer(call), time.monotonic() - began


def test_every_call_ends_honestly_and_nothing_is_done_twice(own_browser: AgentBrowser) -> None:
    chance = random.Random(7)
    slow, wrong = [], []

    for number in range(CALLS):
        answer, seconds = click_while_something_dies(own_browser, number, chance)
        time.sleep(0.1)
        done = own_browser.site.seen.count(f"/note?done={number}")
        said = answer.body
        perhaps = not said["ok"] and "may have happened" in said["error"]["message"]
        honest = done == 1 if said["ok"] else done <= 1 if perhaps else done == 0
        slow += [seconds] * (seconds > CALL_SECONDS)
        wrong += [(number, done, said)] * (not honest)

    assert slow == []
    assert wrong == []
    assert own_browser.go("/plain.html").meta["title"] == "Plain"


def test_nothing_is_left_behind_when_chrome_ends(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")

    own_browser.kill(own_browser.chrome())

    assert wait_until(lambda: own_browser.processes() == [], 15), own_browser.processes()
    left = {path.name for path in own_browser.home.runtime.iterdir()}
    assert left == {"requests", f"browser-{own_browser.slot}.lock"}


def test_the_driver_ends_with_its_broker(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    driver = own_browser.driver()

    own_browser.kill(own_browser.broker())

    assert wait_until(lambda: driver not in own_browser.processes())
