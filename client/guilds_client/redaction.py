"""Redactor: takes the values of a run's secrets out of what a model reads and of what is recorded.

It finds values that it was told, however they are spelled (see `spellings`); it does not guess what looks secret.

How it is fast: a value of 19 bytes or more, wherever it lies, covers a whole 4-byte word at one of every 16 bytes
of the text. Only those words are looked up, in one pass whatever the number of secrets; a word that is known has
its neighbourhood compared. Shorter values are looked for at every 8th, 4th or single byte. Values that begin alike
are in order, so that a text which resembles all of them costs a binary search at each byte.
"""

from __future__ import annotations

import itertools
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from guilds_client.decoded import decodings
from guilds_client.spellings import spellings
from guilds_client.stamp import well_formed

VALUE_LEAST_CHARACTERS = 4
PIECE_LEAST_BYTES = 6
"""A piece of a value that a cut has split is taken from this length."""

ESCAPE = "\x1b"
ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
"""A control sequence, a system command, or another escape sequence (ECMA-48)."""

WORD_BYTES = 4
WORDS_AT_ONCE = 128


class Match(NamedTuple):
    """A stretch of bytes that shows a secret, or a piece of one."""

    start: int
    end: int
    name: str


class Redactor:
    """The secrets of a run by name. Each of their values becomes `[redacted:NAME]`."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._names: dict[bytes, str] = {}
        self._tiers: list[_Tier] = []
        self._pieces = _Pieces([])
        self.add(secrets or {})

    def add(self, secrets: Mapping[str, str]) -> None:
        """Take in more. Raises ValueError for a value that is too short to be told from other text."""
        for name, value in secrets.items():
            self._take(name, value)
        by_stride: dict[int, list[bytes]] = {}
        for spelled in self._names:
            by_stride.setdefault(_stride(len(spelled)), []).append(spelled)
        self._tiers = [_Tier(stride, values, self._names) for stride, values in by_stride.items()]
        self._pieces = _Pieces(self._names.items())

    def redact(self, text: str, cuts: Iterable[int] = ()) -> str:
        """The text, well-formed, without the secrets. `cuts` are character offsets where something was left out.

        Markers are put in at once, so that none is searched again. Escape sequences stay, unless a secret shows once
        they are gone.
        """
        whole = well_formed(text)
        if len(whole) != len(text):
            cuts = [len(well_formed(text[:cut])) for cut in cuts]
        if not self._names:
            return whole
        cuts = sorted({min(max(cut, 0), len(whole)) for cut in cuts})
        shown = self._without_secrets(whole, cuts)
        if ESCAPE in whole:
            bare = self._without_secrets(*_without_escapes(whole, cuts))
            if bare != ESCAPE_SEQUENCE.sub("", shown):
                return bare
        return shown

    def redact_all(self, value: Any) -> Any:
        """A JSON value with every string in it redacted; an ellipsis in one may have split a secret."""
        if isinstance(value, str):
            return self.redact(value, ellipses(value))
        if isinstance(value, dict):
            return {self.redact_all(key): self.redact_all(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact_all(item) for item in value]
        return value

    def _without_secrets(self, text: str, cuts: Sequence[int]) -> str:
        data, offsets = text.encode(), _byte_offsets(text, cuts)
        matches = self._matches(data, offsets)
        for decoded in decodings(data):
            within = sorted({decoded.inner(offset) for offset in offsets})
            for start, end, name in self._matches(decoded.data, within):
                matches.append(Match(*decoded.outer(start, end), name))
        return _replaced(data, matches).decode() if matches else text

    def _matches(self, data: bytes, cuts: Sequence[int]) -> list[Match]:
        return [*(match for tier in self._tiers for match in tier.matches(data)), *self._pieces.matches(data, cuts)]

    def _take(self, name: str, value: str) -> None:
        if len(value) < VALUE_LEAST_CHARACTERS:
            raise ValueError(
                f"the secret {name} has {len(value)} characters; at least {VALUE_LEAST_CHARACTERS} are needed"
            )
        for spelled in spellings(well_formed(value)):
            self._names.setdefault(spelled, name)


def ellipses(text: str) -> list[int]:
    """The offsets around each ellipsis: where a message was clipped, for `redact`."""
    return [offset for at, character in enumerate(text) if character == "…" for offset in (at, at + 1)]


def _without_escapes(text: str, cuts: Sequence[int]) -> tuple[str, list[int]]:
    """The text without escape sequences, and where its cuts are then."""
    edges = [0, *cuts, len(text)]
    parts = [ESCAPE_SEQUENCE.sub("", text[start:end]) for start, end in itertools.pairwise(edges)]
    return "".join(parts), list(itertools.accumulate(map(len, parts[:-1])))


def _stride(length: int) -> int:
    """How far apart words may be looked up and one still lie whole within so many bytes wherever they begin."""
    return next(stride for stride in (16, 8, 4, 1) if length >= stride + WORD_BYTES - 1)


class _Tier:
    """The values that are found by looking up a word every `stride` bytes."""

    def __init__(self, stride: int, values: Sequence[bytes], names: Mapping[bytes, str]) -> None:
        self._stride = stride
        self._names = names
        self._shortest = stride + WORD_BYTES - 1
        by_prefix: dict[bytes, list[bytes]] = {}
        offsets: dict[int, set[int]] = {}
        for value in values:
            by_prefix.setdefault(value[: self._shortest], []).append(value)
            for offset in range(stride):
                word = int.from_bytes(value[offset : offset + WORD_BYTES], sys.byteorder)
                offsets.setdefault(word, set()).add(offset)
        self._by_prefix = {prefix: _Alike(alike) for prefix, alike in by_prefix.items()}
        self._offsets = {word: sorted(found) for word, found in offsets.items()}
        self._words = frozenset(offsets)
        self._longest = max(len(value) for value in values)

    def matches(self, data: bytes) -> Iterator[Match]:
        """Stretches that together cover every place where one of the values stands, also within another."""
        run = Match(0, 0, "")
        for shift in range(WORD_BYTES if self._stride < WORD_BYTES else 1):
            for at, word in self._known_words(data, shift):
                for offset in self._offsets[word]:
                    start = at - offset
                    if start < 0 or (run.start <= start and start + self._longest <= run.end):
                        continue
                    match = self._longest_at(data, start)
                    if match is None:
                        continue
                    if match.start < run.end and run.start < match.end:
                        match = _together(run, match)
                    elif run.end:
                        yield run
                    run = match
        if run.end:
            yield run

    def _known_words(self, data: bytes, shift: int) -> Iterator[tuple[int, int]]:
        whole = (len(data) - shift) // WORD_BYTES * WORD_BYTES
        if whole <= 0:
            return
        step = max(self._stride, WORD_BYTES)
        words = memoryview(data)[shift : shift + whole].cast("I")[:: step // WORD_BYTES]
        for first in range(0, len(words), WORDS_AT_ONCE):
            some = words[first : first + WORDS_AT_ONCE]
            if not self._words.isdisjoint(some):
                for index, word in enumerate(some, first):
                    if word in self._words:
                        yield shift + index * step, word

    def _longest_at(self, data: bytes, start: int) -> Match | None:
        alike = self._by_prefix.get(data[start : start + self._shortest])
        value = alike.longest_at(data, start) if alike else None
        return Match(start, start + len(value), self._names[value]) if value else None


class _Alike:
    """Values that begin alike, in order."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self._values = sorted(values)
        self._longest = max(map(len, values))
        self._nested: list[tuple[bytes, ...]] = []
        """Of each value: those that it begins with, the shortest first, and itself."""
        nested: list[bytes] = []
        for value in self._values:
            while nested and not value.startswith(nested[-1]):
                nested.pop()
            nested.append(value)
            self._nested.append(tuple(nested))

    def longest_at(self, data: bytes, start: int) -> bytes | None:
        """The longest of the values that stands there: the last in order up to what does, or one it begins with."""
        at = bisect_right(self._values, data[start : start + self._longest]) - 1
        if at < 0:
            return None
        nested = self._nested[at]
        fitting = bisect_left(nested, True, key=lambda value: not data.startswith(value, start))
        return nested[fitting - 1] if fitting else None


