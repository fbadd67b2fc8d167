"""code_search: the files or the lines that a pattern matches."""

from __future__ import annotations

import os
import time

from guilds_code.engines.ignore_rules import Globs
from guilds_code.engines.ripgrep import NONE, Hits, Query, Ripgrep
from guilds_code.hits import Listing, Names, Watch, clipped, counted, line_bytes, totals
from guilds_wire.errors import quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guilds_code.engines.graph.symbols import Group
    from guilds_code.engines.ripgrep import Line
    from guilds_wire.call import Call
    from guilds_wire.envelope import Result

FILES_MOST = 30
LINES_MOST = 40
MATCHES_OF_A_FILE_MOST = 10
GROUPS_MOST = 20
LINES_OF_A_GROUP_MOST = 5
MATCHES_MOST = 10**9
SHOW_SECONDS = 5
"""How long the lines to show may take to read, once all files were counted or the time for that was up."""

HINT_SECONDS = 10
"""How long a search without a match goes on looking for what would have matched."""

_HELD_FILES_MOST = 4_000
_SPECIAL = frozenset("\\.+*?()|[]{}^$")


def code_search(
    call: Call,
    pattern: str,
    path: str,
    mode: str,
    fixed: bool,
    ignore_case: bool,
    context: int,
    glob: str | None = None,
    limit: int | None = None,
) -> Result:
    """Search below `path`: `files` counts the matching lines of each file, `content` shows them, `symbols` groups
    them by the functions and classes that they stand in.

    Raises ToolError: `invalid_arguments` for a pattern or glob, those of Workspace.locate, `not_a_file`,
    `unavailable`, `engine_failed`.
    """
    query = Query(pattern, fixed=fixed, ignore_case=ignore_case)
    files_mode = mode == "files"
    most = min(limit or LINES_MOST, FILES_MOST if files_mode else LINES_MOST)
    with call.workspace.locate(path) as located:
        watch = Watch()
        engine = Ripgrep(located, call.places.home, watch.deadline, _globs(call, glob, located.real))
        names = Names(call, located, path)
        found = _Found(engine.counts(query), most, by_count=files_mode, with_binaries=files_mode)
        told = watch.notes(engine.unreadable, engine.timed_out)
        if found.files:
            told.insert(0, totals(found.matches, found.files))
        if found.binaries:
            several = counted(found.binaries, "binary file matches", "binary files match")
            told.append(f"[{several}; mode files lists them]")
        listing = Listing(call.cap_bytes)
        listing.keep_free("\n".join(told))
        left = ""
        if not found.files:
            listed, searched = _searched(engine)
            where = f" in {names.shown(b'')} ({counted(searched, 'file')} searched)"
            listing.add_quoting("no matches for ", pattern, where)
            told += _nearby(engine, pattern, fixed=fixed, ignore_case=ignore_case, with_binaries=files_mode)
            if glob and not listed:
                listing.add_quoting("no file there matches the glob ", glob, "")
        elif mode == "symbols":
            left = _show_symbols(listing, names, call, engine, query, found, min(limit or GROUPS_MOST, GROUPS_MOST))
        elif files_mode:
            left = _show_files(listing, names, found)
        else:
            engine.deadline = max(engine.deadline, time.monotonic() + SHOW_SECONDS)
            left = _Content(listing, names, most, context).show(engine, query, found)
    if left:
        told[0] += left
    meta = {
        "matches": found.matches,
        "files": found.files,
        "truncated": listing.truncated or engine.timed_out,
        "engine_ms": watch.milliseconds(),
    }
    return listing.result(told, meta)


class _Found:
    """The totals of a search and its first `most` files, highest count first or else by path.

    Without `with_binaries`, binary files with a match are counted in `binaries` alone.
    """

    __slots__ = ("binaries", "files", "first", "matches")

    def __init__(self, every: Iterable[Hits], most: int, *, by_count: bool, with_binaries: bool) -> None:
        order = _by_count if by_count else _by_path
        self.matches = self.files = self.binaries = 0
        self.first: list[Hits] = []
        for hits in every:
            if hits.part == NONE and not with_binaries:
                self.binaries += 1
                continue
            self.matches += hits.count
            self.files += 1
            self.first.append(hits)
            if len(self.first) == _HELD_FILES_MOST:
                self.first = sorted(self.first, key=order)[:most]
        self.first = sorted(self.first, key=order)[:most]


