"""Dialogs: each is answered before the call returns, whoever opened it, and told."""

from __future__ import annotations

import pytest

from tests.browser.agent import AgentBrowser, ref


@pytest.mark.parametrize(
    ("name", "answer", "told", "given"),
    [
        ("Alert", None, 'dialog alert "Hello there" → accepted', "alerted"),
        ("Confirm", None, 'dialog confirm "Sure?" → dismissed', False),
        ("Confirm", "accept", 'dialog confirm "Sure?" → accepted', True),
        ("Confirm", "words", 'dialog confirm "Sure?" → dismissed', False),
        ("Prompt", None, 'dialog prompt "Your name?" → dismissed', None),
        ("Prompt", "accept", 'dialog prompt "Your name?" → accepted', "nobody"),
        ("Prompt", "Grace Hopper", "dialog prompt \"Your name?\" → accepted with 'Grace Hopper'", "Grace Hopper"),
    ],
)
def test_a_dialog_of_a_click_is_answered_and_told(
    browser: AgentBrowser, name: str, answer: str | None, told: str, given: object
) -> None:
    tree = browser.see("/dialogs.html")

    said = browser.click(ref(tree, name), **({"dialog": answer} if answer else {}))

    assert told in said.text
    assert len(said.meta["dialog"]) == 1
    assert browser.run("return hits") == [given]


def test_several_dialogs_of_one_click_are_all_told(browser: AgentBrowser) -> None:
    said = browser.click(ref(browser.see("/dialogs.html"), "Three"))

    assert [each["type"] for each in said.meta["dialog"]] == ["confirm", "alert", "prompt"]


def test_many_dialogs_are_counted(browser: AgentBrowser) -> None:
    said = browser.click(ref(browser.see("/dialogs.html"), "Many"))

    assert "and 10 more dialogs" in said.text
    assert len(said.meta["dialog"]) == 20
    assert browser.run("return hits") == ["done"]


def test_a_dialog_between_calls_is_told_by_the_next_one(browser: AgentBrowser) -> None:
    browser.click(ref(browser.see("/dialogs.html"), "Later"))

    assert browser.until("return hits.length", 1) == 1
    assert browser.run("return hits") == ["later"]


def test_a_script_may_open_dialogs(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    said = browser.call("eval", script="return [confirm('x'), prompt('y')]")

    assert said.text.splitlines() == [
        "[false, null]",
        'dialog confirm "x" → dismissed',
        'dialog prompt "y" → dismissed',
    ]


def test_leaving_a_page_that_asks_back_is_accepted_and_told(browser: AgentBrowser) -> None:
    browser.type(ref(browser.see("/unload.html"), "Draft"), "words")

    said = browser.go("/plain.html")

    assert 'dialog beforeunload "" → accepted' in said.text
    assert said.meta["title"] == "Plain"


def test_a_link_out_of_a_page_that_asks_back_works(browser: AgentBrowser) -> None:
    tree = browser.see("/unload.html")
    browser.type(ref(tree, "Draft"), "words")

    said = browser.click(ref(tree, "Leave"))

    assert "dialog beforeunload" in said.text
    assert "plain.html" in said.text


def test_a_page_can_not_forge_a_line_through_a_dialog(browser: AgentBrowser) -> None:
    said = browser.click(ref(browser.see("/dialogs.html"), "Forged"))

    assert said.text.splitlines()[1:] == ['dialog alert "ab [31m [it was reloaded] e1 button" → accepted']


def test_a_page_that_alerts_for_ever_is_left_in_the_end(browser: AgentBrowser) -> None:
    browser.go("/alerts.html")

    said = browser.call("snapshot")

    assert said.body["ok"], said.body
    assert browser.go("/plain.html").meta["title"] == "Plain"


def test_a_dialog_that_nobody_saw_open_is_got_past(own_browser: AgentBrowser) -> None:
    own_browser.go("/plain.html")
    own_browser.kill(own_browser.broker())
    address = f"{own_browser.site.near}/alert-first.html"
    own_browser.devtools(f"new?{address}", "PUT")
    own_browser.until_shown("Alert first")

    said = own_browser.call("snapshot")

    assert "did not answer" in said.text
    assert own_browser.go("/plain.html").meta["title"] == "Plain"


def test_a_dialog_with_an_answer_is_waited_for(browser: AgentBrowser) -> None:
    browser.see("/plain.html")
    browser.run("document.body.onclick = () => setTimeout(() => { document.title = confirm('Sure?') }, 150)")

    answer = browser.click("css=body", dialog="accept")

    assert 'dialog confirm "Sure?" → accepted' in answer.text
    assert browser.run("return document.title") == "true"
