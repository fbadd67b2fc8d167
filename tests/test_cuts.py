"""Every marker that a tool puts where something is left out stands between two cuts, and cuts stand nowhere else."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_code.engines.graph.page import Page
from guilds_code.hits import Listing, clipped
from guilds_wire.envelope import Result
from tests.agent_home import AgentHome

MARKER = re.compile(r"…|\[continue with offset=|and \d+ more")
LONG = "".join(f"{'word' * 200} needle {'more' * 200}\n" for _ in range(30))
WIDE = ", ".join(f"parameter_{number}" for number in range(40))
CODE = "".join(f"def needle_{number}({WIDE}):\n    x.needle()\n" for number in range(60))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("code_search", {"pattern": "needle"}),
    ("code_search", {"pattern": "needle", "mode": "content"}),
    ("code_search", {"pattern": "needle", "mode": "content", "context": 1, "limit": 15}),
    ("code_search", {"pattern": "needle", "mode": "symbols"}),
    ("code_search", {"pattern": "needle", "mode": "symbols", "limit": 3}),
    ("code_search", {"pattern": "q" * 300, "glob": "g" * 300}),
    ("code_match", {"pattern": "def $F($$$): $$$", "lang": "python"}),
    ("code_match", {"pattern": "$X.needle()", "limit": 3, "lang": "python"}),
    ("code_map", {"repo": "one"}),
    ("code_find", {"question": "needle", "source": True, "limit": 20}),
    ("code_outline", {"path": "repos/one/code.py"}),
    ("code_callers", {"symbol": "needle_1"}),
    ("code_callers", {"symbol": "needle"}),
    ("file_read", {"path": "repos/one/long.txt"}),
    ("file_read", {"path": "repos/one/code.py", "limit": 10}),
    ("file_read", {"path": "repos/one/many", "limit": 10}),
    ("file_edit", {"path": "repos/one/long.txt", "old_string": "word needle", "new_string": "n", "replace_all": True}),
    ("shell", {"command": "cat repos/one/long.txt"}),
    ("shell_status", {}),
]


@pytest.fixture
def full(home: AgentHome) -> AgentHome:
    home.put("repos/one/long.txt", LONG)
    home.put("repos/one/code.py", CODE + "\n\nclass A:\n    def needle(self):\n        pass\n")
    for number in range(40):
        home.put(f"repos/one/many/m{number}.txt", "needle\n" * 15)
    return home


@pytest.mark.parametrize("cap_bytes", [1024, 3000, 8192])
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_each_marker_of_a_tool_stands_between_cuts(
    full: AgentHome, tool: str, arguments: dict[str, Any], cap_bytes: int
) -> None:
    answer = full.call(tool, **arguments, limits={"result_max_bytes": cap_bytes})

    assert _unmarked(answer.text, answer.meta["cuts"]) == []


def test_the_clipped_command_of_one_in_the_background_stands_between_cuts(home: AgentHome) -> None:
    for _ in range(12):
        home.call("shell", command=f": {'x' * 2000}", background=True)

    listed = home.call("shell_status", limits={"result_max_bytes": 1024})
    one = home.call("shell_status", id="b1")

    assert "…" in one.text
    assert [_unmarked(answer.text, answer.meta["cuts"]) for answer in (listed, one)] == [[], []]


LINES = st.lists(
    st.tuples(st.sampled_from("ahmq"), st.text("ab…", min_size=1, max_size=400), st.integers(0, 400)), max_size=12
)


@given(LINES, st.integers(1024, 4000), st.booleans(), st.integers(0, 2))
def test_a_listing_has_its_markers_between_cuts(
    lines: list[tuple[str, str, int]], cap_bytes: int, short: bool, notes: int
) -> None:
    listing = Listing(cap_bytes)

    for kind, text, at in lines:
        _put(listing, kind, text.replace("…", "b"), at)
    if short:
        listing.left_out()
    result = listing.result(["totals (2 left out)", *["[note]"] * notes], {})

    assert _unmarked(result.text, result.cuts) == []
    assert not short or "totals (2 left out)" in result.text[slice(*result.cuts[-2:])]


@given(st.lists(st.text("ab…\n\x1b", max_size=300), max_size=12), st.integers(300, 2000), st.sampled_from(["", "n"]))
def test_a_page_has_its_markers_between_cuts(lines: list[str], cap_bytes: int, notice: str) -> None:
    page = Page(cap_bytes, notice)

    for number, line in enumerate(lines):
        (page.add if number % 3 else page.add_left_out)(line if number % 3 else f"and {number} more")
    text, cuts = page.text("lines")

    assert _unmarked(text, cuts) == []


@given(st.text("aé", min_size=2000, max_size=3000), st.integers(0, 3000), st.integers(1024, 3000))
def test_a_result_that_is_cut_at_its_cap_keeps_its_cuts_in_pairs(text: str, at: int, most: int) -> None:
    result = Result(f"{text[:at]}…marker…{text[at:]}", {}, [at, at + 8]).within(most)

    assert _unmarked(result.text, result.cuts) == []


def _put(listing: Listing, kind: str, text: str, at: int) -> None:
    if kind == "m":
        listing.left_out_here("  … 3 more in it")
    elif kind == "q":
        listing.add_quoting("no matches for ", text, " in .")
    else:
        listing.add("path:1: ", *clipped(text.encode() * (3 if kind == "h" else 1), at))


def _unmarked(text: str, cuts: list[int]) -> list[str]:
    """What is wrong: markers outside every pair of cuts, pairs without a marker or out of order."""
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    wrong = [f"odd: {cuts}"] if len(cuts) % 2 else []
    wrong += [f"order: {a, b}" for a, b in pairs if not 0 <= a < b <= len(text)]
    wrong += [f"order: {one, two}" for one, two in itertools.pairwise(pairs) if one[1] > two[0] + 1]
    wrong += [f"no marker: {text[a:b]!r}" for a, b in pairs if not re.search(f"{MARKER.pattern}|left out", text[a:b])]
    for found in MARKER.finditer(text):
        if not any(a <= found.start() and found.end() <= b for a, b in pairs):
            wrong.append(f"outside: {text[max(0, found.start() - 40) : found.end() + 20]!r}")
    return wrong