class _Pieces:
    """Finds what a cut has left of a value: its start before the cut, its end after it, its middle between two."""

    def __init__(self, named: Iterable[tuple[bytes, str]]) -> None:
        self._names = {value: name for value, name in named if len(value) > PIECE_LEAST_BYTES}
        self._longest = max(map(len, self._names), default=0)
        self._joined = b"\0".join(self._names)
        self._by_start: dict[bytes, list[bytes]] = {}
        self._by_end: dict[bytes, list[bytes]] = {}
        """Backwards, so that those that end alike are beside each other."""
        for value in sorted(self._names):
            self._by_start.setdefault(value[:PIECE_LEAST_BYTES], []).append(value)
        for value in sorted(value[::-1] for value in self._names):
            self._by_end.setdefault(value[:PIECE_LEAST_BYTES], []).append(value)

    def matches(self, data: bytes, cuts: Sequence[int]) -> Iterator[Match]:
        """The pieces that touch the cuts (byte offsets, ascending, each once)."""
        if not self._names:
            return
        edges = [0, *cuts, len(data)]
        for before, cut, after in zip(edges, edges[1:], edges[2:], strict=False):
            yield from self._start_before(data, before, cut)
            yield from self._end_after(data, cut, after)
        for first, last in itertools.pairwise(cuts):
            yield from self._middle(data, first, last)

    def _start_before(self, data: bytes, least: int, cut: int) -> Iterator[Match]:
        for start in range(max(least, cut - self._longest), cut - PIECE_LEAST_BYTES + 1):
            alike = self._by_start.get(data[start : start + PIECE_LEAST_BYTES])
            if alike and (value := _beginning(alike, data[start:cut])):
                yield Match(start, cut, self._names[value])
                return

    def _end_after(self, data: bytes, cut: int, most: int) -> Iterator[Match]:
        backwards = data[cut : min(most, cut + self._longest)][::-1]
        for skipped in range(len(backwards) - PIECE_LEAST_BYTES + 1):
            alike = self._by_end.get(backwards[skipped : skipped + PIECE_LEAST_BYTES])
            if alike and (value := _beginning(alike, backwards[skipped:])):
                yield Match(cut, cut + len(backwards) - skipped, self._names[value[::-1]])
                return

    def _middle(self, data: bytes, first: int, last: int) -> Iterator[Match]:
        piece = data[first:last]
        if PIECE_LEAST_BYTES <= len(piece) < self._longest and piece in self._joined:  # one search tells of most
            yield from (Match(first, last, name) for value, name in self._names.items() if piece in value)