def _by_count(hits: Hits) -> tuple[int, bytes]:
    return -hits.count, hits.path


def _by_path(hits: Hits) -> bytes:
    return hits.path


def _show_files(listing: Listing, names: Names, found: _Found) -> str:
    """Add a line for each file; what to say of those left out."""
    for hits in found.first:
        count = "binary file matches" if hits.part == NONE else str(hits.count)
        if not listing.add(f"{names.shown(hits.path)}: {count}", shows=1):
            break
    if listing.shown == found.files:
        return ""
    listing.left_out()
    return f" ({counted(found.files - listing.shown, 'file')} left out)"


def _show_symbols(
    listing: Listing, names: Names, call: Call, engine: Ripgrep, query: Query, found: _Found, most: int
) -> str:
    """List the first `most` groups of the matches; how many there are, and what to say of those left out."""
    from guilds_code.engines.graph.choose import choose
    from guilds_code.engines.graph.graph import read_graph
    from guilds_code.engines.graph.symbols import grouped

    chosen = choose(call, os.fsdecode(names.real))
    start = os.fsencode(chosen.within)
    hits = {os.path.join(start, below) if below else start: numbers for below, numbers in engine.line_numbers(query)}
    named = [(os.fsdecode(path), numbers) for path, numbers in hits.items()]
    groups = read_graph(chosen.root, chosen.home, lambda graph: grouped(graph, named))
    first = groups[:most]
    below = {group.path: os.path.relpath(os.fsencode(group.path), start or b".") for group in first}
    below = {path: b"" if name == b"." else name for path, name in below.items()}
    texts = _texts(engine, query, first, below)
    told = f", in {counted(len(groups), 'place')}"
    listing.keep_free(told)
    for group in first:
        numbers = group.numbers[:LINES_OF_A_GROUP_MOST]
        lines = [(f"  {number}: ", *texts.get((group.path, number), ("", []))) for number in numbers]
        fits = listing.add(group.heading(names.shown(below[group.path])))
        for line in lines:
            fits = fits and listing.add(*line, shows=1)
        if not fits:
            break
        more = len(group.numbers) - len(numbers)
        if more:
            listing.left_out_here(f"  … {more} more in it")
    else:
        fits = True
    every = sum(len(group.numbers) for group in groups) if query.multiline else found.matches
    if not fits or len(groups) > most or (every > listing.shown and not listing.truncated):
        listing.left_out()
    left = every - listing.shown
    return f"{told} ({counted(left, 'match', 'matches')} left out)" if left > 0 else told


def _texts(
    engine: Ripgrep, query: Query, groups: list[Group], below: dict[str, bytes]
) -> dict[tuple[str, int], tuple[str, list[int]]]:
    """The lines that the groups show, by file and number, clipped around their match, with the cuts in them."""
    wanted = {(group.path, number) for group in groups for number in group.numbers[:LINES_OF_A_GROUP_MOST]}
    paths = {name: path for path, name in below.items()}
    texts: dict[tuple[str, int], tuple[str, list[int]]] = {}
    for line in engine.lines(query, [Hits(name, 0) for name in paths], MATCHES_MOST, 0):
        key = (paths[line.hits.path], line.number)
        if key in wanted and key not in texts:
            text = line.text.lstrip()
            texts[key] = clipped(text, max(0, line.at - (len(line.text) - len(text))))
    return texts


