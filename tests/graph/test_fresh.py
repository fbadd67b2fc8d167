"""The graph is as fresh as the working tree, writes nothing into it, and survives whatever happens to its store."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import OperationalError, connect

import pytest

from guilds_code.engines.graph.files import Tree
from guilds_code.engines.graph.graph import read_graph
from tests.graph.conftest import Repository

CALLER = "from shop.store import describe\n\n\ndef newcomer(s):\n    return describe(s)\n"
STORE = "def describe(store):\n    return repr(store)\n\n\ndef other():\n    return describe(1)\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    return repository.put({"shop/__init__.py": "", "shop/store.py": STORE})


def test_an_uncommitted_new_file_counts_at_once(shop: Repository) -> None:
    assert shop.calls() == {("store.other", "store.describe")}

    shop.put({"shop/extra.py": CALLER})

    assert shop.calls() == {("store.other", "store.describe"), ("extra.newcomer", "store.describe")}


def test_a_renamed_file_counts_under_its_new_name_alone(shop: Repository) -> None:
    shop.put({"shop/extra.py": CALLER})
    shop.edges()

    (shop.path / "shop/extra.py").rename(shop.path / "shop/renamed.py")

    assert ("renamed.newcomer", "store.describe") in shop.calls()
    assert ("extra.newcomer", "store.describe") not in shop.calls()


def test_a_deleted_file_counts_no_more(shop: Repository) -> None:
    shop.put({"shop/extra.py": CALLER})
    shop.edges()

    (shop.path / "shop/extra.py").unlink()

    assert shop.calls() == {("store.other", "store.describe")}


def test_an_edit_that_keeps_size_and_modification_time_is_seen(shop: Repository) -> None:
    shop.edges()
    path = shop.path / "shop/store.py"
    status = path.stat()

    path.write_text(STORE.replace("describe(1)", "xescribe(1)"), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert shop.calls() == set()


def test_edits_in_quick_succession_are_each_seen(shop: Repository) -> None:
    names = [f"caller_{number}" for number in range(12)]

    seen = []
    for name in names:
        shop.put({"shop/extra.py": CALLER.replace("newcomer", name)})
        seen.append((f"extra.{name}", "store.describe") in shop.calls())

    assert seen == [True] * len(names)


def test_a_change_within_the_tick_of_the_last_look_is_seen_by_content(shop: Repository) -> None:
    shop.edges()
    path = shop.path / "shop/store.py"
    path.write_text(STORE.replace("describe(1)", "xescribe(1)"), "utf-8")
    with closing(connect(shop.home / ".cache/graft/one/graph.sqlite")) as store:
        tree = Tree.of(store.execute("select value from meta where key = 'tree'").fetchone()[0])
        status = path.stat()
        stamp = hash((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))
        tree.files["shop/store.py"], tree.racy = stamp, ["shop/store.py"]
        store.execute("update meta set value = ? where key = 'tree'", (tree.stored(),))
        store.commit()

    assert shop.calls() == set()


def test_a_file_in_a_folder_that_was_empty_is_seen(shop: Repository) -> None:
    (shop.path / "later" / "deep").mkdir(parents=True)
    shop.edges()
    time.sleep(0.05)
    shop.edges()

    shop.put({"later/deep/extra.py": CALLER})

    assert ("extra.newcomer", "store.describe") in shop.calls()


def test_an_ignored_file_is_left_out_and_comes_in_when_it_no_longer_is(shop: Repository) -> None:
    shop.put({".gitignore": "extra.py\n", "shop/extra.py": CALLER})
    assert ("extra.newcomer", "store.describe") not in shop.calls()

    shop.put({".gitignore": "nothing\n"})

    assert ("extra.newcomer", "store.describe") in shop.calls()


def test_a_folder_outside_git_is_read_with_its_ignore_files(graph_home: Path) -> None:
    plain = Repository(graph_home, "plain", git=False)
    plain.put({".gitignore": "skipped.py\n", "shop/store.py": STORE, "shop/__init__.py": "", "skipped.py": STORE})

    assert plain.calls() == {("store.other", "store.describe")}


def test_an_unchanged_repository_reads_no_file_again(shop: Repository) -> None:
    first = shop.map("one").meta["refreshed"]
    time.sleep(0.05)
    shop.map("one")

    assert first == 2
    assert shop.map("one").meta["refreshed"] == 0


def test_an_answer_on_an_unchanged_repository_imports_no_parser(shop: Repository) -> None:
    shop.map("one")
    time.sleep(0.05)
    shop.map("one")
    code = (
        "import sys\nfrom guilds_code.engines.graph.graph import open_graph\n"
        f"open_graph({str(shop.path)!r}, {str(shop.home)!r})\n"
        "print({'tree_sitter', 'subprocess', 're', 'json', 'hashlib', 'typing'} & set(sys.modules))"
    )

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout == "set()\n"


def test_nothing_is_written_into_the_repository(shop: Repository) -> None:
    before = subprocess.run(["git", "-C", str(shop.path), "status", "--porcelain", "--ignored"], capture_output=True)

    shop.map("one")
    shop.callers("describe")
    after = subprocess.run(["git", "-C", str(shop.path), "status", "--porcelain", "--ignored"], capture_output=True)

    assert after.stdout == before.stdout
    assert (shop.home / ".cache/graft/one/graph.sqlite").is_file()


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\x7f" * 5000])
def test_a_damaged_store_is_made_anew(shop: Repository, content: bytes) -> None:
    expected = shop.edges()
    for path in (shop.home / ".cache/graft/one").glob("graph.sqlite*"):
        path.unlink()

    (shop.home / ".cache/graft/one/graph.sqlite").write_bytes(content)

    assert shop.edges() == expected


def test_a_store_with_a_torn_page_is_made_anew(shop: Repository) -> None:
    expected = shop.edges()
    store = shop.home / ".cache/graft/one/graph.sqlite"
    data = bytearray(store.read_bytes())

    data[4096 : len(data)] = b"\xa5" * (len(data) - 4096)
    store.write_bytes(data)

    assert shop.edges() == expected


@pytest.mark.parametrize("page", range(1, 24))
def test_every_tool_answers_in_the_call_that_finds_a_damaged_page(shop: Repository, page: int) -> None:
    shop.map("one")
    time.sleep(0.05)
    expected = _answers(shop)
    store = shop.home / ".cache/graft/one/graph.sqlite"
    data = bytearray(store.read_bytes())

    data[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    store.write_bytes(data)

    assert _answers(shop) == expected


@pytest.mark.parametrize("table", ["edge", "symbol", "file", "facts", "words", "loose"])
def test_a_store_that_lost_a_table_is_made_anew(shop: Repository, table: str) -> None:
    expected = _answers(shop)

    with closing(connect(shop.home / ".cache/graft/one/graph.sqlite")) as store:
        store.execute(f"drop table {table}")
        store.commit()

    assert _answers(shop) == expected


@pytest.mark.parametrize("column", ["outside", "refs"])
def test_a_store_with_damaged_facts_is_made_anew(shop: Repository, column: str) -> None:
    shop.edges()
    with closing(connect(shop.home / ".cache/graft/one/graph.sqlite")) as store:
        store.execute(f"update facts set {column} = x'00ff'")
        store.commit()

    shop.put({"shop/extra.py": CALLER, "shop/store.py": STORE.replace("def other", "def another")})

    assert shop.calls() == {("store.another", "store.describe"), ("extra.newcomer", "store.describe")}


def test_a_question_that_fails_is_no_damage(shop: Repository) -> None:
    shop.map("one")
    time.sleep(0.05)
    shop.map("one")

    with pytest.raises(OperationalError):
        read_graph(str(shop.path), str(shop.home), lambda graph: graph.connection.execute("select from").fetchone())

    assert shop.map("one").meta["refreshed"] == 0


def _answers(repository: Repository) -> list[str]:
    return [
        repository.map("one").text,
        repository.callers("describe").text,
        repository.find("describe").text,
        repository.outline("repos/one/shop/store.py").text,
    ]


def test_a_store_that_can_not_be_kept_is_made_in_memory(shop: Repository) -> None:
    expected = _answers(shop)
    shutil.rmtree(shop.home / ".cache/graft")

    (shop.home / ".cache/graft").write_bytes(b"")

    assert [answer.partition("\nnote: ")[0] for answer in _answers(shop)] == expected
    assert "so it was made in memory for this answer" in shop.map("one").text


@pytest.fixture
def cache_disk(graph_home: Path) -> Iterator[Path]:
    """The cache as a file system of 8 MiB of its own."""
    disk = graph_home / ".cache/graft"
    disk.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "guilds-test", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_kept_store_answers_from_a_folder_that_can_only_be_read(cache_disk: Path, shop: Repository) -> None:
    shop.map("one")
    time.sleep(0.05)
    expected = _answers(shop)

    subprocess.run(["mount", "-o", "remount,ro", str(cache_disk)], check=True)

    assert _answers(shop) == expected
    shop.put({"shop/extra.py": CALLER})
    assert ("extra.newcomer", "store.describe") in shop.calls()


def test_a_full_disk_does_not_keep_the_graph_from_answering(cache_disk: Path, shop: Repository) -> None:
    expected = shop.edges()
    shutil.rmtree(cache_disk / "one")
    with (cache_disk / "fill").open("wb") as file, contextlib.suppress(OSError):
        file.write(b"\0" * 9_000_000)

    assert shop.edges() == expected


def test_a_build_that_is_killed_is_taken_on_by_the_next(graph_home: Path) -> None:
    many = Repository(graph_home, "many")
    many.put({f"pkg/m{n}.py": f"def f{n}():\n    return f{n}()\n" for n in range(300)})
    code = (
        f"from guilds_code.engines.graph.graph import open_graph\nopen_graph({str(many.path)!r}, {str(graph_home)!r})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    time.sleep(0.25)

    process.send_signal(signal.SIGKILL)
    process.wait()

    assert len(many.calls()) == 300


def _build(path: str, home: str, refreshed: multiprocessing.Queue[int]) -> None:
    from guilds_code.engines.graph.graph import open_graph

    refreshed.put(open_graph(path, home).refreshed)


def test_two_first_builds_at_once_do_the_work_once(shop: Repository) -> None:
    shop.put({f"more/m{number}.py": STORE for number in range(300)})
    context = multiprocessing.get_context("spawn")
    refreshed: multiprocessing.Queue[int] = context.Queue()
    builders = [context.Process(target=_build, args=(str(shop.path), str(shop.home), refreshed)) for _ in range(2)]

    for builder in builders:
        builder.start()
    counts = sorted(refreshed.get(timeout=60) for _ in builders)
    for builder in builders:
        builder.join()

    assert counts == [0, 302]


def test_files_are_listed_without_git_where_its_index_is_damaged(shop: Repository) -> None:
    subprocess.run(["git", "-C", str(shop.path), "add", "-A"], check=True)
    expected = shop.edges()

    (shop.path / ".git/index").write_bytes(b"")
    text = shop.map("one").text

    assert shop.edges() == expected
    assert "note: git can't list the files here" in text
    assert "note: git can't list the files here" in shop.callers("describe").text


def test_a_repository_inside_another_is_said_to_be_left_out(shop: Repository) -> None:
    (shop.path / "inner").mkdir()
    subprocess.run(["git", "init", "-q", str(shop.path / "inner")], check=True)
    shop.put({"inner/a.py": "def inner():\n    pass\n"})

    assert "git repositories of their own: inner" in shop.map("one").text
    assert "git repositories of their own: inner" in shop.map("one").text


def test_a_name_that_is_not_utf_8_is_counted_as_left_out(shop: Repository) -> None:
    with open(os.fsencode(shop.path) + b"/odd\xff.py", "wb") as file:
        file.write(b"def odd():\n    pass\n")

    answer = shop.map("one")

    assert "left out: 1 whose name is not UTF-8" in answer.text
    assert answer.meta["skipped"] == 1


def test_large_minified_and_generated_files_are_said_to_be_left_out(repository: Repository) -> None:
    repository.put(
        {
            "big.py": "x = 1\n" * 400_000,
            "mini.js": "var a=1;" * 2000,
            "gen.go": "// Code generated by protoc. DO NOT EDIT.\npackage gen\n",
            "own.py": "def own():\n    pass\n",
        }
    )

    text = repository.map("one").text

    assert "left out: 1 generated, 1 minified, 1 over 2 MB" in text


def test_a_file_with_a_syntax_error_keeps_what_did_parse(repository: Repository) -> None:
    repository.put({"a.py": "def good():\n    return other()\n\n\ndef other():\n    pass\n\n\ndef broken(:\n"})

    assert ("a.good", "a.other") in repository.calls()


def test_deeply_nested_code_is_skipped_and_said(repository: Repository) -> None:
    repository.put({"deep.py": "x = " + "(" * 30_000 + "1" + ")" * 30_000 + "\n" * 400, "b.py": "def b(): pass\n"})

    assert "1 " in repository.map("one").text
    assert repository.outline("repos/one/b.py").text.endswith("def b()")


@pytest.mark.skipif(not os.access("/usr/bin/git", os.X_OK), reason="git is elsewhere")
def test_a_git_of_the_agents_that_comes_first_on_path_is_not_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.put({"a.py": "def answer(): pass\n"})
    own = tmp_path / "git"
    own.write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\nexit 1\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert "answer" in repository.outline("repos/one/a.py").text
    assert not (tmp_path / "taken").exists()
