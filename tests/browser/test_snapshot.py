"""browser_snapshot: the tree, what has a ref, what is left out, and that a page can't forge it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.browser.agent import AgentBrowser, node, nodes, ref, refs


def test_the_first_line_is_about_the_page(browser: AgentBrowser) -> None:
    tree = browser.see("/form.html")

    assert tree.startswith(f"url {browser.site.near}/form.html   title Form   scroll 0%   tab 1 of 1\n")


def test_controls_have_a_ref_a_role_a_name_a_value_and_states(browser: AgentBrowser) -> None:
    browser.go("/form.html")
    browser.run("document.getElementById('name').focus()")

    tree = browser.snapshot()

    lines = {each.name: f"{each.role}{each.rest}" for each in nodes(tree) if each.ref}
    assert lines["Name"] == 'textbox ="Ada" focused'
    assert lines["Colour"].startswith('combobox ="Colour 1" of "Colour 1|Colour 2|')
    assert lines["Colour"].endswith('|Colour 12|… 3 more"')
    assert lines["News"] == "checkbox [x]"
    assert lines["Terms"] == "checkbox [ ]"
    assert lines["Large"] == "radio [x]"
    assert lines["Level"] == 'slider ="5"'
    assert lines["Mail"] == "textbox required"
    assert lines["Locked"] == 'textbox ="fixed" readonly'
    assert lines["Off"] == "button disabled"
    assert lines["More"] == "button collapsed"
    assert lines["Fancy"] == "checkbox [ ]"
    assert lines["Secret"] == "textbox password (filled)"
    assert lines["Rich"] == 'textbox ="old words"'


@pytest.mark.parametrize(("count", "about"), [(5000, ""), (20_000, "about ")])
def test_what_is_left_out_is_counted(browser: AgentBrowser, count: int, about: str) -> None:
    lines = browser.see(f"/flat.html?{count}").splitlines()

    left = re.match(r"\[(about )?(\d+) more nodes", lines[-1])
    assert left
    assert left[1] == (about or None)
    assert int(left[2]) + len(lines) - 2 == pytest.approx(count + 1, rel=0.05 if about else 0)


def test_a_picture_without_words_in_a_button_is_no_trouble(browser: AgentBrowser) -> None:
    tree = browser.see("/covers.html")

    assert (node(tree, "Icon").role, node(tree, "Plus").role) == ("button", "button")


def test_text_and_structure_have_no_ref(browser: AgentBrowser) -> None:
    tree = browser.see("/plain.html")

    assert [f"{each.ref} {each.role} {each.name}" for each in nodes(tree) if each.ref] == [
        f"{ref(tree, 'Go on')} link Go on"
    ]
    assert '"Only words here, some bold."' in tree
    assert '\n "First"\n "Second"' in tree


def test_a_password_is_never_shown(browser: AgentBrowser) -> None:
    tree = browser.see("/passwords.html")

    assert "swordfish" not in tree
    assert tree.count("(filled)") == 2


def test_items_and_rows_begin_with_a_dash(browser: AgentBrowser) -> None:
    tree = browser.see("/app.html")

    first = ref(tree, "Message 1")
    assert f'\nlist\n - {first} link "Message 1" /m1\n  "from Ada"\n - e' in tree


def test_links_show_where_they_lead(browser: AgentBrowser) -> None:
    assert node(browser.see("/plain.html"), "Go on").rest == " /form.html"


def test_frames_of_any_origin_and_in_one_another_are_walked(browser: AgentBrowser) -> None:
    tree = browser.see_with("/frames.html", "Push Deep")

    assert re.search(
        r'\ne\d+ iframe "far frame"\n e\d+ button "Push Far"\n.*\n e\d+ iframe\n  e\d+ button "Push Deep"', tree
    )
    assert {"Push Top", "Push Near", "Push Far", "Push Deep", "Push Written"} <= set(refs(tree).values())


def test_open_closed_and_slotted_shadow_roots_are_walked(browser: AgentBrowser) -> None:
    named = set(refs(browser.see("/shadow.html")).values())

    wanted = {"In open", "In deep", "Deep field", "In closed", "Closed field", "In closed in closed", "In a closed div"}
    assert wanted | {"Slotted"} == named


def test_a_part_is_shown_by_ref_or_selector(browser: AgentBrowser) -> None:
    tree = browser.see("/form.html")

    by_ref = browser.snapshot(target=ref(tree, "Colour"))
    by_selector = browser.snapshot(target="fieldset, form >> nth=0")

    assert refs(by_ref) == {ref(tree, "Colour"): "Colour"}
    assert "Fancy" not in by_selector
    assert ref(by_selector, "Name") == ref(tree, "Name")


def test_a_part_that_is_gone_is_said(browser: AgentBrowser) -> None:
    browser.go("/form.html")

    assert browser.call("snapshot", target="e99999999").code == "not_found"


def test_a_long_page_is_shown_around_the_viewport(browser: AgentBrowser) -> None:
    browser.go("/huge.html")
    browser.run("document.querySelectorAll('li')[20000].scrollIntoView()")

    tree = browser.snapshot()

    assert 'button "Item 20001"' in tree
    assert 'button "Item 1"' not in tree
    assert 15_000 < len(tree) <= 20_000
    left = re.search(r"\[about (\d+) more nodes are not shown: ", tree)
    assert left is not None
    assert 20_000 < int(left[1]) < 51_000


def test_full_shows_up_to_the_cap_of_the_result(browser: AgentBrowser) -> None:
    browser.go("/huge.html")

    answer = browser.call("snapshot", most_bytes=100_000, full=True)

    assert 90_000 < len(answer.text.encode()) <= 100_000
    assert "more nodes are not shown" in answer.text
    assert answer.meta["cuts"] == [answer.text.rindex("\n["), answer.text.rindex("\n[")]


@pytest.mark.parametrize("most_bytes", [1024, 1500, 4000])
def test_a_small_cap_is_kept(browser: AgentBrowser, most_bytes: int) -> None:
    browser.go("/form.html")

    answer = browser.call("snapshot", most_bytes=most_bytes)

    assert len(answer.text.encode()) <= most_bytes
    assert all(line.count('"') % 2 == 0 for line in answer.text.splitlines()[1:-1])


def test_a_page_of_50000_nodes_takes_a_moment_in_the_page(browser: AgentBrowser) -> None:
    browser.go("/huge.html")
    browser.snapshot()

    assert browser.call("snapshot").meta["duration_ms"] < 5000


def test_a_page_of_rows_is_shown_compactly(browser: AgentBrowser) -> None:
    tree = browser.see("/app.html")

    assert len(refs(tree)) == 132
    assert len(tree) <= 6200


def test_names_are_cut_and_hold_nothing_that_steers(browser: AgentBrowser) -> None:
    tree = browser.see("/names.html")

    assert tree.splitlines()[0].endswith("title Names [forged]   scroll 0%   tab 1 of 1")
    names = [each.name for each in nodes(tree) if each.ref]
    assert names[0] == "Long " + "x" * 114 + "…"
    assert names[1:4] == ["Red [31m paint", 'Nice e1 button \\"Fake\\" e2 link \\"Trap\\" /', "abcde"]
    assert '\n"e1 button \\"Text\\" [x]"\n' in tree
    assert all(character.isprintable() or character == "\n" for character in tree)


def test_a_page_that_replaces_the_builtins_changes_nothing(browser: AgentBrowser) -> None:
    tree = browser.see("/hostile.html")

    browser.click(ref(tree, "Real"))

    assert node(tree, "Field").rest == ' ="kept"'
    assert browser.run("return [1, {a: 'b'}]") == [1, {"a": "b"}]
    assert "/note?real-hit" in browser.site.seen


def test_a_form_whose_fields_are_named_like_its_members_is_shown_and_used(browser: AgentBrowser) -> None:
    tree = browser.see("/clobber.html")

    assert len([name for name in refs(tree).values() if name.startswith("Field ")]) == 32
    assert browser.click(ref(tree, "After")).body["ok"]
    assert browser.run("return done") is True


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/drawing.svg", 'link "Linked text" /plain.html'),
        ("/words.txt", '"Plain words, & more"'),
        ("/data.json", "answer"),
        ("/feed.xml", "Entry"),
    ],
)
def test_a_document_that_is_no_page_is_shown(browser: AgentBrowser, path: str, part: str) -> None:
    assert part in browser.see(path)


def test_a_page_that_asks_for_a_password_does_not_hang(browser: AgentBrowser) -> None:
    answer = browser.go("/locked")

    assert answer.body["ok"], answer.body
    assert browser.go("/plain.html").meta["title"] == "Plain"


def test_the_source_of_the_snapshot_is_found_when_installed() -> None:
    script = "import guilds_browser.tab as tab; print(len(tab.SNAPSHOT_SOURCE))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert int(done.stdout) > 1000


def test_a_pdf_is_said_to_be_one(browser: AgentBrowser) -> None:
    browser.go("/paper.pdf")

    assert "[a PDF," in browser.snapshot()