class _Content:
    """The lines of the first files as they are listed, file by file."""

    def __init__(self, listing: Listing, names: Names, most: int, context: int) -> None:
        self._listing = listing
        self._names = names
        self._room = most
        self._context = context
        self._files = 0
        self._begin(None)

    def show(self, engine: Ripgrep, query: Query, found: _Found) -> str:
        """Add the lines; what to say of the matches left out."""
        full = False
        for line in engine.whole_matches(query, found.first, MATCHES_OF_A_FILE_MOST, self._context):
            if line.hits is not self._hits:
                self._finish()
                self._begin(line.hits)
            full = not self._take(line)
            if full:
                break
        self._finish()
        unseen = found.matches > self._listing.shown and not self._listing.truncated
        if full or unseen or self._files < found.files:
            self._listing.left_out()
        left = found.matches - self._listing.shown
        if left:
            return f" ({counted(left, 'match', 'matches')} left out)"
        return " (the last lines left out)" if full else ""

    def _begin(self, hits: Hits | None) -> None:
        self._hits = hits
        self._files += hits is not None
        self._matches = 0  # in this file
        self._last = 0  # the number of the last line added
        self._until = 0  # the number of the last line that belongs to the last match
        self._within = False  # whether the last match that began was added
        self._ahead: list[Line] = []  # context of a match that has not come yet

    def _take(self, line: Line) -> bool:
        """List a line, or hold it until its match comes; False when there is no more room."""
        if line.context:
            if line.number <= self._until:
                return self._add(line)
            self._ahead.append(line)
            return True
        if line.begins:
            self._within = self._matches < MATCHES_OF_A_FILE_MOST
        if not self._within:
            self._until = 0
            return True
        while self._ahead and not self._fit([*self._ahead, line]):  # the match comes first
            del self._ahead[0]
        for held in self._ahead:
            self._add(held)
        self._ahead.clear()
        if not self._add(line):
            return False
        self._matches += line.begins
        self._until = line.number + self._context
        return True

    def _add(self, line: Line) -> bool:
        if not self._room:
            return False
        if self._context and self._last and line.number > self._last + 1 and not self._listing.add("--"):
            return False
        if not self._listing.add(*self._shown(line), shows=line.begins):
            return False
        self._room -= 1
        self._last = line.number
        return True

    def _fit(self, lines: list[Line]) -> bool:
        """Whether there is room for all of these, be they set apart."""
        size = sum(line_bytes(*self._shown(line)[:2]) for line in lines) + line_bytes("--")
        return len(lines) <= self._room and size <= self._listing.room

    def _shown(self, line: Line) -> tuple[str, str, list[int]]:
        mark = "-" if line.context else ":"
        return f"{self._names.shown(line.hits.path)}{mark}{line.number}{mark} ", *clipped(line.text, line.at)

    def _finish(self) -> None:
        """Say how many matches of the file are not listed."""
        if self._hits is None:
            return
        more = self._hits.count - self._matches
        if more > 0 and self._matches:
            self._listing.left_out_here(f"… {more} more in this file")


def _searched(engine: Ripgrep) -> tuple[int, int]:
    """How many files the last search, of counts, was to read, and how many it could."""
    unreadable = engine.unreadable
    listed = sum(1 for _ in engine.files())
    return listed, max(0, listed - (unreadable - engine.unreadable))  # a folder that can't be read counts both times


def _nearby(engine: Ripgrep, pattern: str, *, fixed: bool, ignore_case: bool, with_binaries: bool) -> list[str]:
    """Which of the searches that differ in one thing would match."""
    engine.deadline = min(engine.deadline, time.monotonic() + HINT_SECONDS)

    def found(query: Query, *, ignored: bool = False) -> _Found:
        return _Found(engine.counts(query, ignored=ignored), 0, by_count=False, with_binaries=with_binaries)

    told = []
    if not ignore_case and pattern.lower() != pattern.upper():
        other = found(Query(pattern, fixed=fixed, ignore_case=True))
        if other.files:
            told.append(f"ignoring case: {totals(other.matches, other.files)} (set ignore_case)")
    other = found(Query(pattern, fixed=fixed, ignore_case=ignore_case), ignored=True)
    if other.files:
        told.append(f"in ignored files: {totals(other.matches, other.files)} (name one of them in path)")
    if not fixed and not _SPECIAL.isdisjoint(pattern):
        other = found(Query(pattern, fixed=True, ignore_case=ignore_case))
        if other.files:
            told.append(f"taken literally: {totals(other.matches, other.files)} (set fixed)")
    if engine.timed_out:
        told.append(f"[looked for what would match instead for {HINT_SECONDS} s, not to the end]")
    return told


def _globs(call: Call, glob: str | None, folder: bytes) -> Globs | None:
    if glob is None:
        return None
    try:
        return Globs(glob, os.fsdecode(folder), os.fsdecode(call.workspace.directory))
    except ValueError as problem:
        raise invalid_argument("glob", f"{quoted(glob)} {problem}") from problem
