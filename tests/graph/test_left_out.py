"""A file that a parser can't take is left out and said, and costs no other file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guilds_code.engines.graph import work
from guilds_code.engines.graph.facts import Facts
from guilds_code.engines.graph.languages import outlined
from tests.graph.conftest import Repository

CODE = "def f():\n    pass\n\n\ndef g():\n    f()\n"


@pytest.mark.parametrize(
    "text",
    [
        "".join(" " * level + f"k{level}:\n" for level in range(300)),
        "".join(" " * level + f"k:\n# at the margin\n\n{' ' * level}- a:\n" for level in range(200)),
        "- " * 400 + "x\n",
        "? " * 400,
        "a: 1\r\n" + "".join(" " * level + "-\r\n" for level in range(300)),
    ],
)
def test_deeply_nested_yaml_is_left_out(repository: Repository, text: str) -> None:
    repository.put({"deep.yaml": text, "a.py": CODE})

    assert "left out: 1 nested too deeply" in repository.map("one").text
    assert repository.calls() == {("a.g", "a.f")}


def test_wide_yaml_that_is_not_deep_is_read(repository: Repository) -> None:
    wide = "top:\n" + "".join(f"{' ' * 150}k{number}:\n" for number in range(200)) + f"x: |\n{' ' * 300}- - -\n"
    repository.put({"wide.yaml": wide})

    assert "k199" in repository.outline("repos/one/wide.yaml").text


@pytest.mark.parametrize("files", [1, 6])
def test_a_file_that_ends_the_parsers_process_is_left_out_alone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    names = [f"bad{number}.toml" for number in range(files)]
    repository.put({**dict.fromkeys(names, "a = 1\n"), "a.py": CODE, "z.toml": "b = 2\n"})
    monkeypatch.setattr(outlined, "extract", _abort_on_bad)
    monkeypatch.setattr(work, "PARALLEL_FROM_BYTES", 0)

    assert f"left out: {files} {work.FAILED}" in repository.map("one").text
    assert repository.calls() == {("a.g", "a.f")}
    assert repository.map("one").meta["skipped"] == files
    assert "1  " in repository.outline("repos/one/z.toml").text


def test_a_file_that_takes_the_parser_too_long_is_left_out(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.put({"bad.toml": "a = 1\n", "a.py": CODE})
    monkeypatch.setattr(outlined, "extract", _never_ends)
    monkeypatch.setattr(work, "FILE_CPU_SECONDS", 0.2)

    assert f"left out: 1 {work.FAILED}" in repository.map("one").text
    assert repository.calls() == {("a.g", "a.f")}


def test_a_file_that_was_left_out_counts_once_it_is_mended(repository: Repository) -> None:
    repository.put({"deep.yaml": "- " * 400})
    assert "left out: 1 nested too deeply" in repository.map("one").text

    repository.put({"deep.yaml": "- a: 1\n"})

    assert "left out" not in repository.map("one").text


def test_an_ignored_file_that_ends_the_parsers_process_is_said(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.put({".gitignore": "bad.toml\n", "bad.toml": "a = 1\n"})
    monkeypatch.setattr(outlined, "extract", _abort_on_bad)

    assert f"left out of the graph ({work.FAILED})" in repository.outline("repos/one/bad.toml").text


def test_a_crash_leaves_no_file_behind(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository.put({"bad.toml": "a = 1\n"})
    monkeypatch.setattr(outlined, "extract", _abort_on_bad)
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir(tmp_path))

    repository.map("one")

    assert sorted(os.listdir(tmp_path)) == before


_extract = outlined.extract


def _abort_on_bad(source: bytes, path: str, language: str) -> Facts:
    if path.startswith("bad"):
        os.abort()
    return _extract(source, path, language)


def _never_ends(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    while True:
        pass
