"""browser_fill and browser_type: every kind of field, and what stands there afterwards."""

from __future__ import annotations

import pytest

from tests.browser.agent import AgentBrowser, node, ref, refused_at_once


@pytest.mark.parametrize(
    ("name", "value", "script", "there"),
    [
        ("Name", "Grace", "return document.getElementById('name').value", "Grace"),
        ("Name", "", "return document.getElementById('name').value", ""),
        ("Notes", "two\nlines", "return notes.value", "two\nlines"),
        ("Colour", "Colour 14", "return colour.value", "c14"),
        ("Colour", "c3", "return colour.value", "c3"),
        ("Several", "One\nThree", "return [...several.selectedOptions].map((o) => o.text)", ["One", "Three"]),
        ("News", "false", "return news.checked", False),
        ("Terms", "true", "return terms.checked", True),
        ("Small", "true", "return [small.checked, large.checked]", [True, False]),
        ("Day", "2024-02-29", "return day.value", "2024-02-29"),
        ("Hour", "13:45", "return hour.value", "13:45"),
        ("Level", "8", "return level.value", "8"),
        ("Tint", "#ff8800", "return tint.value", "#ff8800"),
        ("Count", "-3.5", "return count.value", "-3.5"),
        ("Mail", "ada@example.org", "return mail.value", "ada@example.org"),
        ("Rich", "new words", "return rich.innerText", "new words"),
        ("Fancy", "true", "return fancy.getAttribute('aria-checked')", "true"),
    ],
)
def test_fill_replaces_the_value_and_reads_it_back(
    browser: AgentBrowser, name: str, value: str, script: str, there: object
) -> None:
    target = ref(browser.see("/form.html"), name)

    answer = browser.fill(target, value)

    assert answer.text.startswith(f"filled {target} "), answer.body
    assert "did not stick" not in answer.text
    assert browser.run(script) == there


def test_fill_says_when_the_page_changed_the_value(browser: AgentBrowser) -> None:
    answer = browser.fill(ref(browser.see("/form.html"), "Loud"), "quiet")

    assert 'value "QUIET"\nthe value did not stick' in answer.text


def test_a_value_that_the_page_put_in_a_form_is_told_as_that(browser: AgentBrowser) -> None:
    browser.see("/moves.html")
    browser.run("long.oninput = () => long.value = long.value.replace(/^(\\d{3})(\\d+)$/, '($1) $2')")

    answer = browser.fill("#long", "5551234")

    assert answer.text.endswith('value "(555) 1234"\nthe page wrote the value in a form of its own')


def test_fill_sends_real_events(browser: AgentBrowser) -> None:
    tree = browser.see("/react.html")

    browser.fill(ref(tree, "Held"), "kept")
    browser.click('role=button[name="Send it"]')

    assert browser.run("return sent") == "kept"


def test_fill_and_click_work_in_a_page_of_a_framework(browser: AgentBrowser) -> None:
    tree = browser.see_with("/preact.html", "Order")

    cut = browser.fill(ref(tree, "Name"), "Grace Hopper")
    browser.fill(ref(tree, "Kind"), "Milk")
    browser.fill(ref(tree, "Gift"), "true")
    browser.click(ref(tree, "Order"))
    browser.type(ref(tree, "Name"), "Ada")
    browser.click(ref(tree, "Order"))

    assert "did not stick" in cut.text
    assert browser.until("return document.querySelectorAll('li').length", 2) == 2
    assert browser.run("return [...document.querySelectorAll('li')].map((item) => item.textContent)") == [
        "Grace Ho milk true",
        "Ada milk true",
    ]


@pytest.mark.parametrize("name", ["At once", "Rich"])
def test_fill_and_type_write_into_no_element_that_takes_the_focus(browser: AgentBrowser, name: str) -> None:
    tree = browser.see("/moves.html")

    filled, typed = browser.fill(ref(tree, name), "secret"), browser.type(ref(tree, name), "secret")

    for answer in (filled, typed):
        assert answer.code == "conflict"
        assert f'does not take the focus: {ref(tree, "Other")} textbox "Other" has it' in refused_at_once(answer)
    assert browser.run("return other.value") == "keep"


def test_a_focus_that_moves_a_moment_later_gets_nothing(browser: AgentBrowser) -> None:
    target = ref(browser.see("/moves.html"), "A moment later")

    filled = browser.fill(target, "Ada")
    browser.type(target, " Lovelace")

    assert 'value "Ada"' in filled.text
    assert browser.run("return [late.value, other.value]")[1] == "keep"


def test_type_stops_where_the_focus_moves_and_says_how_much_went_in(browser: AgentBrowser) -> None:
    tree = browser.see("/moves.html")

    some = browser.type(ref(tree, "Digit 1"), "1234", submit=True)
    one = browser.type(ref(tree, "Digit 3"), "7")

    moved = f'the focus moved: {ref(tree, "Digit 2")} textbox "Digit 2" has it'
    assert (
        some.text == f'typed into {ref(tree, "Digit 1")} textbox "Digit 1" 1 of 4 characters, then {moved}: value "1"'
    )
    assert f'the focus moved: {ref(tree, "Digit 4")} textbox "Digit 4" has it' in one.text
    assert browser.run("return [...code.children].map((field) => field.value)") == ["1", "", "7", ""]


