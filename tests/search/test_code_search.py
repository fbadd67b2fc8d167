"""code_search: counts and lines, what is searched, and what is said when nothing matches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.agent_home import AgentHome
from tests.search.ordinary_user import as_an_ordinary_user


def _content(home: AgentHome, pattern: str, **arguments: Any) -> list[str]:
    return home.call("code_search", pattern=pattern, mode="content", **arguments).text.split("\n")


def _files(home: AgentHome, pattern: str, **arguments: Any) -> list[str]:
    return home.call("code_search", pattern=pattern, **arguments).text.split("\n")


def _symbols(home: AgentHome, pattern: str, **arguments: Any) -> list[str]:
    return home.call("code_search", pattern=pattern, mode="symbols", **arguments).text.split("\n")


def test_files_come_with_their_counts_highest_first_then_by_path(home: AgentHome) -> None:
    home.put("b.txt", "needle\n")
    home.put("a.txt", "needle\n")
    home.put("deep/c.txt", "needle needle\nhay\nneedle\n")

    answer = home.call("code_search", pattern="needle")

    assert answer.text == "deep/c.txt: 2\na.txt: 1\nb.txt: 1\n4 matches in 3 files"
    assert {**answer.meta, "engine_ms": 0} == {
        "matches": 4,
        "files": 3,
        "truncated": False,
        "engine_ms": 0,
        "cuts": [],
    }


def test_files_beyond_thirty_are_left_out_and_counted(home: AgentHome) -> None:
    for number in range(35):
        home.put(f"f{number:02}.txt", "needle\n")

    answer = home.call("code_search", pattern="needle")

    lines = answer.text.split("\n")
    assert len(lines) == 31
    assert lines[-1] == "35 matches in 35 files (5 files left out)"
    assert answer.meta["truncated"] is True
    assert answer.meta["cuts"] == [len("\n".join(lines[:30])), len(answer.text)]


def test_a_limit_lowers_what_is_shown_and_never_raises_it(home: AgentHome) -> None:
    for number in range(35):
        home.put(f"f{number:02}.txt", "needle\n")

    assert len(_files(home, "needle", limit=2)) == 3
    assert len(_files(home, "needle", limit=1000)) == 31
    assert len(_content(home, "needle", limit=2)) == 3


def test_context_lines_carry_dashes_and_blocks_of_a_file_are_set_apart(home: AgentHome) -> None:
    home.put("a.txt", "1\n2\n  needle a\n4\n5\n6\n7\nneedle z\n")
    home.put("b.txt", "needle b\n")

    lines = _content(home, "needle", context=1)

    assert lines == [
        "a.txt-2- 2",
        "a.txt:3:   needle a",
        "a.txt-4- 4",
        "--",
        "a.txt-7- 7",
        "a.txt:8: needle z",
        "b.txt:1: needle b",
        "3 matches in 2 files",
    ]


def test_ten_matches_of_a_file_are_shown_and_the_rest_counted(home: AgentHome) -> None:
    home.put("a.txt", "needle\n" * 22)
    home.put("b.txt", "needle\n")

    lines = _content(home, "needle")

    assert lines[9:] == [
        "a.txt:10: needle",
        "… 12 more in this file",
        "b.txt:1: needle",
        "23 matches in 2 files (12 matches left out)",
    ]


def test_the_eleventh_match_is_not_shown_as_context_of_the_tenth(home: AgentHome) -> None:
    home.put("a.txt", "needle\nhay\n" * 12)

    lines = _content(home, "needle", context=3)

    assert lines[-4:] == [
        "a.txt:19: needle",
        "a.txt-20- hay",
        "… 2 more in this file",
        "12 matches in 1 file (2 matches left out)",
    ]


def test_forty_lines_are_shown_and_context_without_its_match_is_not(home: AgentHome) -> None:
    for name in "abcdefgh":
        home.put(f"{name}.txt", "needle\n1\n2\n3\n4\n5\n6\nneedle\n")

    lines = _content(home, "needle", context=2)

    shown = [line for line in lines[:-1] if line != "--" and not line.startswith("…")]
    assert len(shown) <= 40
    assert lines[-1] == "16 matches in 8 files (2 matches left out)"


def test_a_match_comes_before_its_context_where_there_is_no_room_for_both(home: AgentHome) -> None:
    home.put("a.txt", "1\n2\nneedle\n4\n")
    home.put("wide/b.txt", f"{'x' * 290}\n" * 4 + "needle\n")

    by_limit = _content(home, "needle", path="a.txt", context=2, limit=2)
    by_cap = _content(home, "needle", path="wide", context=5, limits={"result_max_bytes": 1024})

    assert by_limit == ["a.txt-2- 2", "a.txt:3: needle", "1 match in 1 file (the last lines left out)"]
    assert by_cap[-2:] == ["wide/b.txt:5: needle", "1 match in 1 file"]


@pytest.mark.parametrize("arguments", [{}, {"mode": "content"}, {"mode": "content", "context": 1}, {"mode": "symbols"}])
def test_a_result_may_fill_its_cap(home: AgentHome, arguments: dict[str, Any]) -> None:
    for number in range(12):
        home.put(f"{'long' * 20}{number:02}.py", "def f():\n    needle()\n    hay()\n")
    whole = home.call("code_search", pattern="needle", **arguments)
    size = len(whole.text.encode())

    just = home.call("code_search", pattern="needle", limits={"result_max_bytes": size}, **arguments)
    short = home.call("code_search", pattern="needle", limits={"result_max_bytes": size - 1}, **arguments)

    assert just.text == whole.text
    assert size - 300 < len(short.text.encode()) < size
    assert short.text.endswith(" left out)")


def test_where_a_result_stops_between_files_is_a_cut(home: AgentHome) -> None:
    home.put("a", "needle\nneedle\n")
    home.put("b", "needle\nneedle\n")

    answer = home.call("code_search", pattern="needle", mode="content", limit=2)

    assert answer.text == "a:1: needle\na:2: needle\n4 matches in 2 files (2 matches left out)"
    assert answer.meta["cuts"] == [len("a:1: needle\na:2: needle"), len(answer.text)]


def test_a_long_pattern_and_glob_are_clipped_with_a_cut(home: AgentHome) -> None:
    answer = home.call("code_search", pattern="q" * 300, glob="g" * 300)

    pattern, glob = answer.text.split("\n")[:2]
    assert (pattern[-25:], glob[-2:]) == ("q… in . (0 files searched)"[-25:], "g…")
    assert [answer.text[cut - 1 : cut] for cut in answer.meta["cuts"]] == ["q", "…", "g", "…"]


def test_a_result_stops_at_a_line_under_its_cap(home: AgentHome) -> None:
    for number in range(40):
        home.put(f"{'long' * 20}{number:02}.txt", "needle " + "é" * 100 + "\n")

    for mode in ("files", "content"):
        answer = home.call("code_search", pattern="needle", mode=mode, limits={"result_max_bytes": 1024})
        assert len(answer.text.encode()) <= 1024
        assert "left out)" in answer.text.split("\n")[-1]
        assert answer.meta["truncated"] is True


def test_a_long_line_is_clipped_on_both_sides_of_its_match(home: AgentHome) -> None:
    home.put("a.txt", "é" * 500_000 + "needle" + "y" * 500_000 + "\n")

    answer = home.call("code_search", pattern="needle", mode="content")

    line = answer.text.split("\n")[0]
    assert line.startswith("a.txt:1: [499900 characters …] éé")
    assert line.endswith("yy [… 499806 characters]")
    assert "éneedley" in line
    cuts = answer.meta["cuts"]
    assert answer.text[cuts[0] : cuts[1]] == "[499900 characters …] "
    assert answer.text[cuts[2] : cuts[3]] == " [… 499806 characters]"


def test_paths_are_relative_to_the_working_directory(home: AgentHome) -> None:
    home.put("proj/src/a.txt", "needle\n")
    home.put("other/b.txt", "needle\n")
    home.call("shell", command="cd proj")

    assert _content(home, "needle")[0] == "src/a.txt:1: needle"
    assert _content(home, "needle", path="../other")[0] == f"{home.path}/other/b.txt:1: needle"


def test_a_single_file_and_a_link_to_a_folder_can_be_named(home: AgentHome) -> None:
    home.put("proj/a.txt", "needle\n")
    (home.path / "link").symlink_to("proj")

    assert _content(home, "needle", path="proj/a.txt")[0] == "proj/a.txt:1: needle"
    assert _content(home, "needle", path="link")[0] == "link/a.txt:1: needle"


def test_links_are_not_followed_and_dangling_ones_are_passed_over(home: AgentHome, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.txt").write_text("needle\n")
    home.put("proj/a.txt", "needle\n")
    (home.path / "proj/out").symlink_to(tmp_path / "outside")
    (home.path / "proj/again").symlink_to("a.txt")
    (home.path / "proj/dangling").symlink_to("nowhere")

    assert _files(home, "needle", path="proj") == ["proj/a.txt: 1", "1 match in 1 file"]


@pytest.mark.parametrize(
    ("path", "code"),
    [("..", "path_outside_home"), ("out", "path_outside_home"), ("nowhere", "not_found"), ("pipe", "not_a_file")],
)
def test_a_path_that_can_not_be_searched_is_refused(home: AgentHome, path: str, code: str) -> None:
    (home.path / "out").symlink_to("/etc")
    os.mkfifo(home.path / "pipe")

    assert home.call("code_search", pattern="x", path=path).code == code
    assert home.call("code_match", pattern="x", path=path, lang="py").code == code


@pytest.mark.parametrize(
    "argument", ["--files", "--pre={script}", "-e", "--", "-f/etc/passwd", "--hostname-bin={script}"]
)
def test_nothing_in_an_argument_becomes_an_option(home: AgentHome, argument: str) -> None:
    script = home.put("x.sh", f"#!/bin/sh\ntouch {home.top}/ran\ncat\n", 0o755)
    argument = argument.format(script=script)
    home.put("proj/a.txt", f"run {argument} now\n")
    home.put(f"proj/{argument.replace('/', '_')}", "hay\n")

    assert _content(home, argument, path="proj", fixed=True)[0] == f"proj/a.txt:1: run {argument} now"
    home.call("code_search", pattern="now", path="proj", glob=argument)
    home.call("code_search", pattern="hay", path=argument)
    home.call("code_search", pattern="hay", path=f"proj/{argument.replace('/', '_')}")
    home.call("code_match", pattern=argument, path="proj", lang="sh")
    home.call("code_match", pattern="x", path="proj", lang=argument)
    assert not (home.top / "ran").exists()


def test_the_engines_own_configuration_is_not_read(home: AgentHome) -> None:
    configuration = home.put("rc", "--ignore-case\n--files\n")
    home.put(".config/git/ignore", "*\n")
    home.put("a.txt", "needle\n")

    answer = home.call(
        "code_search",
        pattern="NEEDLE",
        path="a.txt",
        env={"RIPGREP_CONFIG_PATH": str(configuration), "XDG_CONFIG_HOME": f"{home.path}/.config"},
    )

    assert answer.meta["matches"] == 0
    assert _files(home, "needle", path="a.txt")[-1] == "1 match in 1 file"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("call(", "unclosed group"),
        ("interface{}", "repetition"),
        ("(?=x)", "look-ahead"),
        ("(a{1000}){1000}", "exceeds size limit"),
        ("a\0b", "NUL"),
        ("a" * 200_000, "too long"),
    ],
)
def test_an_invalid_pattern_is_refused_with_the_reason(home: AgentHome, pattern: str, reason: str) -> None:
    home.put("a.txt", "interface{} call(\n")

    answer = home.call("code_search", pattern=pattern)

    assert answer.code == "invalid_arguments"
    assert reason in answer.message


def test_an_invalid_pattern_can_be_taken_literally(home: AgentHome) -> None:
    home.put("a.txt", "x call(y)\n")

    assert "fixed" in home.call("code_search", pattern="call(").message
    assert _content(home, "call(", fixed=True)[0] == "a.txt:1: x call(y)"


def test_case_counts_unless_it_is_ignored(home: AgentHome) -> None:
    home.put("a.txt", "Needle\nneedle\n")

    assert _files(home, "needle")[0] == "a.txt: 1"
    assert _files(home, "needle", ignore_case=True)[0] == "a.txt: 2"


def test_a_dollar_matches_before_both_line_ends_and_no_other(home: AgentHome) -> None:
    home.put("a.txt", "one\r\ntwo one\r\none\n")
    home.put("b.txt", "one\rx\none\fx\n")

    assert _content(home, "one$") == ["a.txt:1: one", "a.txt:2: two one", "a.txt:3: one", "3 matches in 1 file"]


@pytest.mark.parametrize("pattern", [r"\Aone", "(?-m)^one", "(?-m:$)"])
def test_a_line_that_matches_at_the_ends_of_the_text_is_shown_in_every_mode(home: AgentHome, pattern: str) -> None:
    home.put("a.txt", "one\none:1:2\n")

    shown = ["a.txt:1: one", "a.txt:2: one:1:2", "2 matches in 1 file"]
    assert _content(home, pattern) == _content(home, pattern, context=1) == shown
    assert _symbols(home, pattern)[:3] == ["a.txt  (outside any symbol)", "  1: one", "  2: one:1:2"]


def test_only_a_line_feed_ends_a_line(home: AgentHome) -> None:
    home.put("a.txt", b"a\fb\nc\vd\ne\xe2\x80\xa8f\ng\xc2\x85h\ni\rj\nTARGET\n")

    assert _content(home, "TARGET")[0] == "a.txt:6: TARGET"


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [("alpha\nbeta", True)]
    + [(f"alpha{end}beta", False) for end in ("\n", r"\n", r"\x0a", r"\x{0A}", r"\u000A", r"\u{a}", r"\U0000000a")],
)
def test_a_pattern_with_a_line_break_matches_across_lines_of_either_kind(
    home: AgentHome, pattern: str, fixed: bool
) -> None:
    home.put("a.txt", "alpha\nbeta\n")
    home.put("b.txt", "alpha\r\nbeta\r\n")

    lines = _content(home, pattern, fixed=fixed)

    assert lines == ["a.txt:1: alpha", "a.txt:2: beta", "b.txt:1: alpha", "b.txt:2: beta", "2 matches in 2 files"]


def test_context_surrounds_all_lines_of_a_match(home: AgentHome) -> None:
    home.put("a.txt", "1\nneedle\nnext\n4\n5\n6\n7\nneedle\nnext\n")

    assert _content(home, "needle\nnext", context=1) == [
        "a.txt-1- 1",
        "a.txt:2: needle",
        "a.txt:3: next",
        "a.txt-4- 4",
        "--",
        "a.txt-7- 7",
        "a.txt:8: needle",
        "a.txt:9: next",
        "2 matches in 1 file",
    ]


def test_matches_that_share_a_line_are_shown_once_and_counted_each(home: AgentHome) -> None:
    home.put("a.txt", "ab\nab\nab\n")

    assert _content(home, "b\na", context=1) == ["a.txt:1: ab", "a.txt:2: ab", "a.txt:3: ab", "2 matches in 1 file"]


def test_of_many_matches_over_lines_ten_are_shown_whole(home: AgentHome) -> None:
    home.put("a.txt", "a\nb\n" * 12)

    lines = _content(home, "a\nb")

    assert lines[19:] == ["a.txt:20: b", "… 2 more in this file", "12 matches in 1 file (2 matches left out)"]


def test_a_match_that_is_longer_than_the_room_is_said_to_go_on(home: AgentHome) -> None:
    home.put("a.txt", "start\n" + "x\n" * 50 + "end\n")

    answer = home.call("code_search", pattern="start\n(?s:.*)end", mode="content")

    assert answer.text.endswith("a.txt:40: x\n1 match in 1 file (the last lines left out)")
    assert answer.meta["truncated"] is True
    assert len(answer.meta["cuts"]) == 2


def test_brackets_do_not_hide_a_dollar_from_its_line_end(home: AgentHome) -> None:
    home.put("a.txt", "x]\r\n$5\r\nab\r\n")

    assert _content(home, "[]x]$")[0] == "a.txt:1: x]"
    assert _content(home, "[^]x]5$")[0] == "a.txt:2: $5"
    assert _content(home, "[$]5")[0] == "a.txt:2: $5"
    assert _content(home, r"\$5$")[0] == "a.txt:2: $5"
    assert _content(home, r"a[\n\w]$")[0] == "a.txt:3: ab"


def test_ignore_files_count_without_a_repository_and_from_the_folders_above(home: AgentHome) -> None:
    home.put(".gitignore", "/proj/gen.txt\nproj/*/deep.txt\n**/far.txt\n*.log\n!keep.log\n# no rule\n")
    home.put("proj/.ignore", "vendor/\n")
    home.put("proj/.git/info/exclude", "local.txt\n")
    for name in ("a.txt", "gen.txt", "x/deep.txt", "x/far.txt", "b.log", "keep.log", "vendor/c.txt", "local.txt"):
        home.put(f"proj/{name}", "needle\n")
    home.put("plain/gen.txt", "needle\n")

    assert _files(home, "needle", path="plain")[0] == "plain/gen.txt: 1"
    assert _files(home, "needle", path="proj/x") == ["proj/x/deep.txt: 1", "proj/x/far.txt: 1", "2 matches in 2 files"]
    (home.path / "proj/.git/info/exclude").unlink()
    (home.path / "proj/.git/info").rmdir()
    (home.path / "proj/.git").rmdir()
    assert _files(home, "needle", path="proj")[:-1] == ["proj/a.txt: 1", "proj/keep.log: 1", "proj/local.txt: 1"]
    assert _files(home, "needle", path="proj/x")[0].startswith("no matches")


def test_the_exclude_file_of_a_repository_counts(home: AgentHome) -> None:
    home.put("proj/.git/info/exclude", "local.txt\n")
    home.put("proj/local.txt", "needle\n")
    home.put("proj/sub/local.txt", "needle\n")

    assert _files(home, "needle", path="proj")[0].startswith("no matches")
    assert _files(home, "needle", path="proj/sub")[0].startswith("no matches")


def test_the_exclude_file_counts_in_a_worktree_and_a_submodule(home: AgentHome) -> None:
    home.put("main/.git/info/exclude", "local.txt\n")
    home.put("main/.git/worktrees/tree/commondir", "../..\n")
    home.put("main/.git/modules/part/info/exclude", "local.txt\n")
    home.put("tree/.git", f"gitdir: {home.path}/main/.git/worktrees/tree\n")
    home.put("main/part/.git", "gitdir: ../.git/modules/part\n")
    for folder in ("tree", "main/part"):
        home.put(f"{folder}/local.txt", "needle\n")
        home.put(f"{folder}/sub/local.txt", "needle\n")
        home.put(f"{folder}/sub/seen.txt", "needle\n")

    assert _files(home, "needle", path="tree")[:-1] == ["tree/sub/seen.txt: 1"]
    assert _files(home, "needle", path="tree/sub")[:-1] == ["tree/sub/seen.txt: 1"]
    assert _files(home, "needle", path="main/part")[:-1] == ["main/part/sub/seen.txt: 1"]
    assert _files(home, "needle", path="main/part/sub")[:-1] == ["main/part/sub/seen.txt: 1"]


def test_what_is_no_regular_file_holds_no_ignore_rules(home: AgentHome) -> None:
    home.put("proj/sub/a.txt", "needle\n")
    (home.path / "proj/.git/info/exclude").mkdir(parents=True)
    (home.path / "proj/.gitignore").mkdir()
    (home.path / "proj/sub/.ignore").mkdir()

    assert _files(home, "needle", path="proj/sub") == ["proj/sub/a.txt: 1", "1 match in 1 file"]


def test_an_ignore_file_above_that_is_a_link_is_not_followed(home: AgentHome) -> None:
    (home.top / "rules").write_text("*.txt\n")
    home.put("proj/sub/a.txt", "needle\n")
    (home.path / "proj/.gitignore").symlink_to(home.top / "rules")

    assert _files(home, "needle", path="proj/sub")[0] == "proj/sub/a.txt: 1"


def test_ignore_files_above_home_are_not_read(home: AgentHome) -> None:
    (home.top / ".gitignore").write_text("*.txt\n")
    (home.top / ".ignore").write_text("*.txt\n")
    home.put("proj/a.txt", "needle\n")

    assert _files(home, "needle")[0] == "proj/a.txt: 1"
    assert _files(home, "needle", path="proj")[0] == "proj/a.txt: 1"


@pytest.mark.parametrize("path", ["made", "made/deep"])
def test_ignore_files_count_past_a_line_that_is_not_utf_8_and_with_a_byte_order_mark(
    home: AgentHome, path: str
) -> None:
    home.put("made/.gitignore", b"\xef\xbb\xbffirst.txt\n\xff.txt\n/deep/last.txt\n")
    home.put("made/deep/first.txt", "needle\n")
    home.put("made/deep/\udcff.txt", "needle\n")
    home.put("made/deep/last.txt", "needle\n")
    home.put("made/deep/seen.txt", "needle\n")

    assert _files(home, "needle", path=path) == ["made/deep/seen.txt: 1", "1 match in 1 file"]


def test_an_ignored_folder_or_file_can_be_named(home: AgentHome) -> None:
    home.put(".gitignore", "build/\n*.log\n")
    home.put("build/a.txt", "needle\n")
    home.put("b.log", "needle\n")

    assert _files(home, "needle", path="build")[0] == "build/a.txt: 1"
    assert _files(home, "needle", path="b.log")[0] == "b.log: 1"


def test_hidden_files_are_searched_and_what_is_kept_apart_only_when_named(home: AgentHome) -> None:
    for name in (".github/w.yml", ".git/config", "sub/.git/config", ".runs/r0/x.log", ".cache/graft/g/x", ".cache/pip"):
        home.put(name, "needle\n")

    assert _files(home, "needle") == [".cache/pip: 1", ".github/w.yml: 1", "2 matches in 2 files"]
    assert _files(home, "needle", path=".cache") == [".cache/pip: 1", "1 match in 1 file"]
    assert _files(home, "needle", path=".runs")[0] == ".runs/r0/x.log: 1"
    assert _files(home, "needle", path=".cache/graft")[0] == ".cache/graft/g/x: 1"


@pytest.mark.parametrize("tool", ["code_search", "code_match"])
@pytest.mark.parametrize("path", [".git", "sub/.git/hooks", ".git/config.py", "link"])
def test_what_git_keeps_is_never_searched(home: AgentHome, tool: str, path: str) -> None:
    home.put(".git/config.py", "needle\n")
    home.put("sub/.git/hooks/a.py", "needle\n")
    (home.path / "link").symlink_to("sub/.git")

    refused = home.call(tool, pattern="needle", path=path)

    assert refused.code == "invalid_arguments"
    assert "lies in .git, which is not searched" in refused.message


def test_a_binary_file_is_one_match_and_its_lines_are_not_shown(home: AgentHome) -> None:
    home.put("a.bin", b"\0\1needle\nneedle\n")
    home.put("b.bin", b"needle\0needle\n")
    home.put("c.png", b"\x89PNG\r\n\x1a\n\0needle")

    assert _files(home, "needle") == [
        "a.bin: binary file matches",
        "b.bin: binary file matches",
        "c.png: binary file matches",
        "3 matches in 3 files",
    ]
    assert _content(home, "needle") == [
        "no matches for needle in . (3 files searched)",
        "[3 binary files match; mode files lists them]",
    ]


def test_a_file_that_turns_out_to_be_binary_keeps_its_hit(home: AgentHome) -> None:
    home.put("late.txt", b"needle\n" + b"hay\n" * 60_000 + b"\0")
    home.put("soon.txt", b"needle\nneedle\n\0needle\n")

    assert _files(home, "needle")[:2] == ["soon.txt: 2", "late.txt: 1"]
    assert _content(home, "needle")[:3] == ["late.txt:1: needle", "soon.txt:1: needle", "soon.txt:2: needle"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_nul_byte_in_text_ends_no_line(home: AgentHome, encoding: str) -> None:
    home.put("a.txt", ("hay\n" * 4_000 + "no\0\0needle\0needle\n").encode(encoding))

    counted = home.call("code_search", pattern="e$", mode="content")
    empty = _files(home, "^$")

    assert counted.meta["matches"] == counted.text.count("a.txt:4001:")
    assert "left out" not in counted.text
    assert empty == ["no matches for ^$ in . (1 file searched)"]


def test_text_in_other_encodings_is_found_and_shown(home: AgentHome) -> None:
    home.put("latin.txt", b"caf\xe9 needle\n")
    home.put("little.txt", "one\nneedle é\n".encode("utf-16"))
    home.put("big.txt", b"\xfe\xff" + "needle é\n".encode("utf-16-be"))

    assert _content(home, "needle")[:3] == [
        "big.txt:1: needle é",
        "latin.txt:1: caf\ufffd needle",
        "little.txt:2: needle é",
    ]


def test_names_with_line_breaks_and_bytes_that_are_not_utf_8_are_shown_on_one_line(home: AgentHome) -> None:
    for name in (b"a\nb.txt", b"\xff.txt", b"c:1: d.txt", b"--"):
        Path(os.fsdecode(os.fsencode(home.path) + b"/" + name)).write_text("needle\nhay\nneedle\n")

    assert _files(home, "needle")[:4] == ["--: 2", "a\\nb.txt: 2", "c:1: d.txt: 2", "\ufffd.txt: 2"]
    assert _content(home, "needle", context=1, path="a\nb.txt")[0] == "a\\nb.txt:1: needle"
    assert _content(home, "needle")[:3] == ["--:1: needle", "--:3: needle", "a\\nb.txt:1: needle"]


def test_an_unreadable_file_is_counted_and_fails_nothing(home: AgentHome) -> None:
    home.put("a.txt", "needle\n")
    home.put("sec\nret.txt", "needle\n", 0o000)
    request = b'{"tool": "code_search", "args": {"pattern": "needle"}}'

    answer = home.run([*as_an_ordinary_user(home, "code_search"), *home.carried(request)])

    assert answer.text == "a.txt: 1\n1 match in 1 file\n[1 file could not be read]"


def test_an_unreadable_file_does_not_count_as_searched(home: AgentHome) -> None:
    home.put("a.txt", "hay\n")
    home.put("secret.txt", "needle\n", 0o000)
    request = b'{"tool": "code_search", "args": {"pattern": "needle"}}'

    answer = home.run([*as_an_ordinary_user(home, "code_search"), *home.carried(request)])

    assert answer.text == "no matches for needle in . (1 file searched)\n[1 file could not be read]"


@pytest.mark.parametrize("mode", ["files", "content", "symbols"])
def test_a_named_folder_that_can_not_be_entered_is_counted_and_fails_nothing(home: AgentHome, mode: str) -> None:
    home.put("closed/a.txt", "needle\n").parent.chmod(0o000)
    request = b'{"tool": "code_search", "args": {"pattern": "needle", "path": "closed", "mode": "%s"}}' % mode.encode()

    answer = home.run([*as_an_ordinary_user(home, "code_search"), *home.carried(request)])

    assert answer.text == "no matches for needle in closed (0 files searched)\n[1 file could not be read]"


def test_no_match_names_pattern_path_and_the_number_of_files(home: AgentHome) -> None:
    home.put("proj/a.txt", "hay\n")
    home.put("proj/b.txt", "hay\n")

    answer = home.call("code_search", pattern="needle", path="proj")

    assert answer.text == "no matches for needle in proj (2 files searched)"
    assert answer.meta["matches"] == 0


@pytest.mark.parametrize("mode", ["files", "content"])
def test_no_match_says_which_small_change_would_match(home: AgentHome, mode: str) -> None:
    home.put("proj/.gitignore", "build/\n")
    home.put("proj/a.txt", "Needle\ncall(x)\n")
    home.put("proj/build/one.txt", "unseen\n")
    home.put("proj/build/two.txt", "unseen\n")

    def hints(pattern: str, **arguments: Any) -> list[str]:
        return _files(home, pattern, path="proj", mode=mode, **arguments)[1:]

    assert hints("needle") == ["ignoring case: 1 match in 1 file (set ignore_case)"]
    assert hints("unseen") == ["in ignored files: 2 matches in 2 files (name one of them in path)"]
    assert hints("call(x)") == ["taken literally: 1 match in 1 file (set fixed)"]
    assert hints("needle", glob="*.nope") == ["no file there matches the glob *.nope"]
    assert hints("nowhere") == []


def test_a_glob_for_a_file_that_can_not_be_read_does_match(home: AgentHome) -> None:
    home.put("a.txt", "needle\n", 0o000)
    request = b'{"tool": "code_search", "args": {"pattern": "needle", "glob": "a.txt"}}'

    answer = home.run([*as_an_ordinary_user(home, "code_search"), *home.carried(request)])

    assert answer.text == "no matches for needle in . (0 files searched)\n[1 file could not be read]"


def test_globs_choose_and_leave_out(home: AgentHome) -> None:
    home.put(".gitignore", "*.log\n!kept.md\n")
    for name in ("a.py", "b.ts", "c.md", "kept.md", "skip.py", "d.log", "src/e.py", "src/sub/f.py", "proj/src/g.py"):
        home.put(name, "needle\n")

    def names(glob: str, **arguments: Any) -> list[str]:
        return [line.partition(":")[0] for line in _files(home, "needle", glob=glob, **arguments)[:-1]]

    assert names("*.py,*.ts,!skip*") == ["a.py", "b.ts", "proj/src/g.py", "src/e.py", "src/sub/f.py"]
    assert names("*.{ts,md}") == ["b.ts", "c.md", "kept.md"]
    assert names("src/*.py") == ["src/e.py"]
    assert names("src/**") == ["src/e.py", "src/sub/f.py"]
    assert names("src") == ["proj/src/g.py", "src/e.py", "src/sub/f.py"]
    assert names("/src") == ["src/e.py", "src/sub/f.py"]
    assert names("**/sub/*.py, [ab].*") == ["a.py", "b.ts", "src/sub/f.py"]
    assert names("!*.py,!*.md") == ["b.ts"]
    assert names("proj/src/*.py", path="proj") == ["proj/src/g.py"]
    assert names("src/*.py", path="proj") == ["proj/src/g.py"]
    assert names("!src", path="proj") == ["no matches for needle in proj (0 files searched)"]
    assert names("*.log")[0] == "no matches for needle in . (0 files searched)"


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        (r"\{a,b\}.txt", ["{a,b}.txt"]),
        (r"a\,b.txt", ["a,b.txt"]),
        ("[a,].txt", ["a.txt"]),
        ("[{}]*", ["{a,b}.txt"]),
        ("?.txt", ["a.txt", "é.txt"]),
        ("[é].txt", ["é.txt"]),
        ("[!a].txt", ["é.txt"]),
        ("*.txt,!?.txt,!a*", ["{a,b}.txt"]),
        ("*.txt,![!a].txt", ["a,b.txt", "a.txt", "{a,b}.txt"]),
    ],
)
def test_a_glob_is_read_by_its_characters(home: AgentHome, glob: str, names: list[str]) -> None:
    for name in ("a.txt", "a,b.txt", "é.txt", "{a,b}.txt"):
        home.put(name, "needle\n")

    assert [line.rpartition(":")[0] for line in _files(home, "needle", glob=glob)[:-1]] == names


@pytest.mark.parametrize(
    "glob", ["[", "{a", "a\\", "/", "{" * 400 + "}" * 400, "a" * 10_001, "{a,b}{a,b}{a,b}{a,b}," * 70, "a," * 1_001]
)
def test_a_malformed_glob_is_refused(home: AgentHome, glob: str) -> None:
    assert home.call("code_search", pattern="x", glob=glob).code == "invalid_arguments"


def test_the_same_search_gives_the_same_bytes(home: AgentHome) -> None:
    for number in range(300):
        home.put(f"d{number % 7}/f{number}.txt", "needle\n" * (number % 5))

    for mode in ("files", "content"):
        answers = {home.call("code_search", pattern="needle", mode=mode, context=1).text for _ in range(5)}
        assert len(answers) == 1


def test_mode_symbols_shows_where_a_match_over_lines_begins(home: AgentHome) -> None:
    home.put("a.py", "def f():\n    needle()\n    x\n")

    assert _symbols(home, "needle\\(\\)\n +x") == [
        "a.py:1–3  function f  (referenced in 0 files)",
        "  2: needle()",
        "1 match in 1 file, in 1 place",
    ]


def test_mode_symbols_shows_a_file_whose_name_is_not_utf_8_outside_any_symbol(home: AgentHome) -> None:
    home.put("\udcff.py", "def f():\n    needle()\n")

    lines = _symbols(home, "needle")

    assert lines == ["\ufffd.py  (outside any symbol)", "  2: needle()", "1 match in 1 file, in 1 place"]


def test_mode_symbols_counts_what_it_can_not_place(home: AgentHome) -> None:
    home.put("a.py", b"needle\n\0\n")

    assert _symbols(home, "needle") == ["1 match in 1 file, in 0 places (1 match left out)"]


def test_mode_symbols_is_truncated_only_when_something_is_left_out(home: AgentHome) -> None:
    home.put("a.py", "def f():\n    needle\n\n\ndef g():\n    needle\n")

    whole = home.call("code_search", pattern="needle", mode="symbols")
    part = home.call("code_search", pattern="needle", mode="symbols", limit=1)

    shown = "a.py:1–2  function f  (referenced in 0 files)\n  2: needle"
    assert (whole.meta["truncated"], whole.meta["cuts"]) == (False, [])
    assert part.text == f"{shown}\n2 matches in 1 file, in 2 places (1 match left out)"
    assert (part.meta["truncated"], part.meta["cuts"]) == (True, [len(shown), len(part.text)])


def test_mode_symbols_is_said_to_be_missing_or_answers(home: AgentHome) -> None:
    answer = home.call("code_search", pattern="x", mode="symbols")

    assert answer.body["ok"] or answer.code == "unavailable"
