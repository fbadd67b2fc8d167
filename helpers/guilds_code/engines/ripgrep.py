"""ripgrep: which files and lines a pattern matches.

Counts come first, for every file: they take a few bytes a file, and go several times faster than the lines. The lines
are then asked for in the few files that are shown. This module knows no text format, and no paths but those below
the searched folder.
"""

from __future__ import annotations

import os
import sys

from guilds_code.engines.engine_process import MEMORY_MAX_BYTES, EngineProcess
from guilds_code.engines.ignore_rules import in_utf_8, inherited_rules, misread_rules
from guilds_code.file_kinds import LOOKED_AT_BYTES, binary_type
from guilds_wire.errors import ToolError
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from guilds_code.engines.ignore_rules import Endings, Globs
    from guilds_wire.paths import Located

PROGRAMS = (b"/usr/bin/rg", os.fsencode(os.path.join(os.path.dirname(sys.executable), "rg")))
"""Debian's package, or else the wheel beside this Python. Versions 13 to 15 are tested."""

ARGUMENT_MAX_BYTES = 131_071  # MAX_ARG_STRLEN, execve(2)
REGEX_MAX_BYTES = 10 << 20  # the engine would spend minutes on a larger one
HEADS_AT_ONCE = 100  # each takes a descriptor
PIECE_BYTES = 1 << 17

NONE, HEAD, WHOLE = range(3)
"""The part of a file that is text: none of a binary one, or the lines before its first NUL byte, or all."""

_APART = (b".runs", b".cache/graft")
_ESCAPABLE = "\\.+*?()|[]{}^$#&-~"  # what the engine's syntax lets a backslash stand before
_UNREADABLE = "(os error "


