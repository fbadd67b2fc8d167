"""browser_click: what it hits, what it tells, and what it refuses at once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.browser.agent import AgentBrowser, node, ref, refused_at_once, wait_until
from tests.browser.site import REPORT


def test_a_click_names_what_was_clicked_and_that_nothing_opened(browser: AgentBrowser) -> None:
    target = ref(browser.see("/acts.html"), "Target")

    assert browser.click(target).text == f'clicked {target} button "Target"\nno navigation'
    assert browser.click('role=button[name="Target"]').text.startswith(f"clicked {target} ")
    assert browser.run("return hits") == ["click0", "click0"]


def test_the_right_and_the_middle_button_and_a_double_click(browser: AgentBrowser) -> None:
    target = ref(browser.see("/acts.html"), "Target")

    browser.click(target, button="right")
    browser.click(target, button="middle")
    browser.click(target, double=True)

    assert browser.run("return hits") == [*("contextmenu2", "auxclick2", "auxclick1", "click0", "click0", "dblclick0")]


@pytest.mark.parametrize(("name", "hit"), [("Box by cursor", "box"), ("Box by listener", "heard")])
def test_a_box_that_listens_for_clicks_has_a_ref(browser: AgentBrowser, name: str, hit: str) -> None:
    browser.click(ref(browser.see("/acts.html"), name))

    assert browser.run("return hits") == [hit]


def test_a_link_says_where_it_led(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "To plain"))

    assert f'url → {browser.site.near}/plain.html "Plain"' in answer.text
    assert answer.meta["navigated"] == [f"{browser.site.near}/plain.html"]
    assert 'heading "Plain page"' in browser.snapshot()


@pytest.mark.parametrize(("name", "end"), [("To part", "/acts.html#part"), ("Push state", "/pushed")])
def test_a_change_of_address_within_the_page_is_told(browser: AgentBrowser, name: str, end: str) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), name))

    assert f"url → {browser.site.near}{end} " in answer.text


def test_a_link_to_nothing_says_that_no_page_came(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "To nothing"))

    assert "without a new page" in answer.text


def test_a_slow_page_is_waited_for(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "To slow"))

    assert 'slow "Slow"' in answer.text


def test_a_download_lies_in_home_under_its_own_name(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "Get report"))

    file = browser.home.path / "downloads" / "report.csv"
    assert f"download {file} ({len(REPORT)} bytes)" in answer.text
    assert file.read_bytes() == REPORT
    file.unlink()


def test_a_download_never_takes_the_place_of_a_file(browser: AgentBrowser) -> None:
    target = ref(browser.see("/acts.html"), "Get report")
    file = browser.home.put("downloads/report.csv", "old")

    paths = [browser.click(target).meta["download"][0]["path"] for _ in range(2)]

    assert paths == [str(file.with_name("report (1).csv")), str(file.with_name("report (2).csv"))]
    assert [Path(path).read_bytes() for path in paths] == [REPORT, REPORT]
    assert file.read_text() == "old"
    assert len(list(file.parent.iterdir())) == 3
    shutil.rmtree(file.parent)


def test_two_downloads_of_one_name_at_once_are_two_files(browser: AgentBrowser) -> None:
    browser.go("/acts.html")

    browser.run("for (const link of document.links) if (link.pathname === '/report.csv') link.click()")

    folder = browser.home.path / "downloads"
    assert wait_until(lambda: sorted(path.name for path in folder.iterdir()) == ["report (1).csv", "report.csv"])
    shutil.rmtree(folder)


def test_a_link_to_a_new_tab_makes_that_the_current_one(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "Open blank"))

    assert "new tab 2: " in answer.text
    assert "Push Blank" in browser.snapshot()
    assert (answer.meta["tab"], answer.meta["tabs"]) == (2, 2)


def test_when_a_tab_closes_its_opener_is_the_current_one(browser: AgentBrowser) -> None:
    browser.click(ref(browser.see("/acts.html"), "Open window"))

    answer = browser.click(ref(browser.snapshot(), "Close me"))

    assert "the tab closed; now in tab 1: " in answer.text
    assert "title Acts" in browser.snapshot()


def test_a_tab_that_opens_and_closes_again_is_told(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "Open flash"))

    assert answer.body["ok"], answer.body
    assert wait_until(lambda: browser.addresses() == [f"{browser.site.near}/acts.html"])
    assert "title Acts" in browser.snapshot()


def test_a_ref_of_another_tab_leads_back_to_it(browser: AgentBrowser) -> None:
    target = ref(browser.see("/acts.html"), "Target")
    browser.click('text="Open blank"')

    answer = browser.click(target)

    assert answer.text.startswith("clicked")
    assert browser.run("return hits") == ["click0"]
    assert answer.meta["tab"] == 1


def test_a_page_that_does_not_come_is_said_to_be_loading(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "To never"))

    assert answer.text.endswith(f"still loading {browser.site.near}/never")
    assert answer.meta["duration_ms"] < 8000


def test_a_tab_whose_page_does_not_come_is_the_current_one_and_can_be_used(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "Open never"))
    shown = browser.snapshot()
    gone_on = browser.go("/plain.html")

    assert f"new tab 2: {browser.site.near}/never still loading, now the current one" in answer.text
    assert (answer.meta["tab"], answer.meta["tabs"], answer.meta["url"]) == (2, 2, f"{browser.site.near}/never")
    assert "the page of the new tab had not come, and was given up" in shown
    assert (gone_on.meta["tab"], gone_on.meta["title"]) == (2, "Plain")


@pytest.mark.parametrize(("name", "script"), [("Pretty", "pretty.checked"), ("Far label", "far.checked")])
def test_a_checkbox_under_its_own_label_is_clicked_there(browser: AgentBrowser, name: str, script: str) -> None:
    target = ref(browser.see("/covers.html"), name, "checkbox")

    clicked = browser.click(target)
    once = browser.run(f"return {script}")
    filled = browser.fill(target, "false")

    assert clicked.text.startswith(f"clicked {target} ")
    assert once is True
    assert filled.text.endswith("value false")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("text=Clipped", "is clipped away"),
        ("text=Through", "lets clicks through (pointer-events: none)"),
        ("#inert", "is inert"),
        ('[aria-label="Below"]', 'link "Square"; dismiss it first'),
    ],
)
def test_what_takes_no_clicks_is_said_as_what_it_is(browser: AgentBrowser, target: str, said: str) -> None:
    browser.go("/covers.html")

    assert said in refused_at_once(browser.click(target))


def test_a_click_that_another_element_would_get_is_not_told_as_done(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/covers.html"), "Swapped"))

    assert answer.code in ("not_found", "conflict"), answer.body
    assert browser.run("return hits") == []


def test_the_areas_of_a_picture_are_links_that_can_be_clicked(browser: AgentBrowser) -> None:
    tree = browser.see("/covers.html")

    browser.click(ref(tree, "Square", "link"))
    hits = browser.run("return hits")
    answer = browser.click(ref(tree, "Round", "link"))

    assert hits == ["square"]
    assert answer.meta["title"] == "Plain"


@pytest.mark.parametrize("target", ["#safe", "text=Safe", 'role=button[name="Safe"]', "xpath=//button[1]"])
def test_a_page_can_not_lead_a_selector_to_another_element(browser: AgentBrowser, target: str) -> None:
    browser.go("/traps.html")

    answer = browser.click(target)

    assert answer.text.startswith("clicked"), answer.body
    assert browser.run("return hits") == ["safe"]


@pytest.mark.parametrize(
    ("tool", "arguments", "start"),
    [("snapshot", {}, "new tab 2: "), ("eval", {"script": "return document.title"}, '"Plain"\nnew tab 2: ')],
)
def test_a_tab_that_opens_after_the_answer_is_told_in_the_next_one(
    browser: AgentBrowser, tool: str, arguments: dict[str, Any], start: str
) -> None:
    browser.see("/plain.html")
    browser.run("document.body.onclick = () => setTimeout(() => open('/count.html'), 200)")
    browser.click("css=body")
    browser.until_shown("Count")

    answer = browser.call(tool, **arguments)

    assert answer.text.startswith(start), answer.body
    assert "count.html" in answer.meta["url"]
    assert browser.run("return location.pathname") == "/count.html"


def test_what_is_covered_is_not_clicked_and_the_cover_is_named(browser: AgentBrowser) -> None:
    tree = browser.see("/reach.html")

    message = refused_at_once(browser.click(ref(tree, "Under")))
    hits = browser.run("return hits")
    browser.click(ref(tree, "Accept all"))
    browser.click(ref(tree, "Under"))

    assert 'dialog "Cookies"; dismiss it first' in message
    assert hits == []
    assert browser.run("return hits") == ["under"]


@pytest.mark.parametrize("name", ["Push Near", "Push Far", "Push Deep"])
def test_what_a_frame_is_covered_by_is_named(browser: AgentBrowser, name: str) -> None:
    tree = browser.see_with("/frames.html", "Push Deep")
    cover = '<div role="dialog" aria-label="Over" style="position: fixed; inset: 0; background: white">x</div>'
    browser.run(f"document.body.insertAdjacentHTML('beforeend', {cover!r})")

    answer = browser.click(ref(tree, name))

    assert answer.code == "conflict"
    assert re.search(r'covered by e\d+ dialog "Over"; dismiss it first', refused_at_once(answer))


@pytest.mark.parametrize(
    ("name", "hit"), [("Above", "above"), ("Moving", "moving"), ("Far down", "far down"), ("In panel", "in panel")]
)
def test_what_moves_or_has_to_be_scrolled_to_is_reached(browser: AgentBrowser, name: str, hit: str) -> None:
    browser.go("/reach.html")
    browser.run("cover.remove()")

    answer = browser.click(f'role=button[name="{name}"]')

    assert answer.text.startswith("clicked"), answer.body
    assert browser.run("return hits") == [hit]


@pytest.mark.parametrize(
    ("selector", "said"),
    [('[aria-label="Nothing"]', "no size"), ('text="Off screen"', "outside of what can be scrolled")],
)
def test_what_can_not_be_hit_is_said_at_once(browser: AgentBrowser, selector: str, said: str) -> None:
    browser.go("/reach.html")

    assert said in refused_at_once(browser.click(selector))
    assert browser.run("return hits") == []


def test_a_disabled_button_is_said_at_once(browser: AgentBrowser) -> None:
    message = refused_at_once(browser.click(ref(browser.see("/form.html"), "Off")))

    assert "is disabled" in message
    assert browser.run("return hits") == []


def test_a_selector_that_matches_many_acts_on_none_and_offers_refs(browser: AgentBrowser) -> None:
    browser.go("/many.html")

    answer = browser.click('role=button[name="Pick"]')

    assert answer.code == "ambiguous_match"
    offered = [word for word in refused_at_once(answer).split() if word[0] == "e" and word[1:].isdecimal()]
    assert "matches 40 elements; the first five: " in answer.message
    assert len(set(offered)) == 5
    browser.click(offered[2])
    assert browser.run("return hits") == [2]


def test_a_selector_that_matches_nothing_is_said_at_once(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    answer = browser.click("#none")

    assert (answer.code, refused_at_once(answer)) == (
        "not_found",
        "no element matches #none. Take a browser_snapshot.",
    )


@pytest.mark.parametrize("selector", ["[[", "role=", "e0", "e12345678901", "internal:nope=x"])
def test_what_is_no_selector_is_never_acted_on(browser: AgentBrowser, selector: str) -> None:
    browser.go("/plain.html")

    assert browser.click(selector).code in ("invalid_arguments", "not_found")


def test_a_button_that_goes_away_under_the_mouse_does_not_hang(browser: AgentBrowser) -> None:
    answer = browser.click(ref(browser.see("/acts.html"), "Turns away"))

    assert answer.body["ok"] or answer.code in ("timeout", "not_found"), answer.body
    assert "title Acts" in browser.snapshot()


def test_buttons_in_frames_of_any_origin_are_pressed(browser: AgentBrowser) -> None:
    tree = browser.see_with("/frames.html", "Push Deep")

    for name in ("Top", "Near", "Far", "Deep", "Written"):
        browser.click(ref(tree, f"Push {name}"))

    wanted = [f"/note?pushed={name}" for name in ("Top", "Near", "Far", "Deep", "Written")]
    assert wait_until(lambda: [path for path in browser.site.seen if "pushed" in path] == wanted), browser.site.seen


def test_buttons_in_open_and_closed_shadow_roots_are_pressed(browser: AgentBrowser) -> None:
    tree = browser.see("/shadow.html")

    for name in ("In open", "In deep", "In closed", "In closed in closed", "Slotted"):
        browser.click(ref(tree, name))

    assert browser.run("return hits") == ["open", "deep", "closed", "closed in closed", "slotted"]
    assert 'button "In a closed div"' in tree


@pytest.mark.parametrize("place", ["0", "1960", "2000 - innerHeight + 40"])
def test_what_is_far_away_or_under_a_bar_is_scrolled_to_where_it_can_be_clicked(
    browser: AgentBrowser, place: str
) -> None:
    tree = browser.see("/bars.html")
    browser.run(f"scrollTo({{top: {place}, behavior: 'instant'}})")

    answer = browser.click(ref(tree, "Far"))

    assert answer.text.startswith("clicked "), answer.body
    assert browser.run("return hits") == ["far"]


@pytest.mark.parametrize(("name", "field"), [("Notify", "a"), ("Quiet", "b"), ("Round", "c")])
def test_a_control_that_is_styled_away_is_acted_on_by_its_label(browser: AgentBrowser, name: str, field: str) -> None:
    target = ref(browser.see("/switches.html"), name)

    filled = browser.fill(target, "true")

    assert "value true" in filled.text, filled.body
    assert "[x]" in node(browser.snapshot(), name).rest
    assert browser.run(f"return {field}.checked") is True
    assert browser.click(target).text.startswith("clicked ")
    assert browser.run("return a.checked || b.checked") is False


def test_a_file_is_given_by_the_label_of_a_hidden_input(browser: AgentBrowser) -> None:
    browser.home.put("a.txt", "a")
    tree = browser.see("/switches.html")

    answers = [browser.fill(target, "a.txt") for target in (ref(tree, "Attach", "file"), "text=Attach")]

    assert all('value "a.txt"' in answer.text for answer in answers)
    assert browser.run("return f.files[0].name") == "a.txt"


@pytest.mark.parametrize("name", ["Made", "Below"])
def test_a_file_chooser_names_the_input_that_takes_the_file(browser: AgentBrowser, name: str) -> None:
    browser.home.put("a.txt", "a")
    browser.home.put("b.txt", "b")
    button = ref(browser.see("/switches.html"), name)

    opened = browser.click(button)
    target = re.search(r"with a path on (e\d+) file", opened.text)
    assert target, opened.body
    titles = [browser.fill(each, path).meta["title"] for each, path in ((target[1], "a.txt"), (button, "b.txt"))]

    assert titles == ["a.txt", "b.txt"]


def test_what_a_selector_matches_is_looked_up_again_where_the_page_replaces_it(browser: AgentBrowser) -> None:
    browser.see_with("/anew.html", "Go")
    old = ref(browser.snapshot(), "Go")
    browser.until("return document.querySelector('#root button') !== (window.first ??= root.firstChild)")

    clicked, picked, gone = browser.click("role=button"), browser.fill("role=combobox", "b"), browser.click(old)

    assert clicked.text.startswith("clicked "), clicked.body
    assert browser.run("return hits") == [1]
    assert picked.text.startswith("filled ")
    assert "is gone" in gone.message


@pytest.mark.parametrize("link", ["On?near", "Across?near", "On?far", "Across?far"])
def test_a_frame_that_goes_elsewhere_is_told(browser: AgentBrowser, link: str) -> None:
    tree = browser.see_with("/onward.html", "On?far")

    answer = browser.click(ref(tree, link))

    assert re.search(r"\nframe e\d+ → http://\S+/plain\.html$", answer.text), answer.body
    assert [url.rpartition("/")[2] for url in answer.meta["navigated"]] == ["plain.html"]
    assert answer.meta["title"] == "Onward"


def test_a_page_that_comes_back_whole_is_not_told_as_loading(browser: AgentBrowser) -> None:
    browser.go("/plain.html")
    browser.go("/count.html")

    answers = [browser.call("eval", script=f"history.{way}()") for way in ("back", "forward", "back")]

    assert ["still loading" in answer.text for answer in answers] == [False, False, False]