@pytest.mark.parametrize(("into", "next_one"), [("One", "Two"), ("Main", "One")])
def test_type_stops_where_the_focus_moves_to_another_frame(browser: AgentBrowser, into: str, next_one: str) -> None:
    tree = browser.see_with("/hop.html", 'textbox "One"')

    answer = browser.type(ref(tree, into, "textbox"), "1234" * 90, submit=True)

    assert " of 360 characters, then the focus moved: " in answer.text
    assert f'{ref(tree, next_one, "textbox")} textbox "{next_one}" has it: value "1234' in answer.text
    assert "submitted" not in answer.text
    assert "=" not in node(browser.snapshot(), next_one, "textbox").rest


def test_the_value_is_the_one_after_enter_and_a_limit_is_told(browser: AgentBrowser) -> None:
    browser.see("/moves.html")
    browser.run("long.onkeydown = (event) => { if (event.key == 'Enter') { event.preventDefault(); long.value = '' } }")

    sent = browser.type("#long", "hello", submit=True)
    cut = [browser.fill("#five", "123456"), browser.type("#five", "7")]

    assert 'value ""' in sent.text
    assert all("at most 5 characters (maxlength)" in answer.text for answer in cut)


@pytest.mark.parametrize(
    ("name", "value", "there"),
    [
        ("Taken back", "mine", '"back"'),
        ("Unchecked", "true", "false"),
        ("Chosen", "b", '"a"'),
        ("Prevented", "true", "false"),
    ],
)
def test_fill_says_what_the_page_takes_back_a_moment_later(
    browser: AgentBrowser, name: str, value: str, there: str
) -> None:
    answer = browser.fill(ref(browser.see("/moves.html"), name), value)

    assert answer.text.endswith(f"value {there}\nthe value did not stick: the page changed it")


def test_an_input_that_the_page_vetoes_does_not_happen(browser: AgentBrowser) -> None:
    answer = browser.fill(ref(browser.see("/moves.html"), "Vetoed"), "other")

    assert answer.text.endswith('value "kept"\nthe value did not stick: the page changed it')


def test_a_switch_that_turns_a_moment_later_is_set(browser: AgentBrowser) -> None:
    answer = browser.fill(ref(browser.see("/moves.html"), "Flip"), "true")

    assert answer.text.endswith('switch "Flip": value true')


def test_a_field_that_the_page_replaces_is_said_to_be_gone(browser: AgentBrowser) -> None:
    tree = browser.see("/moves.html")

    assert "the element is gone since" in browser.fill(ref(tree, "Replaced"), "x").text


@pytest.mark.parametrize(
    ("name", "value", "there", "why"),
    [
        ("Five", "1234567", "12345", "the field takes at most 5 characters (maxlength): the rest was cut off"),
        ("Ten", "99", "10", "the browser normalised the value for this kind of field"),
    ],
)
def test_what_the_browser_made_of_a_value_is_not_laid_to_the_page(
    browser: AgentBrowser, name: str, value: str, there: str, why: str
) -> None:
    answer = browser.fill(ref(browser.see("/moves.html"), name), value)

    assert answer.text.endswith(f'value "{there}"\n{why}')


def test_a_value_of_thousands_of_lines_is_filled(browser: AgentBrowser) -> None:
    answer = browser.fill(ref(browser.see("/moves.html"), "Long"), "a line of some words\n" * 5000)

    assert answer.body["ok"], answer.body
    assert browser.run("return long.value.length") == 105_000


def test_an_option_of_a_disabled_group_is_said_to_be_disabled(browser: AgentBrowser) -> None:
    message = refused_at_once(browser.fill(ref(browser.see("/moves.html"), "Grouped"), "Barred"))

    assert message.startswith("option Barred of ")


def test_two_files_for_one_place_are_refused(browser: AgentBrowser) -> None:
    target = ref(browser.see("/moves.html"), "One file")
    one, two = browser.home.put("one.txt", "1"), browser.home.put("two.txt", "2")

    answer = browser.fill(target, "one.txt\ntwo.txt")

    assert answer.code == "invalid_arguments"
    assert browser.run("return file.files.length") == 0
    one.unlink()
    two.unlink()


def test_a_hidden_input_is_named_as_one(browser: AgentBrowser) -> None:
    browser.go("/moves.html")

    assert 'hidden "token" is not visible' in refused_at_once(browser.fill("#token", "x"))


def test_a_password_is_filled_and_never_shown(browser: AgentBrowser) -> None:
    tree = browser.see("/form.html")

    answer = browser.fill(ref(tree, "Secret"), "correct horse")

    assert answer.text == f'filled {ref(tree, "Secret")} textbox "Secret": value (filled)'
    assert "hunter2" not in tree
    assert "correct horse" not in browser.snapshot()
    assert browser.run("return secret.value") == "correct horse"


