"""Lines of a file as a reader is shown them, numbered and clipped, gathered from a stream in flat memory."""

from __future__ import annotations

import codecs

LINE_MAX_CHARACTERS = 400
_HELD_BYTES = LINE_MAX_CHARACTERS * 4
"""At most four bytes make a character of UTF-8 (RFC 3629)."""


class Line:
    """One line of the range, as much of it as may be shown, and how many characters it has beyond that."""

    __slots__ = ("_decoder", "_held", "_rest", "_returned")

    def __init__(self) -> None:
        self._held = b""
        self._rest = 0
        self._returned = False  # a last `\r` that is not held
        self._decoder: codecs.IncrementalDecoder | None = None

    def add(self, piece: bytes) -> None:
        """More of the line, without its line feed."""
        if self._decoder is None:
            self._held += piece
            if len(self._held) <= _HELD_BYTES:
                return
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
            piece, self._held = self._held, b""
            text = self._decoder.decode(piece)
            self._held = text[:LINE_MAX_CHARACTERS].encode()
            self._rest = len(text) - LINE_MAX_CHARACTERS
        else:
            text = self._decoder.decode(piece)
            self._rest += len(text)
        if text:
            self._returned = text.endswith("\r")

    def shown(self) -> tuple[str, bool]:
        """The text, without a carriage return at its end, and whether it is whole."""
        if self._decoder is None:
            text, rest = self._held.removesuffix(b"\r").decode("utf-8", "replace"), 0
        else:
            text = self._held.decode()
            broken = len(self._decoder.decode(b"", final=True))  # half a character stands behind a `\r`
            rest = self._rest + broken - (self._returned and not broken)
        rest += max(0, len(text) - LINE_MAX_CHARACTERS)
        if not rest:
            return text, True
        return f"{text[:LINE_MAX_CHARACTERS]} … [+{rest} characters]", False


class LineRange:
    """Gathers the lines `first` to `last` of a stream of UTF-8, and counts them all.

    `lines` holds those that are complete; a stream that does not end with a line feed ends its last line too.
    """

    __slots__ = ("_ends", "_line", "count", "first", "last", "lines")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.lines: list[Line] = []
        self.count = 0
        self._line = Line()
        self._ends = True  # the stream so far ends with a line feed, or is empty

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if not chunk:
            return
        ends = chunk.count(b"\n")
        if self.count + ends >= self.first - 1 and self.count < self.last:
            self._gather(chunk)
        self.count += ends
        self._ends = chunk.endswith(b"\n")

    def finish(self) -> None:
        """The stream has ended."""
        if not self._ends:
            self.count += 1
            if self.first <= self.count <= self.last:
                self.lines.append(self._line)

    def _gather(self, chunk: bytes) -> None:
        number, at = self.count + 1, 0
        while number < self.first:
            at = chunk.index(b"\n", at) + 1
            number += 1
        while number <= self.last:
            end = chunk.find(b"\n", at)
            self._line.add(chunk[at : end if end >= 0 else None])
            if end < 0:
                return
            self.lines.append(self._line)
            self._line = Line()
            at, number = end + 1, number + 1


def shown_line(line: bytes) -> tuple[str, bool]:
    """A line without its line feed as it is shown, and whether that is all of it."""
    whole = Line()
    whole.add(line)
    return whole.shown()


def numbered(number: int, text: str) -> str:
    """One line under its number."""
    return f"{number}\t{text}"


def count_lines(content: bytes) -> int:
    """How many lines a file has; one without a final newline counts its last line."""
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
