"""What goes wrong with tabs, Chrome, the driver and the broker, and what the next call finds."""

from __future__ import annotations

import os
import signal

import pytest

from tests.browser.agent import AgentBrowser, ref, refs, wait_until


def test_a_call_starts_chrome_on_its_port_and_profile_and_leaves_it_running(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    chrome = own_browser.chrome()

    assert own_browser.run("return document.title") == "Plain"
    assert own_browser.chrome() == chrome
    assert f":{own_browser.port}/" in own_browser.devtools("version")["webSocketDebuggerUrl"]


def test_the_socket_is_this_users_alone(own_browser: AgentBrowser) -> None:
    own_browser.go("about:blank")

    assert os.stat(own_browser.socket_path).st_mode & 0o777 == 0o600


def test_two_first_calls_at_once_start_one_chrome_and_one_broker(own_browser: AgentBrowser) -> None:
    calls = [own_browser.start("snapshot") for _ in range(4)]

    answers = [own_browser.answer(call) for call in calls]

    assert [answer.body["ok"] for answer in answers] == [True] * 4
    assert own_browser.chrome()
    assert own_browser.broker()


def test_a_broker_that_was_killed_is_replaced_and_refs_stay(own_browser: AgentBrowser) -> None:
    before = refs(own_browser.see("/list.html"))
    chrome = own_browser.chrome()

    own_browser.kill(own_browser.broker())
    after = refs(own_browser.snapshot())
    own_browser.run("changes.prepend()")
    later = refs(own_browser.snapshot())

    assert after == before
    assert own_browser.chrome() == chrome
    assert before.items() < later.items()


def test_the_current_tab_is_the_same_after_a_brokers_end(own_browser: AgentBrowser) -> None:
    own_browser.click(ref(own_browser.see("/acts.html"), "Open blank"))
    own_browser.devtools("new?about:blank", "PUT")
    first = own_browser.call("snapshot")

    own_browser.kill(own_browser.broker())

    second = own_browser.call("snapshot")
    assert "title Inner" in second.text
    assert (second.meta["tab"], second.meta["tabs"]) == (first.meta["tab"], 3)
    own_browser.run("window.close()")
    assert "title Acts" in own_browser.snapshot()


def test_a_broker_that_hangs_is_ended_within_the_minute(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    os.kill(own_browser.broker(), signal.SIGSTOP)

    answer = own_browser.call("click", target="h1")

    assert answer.code == "timeout"
    assert "may have happened" in answer.message
    assert own_browser.run("return document.title") == "Plain"


def test_chrome_that_was_killed_is_started_again_and_that_is_said(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    own_browser.kill(own_browser.chrome())

    answer = own_browser.call("snapshot")

    was = f"{own_browser.site.near}/plain.html"
    assert f"Chrome was not running and has been started; the tab at {was} is gone" in answer.text
    assert own_browser.go("/form.html").meta["title"] == "Form"


def test_chrome_that_hangs_is_ended_and_started_again(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    os.kill(own_browser.chrome(), signal.SIGSTOP)

    answer = own_browser.call("snapshot")

    assert "Chrome was not running and has been started" in str(answer.body), answer.body
    assert own_browser.go("/form.html").meta["title"] == "Form"


def test_refs_are_never_given_again_also_not_to_another_chrome(own_browser: AgentBrowser) -> None:
    before = refs(own_browser.see("/list.html"))
    own_browser.kill(own_browser.broker())
    own_browser.kill(own_browser.chrome())

    after = refs(own_browser.see("/list.html"))
    reloaded = refs(own_browser.see("/list.html"))

    assert not before.keys() & after.keys()
    assert not (before.keys() | after.keys()) & reloaded.keys()


def test_the_driver_that_was_killed_is_replaced(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    own_browser.kill(own_browser.driver())

    assert own_browser.run("return document.title") == "Plain"


def test_a_profile_that_a_dead_chrome_locked_on_another_host_is_recovered(own_browser: AgentBrowser) -> None:
    own_browser.profile.mkdir(parents=True)
    (own_browser.profile / "SingletonLock").symlink_to("another-host-12345")

    assert own_browser.go("/plain.html").meta["title"] == "Plain"


def test_a_port_that_something_else_holds_is_said(own_browser: AgentBrowser) -> None:
    with own_browser.hold_port():
        answer = own_browser.call("snapshot")

    assert answer.code == "unavailable"
    assert f"port {own_browser.port}" in answer.message


@pytest.mark.parametrize("program", ["/nowhere/chrome", "true", "false"])
def test_a_chrome_that_can_not_be_started_is_said(own_browser: AgentBrowser, program: str) -> None:
    answer = own_browser.call("snapshot", env={"GUILDS_CHROME": program})

    assert answer.code == "unavailable"
    assert program in answer.message
    assert own_browser.go("/plain.html").body["ok"]


def test_without_chrome_the_answer_says_what_to_install(own_browser: AgentBrowser) -> None:
    answer = own_browser.call("snapshot", env={"PATH": "/nowhere"})

    assert answer.code == "unavailable"
    assert "apt-get install chromium" in answer.message


def test_a_tab_that_loops_between_calls_is_mended_and_that_is_said(own_browser: AgentBrowser) -> None:
    own_browser.go("/loop-at-once.html")

    answer = own_browser.call("snapshot")

    assert "did not answer" in answer.text
    assert own_browser.go("/plain.html").meta["title"] == "Plain"


def test_a_click_that_makes_the_page_loop_does_not_hang(own_browser: AgentBrowser) -> None:
    answer = own_browser.click(ref(own_browser.see("/acts.html"), "Loop"))

    assert answer.body["ok"] or answer.code == "timeout", answer.body
    assert "title Acts" in own_browser.snapshot()


def test_a_tab_that_loops_before_the_first_attach_is_mended(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    own_browser.kill(own_browser.broker())
    own_browser.devtools(f"new?{own_browser.site.near}/loop-at-once.html", "PUT")
    own_browser.until_shown("Loop at once")

    answer = own_browser.call("snapshot")

    assert "did not answer" in answer.text
    assert "title Plain" in answer.text


def test_a_tab_that_crashed_is_mended_and_that_is_said(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    own_browser.devtools_command("Page.navigate", url="chrome://crash")

    answer = own_browser.call("snapshot")

    assert "crash" in answer.text
    assert own_browser.go("/form.html").meta["title"] == "Form"


def test_all_tabs_closed_leaves_an_empty_one(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    (target,) = [target["id"] for target in own_browser.devtools("list") if target["type"] == "page"]
    own_browser.devtools("new?about:blank", "PUT")
    own_browser.end_tab(target)
    assert wait_until(lambda: own_browser.addresses() == ["about:blank"])

    assert own_browser.go("/form.html").meta["title"] == "Form"


def test_two_slots_of_one_home_do_not_meet(own_browser: AgentBrowser) -> None:
    other = own_browser.on_another_slot()
    own_browser.go("/plain.html")
    other.go("/form.html")

    calls = [(own_browser.start("snapshot"), other.start("snapshot")) for _ in range(4)]
    titles = [(own_browser.answer(one).meta["title"], other.answer(two).meta["title"]) for one, two in calls]

    assert titles == [("Plain", "Form")] * 4
    assert own_browser.chrome() != other.chrome()


def test_another_version_that_is_installed_is_what_the_next_call_runs(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    broker = own_browser.broker()

    own_browser.touch_the_installed_package()

    assert own_browser.run("return document.title") == "Plain"
    assert own_browser.broker() != broker


def test_a_runtime_folder_with_a_long_path_is_no_obstacle(own_browser: AgentBrowser) -> None:
    own_browser.home.runtime = own_browser.home.top / ("long" * 30)

    assert own_browser.go("/plain.html").meta["title"] == "Plain"
    assert own_browser.run("return 1") == 1