@pytest.mark.parametrize(
    ("name", "value", "code", "said"),
    [
        ("Day", "tomorrow", "invalid_arguments", "takes a date, such as 2024-02-29"),
        ("Count", "many", "invalid_arguments", "takes a number"),
        ("News", "yes", "invalid_arguments", "takes `true` or `false`"),
        ("Small", "false", "invalid_arguments", "by choosing another one"),
        ("Colour", "Colour 99", "not_found", 'has no option Colour 99; there are: "Colour 1"'),
        ("Several", "Four", "conflict", "is disabled"),
        ("Locked", "x", "conflict", "is read-only"),
        ("Shut", "x", "conflict", "is disabled"),
        ("Send", "x", "invalid_arguments", "is not editable; browser_click fits"),
    ],
)
def test_fill_says_at_once_what_a_field_does_not_take(
    browser: AgentBrowser, name: str, value: str, code: str, said: str
) -> None:
    answer = browser.fill(ref(browser.see("/form.html"), name), value)

    assert (answer.code, said in refused_at_once(answer)) == (code, True), answer.body


def test_a_file_input_takes_paths_inside_home(browser: AgentBrowser) -> None:
    target = ref(browser.see("/form.html"), "Upload")
    one, two = browser.home.put("notes/list.txt", "milk\n"), browser.home.put("b.txt", "b")

    answer = browser.fill(target, f"notes/list.txt\n{two}")

    assert 'value "list.txt, b.txt"' in answer.text
    assert browser.run("return [upload.files.length, await upload.files[0].text()]") == [2, "milk\n"]
    one.unlink()
    two.unlink()


def test_a_file_input_takes_no_path_outside_of_home(browser: AgentBrowser) -> None:
    target = ref(browser.see("/form.html"), "Upload")
    (browser.home.path / "out").symlink_to("/etc/passwd")

    codes = [browser.fill(target, path).code for path in ("/etc/passwd", "../x", "out", "none.txt", ".")]

    assert codes == ["path_outside_home", "path_outside_home", "path_outside_home", "not_found", "not_a_file"]
    assert browser.run("return upload.files.length") == 0
    (browser.home.path / "out").unlink()


def test_a_checkbox_that_is_styled_away_is_reached_by_its_label(browser: AgentBrowser) -> None:
    browser.click(ref(browser.see("/form.html"), "Styled away"))

    assert browser.run("return styled.checked") is True


def test_type_presses_keys_at_the_end_of_what_is_there(browser: AgentBrowser) -> None:
    target = ref(browser.see("/form.html"), "Name")

    answer = browser.type(target, " Lovelace")

    assert answer.text == f'typed into {target} textbox "Name": value "Ada Lovelace"'
    assert browser.run("return keys.join('')") == " Lovelace"


def test_type_submits_when_asked(browser: AgentBrowser) -> None:
    answer = browser.type(ref(browser.see("/form.html"), "Mail"), "a@b.c", submit=True)

    assert f"url → {browser.site.near}/plain.html" in answer.text


def test_type_goes_to_the_end_of_editable_content(browser: AgentBrowser) -> None:
    browser.type(ref(browser.see("/form.html"), "Rich"), " more")

    assert browser.run("return rich.innerText") == "old words more"


def test_type_goes_to_the_end_of_a_number(browser: AgentBrowser) -> None:
    browser.type(ref(browser.see("/form.html"), "Count"), "5")

    assert browser.run("return count.value") == "25"


def test_type_takes_a_long_text(browser: AgentBrowser) -> None:
    browser.type(ref(browser.see("/form.html"), "Notes"), "word " * 2000)

    assert browser.run("return notes.value.length") == 10_000


def test_type_into_what_is_not_editable_names_the_tool_that_fits(browser: AgentBrowser) -> None:
    tree = browser.see("/form.html")

    assert "browser_fill fits" in refused_at_once(browser.type(ref(tree, "Colour"), "x"))
    assert "browser_fill fits" in refused_at_once(browser.type(ref(tree, "News"), "x"))
    assert "browser_click fits" in refused_at_once(browser.type(ref(tree, "Send"), "x"))


def test_fields_in_frames_and_shadow_roots_are_filled(browser: AgentBrowser) -> None:
    frames = browser.see_with("/frames.html", "Field Deep")
    for name in ("Field Near", "Field Far", "Field Deep"):
        assert 'value "deep water"' in browser.fill(ref(frames, name), "deep water").text
    assert node(browser.snapshot(), "Field Deep").rest.startswith(' ="deep water"')
    shadow = browser.see("/shadow.html")
    assert 'value "in the shade"' in browser.type(ref(shadow, "Deep field"), "in the shade").text
    assert 'value "in the shade"' in browser.fill(ref(shadow, "Closed field"), "in the shade").text
