"""browser_scroll and browser_screenshot."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from guilds_browser.tools.browser_screenshot import jpeg_size
from tests.browser.agent import AgentBrowser, ref


def test_the_panel_scrolls_by_its_height_to_its_end(browser: AgentBrowser) -> None:
    browser.go("/scroll.html")

    first = browser.call("scroll", direction="down").text
    moved, height, whole = browser.run("return [results.scrollTop, results.clientHeight, results.scrollHeight]")

    assert re.fullmatch(rf'panel e\d+ "Results": 0 → {moved} of {whole}', first)
    assert moved == height
    said = [browser.call("scroll", direction="down").text for _ in range(whole // height + 1)]
    assert said[-1].endswith(", at end")
    assert browser.call("scroll", direction="up").text.endswith(f"→ {whole - 2 * height} of {whole}")


def test_a_target_picks_the_panel(browser: AgentBrowser) -> None:
    side = ref(browser.see("/scroll.html"), "Side")

    assert browser.call("scroll", direction="down", target=side).text.startswith(f'panel {side} "Side": 0 → ')


def test_a_body_that_is_a_panel_of_its_own_scrolls(browser: AgentBrowser) -> None:
    browser.go("/body-panel.html")

    first, second = browser.call("scroll", direction="down"), browser.call("scroll", direction="down", target="body")

    height = browser.run("return innerHeight")
    assert f": 0 → {height} of 6000" in first.text
    assert f": {height} → {2 * height} of 6000" in second.text
    assert browser.run("return document.body.scrollTop") == 2 * height


def test_where_the_page_scrolls_on_to_is_told(browser: AgentBrowser) -> None:
    browser.go("/long.html")
    browser.run("addEventListener('scroll', () => scrollTo({top: 7, behavior: 'instant'}))")

    assert browser.call("scroll", direction="down").text.startswith("window: 0 → 7 of ")


def test_without_a_panel_the_window_scrolls(browser: AgentBrowser) -> None:
    browser.go("/long.html")

    answer = browser.call("scroll", direction="down")

    moved, height = browser.run("return [scrollY, innerHeight]")
    assert answer.text.startswith(f"window: 0 → {moved} of ")
    assert moved == height
    assert re.search(r"scroll [789]%", browser.snapshot().splitlines()[0])
    assert browser.call("scroll", direction="up").text.endswith("at start")


def test_a_window_that_shows_all_of_its_page_is_at_its_end(browser: AgentBrowser) -> None:
    browser.go("/plain.html")

    answer = browser.call("scroll", direction="down")

    assert answer.text.startswith("window: 0 → 0 of ")
    assert answer.text.endswith(", at end")


def test_a_target_that_can_not_scroll_is_said(browser: AgentBrowser) -> None:
    target = ref(browser.see("/plain.html"), "Go on")

    answer = browser.call("scroll", direction="down", target=target)

    assert (answer.code, f"{target} and what it is in can't be scrolled down" in answer.message) == ("conflict", True)


def test_a_screenshot_is_a_jpeg_of_the_size_that_is_said(browser: AgentBrowser) -> None:
    browser.go("/long.html")

    answer = browser.call("screenshot")

    file = browser.home.path / "screenshots" / "latest.jpg"
    assert answer.meta["screenshot_path"] == str(file)
    width, height = jpeg_size(file.read_bytes())
    assert answer.text == f"{file} · {width}x{height} pixels, scale 1, {file.stat().st_size} bytes"
    assert browser.run("return [innerWidth, innerHeight]") == [width, height]


def test_a_screenshot_of_the_full_page_and_of_an_element(browser: AgentBrowser) -> None:
    browser.go("/long.html")
    file = browser.home.path / "screenshots" / "latest.jpg"

    browser.call("screenshot", full_page=True)
    whole = jpeg_size(file.read_bytes())
    browser.call("screenshot", target='role=button[name="Button 90"]')
    part = jpeg_size(file.read_bytes())

    assert whole[1] > 7000
    assert part[0] < 200
    assert part[1] < 60


def test_a_page_too_tall_for_a_picture_is_cut_and_said(browser: AgentBrowser) -> None:
    browser.go("/long.html")
    browser.run("document.body.style.height = '40000px'")

    answer = browser.call("screenshot", full_page=True)

    assert "only the first 16384 pixels of 40" in answer.text
    assert "x16384 pixels" in answer.text


def test_password_fields_are_masked(browser: AgentBrowser) -> None:
    browser.go("/passwords.html")
    file = browser.home.path / "screenshots" / "latest.jpg"
    pictures = []

    for secret in ("swordfish-1", "x", "another one altogether"):
        inner = "document.querySelector('x-pass').shadowRoot.querySelector('input')"
        browser.run(f"bare.value = {inner}.value = {secret!r}")
        browser.call("screenshot")
        pictures.append(file.read_bytes())

    assert pictures[0] == pictures[1] == pictures[2]
    assert browser.run("return [bare.getAnimations().length, bare.getAttribute('style')]") == [0, None]


def test_a_screenshot_replaces_the_last_one_at_once(browser: AgentBrowser) -> None:
    browser.go("/long.html")
    file = browser.home.path / "screenshots" / "latest.jpg"
    browser.call("screenshot")
    before = os.stat(file).st_ino

    browser.call("screenshot", full_page=True)

    assert os.stat(file).st_ino != before
    assert [each.name for each in file.parent.iterdir()] == ["latest.jpg"]


def test_a_screenshots_folder_that_leads_out_of_home_is_refused(own_browser: AgentBrowser, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (own_browser.home.path / "screenshots").symlink_to(outside)

    assert own_browser.call("screenshot").code == "path_outside_home"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("tool", ["screenshot", "snapshot"])
def test_a_background_tab_is_brought_to_front_first(browser: AgentBrowser, tool: str) -> None:
    browser.go("/plain.html")
    browser.devtools("new?about:blank", "PUT")

    answer = browser.call(tool)

    assert answer.meta["title"] == "Plain"
    assert browser.run("return document.visibilityState") == "visible"
