"""Roles and names of the snapshot against those of Chrome's own accessibility tree.

What differs on purpose is listed here with its reason; everything else has to agree.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from guilds_browser.devtools import Session
from guilds_browser.page_text import shown
from tests.browser.agent import AgentBrowser, nodes

PAGES = (
    "roles",
    "form",
    "plain",
    "acts",
    "app",
    "dialogs",
    "list",
    "long",
    "many",
    "passwords",
    "preact",
    "reach",
    "react",
    "scroll",
    "shadow",
    "unload",
    "names",
)

OUR_ROLE = {
    # Chrome's own words where ARIA has none
    "Date": "date",
    "DateTime": "datetime",
    "InputTime": "time",
    "ColorWell": "color",
    "DisclosureTriangle": "summary",
    "Iframe": "iframe",
    "Details": "group",
    "img": "image",
    "SvgRoot": "image",
    "searchbox": "searchbox",
    "Canvas": "canvas",
    "LayoutTable": "table",
    "DescriptionList": "list",
    "DescriptionListTerm": "term",
    "DescriptionListDetail": "definition",
}

COMPARED = frozenset(
    [
        "button",
        "link",
        "textbox",
        "searchbox",
        "checkbox",
        "radio",
        "combobox",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "option",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "treeitem",
        "tabpanel",
        "radiogroup",
        "article",
        "summary",
        "date",
        "time",
        "color",
        "heading",
        "image",
        "navigation",
        "main",
        "banner",
        "contentinfo",
        "complementary",
        "region",
        "form",
        "dialog",
        "alert",
        "progressbar",
        "meter",
        "table",
        "tablist",
        "menu",
        "columnheader",
        "rowheader",
    ]
)

NAMED_BY_CONTENT = frozenset({"link", "button"})
"""A picture in one of these is told by its name, and is not told again."""

FIELDS = frozenset(["combobox", "listbox", "MenuListPopup", "spinbutton", "Date", "InputTime", "ColorWell", "textbox"])

LEFT_OUT = {
    ("form", ""): "a form without a name is no landmark (HTML-AAM), and its fields stand in order without it",
    ("image", ""): "a picture that nobody has named tells a reader nothing",
    ("button", "Upload"): "Chrome calls a file input a button; it is shown as `file`, since browser_fill is what fits",
}
"""What Chrome has and the snapshot has not, and why."""

ADDED = {("checkbox", "Styled away"): "a control without a box is shown in its label's place, which acts for it"}
"""What the snapshot has and Chrome has not, and why."""


def chromes_tree(browser: AgentBrowser) -> list[dict[str, Any]]:
    """Chrome's accessibility tree of the one tab."""

    async def ask() -> list[dict[str, Any]]:
        (target,) = [target["id"] for target in browser.devtools("list") if target["type"] == "page"]
        async with Session(browser.port, target) as session:
            answer = await session.ask("Accessibility.getFullAXTree")
            found: list[dict[str, Any]] = answer["nodes"]
            return found

    return asyncio.run(ask())


def chromes_nodes(browser: AgentBrowser) -> Counter[tuple[str, str]]:
    """Role and name of each node that is compared, as the snapshot would write them."""
    tree = {node["nodeId"]: node for node in chromes_tree(browser)}
    found: Counter[tuple[str, str]] = Counter()
    for node in tree.values():
        role = OUR_ROLE.get(node.get("role", {}).get("value", ""), node.get("role", {}).get("value", ""))
        if node.get("ignored") or role not in COMPARED or is_inside_field(tree, node):
            continue
        if role == "image" and parent_role(tree, node) in NAMED_BY_CONTENT:
            continue
        name = shown(node.get("name", {}).get("value", ""))
        found[role, name.replace("\\", "\\\\").replace('"', '\\"')] += 1
    return found


def parent_role(tree: dict[str, dict[str, Any]], node: dict[str, Any]) -> str:
    return str(tree.get(node.get("parentId", ""), {}).get("role", {}).get("value", ""))


def is_inside_field(tree: dict[str, dict[str, Any]], node: dict[str, Any]) -> bool:
    """Options and the parts of a date or a number stand in the field's own line."""
    parent = tree.get(node.get("parentId", ""))
    while parent is not None:
        if parent.get("role", {}).get("value") in FIELDS:
            return True
        parent = tree.get(parent.get("parentId", ""))
    return False


@pytest.mark.parametrize("page", PAGES)
def test_roles_and_names_agree_with_chromes_own_tree(browser: AgentBrowser, page: str) -> None:
    browser.go(f"/{page}.html")

    ours = Counter((each.role, each.name) for each in nodes(browser.snapshot(full=True)) if each.role in COMPARED)
    chromes = chromes_nodes(browser)

    left_out = {node: count for node, count in (chromes - ours).items() if node not in LEFT_OUT}
    added = {node: count for node, count in (ours - chromes).items() if node not in ADDED}
    assert (left_out, added) == ({}, {})
