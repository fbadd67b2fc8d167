"""The origin's URL as read off the files is the one that git itself reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guilds_wire.git_repository import origin_url

LINES = st.sampled_from(
    ['[remote "origin"]', "[remote.origin]", '[ReMote "origin"]', '[remote "Origin"]', '[remote "ori\\gin"]', "[core]",
     "[Remote.Origin] url = a", '[remote "origin"] url = b # c', '[remote "up"]', "\turl = https://e.com/a", "url=b;c",
     "URL = d", '  url = "a # b" c', "url = a\\", "  b", 'url = a \\\\ \\"b\\t', "url", "# url = x", "; url = x \\",
     "fetch = +a:b \\", "url =", "url = a  b  ", "url = a\\q", 'url = "a', '[remote "origin"', "[bad",
     'url \t = "x"y" z"', "[a] [remote.origin] url=q", '[remote "a]b"]', "url = \\", "insteadOf = x", "url = é"]
)  # fmt: skip


def real_url(folder: Path) -> bytes | None:
    """The first value that git gives for the file, None when it gives none or refuses the file."""
    done = subprocess.run(
        ["git", "config", "--file", str(folder / ".git/config"), "-z", "--get-all", "remote.origin.url"],
        capture_output=True,
        check=False,
    )
    return done.stdout.split(b"\0")[0] if done.returncode == 0 else None


def put_config(folder: Path, config: bytes) -> bytes:
    """A git directory with this configuration; the folder as the environment of a command names it."""
    git = folder / ".git"
    (git / "objects").mkdir(parents=True, exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_bytes(config)
    return bytes(folder)


@given(st.lists(LINES, max_size=7), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=100)
@example(['[remote "origin"]', "url = a\\", "  b \\", "c # d"], "\n")
@example(['[remote "origin"]', 'url = "a \\', 'b" # c'], "\r\n")
@example(["\ufeff[remote.origin]", "url = a"], "\n")
def test_a_configuration_is_read_as_git_reads_it(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], line_end: str
) -> None:
    folder = tmp_path_factory.mktemp("r")

    found = origin_url(put_config(folder, line_end.join(lines).encode()))

    assert found == real_url(folder)


@given(st.binary(max_size=200))
def test_no_bytes_in_a_configuration_make_it_fall(tmp_path_factory: pytest.TempPathFactory, config: bytes) -> None:
    origin_url(put_config(tmp_path_factory.mktemp("r"), b'[remote "origin"]\n\turl = ' + config))


def test_a_configuration_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    folder = put_config(tmp_path, b"")
    (tmp_path / ".git/config").unlink()
    os.mkfifo(tmp_path / ".git/config")

    assert origin_url(folder) is None


def test_a_long_configuration_is_read(tmp_path: Path) -> None:
    folder = put_config(tmp_path, b'[branch "b"]\n\tremote = origin\n' * 20_000 + b"[remote.origin]\nurl = a\n")

    assert origin_url(folder) == b"a"


@pytest.mark.parametrize(
    ("setting", "url"),
    [(b"worktreeConfig = true", b"b"), (b"WORKTREECONFIG", b"b"), (b"worktreeConfig = False", b"a"), (b"", b"a")],
)
def test_the_configuration_of_a_worktree_counts_where_it_is_switched_on(
    tmp_path: Path, setting: bytes, url: bytes
) -> None:
    folder = put_config(tmp_path, b"[remote.origin]\nurl = a\n[extensions]\n" + setting)
    (tmp_path / ".git/config.worktree").write_bytes(b"[remote.origin]\nurl = b\n")

    assert origin_url(folder) == url


def test_a_worktree_without_a_configuration_of_its_own_has_the_shared_origin(tmp_path: Path) -> None:
    folder = put_config(tmp_path, b"[remote.origin]\nurl = a\n[extensions]\nworktreeConfig = true\n")

    assert origin_url(folder) == b"a"


def test_a_configuration_without_end_is_not_read(tmp_path: Path) -> None:
    folder = put_config(tmp_path, b"[remote.origin]\nurl = a\n" + b"#\n" * (4 << 20))

    assert origin_url(folder) is None


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: ", b"gitdir: /nowhere", b"gitdir: .", b"\0", b"gitdir: a\0b", b"x" * 10_000]
)
def test_a_git_file_that_leads_nowhere_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)

    assert origin_url(bytes(tmp_path)) is None


def test_an_empty_git_folder_is_passed_over(tmp_path: Path) -> None:
    put_config(tmp_path, b"[remote.origin]\nurl = a\n")
    (tmp_path / "inner/.git").mkdir(parents=True)

    assert origin_url(bytes(tmp_path / "inner")) == b"a"
