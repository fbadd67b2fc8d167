"""What a reader sees of a command's output: the lines as a terminal shows them, and what is left when they are many.

The terminal that the cleaning is held against stands at the end of this file.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guilds_wire import output
from guilds_wire.output import HEAD_BYTES, LINE_MAX_CHARACTERS, OutputShaper, Shaped, clean

HELPERS = Path(output.__file__).parent.parent
MEBIBYTE = 1 << 20

# Bytes that matter to a terminal, whole sequences, and their fragments. Each output is made of a few of them.
PIECES = [
    *(b"\r", b"\n", b"\b", b"\t", b"\x1b", b"\r\n", b"\r\r\n", b"\b\b\b", b"\n\n \t\n", b" ", b"x\ny\n"),
    *(b"\x1b[K", b"\x1b[0K", b"\x1b[1K", b"\x1b[2K", b"\x1b[3K", b"\x1b[1;2K", b"\x1b[?1K"),
    *(b"\x1b[", b"[", b"0", b"1", b"2", b"K", b"m", b";", b"?", b"]", b"P", b"(", b"\\"),
    *(b"\x1b[31m", b"\x1b[0;1m", b"\x1b[5 q", b"\x1b(B", b"\x1b$(C", b"\x1b=", b"\x1bM", b"\x1b7", b"\x1b\\"),
    *(b"\x1b]0;t\x07", b"\x1b]8;;u\x1b\\", b"\x1bPq#0\x1b\\", b"\x1bX\x07s", b"\x1b^p", b"\x1b_a"),
    *(b"\0", b"\x01", b"\x07", b"\x0b", b"\x0c", b"\x18", b"\x1a", b"\x7f", b"\xc2\x85", b"\xc2\x9b"),
    *(b"a", b"bc", b"defg", b"~", b"@", b"e\xcc\x81", b"\xc3\xa9\xc2\xb0", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80"),
    *(b"\xe2", b"\x82", b"\xac", b"\xf0\x9f", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xc2"),
]
OUTPUTS = st.lists(st.sampled_from(PIECES), min_size=2, max_size=8).flatmap(
    lambda pieces: st.lists(st.sampled_from([*pieces, b"a", b"\n"]), max_size=30).map(b"".join)
)
LONG_OUTPUTS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *(b"a line\n", b"x" * 90, b"word ", b"\n", b"  \n", b" ", "é".encode(), "€\n".encode(), "😀".encode()),
                *(b"e\xcc\x81", b"\xcc\x81", b"\xff", b"\x1b[32mok\x1b[0m\r\n", b"1\r\x1b[K2\r\n"),
            ]
        ),
        st.integers(1, 3000),
    ).map(lambda piece: piece[0] * piece[1]),
    max_size=6,
).map(b"".join)
TRAILERS = st.lists(st.sampled_from(["exit_code: 3", "timed out after 1 s", "ž" * 300, "pid 4711, " * 200]), max_size=3)


def shaped(raw: bytes, cap_bytes: int = 1024, trailers: tuple[str, ...] = (), log: str = "out.log") -> Shaped:
    shaper = OutputShaper(cap_bytes)
    shaper.feed(raw)
    return shaper.finish(cap_bytes, trailers, log)


def clean_in_chunks(raw: bytes, sizes: list[int]) -> str:
    shaper = OutputShaper(MEBIBYTE)
    start = 0
    for size in sizes:
        shaper.feed(raw[start : start + size])
        start += size
    shaper.feed(raw[start:])
    return shaper.finish(MEBIBYTE, [], "out.log").text


def parts(result: Shaped) -> tuple[str, str, str]:
    """What stands before the notice, the notice, and what stands after it."""
    before, after = result.cuts
    return result.text[:before], result.text[before:after].strip("\n"), result.text[after:]


def left_out_bytes(notice: str) -> int:
    return int(notice.removeprefix("[… ").split()[0])


# A line as a terminal shows it


def test_plain_lines_are_left_alone() -> None:
    assert clean(b"one\n\ttwo  \n\n three") == "one\n\ttwo  \n\n three"


def test_crlf_is_a_line_end() -> None:
    assert clean(b"a\r\nb\r\r\nc\r\n") == "a\nb\nc"


def test_of_a_redrawn_line_the_last_state_stays() -> None:
    assert clean(b"\rDL  5%\rDL  50%\rDL 100%\nend\n") == "DL 100%\nend"


def test_a_shorter_redraw_leaves_the_tail_of_the_longer_one() -> None:
    assert clean(b"Downloading 100%\rDone\n") == "Doneloading 100%"


def test_backspace_moves_left_and_lets_overwrite() -> None:
    assert clean(b"ab\b\bXY\nabc\b-\n") == "XY\nab-"


def test_backspace_stops_at_the_start_of_the_line() -> None:
    assert clean(b"one\nab\b\b\b\bX\n") == "one\nXb"


@pytest.mark.parametrize("sequence", [b"\x1b[K", b"\x1b[0K"])
def test_erase_to_the_end_removes_what_stands_right_of_the_cursor(sequence: bytes) -> None:
    assert clean(b"Downloading 100%\rDone" + sequence + b"\n") == "Done"


def test_erase_to_the_start_blanks_up_to_and_with_the_cursor() -> None:
    assert clean(b"abcdef\b\b\x1b[1K\n") == "     f"
    assert clean(b"abcdef\b\b\x1b[1KX\n") == "    Xf"
    assert clean(b"abc\x1b[1Kd\n") == "   d"


def test_erase_of_the_whole_line_leaves_the_cursor_where_it_is() -> None:
    assert clean(b"abc\x1b[2Kd\n") == "   d"
    assert clean(b"abc\r\x1b[2Kd\n") == "d"


@pytest.mark.parametrize(
    "sequence",
    [
        b"\x1b[31m",
        b"\x1b[38;2;1;2;3m",
        b"\x1b[?25l",
        b"\x1b[2J",
        b"\x1b[5 q",
        b"\x1b[3K",
        b"\x1b[?1K",
        b"\x1b]0;title\x07",
        b"\x1b]8;;http://host/\x1b\\",
        "\x1b]0;Ünïcode\r\b\x07".encode(),
        b"\x1bPq#0;2\x07;0\x1b\\",
        b"\x1bXstart of string\x1b\\",
        b"\x1b^privacy message\x1b\\",
        b"\x1b_application\x1b\\",
        b"\x1b(B",
        b"\x1b$(C",
        b"\x1b#8",
        b"\x1b=",
        b"\x1b>",
        b"\x1b7",
        b"\x1bM",
    ],
)
def test_a_sequence_that_erases_nothing_vanishes(sequence: bytes) -> None:
    assert clean(b"A" + sequence + b"B\n") == "AB"
    assert clean(b"A\rC" + sequence + b"B\n") == "CB"


@pytest.mark.parametrize("start", [b"\x1b", b"\x1b[31", b"\x1b(", b"\x1b]0;title", b"\x1bPq#0", b"\x1b]0;title\x1b"])
def test_an_unterminated_sequence_ends_at_its_line(start: bytes) -> None:
    assert clean(b"A" + start + b"\nB\n") == "A\nB"
    assert clean(b"A" + start + b"\r\nB\n") == "A\nB"


@pytest.mark.parametrize("start", [b"\x1b", b"\x1b[31", b"\x1b(", b"\x1b]0;title", b"\x1bPq#0"])
@pytest.mark.parametrize("abort", [b"\x18", b"\x1a"])
def test_can_and_sub_abort_a_sequence(start: bytes, abort: bytes) -> None:
    assert clean(b"A" + start + abort + b"mB\n") == "AmB"


def test_an_escape_character_starts_a_new_sequence_inside_another() -> None:
    assert clean(b"A\x1b[3\x1b[31mB\x1b]0;t\x1b[1mC\x1b\x1b[0mD\n") == "ABCD"


def test_a_control_character_inside_a_sequence_acts_at_once() -> None:
    assert clean(b"abc\x1b[3\r1mX\n\x1b[\t0mY\n") == "Xbc\n\tY"


def test_a_character_that_no_sequence_can_hold_is_shown() -> None:
    assert clean("A\x1béB\x1b[3éC\x1b(éD\n".encode()) == "AéBéCéD"


def test_other_control_characters_are_dropped() -> None:
    dropped = bytes([*range(8), 11, 12, *range(14, 27), *range(28, 32), 127])
    assert clean(b"a" + dropped + b"b\tc\n") == "ab\tc"
    assert clean("a\x80\x85\x9b31m\x9fb\xa0c\n".encode()) == "a31mb\xa0c"


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert clean(b"a\xffb\xe2\x82c\xc0\xaf\n") == "a�b�c��"
    assert clean(b"cut off \xe2\x82") == "cut off �"


def test_a_character_split_over_chunks_is_whole() -> None:
    assert clean_in_chunks("a€😀b".encode(), [2, 1, 2, 1, 1]) == "a€😀b"


def test_a_sequence_split_over_chunks_is_one() -> None:
    assert clean_in_chunks(b"X\x1b[31mY\x1b]0;t\x1b\\Z\r\n", [2, 1, 1, 1, 4, 3, 2, 1]) == "XYZ"
    assert clean_in_chunks(b"X\x1b]0;t\x07Y\x1bP\x07q\x1b\\Z\n", [4, 5, 4]) == "XYZ"


def test_a_redraw_split_over_chunks_overwrites() -> None:
    assert clean_in_chunks(b"loading\rdone\r\nab\bc\n", [8, 5, 4]) == "doneing\nac"


def test_a_carriage_return_reaches_back_to_the_start_of_a_row_of_a_very_long_line() -> None:
    row = "x" * LINE_MAX_CHARACTERS
    assert clean(f"{row}yy\rz\n".encode()) == f"{row}zy"
    assert clean(f"{row}\rz\n".encode()) == f"z{row[1:]}"


def test_trailing_blank_lines_are_dropped_and_trailing_blanks_of_the_last_line_stay() -> None:
    assert clean(b"x \t\n\n \t \n\n ") == "x \t"
    assert clean(b" \n\t\n") == ""
    assert clean(b"\n\n x") == "\n\n x"


def test_trailing_blanks_of_a_very_long_last_line_stay() -> None:
    row = b"x" * LINE_MAX_CHARACTERS
    assert clean_in_chunks(row + b"  \n \n", [len(row) + 1]) == row.decode() + "  "


@given(OUTPUTS)
@settings(max_examples=400, deadline=None)
@example(b"abc\x1b[2Kd\b\x1b[K\ne")
def test_cleaning_shows_what_a_terminal_shows(raw: bytes) -> None:
    assert clean(raw) == Terminal(LINE_MAX_CHARACTERS).show(raw)


@given(OUTPUTS, st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_a_row_of_any_length_shows_what_a_terminal_of_that_width_shows(raw: bytes, width: int) -> None:
    with mock.patch.object(output, "LINE_MAX_CHARACTERS", width):
        assert clean(raw) == Terminal(width).show(raw)


@given(OUTPUTS, st.lists(st.integers(0, 12)))
@settings(max_examples=400, deadline=None)
def test_any_split_into_chunks_gives_the_same_text(raw: bytes, sizes: list[int]) -> None:
    assert clean_in_chunks(raw, sizes) == (clean(raw) or "(no output)")


# What is left of many lines


def test_output_that_fits_with_its_trailers_is_whole() -> None:
    result = shaped(b"a" * 1011 + b"\n", trailers=("exit_code: 7",))

    assert (result.text, result.cuts, result.whole) == ("a" * 1011 + "\nexit_code: 7", [], True)


def test_one_byte_more_than_fits_is_cut() -> None:
    result = shaped(b"a" * 1012, trailers=("exit_code: 7",))

    assert not result.whole
    assert len(result.cuts) == 2
    assert result.text.endswith("a\nexit_code: 7")


def test_dropped_blank_lines_take_no_room() -> None:
    assert shaped(b"a" * 1024 + b"\n" * 9000).text == "a" * 1024


def test_no_output_is_said() -> None:
    assert shaped(b"").text == "(no output)"
    assert shaped(b" \n\x1b[0m\n", trailers=("exit_code: 1",)).text == "(no output)\nexit_code: 1"


def test_raw_bytes_counts_what_was_fed() -> None:
    shaper = OutputShaper(1024)
    shaper.feed(b"\x1b[31mred")
    shaper.feed(b"\r\n")

    assert shaper.raw_bytes == 10


def test_the_head_is_2048_bytes_and_the_tail_is_what_fits() -> None:
    result = shaped(b"x" * 100_000, 8192, ("exit_code: 3",), "runs/r1/c7.log")
    head, notice, tail = parts(result)

    assert head == "x" * HEAD_BYTES
    assert tail.endswith("x\nexit_code: 3")
    left_out = 100_000 - HEAD_BYTES - len(tail.removesuffix("\nexit_code: 3"))
    assert notice == f"[… {left_out} bytes left out; whole output: runs/r1/c7.log …]"
    assert len(result.text.encode()) in (8191, 8192)


def test_under_a_small_cap_the_head_is_a_quarter_of_it() -> None:
    assert parts(shaped(b"x" * 100_000))[0] == "x" * 256


def test_cuts_fall_at_line_ends_where_one_is_near() -> None:
    head, _, tail = parts(shaped(b"".join(b"%06d\n" % number for number in range(9000)), 8192))

    assert head.split("\n") == [f"{number:06}" for number in range(292)]
    assert tail.split("\n") == [f"{number:06}" for number in range(9000 - len(tail.split("\n")), 9000)]


@pytest.mark.parametrize("cap_bytes", [8190, 8191, 8192])
def test_no_line_that_fits_is_left_out(cap_bytes: int) -> None:
    result = shaped(b"ab\n" * 20_000, cap_bytes)

    assert cap_bytes // 4 - 3 < result.cuts[0] <= cap_bytes // 4
    assert cap_bytes - 3 < len(result.text.encode()) <= cap_bytes


def test_blank_lines_at_a_cut_are_left_out() -> None:
    head, _, tail = parts(shaped(b"x" * 200 + b"\n" * 90 + b"y" * 5000 + b"\n" * 300 + b"z" * 500))

    assert (head, tail) == ("x" * 200, "z" * 500)


def test_the_notice_replaces_just_the_bytes_it_counts() -> None:
    raw = b"".join(b"line %d\n" % number for number in range(9000)).rstrip()
    head, notice, tail = parts(shaped(raw, 8192))

    assert raw.decode() == head + "\n" + raw.decode()[len(head) + 1 :][: left_out_bytes(notice)] + tail


def test_a_cut_does_not_part_a_letter_from_its_accent() -> None:
    head, _, tail = parts(shaped("e\u0301".encode() * 5000))

    assert head.startswith("e\u0301e")
    assert head.endswith("e\u0301")
    assert tail.startswith("e\u0301e")


def test_a_text_of_marks_alone_is_cut_all_the_same() -> None:
    head, _, tail = parts(shaped("\u0301".encode() * 5000))

    assert len(head.encode()) > 200
    assert len(tail.encode()) > 500


def test_a_long_trailer_is_clipped_and_the_others_stay() -> None:
    pids = "[900 processes still running: pid " + ", ".join(["4711"] * 900) + "]"
    result = shaped(b"done\n" * 5000, 1024, ("timed out after 1 s", pids, "exit_code: 124"))

    assert len(result.text.encode()) <= 1024
    assert result.text.startswith("done\n")
    assert "\ntimed out after 1 s\n[900 processes still running: pid 4711, " in result.text
    assert result.text.endswith("…\nexit_code: 124")


def test_a_long_trailer_takes_the_room_that_a_short_output_leaves() -> None:
    result = shaped(b"done\n", 1024, ("p" * 2000,))

    assert result.text == "done\n" + "p" * (1024 - len("done\n…".encode())) + "…"
    assert result.whole


def test_a_log_place_longer_than_the_cap_is_clipped() -> None:
    assert len(shaped(b"x" * 5000, 1024, ("exit_code: 3",), "d/" * 2000).text.encode()) <= 1024


def test_a_cap_above_what_is_kept_is_refused() -> None:
    with pytest.raises(ValueError, match="2000"):
        OutputShaper(1024).finish(2000, [], "out.log")


@given(LONG_OUTPUTS, st.integers(1024, 9000), TRAILERS)
@settings(max_examples=100, deadline=None)
def test_a_result_never_passes_its_cap(raw: bytes, cap_bytes: int, trailers: list[str]) -> None:
    assert len(shaped(raw, cap_bytes, tuple(trailers)).text.encode()) <= cap_bytes


@given(LONG_OUTPUTS, st.integers(1024, 9000))
@settings(max_examples=100, deadline=None)
def test_an_output_is_whole_or_cut_as_it_fits(raw: bytes, cap_bytes: int) -> None:
    result = shaped(raw, cap_bytes)

    assert result.whole == (len(clean(raw).encode()) <= cap_bytes)
    assert result.whole == (result.cuts == [])


@given(st.lists(LONG_OUTPUTS, max_size=3), st.integers(1024, 9000))
@settings(max_examples=100, deadline=None)
@example([b"\n" * 70_000 + b"x", b"\n \n" * 40_000, b"y"], 1024)
def test_head_and_tail_are_the_ends_of_the_text_and_the_count_is_exact(chunks: list[bytes], cap_bytes: int) -> None:
    raw = b"".join([*chunks, b"to be cut" * 2000])
    whole = clean(raw)
    shaper = OutputShaper(9000)
    for chunk in [*chunks, b"to be cut" * 2000]:
        shaper.feed(chunk)
    head, notice, tail = parts(shaper.finish(cap_bytes, [], "out.log"))

    assert whole.startswith(head)
    assert whole.endswith(tail)
    shown = head + "\n" * whole.startswith("\n", len(head)) + tail
    assert left_out_bytes(notice) == len(whole.encode()) - len(shown.encode())


# What it costs


@pytest.mark.parametrize(
    "unit", [b"x", b"\n", b" ", b"\xe2\x82\xac", b"a line\n", b"\r", b"a\b", b"x\x1b[2K"], ids=repr
)
def test_memory_is_flat_whatever_is_printed(unit: bytes) -> None:
    chunk = unit * (MEBIBYTE // 8 // len(unit))
    shaper = OutputShaper(8192)
    shaper.feed(chunk)
    tracemalloc.start()

    shaper.feed(chunk)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < MEBIBYTE // 8
    assert peak < 2 * MEBIBYTE


@pytest.mark.parametrize("start", [b"\x1b[", b"\x1b(", b"\x1b]0;", b"\x1bP"], ids=repr)
def test_a_sequence_without_end_is_not_held(start: bytes) -> None:
    shaper = OutputShaper(8192)
    shaper.feed(start)
    tracemalloc.start()

    shaper.feed(b"0" * (MEBIBYTE // 4))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert held < MEBIBYTE // 8


@pytest.mark.parametrize("unit", [b"x", b"\n"], ids=repr)
def test_200_megabytes_leave_nothing_behind(unit: bytes) -> None:
    chunk = unit * MEBIBYTE
    shaper = OutputShaper(8192)
    tracemalloc.start()

    for _ in range(200):
        shaper.feed(chunk)
    shaper.feed(b"end")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < MEBIBYTE
    notice = parts(shaper.finish(8192, [], "out.log"))[1]
    assert left_out_bytes(notice) > 200 * MEBIBYTE - 8192


def test_plain_output_costs_no_import_of_regular_expressions() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(HELPERS)!r}); from guilds_wire.output import OutputShaper\n"
        "shaper = OutputShaper(1024); shaper.feed('plain €\\n'.encode() * 9000); shaper.finish(1024, [], 'log')\n"
        "print({'re', 'enum', 'typing'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, timeout=60, check=True)

    assert done.stdout == b"set()\n"


class Terminal:
    """A terminal of one line, by the book and a character at a time: the parser's states are spelled out as tables."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.state = "ground"
        self.sequence = ""
        self.cells: dict[int, str] = {}
        self.cursor = 0
        self.shown = ""

    def show(self, raw: bytes) -> str:
        for character in raw.decode(errors="replace"):
            self.take(character)
        self.shown += self.line()
        lines = self.shown.split("\n")
        while lines and not lines[-1].strip(" \t"):
            lines.pop()
        return "\n".join(lines)

    def line(self) -> str:
        return "".join(self.cells[column] for column in sorted(self.cells))

    def new_row(self) -> None:
        self.shown += self.line()
        self.cells = {}
        self.cursor = 0

    def take(self, character: str) -> None:
        code = ord(character)
        if character == "\n":
            self.state = "ground"
            self.new_row()
            self.shown += "\n"
        elif character in "\x18\x1a":
            self.state = "ground"
        elif character == "\x1b":
            self.state = "escape"
        elif self.state in ("osc", "string"):
            if self.state == "osc" and character == "\a":
                self.state = "ground"
        elif code < 0x20 or 0x7F <= code < 0xA0:
            self.execute(character)
        elif self.state == "ground" or code >= 0xA0:
            self.state = "ground"
            self.put(character)
        else:
            self.follow(character)

    def execute(self, character: str) -> None:
        if character == "\r":
            self.cursor = 0
        elif character == "\b" and self.cursor:
            self.cursor -= 1
        elif character == "\t":
            self.put("\t")

    def put(self, character: str) -> None:
        if self.cursor == self.width:
            self.new_row()
        self.cells = dict.fromkeys(range(self.cursor), " ") | self.cells | {self.cursor: character}
        self.cursor += 1

    def follow(self, character: str) -> None:
        if self.state == "escape":
            self.sequence = ""
            self.state = {"[": "csi", "]": "osc", "P": "string", "X": "string", "^": "string", "_": "string"}.get(
                character, "intermediate" if character < "0" else "ground"
            )
        elif self.state == "intermediate":
            self.state = "intermediate" if character < "0" else "ground"
        elif character < "@":
            self.sequence += character
        else:
            self.state = "ground"
            if character == "K":
                self.erase(self.sequence)

    def erase(self, part: str) -> None:
        erased = {
            "": range(self.cursor, self.width),
            "0": range(self.cursor, self.width),
            "2": range(self.width),
        }.get(part, ())
        self.cells = {column: cell for column, cell in self.cells.items() if column not in erased}
        if part == "1":
            self.cells |= {column: " " for column in self.cells if column <= self.cursor}
