"""A ref reaches the node that it was given to, or nothing: pages that change at random between snapshot and act.

The number of acts comes from GUILDS_TEST_REF_ACTS (a long run has 2,000).
"""

from __future__ import annotations

import os
import random

import pytest

from tests.agent_home import Envelope
from tests.browser.agent import AgentBrowser, node, nodes, ref, refs

ACTS = int(os.environ.get("GUILDS_TEST_REF_ACTS", "40"))
ACTS_AT_ONCE = 4
BROKER_ENDS = 0.05
LEAVES = ("reload", "away and back", "other page and back by history")

TOKENS = "return [...document.querySelectorAll('button')].map((button) => button.token)"


class Ground:
    """What the page knows of its own buttons: which one a ref was given to, and which one was hit."""

    def __init__(self, browser: AgentBrowser, seed: int) -> None:
        self.browser = browser
        self.random = random.Random(seed)
        self.tokens: dict[str, str] = {}
        browser.go("/list.html")

    def look(self) -> None:
        """Take a snapshot, and note for each ref which button it stands on."""
        buttons = [each.ref for each in nodes(self.browser.snapshot()) if each.role in ("button", "link")]
        tokens = self.browser.run(TOKENS)
        assert len(buttons) == len(tokens)
        fresh = dict(zip(buttons, tokens, strict=True))
        again = {each: token for each, token in fresh.items() if each in self.tokens}
        assert again == {each: self.tokens[each] for each in again}, "a ref stands on another node"
        self.tokens |= fresh

    def change(self) -> bool:
        """Change the page, or leave it; whether its nodes can still be there."""
        if self.random.random() < BROKER_ENDS:
            self.browser.kill(self.browser.broker())
        if self.random.random() < 0.2:
            self.leave(self.random.choice(LEAVES))
            return False
        names = self.browser.run("return Object.keys(changes)")
        chosen = self.random.choices(names, k=self.random.randint(1, 4))
        self.browser.run(f"for (const name of {chosen}) changes[name]()")
        return True

    def leave(self, how: str) -> None:
        if how == "reload":
            self.browser.run("location.reload()")
        elif how == "away and back":
            self.browser.go("/plain.html")
            self.browser.go("/list.html")
        else:
            self.browser.run("location.href = '/plain.html'")
            self.browser.run("history.back()")
        self.browser.until("return location.pathname + document.readyState", "/list.htmlcomplete")

    def act(self, known: str) -> tuple[Envelope, list[str], bool]:
        """Click on a ref: the answer, what was hit, and whether the ref's node was there with its role."""
        live = f"""hits.length = 0; return [...document.querySelectorAll('button')].some((button) =>
            button.token === {self.tokens[known]!r} && !button.hasAttribute('role'))"""
        there = self.browser.run(live)
        answer = self.browser.click(known)
        return answer, self.browser.run("return hits"), bool(there)


@pytest.mark.parametrize("seed", [1, 2])
def test_an_act_reaches_the_refs_own_node_or_fails_as_gone(own_browser: AgentBrowser, seed: int) -> None:
    ground = Ground(own_browser, seed)
    wrong, missed = [], []

    for _ in range(ACTS // ACTS_AT_ONCE // 2):
        ground.look()
        ground.change()
        for known in ground.random.sample(sorted(ground.tokens), ACTS_AT_ONCE):
            answer, hit, there = ground.act(known)
            allowed = [ground.tokens[known]] if answer.body["ok"] else []
            wrong += [(known, answer.body, hit)] * (hit != allowed)
            missed += [(known, answer.body)] * (there and not answer.body["ok"])

    assert wrong == []
    assert missed == []


def test_the_same_node_keeps_its_ref_and_a_new_one_gets_a_new_ref(browser: AgentBrowser) -> None:
    before = refs(browser.see("/list.html"))

    browser.run("changes.prepend(); changes.reverse(); changes.rename()")
    after = refs(browser.snapshot())

    assert before.keys() < after.keys()
    assert len(after) == len(before) + 1


def test_a_node_that_is_gone_is_said_at_once_with_its_name(browser: AgentBrowser) -> None:
    target = ref(browser.see("/list.html"), "Row 3")
    browser.run("list.children[2].remove()")

    answer = browser.click(target)

    assert answer.code == "not_found"
    assert answer.message == f'{target} (button "Row 3") is gone: the page has changed. Take a browser_snapshot.'


def test_a_node_of_a_page_that_was_left_is_said_with_its_name(browser: AgentBrowser) -> None:
    target = ref(browser.see("/list.html"), "Row 3")
    browser.go("/list.html")

    assert browser.click(target).message.startswith(f'{target} (button "Row 3") is gone: ')
    assert browser.run("return hits") == []


def test_a_node_that_has_another_role_is_not_acted_on(browser: AgentBrowser) -> None:
    target = ref(browser.see("/list.html"), "Row 3")
    browser.run("list.children[2].firstChild.setAttribute('role', 'checkbox')")

    answer = browser.click(target)

    assert answer.code == "conflict"
    assert "is a checkbox now" in answer.message
    assert browser.run("return hits") == []


def test_a_node_that_was_parked_and_put_back_is_the_same(browser: AgentBrowser) -> None:
    target = ref(browser.see("/list.html"), "Row 3")
    browser.run("globalThis.parked = list.children[2]; parked.remove()")
    assert browser.click(target).code == "not_found"

    browser.run("list.prepend(parked)")

    assert browser.click(target).text.startswith(f'clicked {target} button "Row 3"')
    assert node(browser.snapshot(), "Row 3").ref == target
