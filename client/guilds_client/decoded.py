"""Decoded: a text with an encoding undone wherever it shows, and the way back to where each byte stood.

It is for searching alone: what merely looks like an encoding is undone too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

_JSON_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\"\\/bfnrt]))"
)
_JSON_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_URL_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
# Lines of base64 are 64 (PEM, RFC 7468) or 76 (MIME, RFC 2045) characters long; a listing may number them.
_BASE64_LINE_END = re.compile(
    rb"\n(?:(?<=[A-Za-z0-9+/_-]{64}\n)|(?<=[A-Za-z0-9+/_-]{64}\r\n)) *(?:[0-9]+\t)?(?=[A-Za-z0-9+/_=-])"
)

Part = tuple[int, int, bytes]
"""Where an encoded part begins and ends, and what it stands for."""


class Decoded:
    """`data` is the text decoded. The parts are given in order and do not overlap."""

    def __init__(self, text: bytes, parts: Iterable[Part]) -> None:
        self._outer_ends: list[int] = []
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._dropped = [0]
        pieces: list[bytes] = []
        done = dropped = 0
        for start, end, meant in parts:
            pieces += (text[done:start], meant)
            self._begins.append(start - dropped)
            self._ends.append(start - dropped + len(meant))
            dropped += end - start - len(meant)
            self._dropped.append(dropped)
            self._outer_ends.append(end)
            done = end
        self.data = b"".join([*pieces, text[done:]])

    def outer(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of `data` lies in the text."""
        return (
            start + self._dropped[bisect_right(self._ends, start)],
            end + self._dropped[bisect_left(self._begins, end)],
        )

    def inner(self, at: int) -> int:
        """Where an offset of the text lies in `data`."""
        before = bisect_right(self._outer_ends, at)
        least = at - self._dropped[before]
        return min(least, self._begins[before]) if before < len(self._begins) else least


def decodings(text: bytes) -> Iterator[Decoded]:
    """The text with JSON's escapes undone, with those of URLs undone, with lines of base64 joined, if it has any."""
    # A value with none but short escapes is found as it is spelled. To look for one byte is the fastest by far.
    if b"\\" in text and b"\\u" in text:
        yield Decoded(text, ((*match.span(), _character(match)) for match in _JSON_ESCAPE.finditer(text)))
    if b"%" in text:
        yield Decoded(text, ((*match.span(), bytes([int(match[1], 16)])) for match in _URL_ESCAPE.finditer(text)))
    if _BASE64_LINE_END.search(text):
        yield Decoded(text, (_line_end(text, match) for match in _BASE64_LINE_END.finditer(text)))


def _character(match: re.Match[bytes]) -> bytes:
    high, low, unit, short = match.groups()
    if short:
        return _JSON_SHORT.get(short, short)
    if unit:
        return chr(int(unit, 16)).encode("utf-8", "replace")
    return bytes.fromhex((high + low).decode()).decode("utf-16-be").encode()


def _line_end(text: bytes, match: re.Match[bytes]) -> Part:
    start, end = match.span()
    return start - text.endswith(b"\r", 0, start), end, b""