def _beginning(ordered: list[bytes], piece: bytes) -> bytes | None:
    """One of the values, which are in order, that begins with the piece."""
    at = bisect_left(ordered, piece)
    return ordered[at] if at < len(ordered) and ordered[at].startswith(piece) else None


def _byte_offsets(text: str, cuts: Sequence[int]) -> list[int]:
    """Where these characters begin in the text's UTF-8, ascending, each once."""
    offsets: list[int] = []
    character = byte = 0
    for cut in cuts:
        byte += len(text[character:cut].encode())
        character = cut
        offsets.append(byte)
    return offsets


def _replaced(data: bytes, matches: list[Match]) -> bytes:
    """The data with each run of overlapping matches replaced by the marker of the longest."""
    parts: list[bytes] = []
    done = 0
    for start, end, name in _merged(matches):
        parts += (data[done:start], f"[redacted:{name}]".encode())
        done = end
    return b"".join([*parts, data[done:]])


def _merged(matches: list[Match]) -> Iterator[Match]:
    matches.sort()
    run = matches[0]
    for match in matches[1:]:
        if match.start < run.end:
            run = _together(run, match)
        else:
            yield run
            run = match
    yield run


def _together(one: Match, other: Match) -> Match:
    """Two that overlap as one, under the name of the longer."""
    name = one.name if one.end - one.start >= other.end - other.start else other.name
    return Match(min(one.start, other.start), max(one.end, other.end), name)
