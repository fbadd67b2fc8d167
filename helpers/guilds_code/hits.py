"""Hits as a reader is shown them: one a line, clipped around the match, as many as fit into a result."""

from __future__ import annotations

import os
import time

from guilds_wire.envelope import Result
from guilds_wire.errors import VALUE_MAX_CHARACTERS, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.paths import Located

LINE_MAX_CHARACTERS = 300
BEFORE_MATCH_CHARACTERS = 100
SEARCH_SECONDS = 60
LEFT_OUT_MAX_BYTES = 40
"""What is kept free to tell in the totals of what is left out, once something is."""


class Listing:
    """Lines that are gathered up to a result's cap, and the places where something was cut out of them.

    `shown` is how many hits the lines show, `room` how many bytes may still come. `truncated`: something of what was
    found is left out; lines that are in the way of telling that are taken back.
    """

    __slots__ = ("_cap_bytes", "_cuts", "_ends_short", "_lines", "_offset", "room", "shown", "truncated")

    def __init__(self, cap_bytes: int) -> None:
        self.room = self._cap_bytes = cap_bytes
        self.shown = 0
        self.truncated = False
        self._lines: list[tuple[str, int]] = []
        self._cuts: list[int] = []
        self._offset = 0
        self._ends_short = False

    def keep_free(self, trailers: str) -> None:
        """Keep room for what will stand below the lines, but no more than half of it all."""
        self.room -= min(len(trailers.encode()), self._cap_bytes // 2)

    def add(self, head: str, text: str = "", cuts: list[int] | None = None, *, shows: int = 0) -> bool:
        """Add `head + text`, which shows so many hits, as a line unless it would not fit; `cuts` are offsets in
        `text`."""
        if line_bytes(head, text) > self.room:
            return False
        self._append(head, text, cuts or [], shows)
        return True

    def add_quoting(self, head: str, value: str, tail: str) -> None:
        """Add a line that quotes an argument, clipped when it is long; it has its room in what is kept free."""
        shown = quoted(value)
        at = shown.rindex("…") if len(value) > VALUE_MAX_CHARACTERS else 0
        self._append(head, shown + tail, [at, at + 1] if at else [], 0)

    def left_out_here(self, told: str) -> None:
        """Add a line that tells what is left out before what comes next; without room for it the list ends short."""
        self._make_room()
        end = self._end()
        if not self._ends_short and self.add(told):
            self._cuts += [end, self._offset]
        else:
            self._ends_short = True
            self.room = 0

    def left_out(self) -> None:
        """The list ends short; the first trailer tells what is left out."""
        self._make_room()
        self._ends_short = True

    def result(self, trailers: list[str], meta: dict[str, Any]) -> Result:
        """What was gathered, under it the trailers."""
        if self._ends_short:
            after = self._offset + len(trailers[0]) + (len(trailers) > 1)
            if self._cuts[-1:] == [self._offset]:  # the last line tells of a part already
                self._cuts[-1] = after
            else:
                self._cuts += [self._end(), after]
        return Result("\n".join([*(line for line, _ in self._lines), *trailers]), meta, self._cuts)

    def _append(self, head: str, text: str, cuts: list[int], shows: int) -> None:
        self.room -= line_bytes(head, text)
        self.shown += shows
        self._cuts += [self._offset + len(head) + cut for cut in cuts]
        self._lines.append((head + text, shows))
        self._offset += len(head) + len(text) + 1

    def _make_room(self) -> None:
        """Take lines back until it can be told what is left out."""
        if not self.truncated:
            self.truncated = True
            self.room -= LEFT_OUT_MAX_BYTES
        while self.room < 0 and self._lines:
            line, shows = self._lines.pop()
            self.room += line_bytes(line)
            self.shown -= shows
            self._offset -= len(line) + 1
            self._ends_short = True
            while self._cuts and self._cuts[-1] > self._offset:
                del self._cuts[-2:]

    def _end(self) -> int:
        """Where the last line ends."""
        return max(0, self._offset - 1)


class Names:
    """Paths below a searched folder as the reader is shown them: as he named the folder, from where he is."""

    __slots__ = ("_base", "_call", "real")

    def __init__(self, call: Call, located: Located, path: str) -> None:
        named = os.path.normpath(os.path.join(call.workspace.directory, os.fsencode(path)))
        self._call = call
        self.real = located.real
        try:
            same = os.path.samestat(os.stat(named), located.status)
        except OSError:
            same = False
        self._base = named if same else located.real  # `..` behind a link leads elsewhere than it reads

    def shown(self, below: bytes) -> str:
        """The path of a file, given from the searched folder."""
        return self._call.workspace.shown(os.path.join(self._base, below) if below else self._base)


def line_bytes(head: str, text: str = "") -> int:
    """How many bytes of a result a line takes."""
    return len(head.encode()) + len(text.encode()) + 1


def clipped(line: bytes, at: int) -> tuple[str, list[int]]:
    """A line as text, around the match that begins at this byte when it is too long; and the cuts in it."""
    text = line.decode("utf-8", "replace")
    if len(text) <= LINE_MAX_CHARACTERS:
        return text, []
    match = len(line[:at].decode("utf-8", "replace"))
    first = max(0, min(match - BEFORE_MATCH_CHARACTERS, len(text) - LINE_MAX_CHARACTERS))
    last = first + LINE_MAX_CHARACTERS
    before = f"[{first} characters …] " if first else ""
    after = f" [… {len(text) - last} characters]" if last < len(text) else ""
    shown = before + text[first:last]
    cuts = [0, len(before)] if before else []
    cuts += [len(shown), len(shown) + len(after)] if after else []
    return shown + after, cuts


def totals(matches: int, files: int) -> str:
    """`N matches in M files`."""
    return f"{counted(matches, 'match', 'matches')} in {counted(files, 'file')}"


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else several or one + 's'}"


class Watch:
    """The time that engines take: when they must stop, and the milliseconds so far."""

    __slots__ = ("_start", "deadline")

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.deadline = self._start + SEARCH_SECONDS

    def milliseconds(self) -> int:
        return int((time.monotonic() - self._start) * 1000)

    def notes(self, unreadable: int, timed_out: bool) -> list[str]:
        """What the reader has to know of a search that did not see everything."""
        told = [f"[{counted(unreadable, 'file')} could not be read]"] if unreadable else []
        return [*told, f"[stopped after {SEARCH_SECONDS} s; this is what was found so far]"] if timed_out else told
