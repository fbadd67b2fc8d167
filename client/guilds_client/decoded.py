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
JSON_DEPTH_MAX = 4
"""How often JSON may stand in a string of JSON."""

_BASE64 = rb"[A-Za-z0-9+/_-]"
_LINE_LEAST_CHARACTERS = 48
"""Of a line of base64 that goes on in the next one: PEM has 64 (RFC 7468), MIME 76 (RFC 2045), others less."""
_LINE_TAILS = (rb"", rb"\r", rb" ", rb"\\", rb" \\", rb"\"", rb"'", rb"\",", rb"',")
"""What may stand between a line of base64 and its end: it can be quoted, or one of a list."""
_NEXT_LINE = rb"[ \t>|#*]*(?:[0-9]+\t)?[\"']?(?=[A-Za-z0-9+/_=-])"
"""What may stand before the next one: it can be quoted, commented or numbered."""


def _line_ends(end: bytes, *tails: bytes) -> re.Pattern[bytes]:
    """Where base64 goes on in the next line. The end comes first in the pattern, since bytes are found fast."""
    before = b"|".join(rb"(?<=%b{%d}%b%b)" % (_BASE64, _LINE_LEAST_CHARACTERS, tail, end) for tail in tails)
    return re.compile(rb"%b(?:%b)%b" % (end, before, _NEXT_LINE))


_BASE64_LINE_END = _line_ends(rb"\n", *_LINE_TAILS)
_BASE64_LINE_END_IN_JSON = _line_ends(rb"\\n", rb"", rb"\\r")
_NOT_OF_A_LINE = b"\r \"',\\"

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


class _Within:
    """A decoding of what another one gave."""

    def __init__(self, first: Decoding, second: Decoding) -> None:
        self._first = first
        self._second = second
        self.data: bytes = second.data

    def outer(self, start: int, end: int) -> tuple[int, int]:
        return self._first.outer(*self._second.outer(start, end))

    def inner(self, at: int) -> int:
        return self._second.inner(self._first.inner(at))


Decoding = Decoded | _Within


def decodings(text: bytes) -> Iterator[Decoding]:
    """The text with JSON's escapes undone, as often as it has some within others, with those of URLs undone, and with
    lines of base64 joined; the latter two also of what JSON's escapes hid."""
    yield from _plain(text)
    data = text
    whole: Decoding | None = None
    for _ in range(JSON_DEPTH_MAX):
        # A value with none but short escapes is found as it is spelled. To look for one byte is the fastest by far.
        if b"\\" not in data or not (b"\\u" in data or b"\\\\" in data):
            break
        decoded = Decoded(data, ((*match.span(), _character(match)) for match in _JSON_ESCAPE.finditer(data)))
        whole = decoded if whole is None else _Within(whole, decoded)
        data = decoded.data
        yield whole
        for plain in _plain(data):
            yield _Within(whole, plain)


def _plain(text: bytes) -> Iterator[Decoded]:
    if b"%" in text:
        yield Decoded(text, ((*match.span(), bytes([int(match[1], 16)])) for match in _URL_ESCAPE.finditer(text)))
    if _BASE64_LINE_END.search(text):
        yield Decoded(text, (_line_end(text, match) for match in _BASE64_LINE_END.finditer(text)))
    if b"\\" in text and _BASE64_LINE_END_IN_JSON.search(text):
        yield Decoded(text, (_line_end_in_json(text, match) for match in _BASE64_LINE_END_IN_JSON.finditer(text)))


def _character(match: re.Match[bytes]) -> bytes:
    high, low, unit, short = match.groups()
    if short:
        return _JSON_SHORT.get(short, short)
    if unit:
        return chr(int(unit, 16)).encode("utf-8", "replace")
    return bytes.fromhex((high + low).decode()).decode("utf-16-be").encode()


def _line_end(text: bytes, match: re.Match[bytes]) -> Part:
    start, end = match.span()
    while text[start - 1] in _NOT_OF_A_LINE:
        start -= 1
    return start, end, b""


def _line_end_in_json(text: bytes, match: re.Match[bytes]) -> Part:
    start, end = match.span()
    return start - 2 * text.endswith(rb"\r", 0, start), end, b""
