"""Cleaning and shaping of what a command printed: the text a terminal would show, cut to fit a result.

The output passes through once, in any chunks and of any size, and memory stays flat: each line is drawn as a
terminal draws it, and of the drawn text only the beginning and the end are kept. This module reads no pipe,
keeps no log and knows no exit codes; its caller feeds it the raw bytes and says which trailers follow.
"""

from __future__ import annotations

import codecs
import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEAD_BYTES = 2048  # of an output that is cut, the share of its beginning
LINE_MAX_CHARACTERS = 16_384  # a longer line is drawn in rows, as at a terminal's width; one takes 64 KiB
NO_OUTPUT = "(no output)"

_CHARACTER_MAX_BYTES = 4  # RFC 3629, section 3
_FIRST_MARK_LEAD_BYTE = 0xCC  # U+0300, the first combining mark, is CC 80 in UTF-8
_MARKS_MAX = 8  # combining marks that a cut steps over to find their base
_STEP_BYTES = 65_536  # a longer chunk is taken in pieces that stay in the processor's cache: twice as fast
# Control characters that do nothing wherever they stand: all but BEL, BS, HT, LF, CR, CAN, SUB and ESC.
_INERT_BYTES = bytes(range(0x07)) + b"\x0b\x0c" + bytes(range(0x0E, 0x18)) + b"\x19\x1c\x1d\x1e\x1f\x7f"
_REDRAWING_BYTES = b"\t\n\r" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_PLAIN_BYTES = b"\t\n" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))


class Shaped:
    """An output made ready for a result.

    `text` is the output and its trailers. `cuts` holds, where a part was left out, two character offsets in
    `text`: the end of what stands before the notice and the start of what stands after it. `whole` tells that
    nothing was left out.
    """

    __slots__ = ("cuts", "text", "whole")

    def __init__(self, text: str, cuts: list[int], whole: bool) -> None:
        self.text = text
        self.cuts = cuts
        self.whole = whole


