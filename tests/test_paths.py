"""Home as a wall: every way out of it is refused by every file tool, and nothing blocks."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_wire.errors import ToolError
from guilds_wire.paths import Workspace, shown_bytes
from guilds_wire.places import Places
from tests.agent_home import AgentHome, Envelope
from tests.swapping import swap


def _every_tool(home: AgentHome, path: str) -> list[Envelope]:
    return [
        home.call("file_read", path=path),
        home.call("file_edit", path=path, old_string="s3cret", new_string="x"),
        home.call("file_write", path=path, content="x"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "../secret", "{top}/secret", "abs", "rel", "hop", "dir/secret", "dir/new", "../home2/new", "../missing/new",
        "/proc/self/root{top}/secret", "/proc/self/cwd/secret", "/etc/passwd", "/", "..", "d/../../secret",
        "dangling", "/dev/zero", "/dev/stdin", "/proc/self/fd/0", "../secret/below", "/root/.ssh/x",
    ],
)  # fmt: skip
def test_a_way_out_of_home_is_refused(home: AgentHome, path: str) -> None:
    (home.top / "secret").write_text("s3cret")
    (home.top / "home2").mkdir()
    (home.path / "d").mkdir()
    for name, target in {"abs": f"{home.top}/secret", "rel": "../secret", "hop": "abs", "dir": "..",
                         "dangling": "../nowhere/new"}.items():  # fmt: skip
        (home.path / name).symlink_to(target)

    answers = _every_tool(home, path.replace("{top}", str(home.top)))

    assert [answer.code for answer in answers] == ["path_outside_home"] * 3
    assert (home.top / "secret").read_text() == "s3cret"
    assert sorted(os.listdir(home.top)) == ["home", "home2", "runtime", "secret"]
    assert os.listdir(home.top / "home2") == []


def test_a_fifo_a_socket_and_a_circle_of_links_end_at_once(home: AgentHome) -> None:
    os.mkfifo(home.path / "fifo")
    (home.path / "a").symlink_to("b")
    (home.path / "b").symlink_to("a")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(home.path / "socket"))

    assert {answer.code for answer in _every_tool(home, "fifo")} == {"not_a_file"}
    assert {answer.code for answer in _every_tool(home, "socket")} == {"not_a_file"}
    assert {answer.code for answer in _every_tool(home, "a")} == {"io_error"}


@pytest.mark.parametrize("path", ["a\0b", "x" * 256, "a/" * 2100 + "a", "é" * 128, "", "\udcff"])
def test_what_can_be_no_path_is_refused(home: AgentHome, path: str) -> None:
    assert {answer.code for answer in _every_tool(home, path)} == {"invalid_arguments"}


def test_a_file_used_as_a_folder_is_not_found(home: AgentHome) -> None:
    home.put("a.txt", "s3cret")

    assert {answer.code for answer in _every_tool(home, "a.txt/b")} == {"not_found"}
    assert {answer.code for answer in _every_tool(home, "a.txt/")} == {"not_found"}


def test_run_folders_can_be_read_and_not_written(home: AgentHome) -> None:
    log = home.put(".runs/r9/c.log", "s3cret\n")
    (home.path / "link").symlink_to(".runs/r9")

    for path in (".runs/r9/c.log", "link/c.log"):
        read, edited, written = _every_tool(home, path)
        assert read.text.endswith("1\ts3cret")
        assert (edited.code, written.code) == ("path_outside_home", "path_outside_home")
    assert home.call("file_write", path=".runs/new", content="x").code == "path_outside_home"
    assert log.read_text() == "s3cret\n"
    assert os.listdir(home.path / ".runs") == ["r9"]


def test_paths_are_shown_from_the_working_directory(home: AgentHome) -> None:
    home.put("src/deep/a.txt", "one\n")
    home.put("top.txt", "top\n")
    home.call("shell", command="cd src")

    assert home.call("file_read", path="deep/a.txt").meta["path"] == "deep/a.txt"
    assert home.call("file_read", path=f"{home.path}/src/deep/../deep/a.txt").meta["path"] == "deep/a.txt"
    assert home.call("file_read", path="../top.txt").meta["path"] == str(home.path / "top.txt")


def test_a_link_inside_home_is_followed_from_wherever_it_stands(home: AgentHome) -> None:
    home.put("real/a.txt", "one\n")
    (home.path / "links").mkdir()
    (home.path / "links/to").symlink_to("../real")

    assert home.call("file_read", path="links/to/a.txt").text == "links/to/a.txt · lines 1–1 of 1\n1\tone"
    assert home.call("file_read", path="links/to/../real/a.txt").text.endswith("1\tone")


def test_a_home_behind_a_link_works(home: AgentHome) -> None:
    home.put("a.txt", "one\n")
    (home.top / "link").symlink_to(home.path)

    answer = home.call("file_read", path=f"{home.top}/link/a.txt", env={"GUILDS_HOME": str(home.top / "link")})

    assert answer.meta["path"] == "a.txt"


def test_a_folder_that_is_swapped_for_a_link_never_leads_out(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    for folder in (home / "d", outside):
        folder.mkdir(parents=True)
        (folder / "f").write_text(folder.name)
    (tmp_path / "link").symlink_to(outside)
    workspace = Workspace(Places(bytes(home), bytes(tmp_path)), bytes(home))
    stop = threading.Event()
    swapper = threading.Thread(target=swap, args=(home / "d", tmp_path / "link", tmp_path / "spare", stop))
    swapper.start()

    seen = {_content(workspace) for _ in range(3000)}

    stop.set()
    swapper.join()
    assert seen <= {"d", "path_outside_home", "not_found"}
    assert len(seen) > 1


def _content(workspace: Workspace) -> str:
    try:
        with workspace.locate("d/f") as located, open(located.open(os.O_RDONLY), "rb") as file:
            return file.read().decode()
    except ToolError as error:
        return error.code


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "l", "out", "", "/", "new"]), max_size=8))
def test_no_walk_of_names_and_links_leaves_home(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    top = _tree(tmp_path_factory)
    workspace = Workspace(Places(bytes(top / "home"), bytes(top)), bytes(top / "home" / "a"))

    try:
        with workspace.locate("/".join(names) or ".", allow_missing=True) as located:
            where = located.real.decode()
    except ToolError as error:
        where = error.code

    real = os.path.realpath(top / "home" / "a" / "/".join(names))
    assert where in ("path_outside_home", "not_found") or where.startswith(str(top / "home"))
    assert where != "path_outside_home" or not real.startswith(f"{top}/home/")


_TREES: list[Path] = []


def _tree(factory: pytest.TempPathFactory) -> Path:
    """One tree for all examples: folders, links inside home, and one that leads out."""
    if not _TREES:
        top = factory.mktemp("tree")
        (top / "home/a/b").mkdir(parents=True)
        (top / "home/a/l").symlink_to("../a/b")
        (top / "home/a/b/l").symlink_to(top / "home")
        (top / "home/a/out").symlink_to("../..")
        _TREES.append(top)
    return _TREES[0]


def test_names_are_shown_with_their_controls_escaped() -> None:
    assert shown_bytes(b"a\nb\x1b[31m \xff\xc3\xa9") == "a\\nb\\x1b[31m \ufffdé"