class Query:
    """What to look for: a regular expression, or plain text when `fixed`.

    `$` matches before CRLF as well, and a line break in the pattern matches one; lines are then searched together.
    Raises ToolError(`invalid_arguments`) for a pattern that can't be handed to the engine.
    """

    __slots__ = ("_fixed", "ignore_case", "multiline", "pattern")

    def __init__(self, pattern: str, *, fixed: bool = False, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self.multiline = False
        self._fixed = fixed and "\n" not in pattern
        if "\0" in pattern:
            raise invalid_argument("pattern", r"holds a NUL character; in a regular expression write \x00")
        if self._fixed:
            self.pattern = pattern
        elif fixed:
            self.multiline = True
            self.pattern = r"(?:\r?\n)".join(_escaped(line.removesuffix("\r")) for line in pattern.split("\n"))
        else:
            self.pattern, self.multiline = _for_both_line_ends(pattern)
        if len(self.pattern.encode()) > ARGUMENT_MAX_BYTES:
            raise invalid_argument("pattern", f"is too long: it takes over {ARGUMENT_MAX_BYTES} bytes")

    def arguments(self, *, mapped: bool = False) -> list[bytes]:
        """The options, and the pattern as what it is: after this only paths can follow."""
        # A search across lines takes a file whole, and one with NUL bytes can be a single line of any length: `mapped`
        # they stay on the disk. Else a buffer is less.
        options = [b"--mmap"] if self.multiline or mapped else [b"--no-mmap"]
        options += [b"-U"] if self.multiline else []
        options += [b"--fixed-strings"] if self._fixed else []
        options += [b"--ignore-case"] if self.ignore_case else []
        return [*options, b"--", self.pattern.encode()]


class Hits:
    """A file with matches, by its path below the searched folder; they lie in the `part` of it that is text.

    `count` is the number of matching lines, of matches for a pattern over several lines, and 1 for a binary file.
    """

    __slots__ = ("count", "part", "path")

    def __init__(self, path: bytes, count: int, part: int = WHOLE) -> None:
        self.path = path
        self.count = count
        self.part = part


class Line:
    """A line of a file with hits.

    `at` is the byte where its first match begins, `begins` how many matches do; a line that a match from a line
    above goes on in has none. `context`: it lies outside any match.
    """

    __slots__ = ("at", "begins", "context", "hits", "number", "text")

    def __init__(self, hits: Hits, record: bytes) -> None:
        """`record` is `number NUL column NUL text`, or `number-text` for context.

        The column is missing where the engine can't find again in the line alone what it found in the file.
        """
        digits = 0
        while record[digits : digits + 1].isdigit():
            digits += 1
        self.hits = hits
        self.number = int(record[:digits])
        self.context = record[digits : digits + 1] != b"\0"
        self.begins = 0 if self.context else 1
        self.at = 0
        self.text = record[digits + 1 :].removesuffix(b"\r")
        if not self.context:
            column, _, text = self.text.partition(b"\0")
            if column.isdigit():
                self.at, self.text = int(column) - 1, text


class Ripgrep:
    """Searches below one folder, or in one file, until `deadline` (time.monotonic()).

    `timed_out` tells that a search was cut short there, `unreadable` how many files and folders the last one could not
    read.
    Raises ToolError: `unavailable`, `engine_failed`, `invalid_arguments` for the pattern or a folder in .git.
    """

    __slots__ = (
        "_globs",
        "_located",
        "_options",
        "_program",
        "_rules",
        "_scope",
        "deadline",
        "timed_out",
        "unreadable",
    )

    def __init__(self, located: Located, home: bytes, deadline: float, globs: Globs | Endings | None = None) -> None:
        self.deadline = deadline
        self.timed_out = False
        self.unreadable = 0
        self._program = _program()
        self._located = located
        self._globs = globs
        self._scope = b"./"
        self._options = [b"--no-config", b"--color=never", b"--hidden", b"--no-ignore-messages"]
        self._options.append(b"--regex-size-limit=%d" % REGEX_MAX_BYTES)
        self._options += [b"--no-require-git", b"--no-ignore-global", b"--no-ignore-parent", b"--glob=!.git/"]
        self._rules: list[str] = []
        folder = located.real if located.is_folder else os.path.dirname(located.real)
        if b".git" in folder.removeprefix(home).split(b"/"):
            raise invalid_argument("path", "lies in .git, which is not searched; ask git for what it holds, by `shell`")
        if not located.is_folder:
            located.require_file()
            self._scope = _descriptor_path(located.descriptor)
            return
        self._options += [b"--glob=!/" + os.fsencode(name) for name in _kept_apart(home, located.real)]
        self._rules = inherited_rules(home, located.real) + misread_rules(located.real)
        if globs:
            self._options += [b"--glob=!" + os.fsencode(glob) for glob in globs.excludes]

    def counts(self, query: Query, *, ignored: bool = False) -> Iterator[Hits]:
        """Every file with a match, in no order. With `ignored`, ignore files don't count."""
        self.unreadable = 0
        again: list[tuple[bytes, int, bytes]] = []
        for path, count in self._counted([b"--binary", *query.arguments()], [self._scope], ignored=ignored):
            below = self._below(path)
            if not self._takes(below):
                continue
            part, head = self._text_part(below)
            if head is None:
                yield Hits(below, count if part else 1, part)
                continue
            again.append((below, part, head))
            if len(again) == HEADS_AT_ONCE:
                yield from self._counted_again(query, again)
                again.clear()
        yield from self._counted_again(query, again)

    def lines(self, query: Query, files: list[Hits], most: int, context: int, *, whole: bool = False) -> Iterator[Line]:
        """The first `most` matching lines of each file, with `context` lines around, file by file in this order.

        There may be one match more at the end of a file's lines. Of a match over several lines all are given, when
        `whole`, with no telling where it begins, or else the first.
        """
        if not files:
            return
        named: dict[bytes, Hits] = {}
        heads: list[int] = []
        try:
            for hits in files:
                if hits.part == HEAD:
                    heads.append(_memory_file(self._text_part(hits.path)[1] or b""))
                    named[_descriptor_path(heads[-1])] = hits
                else:
                    named[self._scope + hits.path] = hits
            options = [b"-j1", b"--line-number", b"--column", b"--no-heading", b"--text"]
            options.append(rb"--field-match-separator=\x00")
            options += [b"--max-count=%d" % (most + bool(context)), b"--context=%d" % context]
            options += [b"--vimgrep"] if query.multiline and not whole else []
            for path, record in self._shown([*options, *query.arguments(mapped=True)], [*named], heads):
                yield Line(named[path], record)
        finally:
            for head in heads:
                os.close(head)

    def whole_matches(self, query: Query, files: list[Hits], most: int, context: int) -> Iterator[Line]:
        """As `lines`, with all lines of a match over several, and where each begins.

        The engine takes the square of the time for the beginnings of matches that follow each other line on line:
        each file is left after its first ones.
        """
        if not query.multiline:
            yield from self.lines(query, files, most, context)
            return
        for hits in files:
            begun = _beginnings(self.lines(query, [hits], most, 0), most)
            last = max(begun) if len(begun) > most else 0
            for line in self.lines(query, [hits], most, context, whole=True):
                if not line.context:
                    line.at, line.begins = begun.get(line.number, (0, 0))
                yield line
                if line.number == last:
                    break

    def line_numbers(self, query: Query) -> Iterator[tuple[bytes, list[int]]]:
        """Each text file with a match and the numbers of its matching lines, ascending; the files in no order."""
        options = [b"--line-number", b"--no-heading", b"--text"]
        options += [b"--vimgrep"] if query.multiline else [b"--only-matching", b"--replace="]
        path: bytes | None = None
        numbers: list[int] = []
        for name, record in self._shown([*options, *query.arguments()], [self._scope]):
            if name != path:
                if path is not None and self._is_wanted_text(path):
                    yield self._below(path), numbers
                path, numbers = name, []
            number = int(record.partition(b":")[0])
            if number not in numbers[-1:]:
                numbers.append(number)
        if path is not None and self._is_wanted_text(path):
            yield self._below(path), numbers

    def files(self) -> Iterator[bytes]:
        """Every file that is searched, in no order; also those that can't be read then."""
        self.unreadable = 0
        if not self._located.is_folder:
            yield b""
            return
        yield from self._names([b"--files", b"--null", b"--"])

    def files_with(self, text: str) -> Iterator[bytes]:
        """Every file that holds the text, in no order."""
        query = Query(text, fixed=True)
        self.unreadable = 0
        return self._names([b"--files-with-matches", b"--null", b"--binary", *query.arguments()])

    def _names(self, arguments: list[bytes]) -> Iterator[bytes]:
        rest = b""
        for piece in self._run(arguments, [self._scope]):
            *names, rest = (rest + piece).split(b"\0")
            yield from (below for name in names if self._takes(below := self._below(name)))

    def _counted(
        self, arguments: list[bytes], paths: list[bytes], keep: Iterable[int] = (), *, ignored: bool = False
    ) -> Iterator[tuple[bytes, int]]:
        """Read `path NUL count LF`."""
        rest = b""
        for piece in self._run([b"--count", b"--null", b"--with-filename", *arguments], paths, keep, ignored=ignored):
            rest += piece
            start = 0
            while (middle := rest.find(b"\0", start)) >= 0 and (end := rest.find(b"\n", middle)) >= 0:
                yield rest[start:middle], int(rest[middle + 1 : end])
                start = end + 1
            rest = rest[start:]

    def _counted_again(self, query: Query, files: list[tuple[bytes, int, bytes]]) -> Iterator[Hits]:
        """Files where the engine takes a NUL byte for a line end: matches in the part that is text, given with it.

        A binary file without one there still is one that matches.
        """
        if not files:
            return
        named: dict[bytes, tuple[bytes, int]] = {}
        heads: list[int] = []
        try:
            for path, part, head in files:
                if part == HEAD:
                    heads.append(_memory_file(head))
                named[_descriptor_path(heads[-1]) if part == HEAD else self._scope + path] = path, part
            counts = dict(self._counted([b"--text", *query.arguments(mapped=True)], [*named], heads))
            for name, (path, part) in named.items():
                if name in counts:
                    yield Hits(path, counts[name], part)
                elif part == HEAD:
                    yield Hits(path, 1, NONE)
        finally:
            for file in heads:
                os.close(file)

    def _shown(
        self, arguments: list[bytes], paths: list[bytes], keep: Iterable[int] = ()
    ) -> Iterator[tuple[bytes, bytes]]:
        """Read `path NUL record LF`, with `--` between blocks of context."""
        rest = bytearray()
        looked_at = 0
        for piece in self._run([b"--null", b"--with-filename", *arguments], paths, keep):
            rest += piece
            start = 0
            while True:
                if rest.startswith(b"--\n", start):  # a path begins with `./` or `/`
                    start = looked_at = start + 3
                middle = rest.find(b"\0", start)
                end = rest.find(b"\n", max(middle, looked_at)) if middle >= 0 else -1
                if end < 0:
                    break
                yield bytes(rest[start:middle]), bytes(rest[middle + 1 : end])
                start = looked_at = end + 1
            del rest[:start]
            looked_at = len(rest) if middle >= 0 else 0

    def _run(
        self, arguments: list[bytes], paths: list[bytes], keep: Iterable[int] = (), *, ignored: bool = False
    ) -> Iterator[bytes]:
        """What the engine prints."""
        rules = [*(self._globs.rules if self._globs else ()), *(() if ignored else self._rules)]
        rule_file = _memory_file(b"".join(in_utf_8(rule).encode() + b"\n" for rule in rules)) if rules else None
        options = [*self._options, *([b"--no-ignore"] if ignored else [])]
        kept = [*keep]
        if rule_file is not None:
            options.append(b"--ignore-file=" + _descriptor_path(rule_file))
            kept.append(rule_file)
        folder = self._located.descriptor if self._located.is_folder else None
        if folder is None:
            kept.append(self._located.descriptor)
        elif not os.access(b".", os.X_OK, dir_fd=folder):  # the engine could not even be started in it
            self.unreadable = 1
            return
        try:
            process = EngineProcess(self._program, [*options, *arguments, *paths], folder, kept, self.deadline)
            yield from process.output()
        finally:
            if rule_file is not None:
                os.close(rule_file)
        self._judge(process)

    def _judge(self, process: EngineProcess) -> None:
        """Take note of what went wrong with some files; raise what went wrong with the search."""
        self.timed_out = self.timed_out or process.timed_out
        if process.timed_out or process.exit_code in (0, 1):
            return
        told = process.errors.decode("utf-8", "replace").strip()
        if process.exit_code < 0 and "memory allocation" in told:
            limit = f"the {MEMORY_MAX_BYTES >> 20} MiB of memory that a search may take"
            about = "a line of a file, or an ignore file, may be that long; name a smaller folder in `path`."
            raise ToolError("engine_failed", f"{limit} were not enough: {about}")
        unreadable = told.count(_UNREADABLE)
        self.unreadable += unreadable
        if process.exit_code == 2 and (unreadable or not told):  # what ends a search comes before any file
            return
        if process.exit_code == 2 and "regex" in told:
            raise _invalid_pattern(told)
        raise ToolError("engine_failed", f"{_version(self._program)} ended with {process.exit_code}: {told}")

    def _takes(self, below: bytes) -> bool:
        """Whether a glob wants the file: an ignore file that takes a file in again would get round the rules."""
        return self._globs is None or not self._located.is_folder or self._globs.take(os.fsdecode(below))

    def _below(self, path: bytes) -> bytes:
        return path.removeprefix(b"./") if self._located.is_folder else b""

    def _is_wanted_text(self, path: bytes) -> bool:
        below = self._below(path)
        return self._takes(below) and self._text_part(below)[0] == WHOLE

    def _text_part(self, below: bytes) -> tuple[int, bytes | None]:
        """Which part of a file is text, as file_read has it; for HEAD also those lines.

        Beside WHOLE stands b"" for one with NUL bytes, or None.
        """
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY
        try:
            if self._located.is_folder:
                file = os.open(below, flags, dir_fd=self._located.descriptor)
            else:
                file = self._located.open(os.O_RDONLY)
        except OSError:  # it has gone since it was searched
            return WHOLE, None
        try:
            start = piece = os.read(file, LOOKED_AT_BYTES)
            kind = binary_type(start)
            if kind is None:
                while piece and b"\0" not in piece:
                    piece = os.read(file, PIECE_BYTES) if len(start) == LOOKED_AT_BYTES else b""
                return WHOLE, b"" if piece else None
        finally:
            os.close(file)
        head = b"" if kind else start[: start.rfind(b"\n", 0, start.index(b"\0")) + 1]
        return (HEAD, head) if head else (NONE, None)


def _program() -> bytes:
    for program in PROGRAMS:
        if os.access(program, os.X_OK):
            return program
    raise ToolError(
        "unavailable", "ripgrep is not installed: `apt-get install ripgrep`, or `pip install 'guilds[code]'`."
    )


def _version(program: bytes) -> str:
    """The engine's name for a message about its failure; only then is its version asked for."""
    import subprocess

    asked = subprocess.run([program, "--version"], capture_output=True, text=True, env={}, check=False)
    return f"{os.fsdecode(program)} ({asked.stdout.partition(chr(10))[0] or 'no version'}; 13 to 15 are known to work)"


def _invalid_pattern(told: str) -> ToolError:
    """The engine's own reason, without its picture of the pattern and its own options."""
    reasons = [line.partition("error: ")[2] for line in told.split("\n") if line.startswith("error: ")]
    reason = (reasons[0] if reasons else told.removeprefix("rg: ").split("\n")[0]).strip(" .")
    return invalid_argument(
        "pattern",
        f"is no regular expression that can be searched for: {reason}. Set `fixed` to take it as plain text",
    )


def _kept_apart(home: bytes, folder: bytes) -> Iterator[str]:
    """What is searched only when it is named, as seen from the folder."""
    below = folder[len(home.rstrip(b"/")) :].strip(b"/")
    start = below + b"/" if below else b""
    for path in _APART:
        if path.startswith(start):
            yield os.fsdecode(path[len(start) :])


def _beginnings(lines: Iterable[Line], most: int) -> dict[int, tuple[int, int]]:
    """The lines of a file where its first `most` matches begin and one more, with the byte of the first in each and
    their number."""
    begun: dict[int, tuple[int, int]] = {}
    for line in lines:
        if len(begun) > most and line.number not in begun:
            break
        at, number = begun.get(line.number, (line.at, 0))
        begun[line.number] = at, number + 1
    return begun


def _descriptor_path(descriptor: int) -> bytes:
    return b"/proc/self/fd/%d" % descriptor


def _memory_file(content: bytes) -> int:
    file = os.memfd_create("search")
    with open(file, "wb", buffering=0, closefd=False) as opened:
        opened.write(content)
    return file


def _escaped(text: str) -> str:
    return "".join("\\" + letter if letter in _ESCAPABLE else letter for letter in text)


def _for_both_line_ends(pattern: str) -> tuple[str, bool]:
    """The pattern with `$` and line breaks that match CRLF too, and whether it has a line break.

    The engine's own --crlf takes a bare carriage return for a line end since version 14.
    """
    taken: list[str] = []
    multiline = negated = False
    depth = at = 0
    while at < len(pattern):
        letter = _escape(pattern, at) if pattern[at] == "\\" else pattern[at]
        at += len(letter)
        if letter == "[":
            depth += 1
            negated = pattern.startswith("^", at)
            if pattern.startswith("]", at + negated):  # as a class's first member it does not close it
                letter += "^]" if negated else "]"
                at += negated + 1
        elif letter == "]" and depth:
            depth -= 1
        elif not depth and letter == "$":
            letter = r"(?:\r?$)"
        elif _is_line_break(letter) and not (depth and negated):
            letter, multiline = letter if depth else r"(?:\r?\n)", True
        taken.append(letter)
    return "".join(taken), multiline


def _escape(pattern: str, at: int) -> str:
    """The escape that begins here: of a character by its number, as `\\x0A`, or a backslash and what follows it."""
    digits = {"x": 2, "u": 4, "U": 8}.get(pattern[at + 1 : at + 2], 0)
    if digits and pattern.startswith("{", at + 2):
        digits = pattern.find("}", at) - at - 1
    return pattern[at : at + 2 + max(0, digits)]


def _is_line_break(letter: str) -> bool:
    if letter in ("\n", "\\n"):
        return True
    digits = letter[2:].strip("{}")
    try:
        return letter[:2] in ("\\x", "\\u", "\\U") and digits.isalnum() and int(digits, 16) == ord("\n")
    except ValueError:  # the engine will say what is wrong with it
        return False
