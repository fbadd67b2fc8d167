"""browser_eval: the value as JSON, what has none, and scripts that throw, run on, or leave the page."""

from __future__ import annotations

import json

import pytest

from tests.browser.agent import AgentBrowser


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("return document.title", "Plain"),
        ("1 + 1", None),
        ("return undefined", None),
        ("return '\\ud800 \\udc00'", "\ud800 \udc00"),
        ("return [1.5, null, 'é\\u2028', true, -0, 1e21]", [1.5, None, "é\u2028", True, 0, 1e21]),
        ("const a = await Promise.resolve(2); return {a, b: undefined, c: [undefined]}", {"a": 2, "c": [None]}),
        ("return new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("return document.querySelector('h1').getBoundingClientRect().x", 8),
        ("return Object.create({inherited: 1}, {own: {value: 2, enumerable: true}})", {"own": 2}),
        ("const shared = {n: 1}; return [shared, shared]", [{"n": 1}, {"n": 1}]),
        ("return JSON.parse('{\"__proto__\": 1}').constructor === Object", True),
        ("// a comment at the end\nreturn 1 // so", 1),
    ],
)
def test_the_value_comes_back_as_json(browser: AgentBrowser, script: str, value: object) -> None:
    browser.go("/plain.html")

    assert json.loads(browser.call("eval", script=script).text) == value


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("const a = {}; a.a = a; return a", "a cycle has no JSON form"),
        ("return document.body", "a DOM node, <body> has no JSON form"),
        ("return () => 1", "a function has no JSON form"),
        ("return {f() {}}", "a function, f has no JSON form"),
        ("return window", "a window has no JSON form"),
        ("return 10n", "a bigint, 10 has no JSON form"),
        ("return Symbol('x')", "a symbol has no JSON form"),
        ("return NaN", "the number NaN has no JSON form"),
        ("return new Map([[1, 2]])", "a Map of 1 has no JSON form"),
        ("let a = []; for (let n = 0; n < 5000; n++) a = [a]; return a", "nested over 100 deep"),
    ],
)
def test_what_has_no_json_form_is_said_under_it(browser: AgentBrowser, script: str, said: str) -> None:
    browser.go("/plain.html")

    first, *notes = browser.call("eval", script=script).text.splitlines()

    json.loads(first)
    assert any(said in note for note in notes), notes


@pytest.mark.parametrize(
    "script", ["return 'é'.repeat(100000)", "return Array(1e6).fill('word')", "return 'x'.repeat(4e8)"]
)
def test_a_large_value_is_cut_at_20_kilobytes(browser: AgentBrowser, script: str) -> None:
    browser.go("/plain.html")

    answer = browser.call("eval", script=script)

    assert 15_000 < len(answer.text.encode()) <= 20_600
    assert "[cut at " in answer.text
    assert len(answer.meta["cuts"]) == 2


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("const a = 1\n\nthrow new Error('no luck')", "the script threw Error: no luck (line 3)"),
        ("\nnope()", "the script threw ReferenceError: nope is not defined (line 2)"),
        ("throw {code: 7}", 'the script threw {"code":7}'),
        ("throw new Error('a\\ne5 button')", "the script threw Error: a e5 button (line 1)"),
        ("throw 'plain words'", "the script threw plain words"),
        ("await Promise.reject(new TypeError('later'))", "the script threw TypeError: later (line 1)"),
        ("return )", "the script threw SyntaxError: "),
    ],
)
def test_an_exception_is_told_with_its_line(browser: AgentBrowser, script: str, message: str) -> None:
    browser.go("/plain.html")

    answer = browser.call("eval", script=script)

    assert answer.code == "engine_failed"
    assert answer.message.startswith(message)


def test_a_script_that_leaves_the_page_says_where_it_led(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    answer = browser.call("eval", script="location.href = '/form.html'; return 5")

    assert f'url → {browser.site.near}/form.html "Form"' in answer.text
    assert answer.text.splitlines()[0] in ("5", "null")


def test_a_script_in_a_page_with_a_strict_policy_runs(browser: AgentBrowser) -> None:
    browser.go("/strict")

    assert browser.run("return document.title") == "Strict"


def test_a_script_that_never_ends_is_stopped_and_the_page_stays(own_browser: AgentBrowser) -> None:
    own_browser.go("/form.html")
    own_browser.run("document.getElementById('name').value = 'kept'")

    answer = own_browser.call("eval", script="for (;;);")

    assert answer.code == "timeout"
    assert "30 s" in answer.message
    assert own_browser.run("return document.getElementById('name').value") == "kept"