class OutputShaper:
    """Takes an output as it comes and shapes it once it has ended.

    `keep_bytes` is the largest cap that `finish` will be asked for; a small multiple of it is held in memory.
    `raw_bytes` counts what was fed.
    """

    __slots__ = ("_blank", "_cleaner", "_keep_bytes", "_shown", "raw_bytes")

    def __init__(self, keep_bytes: int) -> None:
        self.raw_bytes = 0
        self._keep_bytes = keep_bytes
        self._cleaner = _Cleaner()
        self._shown = _Ends(keep_bytes)
        self._blank = _Ends(keep_bytes)  # blank lines, which count only when something follows

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; where they are split makes no difference."""
        self.raw_bytes += len(chunk)
        for start in range(0, len(chunk), _STEP_BYTES):
            self._add(self._cleaner.feed(chunk[start : start + _STEP_BYTES]))

    def finish(self, cap_bytes: int, trailers: Sequence[str], log: str) -> Shaped:
        """End the output and give it with each of the (few) `trailers` on a line of its own.

        The text has at most `cap_bytes` bytes in UTF-8 (1,024 or more; ValueError if over `keep_bytes`). Where
        it does not fit whole, a notice with the number of cleaned bytes left out and `log`, the place of the
        whole output, stands between its beginning and its end.
        """
        if cap_bytes > self._keep_bytes:
            raise ValueError(f"cap_bytes is {cap_bytes}, above the {self._keep_bytes} bytes that are kept")
        self._add(self._cleaner.finish())
        shown = self._shown
        ending = _ending(trailers, max(cap_bytes // 2, cap_bytes - (shown.total or len(NO_OUTPUT))))
        room = cap_bytes - len(ending.encode())
        if not shown.total:
            return Shaped(NO_OUTPUT + ending, [], True)
        if shown.total <= room:
            return Shaped(shown.tail.decode() + ending, [], True)
        return _cut(shown, min(HEAD_BYTES, cap_bytes // 4), room, ending, log)

    def _add(self, cleaned: bytes) -> None:
        end = _last_line_end(cleaned)
        if end:
            self._shown.extend(self._blank)
            self._blank = _Ends(self._keep_bytes)
        elif self._shown.total and not self._blank.total:  # still on a line that has shown something
            end = _line_end(cleaned, 0)
        self._shown.append(cleaned[:end])
        self._blank.append(cleaned[end:])


def clean(raw: bytes) -> str:
    """The text that a terminal would show of a whole small output, without its trailing blank lines."""
    cleaner = _Cleaner()
    cleaned = cleaner.feed(raw) + cleaner.finish()
    return cleaned[: _last_line_end(cleaned)].decode()


def _last_line_end(cleaned: bytes) -> int:
    """Where the last line ends that is more than spaces and tabs; 0 if there is none."""
    shown = len(cleaned.rstrip())
    return _line_end(cleaned, shown) if shown else 0


def _line_end(cleaned: bytes, start: int) -> int:
    end = cleaned.find(b"\n", start)
    return len(cleaned) if end < 0 else end


class _Ends:
    """The first and the last bytes of a stream, and its length: `tail` is all of it up to `keep_bytes`."""

    __slots__ = ("_keep_bytes", "head", "tail", "total")

    _HEAD_BYTES = HEAD_BYTES + _CHARACTER_MAX_BYTES  # with the character after the cut

    def __init__(self, keep_bytes: int) -> None:
        self._keep_bytes = keep_bytes
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def append(self, data: bytes) -> None:
        self._join(data, data, len(data))

    def extend(self, following: _Ends) -> None:
        self._join(following.head, following.tail, following.total)

    def _join(self, first: bytes | bytearray, last: bytes | bytearray, total: int) -> None:
        self.total += total
        self.head += first[: self._HEAD_BYTES - len(self.head)]
        self.tail += last[-self._keep_bytes :]
        if len(self.tail) > 2 * self._keep_bytes:
            del self.tail[: -self._keep_bytes]


def _cut(output: _Ends, head_bytes: int, room: int, ending: str, log: str) -> Shaped:
    """The output's first `head_bytes` or so, a notice, and as much of its end as `room` bytes allow."""
    log = _clip(log, room - len(_notice(output.total, "").encode()) - 2)
    room -= len(_notice(output.total, log).encode()) + 2  # the line ends before and after the notice
    head_bytes = min(head_bytes, room // 2)
    near = head_bytes // 8
    head = _head(bytes(output.head), head_bytes, near)
    tail = _tail(bytes(output.tail), room - len(head), near)
    line_end = output.head.startswith(b"\n", len(head))  # this one stands before the notice
    notice = _notice(output.total - len(head) - line_end - len(tail), log)
    before = head.decode()
    text = f"{before}\n{notice}\n{tail.decode()}{ending}"
    return Shaped(text, [len(before), len(before) + len(notice) + 2], False)


def _notice(left_out_bytes: int, log: str) -> str:
    return f"[… {left_out_bytes} bytes left out; whole output: {log} …]"


def _head(data: bytes, limit: int, near: int) -> bytes:
    """The first `limit` bytes, or what ends with a line up to `near` bytes before that."""
    line_end = data.rfind(b"\n", limit - near, limit + 1)
    return data[: line_end if line_end >= 0 else _boundary(data, limit, -1)].rstrip(b"\n")


def _tail(data: bytes, limit: int, near: int) -> bytes:
    """The last `limit` bytes, or what starts with a line up to `near` bytes after that."""
    start = len(data) - limit
    line_end = data.find(b"\n", start - 1, start + near)
    return data[line_end + 1 if line_end >= 0 else _boundary(data, start, 1) :].lstrip(b"\n")


def _boundary(data: bytes, at: int, step: int) -> int:
    """The next place in the direction of `step` that parts neither a character nor a base from its marks."""
    at = _character_start(data, at, step)
    for _ in range(_MARKS_MAX):
        if not _is_mark(data, at):
            break
        at = _character_start(data, at + step, step)
    return at


def _character_start(data: bytes, at: int, step: int) -> int:
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return at


def _is_mark(data: bytes, at: int) -> bool:
    if not 0 < at < len(data) or data[at] < _FIRST_MARK_LEAD_BYTE:
        return False
    from unicodedata import category

    return category(data[at : at + _CHARACTER_MAX_BYTES].decode(errors="ignore")[0]).startswith("M")


def _ending(trailers: Sequence[str], limit: int) -> str:
    """The trailers' lines; while they exceed `limit` bytes the longest is clipped, never below its share."""
    lines = [f"\n{trailer}" for trailer in trailers]
    for _ in trailers:
        sizes = [len(line.encode()) for line in lines]
        over = sum(sizes) - limit
        if over > 0:
            longest = sizes.index(max(sizes))
            lines[longest] = _clip(lines[longest], max(sizes[longest] - over, limit // len(lines)))
    return "".join(lines)


def _clip(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - len("…".encode())].decode(errors="ignore") + "…"


class _Cleaner:
    """Turns raw bytes into the UTF-8 of what a terminal shows; a line is given out once it can't change."""

    __slots__ = ("_line", "_partial", "_terminal")

    def __init__(self) -> None:
        self._partial = b""  # the beginning of a character whose other bytes are still to come
        self._line = _Line()
        self._terminal: _Terminal | None = None

    def feed(self, chunk: bytes) -> bytes:
        return self._draw(self._decode(chunk, False))

    def finish(self) -> bytes:
        return self._draw(self._decode(b"", True)) + self._line.take().encode()

    def _decode(self, chunk: bytes, final: bool) -> bytes:
        """The whole characters so far, as valid UTF-8."""
        if self._partial:
            chunk = self._partial + chunk
            self._partial = b""
        if chunk.isascii():
            return chunk
        try:
            used = codecs.utf_8_decode(chunk, "strict", final)[1]
            valid = chunk[:used]
        except UnicodeDecodeError:
            text, used = codecs.utf_8_decode(chunk, "replace", final)
            valid = text.encode()
        self._partial = chunk[used:]
        return valid

    def _draw(self, data: bytes) -> bytes:
        """Take the cheapest way that is exact: most output has no control character, most other only colours."""
        at_line_end = not self._line.redrawn and (self._terminal is None or self._terminal.is_idle())
        if at_line_end and b"\xc2" not in data and not _has_controls(data):  # after C2 may come a C1 control
            return self._append(data)
        if self._terminal is None:
            self._terminal = _Terminal(self._line)
        terminal = self._terminal
        data = terminal.without_inert(data)
        start = 0 if at_line_end and self._line.is_empty() else data.find(b"\n") + 1
        stop = data.rfind(b"\n") + 1
        if start < stop:
            lines = terminal.without_neutral(data[start:stop])
            if not _has_controls(lines):
                return terminal.type(data[:start]) + lines + terminal.type(data[stop:])
        return terminal.type(data)

    def _append(self, data: bytes) -> bytes:
        stop = data.rfind(b"\n") + 1
        done = self._line.take().encode() + data[:stop] if stop else b""
        return done + self._line.write(data[stop:].decode()).encode()


def _has_controls(data: bytes) -> bool:
    """Whether there is a C0 control character other than tab and line feed, or DEL."""
    return bool(data.translate(None, _PLAIN_BYTES))


class _Line:
    """The line that is being drawn. A NUL, which is never printed, stands for an erased cell."""

    __slots__ = ("_cells", "redrawn")

    def __init__(self) -> None:
        self._cells = io.StringIO()  # writes over what stands at its position, and fills a gap with NUL
        self.redrawn = False  # the cursor may stand elsewhere than at the end

    def is_empty(self) -> bool:
        return not self._cells.tell()

    def take(self) -> str:
        """What the line shows; the next one begins empty."""
        shown = self._cells.getvalue().replace("\0", " ")
        self._cells = io.StringIO()
        self.redrawn = False
        return shown

    def write(self, text: str) -> str:
        """Put `text` at the cursor; gives the full rows that this leaves behind."""
        rows = []
        at = 0
        while at < len(text):
            if self._cells.tell() == LINE_MAX_CHARACTERS:
                rows.append(self.take())
            piece = text[at : at + LINE_MAX_CHARACTERS - self._cells.tell()]
            self._cells.write(piece)
            at += len(piece)
        return "".join(rows)

    def carriage_return(self) -> None:
        self._cells.seek(0)
        self.redrawn = True

    def backspace(self) -> None:
        self._cells.seek(max(self._cells.tell() - 1, 0))
        self.redrawn = True

    def erase(self, part: str) -> None:
        """Erase in line (EL, ECMA-48, 8.3.41); the cursor stays. Other parameters than these do nothing."""
        cursor = self._cells.tell()
        self.redrawn = True
        if part in ("", "0"):
            self._cells.truncate()
        elif part == "1":
            end = self._cells.seek(0, io.SEEK_END)
            self._cells.seek(0)
            self._cells.write("\0" * min(cursor + 1, end))
            self._cells.seek(cursor)
        elif part == "2":
            self._cells.truncate(0)


def _last_redraws(line: str) -> str:
    """A line without those of its redraws that later ones cover whole: a progress bar's may be millions."""
    first, *redraws = line.split("\r")
    if not redraws or max(map(len, redraws)) > LINE_MAX_CHARACTERS:
        return line
    seen: list[str] = []
    longest = -1
    for redraw in reversed(redraws):
        if len(redraw) > longest:
            seen.append(redraw)
            longest = len(redraw)
    return "\r".join([first, *reversed(seen)])


class _Terminal:
    """Draws text on a line and follows control sequences, over any number of pieces and without a buffer.

    States and transitions are those of the VT500 parser (vt100.net/emu/dec_ansi_parser): control characters
    inside a sequence act at once. Besides, a line feed ends every sequence, and so does a character that none
    can hold.
    """

    __slots__ = (
        "_bell_ends",
        "_c1",
        "_done",
        "_line",
        "_neutral",
        "_parameters",
        "_read",
        "_string_end",
        "_tokens",
    )

    def __init__(self, line: _Line) -> None:
        import re  # here, since most output needs none of it and it takes longer to import than all the rest

        self._c1 = re.compile(rb"\xc2[\x80-\x9f]")
        # CSI sequences but those that erase to the left, OSC sequences, and those that choose a character set.
        self._neutral = re.compile(
            rb"\x1b(?:\[(?![12]K)[ -?]*[@-~]|\][^\n\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~])"
        )
        # A run of text, a whole CSI sequence, a whole OSC sequence, any other character.
        self._tokens = re.compile(
            r"([^\x07\b\r\x18\x1a\x1b]+)|\x1b\[([ -?]*)([@-~])|\x1b\][^\n\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)|."
        )
        self._string_end = re.compile(r"[\n\x07\x18\x1a\x1b]")
        self._bell_ends = False
        self._line = line
        self._parameters = ""
        self._done: list[str] = []
        self._read: Callable[[_Terminal, str, int], int] = _Terminal._ground

    def is_idle(self) -> bool:
        """Whether no sequence is open."""
        return self._read is _Terminal._ground

    def without_inert(self, data: bytes) -> bytes:
        """Leave out the control characters that do nothing, in a sequence or outside."""
        return self._c1.sub(b"", data.translate(None, _INERT_BYTES))

    def without_neutral(self, lines: bytes) -> bytes:
        """Leave out what changes nothing in lines that hold no other control characters."""
        return self._neutral.sub(b"", lines.replace(b"\r\n", b"\n"))

    def type(self, data: bytes) -> bytes:
        """Draw UTF-8 without inert characters; give what is done: lines that have ended, rows that are full."""
        text = data.decode()
        if self.is_idle() and not data.translate(None, _REDRAWING_BYTES):
            text = "\n".join(map(_last_redraws, text.split("\n")))
        at = 0
        while at < len(text):
            at = self._read(self, text, at)
        done = "".join(self._done)
        self._done.clear()
        return done.encode()

    def _ground(self, text: str, at: int) -> int:
        for token in self._tokens.finditer(text, at):
            run, parameters, final = token.groups()
            if run:
                self._print(run)
            elif final == "K":
                self._line.erase(parameters)
            elif token[0] == "\x1b":
                self._read = _Terminal._escape
                return token.end()
            else:
                self._control(token[0])
        return len(text)

    def _print(self, run: str) -> None:
        first, line_end, rest = run.partition("\n")
        self._done.append(self._line.write(first))
        if line_end:
            lines, last_line_end, last = rest.rpartition("\n")
            self._done += (self._line.take(), line_end, lines, last_line_end, self._line.write(last))

    def _control(self, character: str) -> None:
        if character == "\r":
            self._line.carriage_return()
        elif character == "\b":
            self._line.backspace()
        elif character == "\t":
            self._print(character)

    def _escape(self, text: str, at: int) -> int:
        character = text[at]
        if character == "[":
            self._parameters = ""
            self._read = _Terminal._control_sequence
        elif character in "]PX^_":
            self._bell_ends = character == "]"
            self._read = _Terminal._string
        elif " " <= character <= "/":
            self._read = _Terminal._escape_intermediate
        elif "0" <= character <= "~":
            self._read = _Terminal._ground
        else:
            return self._foreign(text, at)
        return at + 1

    def _escape_intermediate(self, text: str, at: int) -> int:
        if not " " <= text[at] <= "~":
            return self._foreign(text, at)
        if text[at] >= "0":
            self._read = _Terminal._ground
        return at + 1

    def _control_sequence(self, text: str, at: int) -> int:
        character = text[at]
        if " " <= character <= "?":
            self._parameters = (self._parameters + character)[:2]  # one character decides, a second spoils it
            return at + 1
        if not "@" <= character <= "~":
            return self._foreign(text, at)
        if character == "K":
            self._line.erase(self._parameters)
        self._read = _Terminal._ground
        return at + 1

    def _string(self, text: str, at: int) -> int:
        """The payload of OSC, DCS, SOS, PM or APC. ST, which ends it, is an escape sequence of its own."""
        end = self._string_end.search(text, at)
        if not end:
            return len(text)
        if end[0] != "\x07":
            return self._foreign(text, end.start())
        if self._bell_ends:
            self._read = _Terminal._ground
        return end.end()

    def _foreign(self, text: str, at: int) -> int:
        """A character that is no part of the sequence it stands in."""
        character = text[at]
        if character == "\n" or character > "\x9f":
            self._read = _Terminal._ground
            return at
        if character == "\x1b":
            self._read = _Terminal._escape
        elif character in "\x18\x1a":
            self._read = _Terminal._ground
        else:
            self._control(character)
        return at + 1
