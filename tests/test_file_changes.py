"""file_edit and file_write: exactly the meant bytes change, at once, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_code import changes
from guilds_code.tools.file_edit import _apart, _applied, _edits
from guilds_wire.errors import ToolError
from guilds_wire.paths import Workspace
from guilds_wire.places import Places
from guilds_wire.replace import FRESH_NAME, Target, open_target
from tests.agent_home import AgentHome, Envelope

TEXT = st.text(alphabet="ab\n\ré", max_size=30)


@given(TEXT, TEXT.filter(bool), TEXT)
def test_an_edit_changes_the_matched_bytes_and_no_others(content: str, old: str, new: str) -> None:
    raw = content.encode()

    edits = _apart(_edits(raw, old, new))

    outside = [raw[end:start] for (_, end, _), (start, _, _) in pairwise([(0, 0, b""), *edits, (len(raw), 0, b"")])]
    pieces = [replacement for _, _, replacement in edits]
    assert _applied(raw, edits) == outside[0] + b"".join(a + b for a, b in zip(pieces, outside[1:], strict=True))
    assert {_lf(raw[start:end]) for start, end, _ in edits} <= {_lf(old.encode())}
    assert {_lf(piece) for piece in pieces} <= {_lf(new.encode())}


@given(TEXT.filter(lambda text: "\n" not in text), TEXT.filter(bool), TEXT)
def test_without_line_ends_an_edit_is_a_plain_replacement(content: str, old: str, new: str) -> None:
    raw = content.encode()

    assert _applied(raw, _apart(_edits(raw, old, new))) == raw.replace(old.encode(), new.encode())


def _lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=8), st.lists(st.sampled_from(["a", "b", "c"]), max_size=8))
def test_counts_of_lines_add_up(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{x}\n" for x in old).encode(), "".join(f"{x}\n" for x in new).encode()

    change = changes.between(before, after)

    assert change.added - change.removed == len(new) - len(old)
    assert (change.added, change.removed) == (0, 0) if before == after else change.added + change.removed > 0


def test_an_edit_shows_what_it_did(home: AgentHome) -> None:
    home.put("src/a.py", "one\ntwo\nthree\nfour\n")

    answer = home.call("file_edit", path="src/a.py", old_string="two\nthree", new_string="2\nand\n3")

    assert (home.path / "src/a.py").read_bytes() == b"one\n2\nand\n3\nfour\n"
    assert answer.text == "edited src/a.py (+3 −2)\n1\tone\n2\t2\n3\tand\n4\t3\n5\tfour"
    assert answer.meta == {
        "path": "src/a.py",
        "lines_added": 3,
        "lines_removed": 2,
        "content_hash": hashlib.sha256(b"one\n2\nand\n3\nfour\n").hexdigest(),
        "replacements": 1,
        "cuts": [],
    }


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a X b", "X", r"$& \1 \g<0> %s {x} \n &amp;", rb"a $& \1 \g<0> %s {x} \n &amp; b"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "A\nB\nB2", b"A\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b\nB", b"a\r\nb\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\n", "\nb", "\nB", b"a\r\nB\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\nc\r\n", "b\nc", "B\nC", b"a\r\nB\nC\r\n"),
        (b"a\r\nb\nc\n", "a\nb", "A\nB", b"A\r\nB\nc\n"),
        (b"\xef\xbb\xbfa\xff\n", "a", "b", b"\xef\xbb\xbfb\xff\n"),
        (b"no newline", "line", "lin", b"no newlin".replace(b"newlin", b"newlin")),
        ("\ufeffhé\r\nb\r\n".encode("utf-16-le"), "hé\nb", "x\nü", "\ufeffx\r\nü\r\n".encode("utf-16-le")),
        ("\ufeffab\n".encode("utf-16-be"), "b", "c", "\ufeffac\n".encode("utf-16-be")),
        (b" lead and trail \n", " lead", "  lead", b"  lead and trail \n"),
    ],
)
def test_nothing_but_the_match_changes(home: AgentHome, before: bytes, old: str, new: str, after: bytes) -> None:
    file = home.put("a.txt", before)

    home.call("file_edit", path="a.txt", old_string=old, new_string=new)

    assert file.read_bytes() == after


def test_replace_all_replaces_every_place(home: AgentHome) -> None:
    file = home.put("a.txt", "hit\nrow\nhit hit\n")

    answer = home.call("file_edit", path="a.txt", old_string="hit", new_string="x", replace_all=True)

    assert file.read_text() == "x\nrow\nx x\n"
    assert answer.meta["replacements"] == 3
    assert answer.text.startswith("edited a.txt (+2 −2)")


@pytest.mark.parametrize(
    ("content", "lines"), [("hit\nrow\nhit\n", "lines 1, 3"), ("aaa", "line 1"), ("x\nhit hit\n", "line 2")]
)
def test_several_places_are_refused_with_their_lines(home: AgentHome, content: str, lines: str) -> None:
    file = home.put("a.txt", content)
    old = "aa" if content == "aaa" else "hit"

    answer = home.call("file_edit", path="a.txt", old_string=old, new_string="y")

    assert answer.code == "ambiguous_match"
    assert f"at {lines};" in answer.message
    assert file.read_text() == content


@pytest.mark.parametrize(
    ("content", "old", "words"),
    [
        ("a\n\treturn 1\n", "    return 1", "line 2: the indentation"),
        ("a\nreturn 1\n", "return 1  ", "line 2: the white space at line ends"),
        ("f(a,  b)\n", "f(a, b)", "line 1: the white space"),
        ("x = 'a'\n", 'x = "a"', "line 1: the quotes"),
        ("x\n“a”\n", '"a"', "line 2: a character only looks alike"),
        ("a – b\n", "a - b", "line 1: a character only looks alike"),
        ("caf\u00e9\n", "cafe\u0301", "line 1: the same characters are in another Unicode normal form"),
        ("beta\ngamma\n", "1\tbeta\n2\tgamma", "line numbers; without them it stands at lines 1–2"),
        (
            "def load(path, mode):\n    return 1\n",
            "def load(path, modes):\n    return 1",
            "nearest text stands at lines 1–2",
        ),
        ("a\nb\n", "a\r\nb", "CRLF"),
        ("Return One\n", "return one", "line 1: upper and lower case"),
        ("a\n", "nothing like it at all", "Read it"),
    ],
)
def test_a_missing_text_is_told_with_its_nearest_place(home: AgentHome, content: str, old: str, words: str) -> None:
    file = home.put("a.txt", content)

    answer = home.call("file_edit", path="a.txt", old_string=old, new_string="y")

    assert answer.code == "no_match"
    assert words in answer.message
    assert file.read_text() == content


@pytest.mark.parametrize(
    "arguments",
    [{"old_string": ""}, {"old_string": "one"}, {"old_string": "a", "new_string": None}, {"new_string": "a"}],
)
def test_an_edit_that_makes_no_sense_is_refused(home: AgentHome, arguments: dict[str, object]) -> None:
    file = home.put("a.txt", "one\n")
    before = file.stat()

    answer = home.ask({"tool": "file_edit", "args": {"path": "a.txt", "new_string": "one", **arguments}})

    assert answer.code == "invalid_arguments"
    assert file.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o4755, 0o222])
def test_mode_and_attributes_stay(home: AgentHome, mode: int) -> None:
    file = home.put("a.sh", "old\n", mode)
    attributed = _set_attribute(file)

    home.call("file_edit", path="a.sh", old_string="old", new_string="new")

    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert not attributed or os.getxattr(file, "user.note") == b"kept"


def _set_attribute(file: Path) -> bool:
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        return False
    return True


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_the_owner_stays(home: AgentHome) -> None:
    file = home.put("a.txt", "old\n")
    os.chown(file, 1234, 4321)

    home.call("file_write", path="a.txt", content="new\n")

    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


def test_a_link_is_followed_and_stays(home: AgentHome) -> None:
    real = home.put("d1/real.txt", "old\n")
    (home.path / "link").symlink_to("d1/real.txt")

    home.call("file_edit", path="link", old_string="old", new_string="new")
    home.call("file_write", path="link", content="newer\n")

    assert os.readlink(home.path / "link") == "d1/real.txt"
    assert real.read_text() == "newer\n"
    assert os.listdir(home.path / "d1") == ["real.txt"]


def test_a_file_of_several_names_keeps_them(home: AgentHome) -> None:
    file = home.put("a.txt", "old\n")
    os.link(file, home.path / "b.txt")

    edited = home.call("file_edit", path="a.txt", old_string="old", new_string="longer than before")
    written = home.call("file_write", path="b.txt", content="s\n")

    assert edited.meta["in_place"] is True
    assert written.meta["in_place"] is True
    assert file.read_text() == "s\n"
    assert file.stat().st_nlink == 2


def test_a_write_protected_file_is_refused(home: AgentHome) -> None:
    file = home.put("a.txt", "old\n", 0o444)

    answers = [
        home.call("file_edit", path="a.txt", old_string="old", new_string="new"),
        home.call("file_write", path="a.txt", content="new"),
    ]

    assert [answer.code for answer in answers] == ["io_error"] * 2
    assert all("mode 0444" in answer.message for answer in answers)
    assert file.read_text() == "old\n"


def test_a_write_makes_the_file_and_its_folders(home: AgentHome) -> None:
    answer = home.call("file_write", path="new/deep/a.txt", content="one\ntwo")

    assert answer.text == "wrote new/deep/a.txt (2 lines)"
    assert (answer.meta["created"], answer.meta["lines_added"], answer.meta["lines_removed"]) == (True, 2, 0)
    assert (home.path / "new/deep/a.txt").read_text() == "one\ntwo"


def test_a_write_through_a_dangling_link_makes_its_target(home: AgentHome) -> None:
    (home.path / "d").mkdir()
    (home.path / "link").symlink_to("d/new.txt")

    home.call("file_write", path="link", content="x")

    assert (home.path / "d/new.txt").read_text() == "x"
    assert (home.path / "link").is_symlink()


@pytest.mark.parametrize(
    ("umask", "content", "mode"), [(0o022, "x", 0o644), (0o077, "x", 0o600), (0o022, "#!/bin/sh\n", 0o755)]
)
def test_the_mode_of_a_new_file_goes_by_content_and_umask(home: AgentHome, umask: int, content: str, mode: int) -> None:
    old = os.umask(umask)
    home.call("file_write", path="a", content=content)
    os.umask(old)

    assert stat.S_IMODE((home.path / "a").stat().st_mode) == mode


def test_the_same_content_leaves_the_file_alone(home: AgentHome) -> None:
    file = home.put("a.txt", "same\n")
    before = file.stat()

    answer = home.call("file_write", path="a.txt", content="same\n")

    assert answer.text == "unchanged a.txt"
    assert (answer.meta["lines_added"], answer.meta["created"]) == (0, False)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("content", [{"a": 1}, None, 5, "bad \ud83d here"])
def test_content_that_is_no_text_is_refused(home: AgentHome, content: object) -> None:
    file = home.put("a.txt", "old\n")

    assert home.call("file_write", path="a.txt", content=content).code == "invalid_arguments"
    assert file.read_text() == "old\n"


def test_a_folder_is_no_file_to_change(home: AgentHome) -> None:
    (home.path / "d").mkdir()

    assert home.call("file_write", path="d", content="x").code == "not_a_file"
    assert home.call("file_edit", path="d", old_string="a", new_string="b").code == "not_a_file"


@pytest.mark.parametrize("linked", [False, True])
def test_a_full_disk_leaves_the_old_file_whole(home: AgentHome, small_disk: Path, linked: bool) -> None:
    file = small_disk / "a.txt"
    file.write_text("old\n")
    if linked:
        os.link(file, small_disk / "b.txt")

    answer = home.call("file_write", path="disk/a.txt", content="x" * 1_000_000)

    assert answer.code == "io_error"
    assert "No space left" in answer.message
    assert file.read_text() == "old\n"
    assert FRESH_NAME not in os.listdir(small_disk)


def test_a_read_only_file_system_is_told(home: AgentHome, small_disk: Path) -> None:
    (small_disk / "a.txt").write_text("old\n")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    for answer in (
        home.call("file_edit", path="disk/a.txt", old_string="old", new_string="new"),
        home.call("file_write", path="disk/new/b.txt", content="x"),
    ):
        assert answer.code == "io_error"
        assert "Read-only file system" in answer.message


def test_a_file_that_changes_between_read_and_replacement_is_a_conflict(home: AgentHome) -> None:
    file = home.put("a.txt", "old\n")
    target = _open_target(home, "a.txt")

    with target:
        before = file.stat()
        file.write_text("his\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        code = _code(lambda: target.write(b"ours\n", 0o644))

    assert code == "conflict"
    assert file.read_text() == "his\n"


def test_a_new_file_that_somebody_else_makes_meanwhile_is_a_conflict(home: AgentHome) -> None:
    with _open_target(home, "a.txt") as target:
        home.put("a.txt", "his\n")
        code = _code(lambda: target.write(b"ours\n", 0o644))

    assert code == "conflict"
    assert (home.path / "a.txt").read_text() == "his\n"
    assert os.listdir(home.path) == ["a.txt"]


def test_fifty_edits_at_once_all_land(home: AgentHome) -> None:
    file = home.put("a.txt", "".join(f"<{n}>{'.' * 200}\n" for n in range(50)))

    processes = [
        home.start("file_edit", path="a.txt", old_string=f"<{n}>", new_string=f"<done {n}>") for n in range(50)
    ]
    answers = [Envelope(process.communicate(timeout=60)[0].strip()) for process in processes]

    text = file.read_text()
    for number, answer in enumerate(answers):
        assert answer.body["ok"] == (f"<done {number}>" in text)
    assert text.count("\n") == 50
    assert sum(answer.body["ok"] for answer in answers) == 50


KILLS = int(os.environ.get("GUILDS_KILLS", "40"))
OLD, NEW = b"old " * 100_000 + b"end", b"new " * 150_000 + b"end"


@pytest.mark.parametrize("tool", ["file_write", "file_edit"])
def test_a_kill_at_any_instant_leaves_the_old_or_the_new_file_whole(home: AgentHome, tool: str) -> None:
    file = home.put("d/a.txt", OLD)
    arguments = {"content": NEW.decode()} if tool == "file_write" else {
        "old_string": OLD.decode(), "new_string": NEW.decode()}  # fmt: skip
    seen = set()

    for _ in range(KILLS):
        file.write_bytes(OLD)
        process = home.start(tool, path="d/a.txt", **arguments)
        time.sleep(random.uniform(0.005, 0.06))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        seen.add(file.read_bytes())
        home.call("file_edit", path="d/a.txt", old_string="nothing", new_string="x")
        assert os.listdir(home.path / "d") == ["a.txt"]

    assert seen <= {OLD, NEW}


def test_a_reader_never_sees_half_a_file(home: AgentHome) -> None:
    file = home.put("a.txt", "o" * 2_000_000)
    sizes: set[int] = set()
    stop = threading.Event()
    reader = threading.Thread(target=_watch_size, args=(file, sizes, stop))
    reader.start()

    for size in (2_000_001, 2_000_002, 2_000_003):
        home.call("file_write", path="a.txt", content="n" * size)

    stop.set()
    reader.join()
    assert sizes <= {2_000_000, 2_000_001, 2_000_002, 2_000_003}


def _watch_size(file: Path, sizes: set[int], stop: threading.Event) -> None:
    while not stop.is_set():
        sizes.add(file.stat().st_size)


def _open_target(home: AgentHome, path: str) -> Target:
    places = Places(bytes(home.path), bytes(home.runtime))
    return open_target(Workspace(places, places.home), path, create=True)


def _code(act: Callable[[], None]) -> str:
    try:
        act()
    except ToolError as error:
        return error.code
    return ""
