"""file_read: lines, encodings, kinds of file, folders, and what is not shown twice."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_code.numbered import LineRange, shown_line
from tests.agent_home import BIN, AgentHome


@given(
    st.lists(st.text(alphabet="ab\n\r\fé€🚀\u2028\x85\udcff", max_size=9), max_size=8),
    st.integers(1, 9),
    st.integers(0, 9),
)
def test_any_chunks_give_the_lines_of_the_whole(pieces: list[str], first: int, more: int) -> None:
    chunks = [piece.encode("utf-8", "surrogateescape") for piece in pieces]
    lines = b"".join(chunks).split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    expected = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines][first - 1 : first + more]

    read = LineRange(first, first + more)
    for chunk in chunks:
        read.feed(chunk)
    read.finish()

    assert [line.shown() for line in read.lines] == [(line, True) for line in expected]
    assert read.count == len(lines)


@given(st.text(alphabet="aé€🚀\r", min_size=380, max_size=900), st.integers(1, 500))
def test_a_line_is_clipped_at_the_same_place_in_any_chunks(text: str, size: int) -> None:
    raw = text.encode()
    read = LineRange(1, 1)

    for start in range(0, len(raw), size):
        read.feed(raw[start : start + size])
    read.finish()

    shown = text.removesuffix("\r")
    expected = shown if len(shown) <= 400 else f"{shown[:400]} … [+{len(shown) - 400} characters]"
    assert read.lines[0].shown()[0] == expected
    assert shown_line(raw)[0] == expected


def test_lines_are_numbered_under_their_path_and_range(home: AgentHome) -> None:
    content = "alpha\nbéta\n\n  gamma"
    home.put("src/a.txt", content)

    answer = home.call("file_read", path="src/a.txt")

    assert answer.text == "src/a.txt · lines 1–4 of 4\n1\talpha\n2\tbéta\n3\t\n4\t  gamma"
    assert answer.meta == {
        "path": "src/a.txt",
        "lines": 4,
        "content_hash": hashlib.sha256(content.encode()).hexdigest(),
        "bytes": len(content.encode()),
        "encoding": "utf-8",
        "range": [1, 4],
        "cuts": [],
    }


def test_a_range_that_ends_before_the_file_says_how_to_go_on(home: AgentHome) -> None:
    home.put("a.txt", "1\n2\n3\n")

    assert home.call("file_read", path="a.txt", offset=2, limit=1).text.endswith("\n2\t2\n[continue with offset=3]")
    assert home.call("file_read", path="a.txt", offset=3, limit=1).text.endswith("\n3\t3")


@pytest.mark.parametrize("cap", [1024, 1500, 8192])
def test_a_range_ends_at_a_line_before_the_cap(home: AgentHome, cap: int) -> None:
    home.put("a.txt", "".join(f"{n}{'é' * 90}\n" for n in range(1, 300)))

    answer = home.call("file_read", path="a.txt", limits={"result_max_bytes": cap})

    last = answer.meta["range"][1]
    assert len(answer.text.encode()) <= cap
    assert answer.text.endswith(f"\n{last}\t{last}{'é' * 90}\n[continue with offset={last + 1}]")


def test_one_line_that_passes_the_cap_is_clipped_and_the_next_can_be_read(home: AgentHome) -> None:
    home.put("a.txt", "🚀" * 400 + "\nnext\n")

    answer = home.call("file_read", path="a.txt", limits={"result_max_bytes": 1024})

    assert len(answer.text.encode()) <= 1024
    assert answer.text.endswith(" …\n[continue with offset=2]")


@pytest.mark.parametrize(
    ("content", "shown", "encoding"),
    [
        (b"a\fb\vc\xc2\x85d\xe2\x80\xa8e\rf\ng\r\n", "1\ta\fb\vc\x85d\u2028e\rf\n2\tg", "utf-8"),
        (b"\xef\xbb\xbfone\n", "1\tone", "utf-8"),
        ("\ufeffhé\nb\n".encode("utf-16-le"), "1\thé\n2\tb", "utf-16-le"),
        ("\ufeffhé\r\nb".encode("utf-16-be"), "1\thé\n2\tb", "utf-16-be"),
        (b"caf\xe9\n", "1\tcaf\ufffd", "unknown-8bit"),
        (b"caf\xc3", "1\tcaf\ufffd", "unknown-8bit"),
    ],
)
def test_text_of_any_encoding_is_shown(home: AgentHome, content: bytes, shown: str, encoding: str) -> None:
    home.put("a.txt", content)

    answer = home.call("file_read", path="a.txt")

    assert answer.text.partition("\n")[2] == shown
    assert answer.meta["encoding"] == encoding


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"ab\0cd", ""),
        (b"x" * 8191 + b"\0", ""),
        (b"\x1f\x8b\x08zzz", " (gzip archive)"),
        (b"\x89PNG\r\n\x1a\nzzz", " (PNG image)"),
        (b"\x7fELFzzz", " (ELF executable)"),
    ],
)
def test_a_binary_file_is_named_with_its_size(home: AgentHome, content: bytes, kind: str) -> None:
    home.put("a.bin", content)

    assert home.call("file_read", path="a.bin").text == f"a.bin · binary, {len(content)} bytes{kind}"


def test_a_nul_after_the_first_8_kib_makes_no_binary_file(home: AgentHome) -> None:
    home.put("a.txt", b"x" * 8192 + b"\0\n")

    assert home.call("file_read", path="a.txt").text.startswith("a.txt · lines 1–1 of 1")


def test_an_empty_file_is_empty(home: AgentHome) -> None:
    home.put("a.txt", "")

    assert home.call("file_read", path="a.txt").text == "a.txt · empty"
    assert home.call("file_read", path="a.txt", offset=2).code == "not_found"


def test_an_offset_past_the_end_names_the_number_of_lines(home: AgentHome) -> None:
    home.put("a.txt", "1\n2\n3\n")

    answer = home.call("file_read", path="a.txt", offset=10**18)

    assert (answer.code, answer.message) == (
        "not_found",
        "a.txt has 3 lines; offset 1000000000000000000 is past its end.",
    )


def test_a_folder_shows_its_entries_a_page_at_a_time(home: AgentHome) -> None:
    for number in range(250):
        home.put(f"d/f{number:03}", "")
    (home.path / "d/a sub").mkdir()
    (home.path / "d/line\nbreak").mkdir()

    first = home.call("file_read", path="d")
    second = home.call("file_read", path="d", offset=201)

    assert first.text.startswith("a sub/\nf000\nf001\n")
    assert first.text.endswith("\nf198\n[… 52 more; continue with offset=201]")
    assert second.text.startswith("f199\n")
    assert second.text.endswith("\nline\\nbreak/")


def test_a_missing_file_says_where_it_was_looked_for(home: AgentHome) -> None:
    answer = home.call("file_read", path="src/missing.py")

    assert answer.code == "not_found"
    assert "there is no src in ." in answer.message


def _read(home: AgentHome, seq: int | None, visible_from: int | None = None, run: str = "r1", **arguments: Any) -> str:
    ids = {"id": run, "seq": seq, "visible_from": visible_from}
    return home.call("file_read", run=ids, path="a.txt", **arguments).text


def test_lines_already_shown_are_named_by_their_step(home: AgentHome) -> None:
    home.put("a.txt", "".join(f"{n}\n" for n in range(1, 21)))
    _read(home, 3, limit=10)

    assert _read(home, 5, limit=10) == "a.txt lines 1–10: unchanged since step 3; read that result."
    assert _read(home, 6, offset=4, limit=3) == "a.txt lines 4–6: unchanged since step 3; read that result."
    assert _read(home, 7, offset=5, limit=11).startswith("a.txt · lines 5–15")
    assert _read(home, 8, run="r2", limit=10).startswith("a.txt · lines 1–10")
    assert _read(home, None, limit=10).startswith("a.txt · lines 1–10")


def test_the_newest_step_is_named(home: AgentHome) -> None:
    home.put("a.txt", "1\n2\n")
    _read(home, 1, limit=1)
    _read(home, 2)

    assert "since step 2;" in _read(home, 3, limit=1)


def test_a_step_that_is_no_longer_visible_does_not_count(home: AgentHome) -> None:
    home.put("a.txt", "one\n")
    _read(home, 4)

    assert _read(home, 9, visible_from=5).startswith("a.txt · lines")
    assert "since step 9;" in _read(home, 10, visible_from=5)


def test_another_content_is_shown_whatever_the_times_say(home: AgentHome) -> None:
    file = home.put("a.txt", "one\n")
    before = file.stat()
    _read(home, 1)
    os.utime(file, (1, 1))
    assert "since step 1;" in _read(home, 2)

    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert _read(home, 3).endswith("1\ttwo")


def test_a_line_that_was_clipped_does_not_count_as_shown(home: AgentHome) -> None:
    home.put("a.txt", "one\n" + "x" * 500 + "\nthree\n")
    _read(home, 1)

    assert "since step 1;" in _read(home, 2, offset=1, limit=1)
    assert _read(home, 3, offset=2, limit=1).startswith("a.txt · lines 2–2")
    assert "since step 1;" in _read(home, 4, offset=3, limit=1)


def test_a_damaged_record_costs_a_repeat_and_nothing_else(home: AgentHome) -> None:
    home.put("a.txt", "one\n")
    _read(home, 1)
    (home.path / ".runs/r1/reads.json").write_text('{"version": 1, "reads": [{"seq"')

    assert _read(home, 2).endswith("1\tone")
    assert "since step 2;" in _read(home, 3)


def test_a_lock_that_is_never_given_up_does_not_block(home: AgentHome) -> None:
    home.put("a.txt", "one\n")
    _read(home, 1)
    with subprocess.Popen(["flock", str(home.path / ".runs/r1/lock"), "sleep", "30"]) as holder:
        time.sleep(0.3)

        answer = home.call("file_read", path="a.txt", offset=1, run={"seq": 2, "visible_from": 2})

        subprocess.run(["pkill", "-P", str(holder.pid)], check=True)
    assert answer.text.endswith("1\tone")
    assert "locked the run" in answer.meta["not_recorded"]


def test_a_read_only_home_can_be_read(home: AgentHome, small_disk: Path) -> None:
    (small_disk / "a.txt").write_text("one\n")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    answer = home.call("file_read", path="a.txt", run={"seq": 1}, env={"GUILDS_HOME": str(small_disk)})

    assert answer.text.endswith("1\tone")
    assert answer.meta["not_recorded"] == "Read-only file system"


def test_a_gigabyte_costs_the_memory_of_the_lines_shown(home: AgentHome) -> None:
    with (home.path / "big.txt").open("wb") as file:
        for _ in range(64):
            file.write(b"0123456789abcde\n" * 65_536)
        file.truncate(1 << 30)  # a hole of NULs: one long last line
    line = home.carried(b'{"tool": "file_read", "args": {"path": "big.txt"}}')
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )

    done = subprocess.run(
        ["python3", "-c", measure, str(BIN / "guilds-code"), *line],
        capture_output=True,
        text=True,
        env=home.environment(),
        check=True,
    )

    assert int(done.stdout) < 40_000, "KiB"
