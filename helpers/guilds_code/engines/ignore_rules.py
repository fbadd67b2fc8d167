"""Patterns of gitignore(5) and of globs: those that a folder inherits, and those that a caller names.

A folder is searched by itself, so the ignore files of the folders above it, up to home, are read here and rewritten
as seen from there. What lies below it the engine reads for itself. Braces, as in `*.{c,h}`, count in both.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

IGNORE_FILE_MAX_BYTES = 1 << 20
GLOB_MAX_CHARACTERS = 10_000
PATTERNS_MOST = 1_000
"""How many patterns globs, or one with braces, may stand for."""

_ANY = "**"
_EXCLUDE = b".git/info/exclude"
_SPECIAL = frozenset("*?[\\")
_MARK = "\ufeff"


class Globs:
    """Which files a caller wants, from globs separated by commas; a leading `!` leaves files out.

    A glob with a slash counts from the searched folder, from the folder `start` above it, or from the root. One that
    matches a folder stands for all that is in it. `excludes` are in the engine's words, `rules` are lines of an
    ignore file that leave out most of what is not wanted; `take` judges the rest. Raises ValueError with the reason
    for a glob that is none.
    """

    __slots__ = ("_suffixes", "_unwanted", "_wanted", "excludes", "rules")

    def __init__(self, globs: str, folder: str, start: str) -> None:
        self._unwanted: list[list[str]] = []
        self._wanted: list[list[str]] = []
        if len(globs) > GLOB_MAX_CHARACTERS:
            raise ValueError(f"is too long: it has over {GLOB_MAX_CHARACTERS} characters")
        patterns = 0
        for glob in _split(globs):
            try:
                expanded = _expanded(glob.removeprefix("!"))
            except RecursionError:
                raise ValueError("is nested too deeply") from None
            patterns += len(expanded)
            if patterns > PATTERNS_MOST:
                raise ValueError(f"stands for over {PATTERNS_MOST} patterns")
            readings = [one for pattern in expanded for one in _readings(pattern, folder, start)]
            if glob.startswith("!"):
                self._unwanted += readings
            else:
                self._wanted += readings
        self.excludes = ["/" + "/".join(one) for one in self._unwanted if [*map(_widened, one)] == one]
        self.rules = ["*", "!*/"] if self._wanted else []
        for wanted in self._wanted:
            rule = "!/" + "/".join(map(_widened, wanted)).replace("\n", "?")
            self.rules += [rule, f"{rule}/{_ANY}"]
        plain = [wanted[1] for wanted in self._wanted if len(wanted) == 2 and wanted[0] == _ANY]
        self._suffixes = tuple(name[1:] for name in plain if name.startswith("*") and _SPECIAL.isdisjoint(name[1:]))

    def take(self, path: str) -> bool:
        """Whether a path below the searched folder is wanted."""
        names = path.split("/")
        if any(_leads_to(unwanted, names) for unwanted in self._unwanted):
            return False
        if not self._wanted or path.endswith(self._suffixes):
            return True
        return any(_leads_to(wanted, names) for wanted in self._wanted)


class Endings:
    """In place of globs: the files whose names end in a dot and one of these."""

    __slots__ = ("_endings", "excludes", "rules")

    def __init__(self, endings: Iterable[str]) -> None:
        self._endings = frozenset(endings)
        self.excludes: list[str] = []
        self.rules = ["*", "!*/", *(f"!*.{ending}" for ending in sorted(self._endings))]

    def take(self, path: str) -> bool:
        """Whether a path ends so."""
        return path.rpartition(".")[2] in self._endings


def inherited_rules(home: bytes, folder: bytes) -> list[str]:
    """The rules for `folder` of the ignore files in the folders above it, from home on, the strongest last.

    As git has it, `.gitignore` counts up to the root of the repository that the folder lies in, `.ignore` beyond it.
    """
    rules: list[str] = []
    below: list[str] = []
    in_repository = os.path.exists(os.path.join(folder, b".git"))
    while folder != home:
        folder, name = os.path.split(folder)
        below.insert(0, os.fsdecode(name))
        files = [b".ignore"]
        if not in_repository:
            files = [_exclude_file(folder), b".gitignore", *files]
            in_repository = os.path.exists(os.path.join(folder, b".git"))
        here = [rule.removeprefix(_MARK) for file in files for rule in _read(os.path.join(folder, file))]
        rules = [seen for rule in here for seen in _seen_from(rule, below)] + rules
    return rules


def misread_rules(folder: bytes) -> list[str]:
    """The rules of a folder's own ignore files that the engine does not read as git does: it stops at a line that is
    not UTF-8, takes a byte order mark for a part of the first line, and knows no exclude file of a submodule."""
    rules: list[str] = []
    exclude = _exclude_file(folder)
    for file in (exclude, b".gitignore", b".ignore"):
        own = _read(os.path.join(folder, file))
        elsewhere = file == exclude != _EXCLUDE
        if own and (elsewhere or own[0].startswith(_MARK) or not all(map(_is_utf_8, own))):
            rules += [seen for rule in own for seen in _seen_from(rule.removeprefix(_MARK), [])]
    return rules


def in_utf_8(rule: str) -> str:
    """A rule as the engine can read it: a byte that is not UTF-8 stands as any byte that is not ASCII."""
    return rule if _is_utf_8(rule) else "".join(one if _is_utf_8(one) else "[!\x01-\x7f]" for one in rule)


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern without slashes and braces matches a whole name. Raises ValueError if it is malformed."""
    tokens = _tokens(pattern)
    at = index = mark = 0
    star = -1
    while index < len(name):
        token = tokens[at] if at < len(tokens) else None
        if token == "*":
            star, mark, at = at, index, at + 1
        elif token is not None and _takes(token, name[index]):
            at, index = at + 1, index + 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return all(token == "*" for token in tokens[at:])


def _widened(name: str) -> str:
    """The pattern in the engine's words, which match bytes where these match characters."""
    wide = [one == "?" or (one[0] == "[" and (one[1] in "!^" or not one.isascii())) for one in _tokens(name)]
    return "".join("*" if any_byte else one for one, any_byte in zip(_tokens(name), wide, strict=True))


def _readings(pattern: str, folder: str, start: str) -> list[list[str]]:
    """The pattern as seen from the searched folder, as names."""
    anchored = pattern.startswith("/")
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if not names:
        raise ValueError("names nothing")
    for name in names:
        _tokens(name)
    names = [name for at, name in enumerate(names) if name != _ANY or names[at - 1 : at] != [_ANY]]
    if len(names) == 1 and not anchored:
        return [[_ANY, names[0]]]
    readings = [names]
    if folder.startswith(start.rstrip("/") + "/"):
        readings += _rest(names, folder[len(start.rstrip("/")) + 1 :].split("/"))
    if anchored:
        readings += _rest(names, folder.strip("/").split("/"))
    return readings


def _rest(pattern: list[str], folders: list[str]) -> list[list[str]]:
    """What remains of an anchored pattern below these folders; nothing where it leads elsewhere, or ends there."""
    if not folders or not pattern:
        return [pattern] if pattern else []
    if pattern[0] == _ANY:
        return _rest(pattern[1:], folders) + _rest(pattern, folders[1:])
    try:
        fits = any(matches(one, folders[0]) for one in _expanded(pattern[0]))
    except ValueError:  # in an ignore file a malformed pattern matches nothing
        return []
    return _rest(pattern[1:], folders[1:]) if fits else []


def _leads_to(pattern: list[str], names: list[str]) -> bool:
    """Whether the pattern matches the path, or a folder on the way to it."""
    if not pattern:
        return True
    if pattern[0] == _ANY:
        return any(_leads_to(pattern[1:], names[at:]) for at in range(len(names)))
    return bool(names) and matches(pattern[0], names[0]) and _leads_to(pattern[1:], names[1:])


def _seen_from(rule: str, below: list[str]) -> list[str]:
    """A line of an ignore file as it reads from these folders further down."""
    rule = rule.rstrip("\r")
    if not rule.endswith("\\ "):
        rule = rule.rstrip(" ")
    sign = "!" if rule.startswith("!") else ""
    body = rule[len(sign) :]
    if not body.strip("/") or rule.startswith("#"):
        return []
    slash = "/" if body.endswith("/") else ""
    if "/" not in body.rstrip("/"):
        return [rule]
    return [f"{sign}/{'/'.join(rest)}{slash}" for rest in _rest(body.strip("/").split("/"), below)]


def _exclude_file(folder: bytes) -> bytes:
    """Where the exclude file of a repository lies, as seen from its folder: gitrepository-layout(5) has that of a
    submodule in the folder that a file `.git` names, and that of a worktree in the one that is common to all."""
    said = _read(os.path.join(folder, b".git"))[0:1]
    if not said or not said[0].startswith("gitdir: "):
        return _EXCLUDE
    own = os.path.join(folder, os.fsencode(said[0].removeprefix("gitdir: ")))
    common = _read(os.path.join(own, b"commondir"))[0:1]
    return os.path.join(own, *map(os.fsencode, common), b"info/exclude")


def _read(path: bytes) -> list[str]:
    """The lines of an ignore file; none when it can't be read, or is a link, as git has it since version 2.32."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return []
        return os.fsdecode(os.read(file, IGNORE_FILE_MAX_BYTES)).split("\n")
    finally:
        os.close(file)


def _is_utf_8(text: str) -> bool:
    """Whether a text decoded by os.fsdecode had no byte that is not UTF-8."""
    return not any("\udc80" <= letter <= "\udcff" for letter in text)


def _split(globs: str) -> list[str]:
    """The globs between commas that stand outside classes and braces, escaped ones too. Raises ValueError."""
    found, depth = [""], 0
    for token in _tokens(globs):
        depth += (token[-1] == "{") - (token[-1] == "}")
        if token == "," and depth == 0:
            found.append("")
        else:
            found[-1] += token
    return [glob.strip() for glob in found if glob.strip()]


def _expanded(pattern: str) -> list[str]:
    """The patterns that one with braces stands for. Raises ValueError."""
    tokens = _tokens(pattern)
    if "{" not in tokens:
        return [pattern]
    start = tokens.index("{")
    depth, choices, begin = 0, [], start + 1
    for at in range(start, len(tokens)):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        if depth == 0 or (depth == 1 and tokens[at] == ","):
            choices.append("".join(tokens[begin:at]))
            begin = at + 1
        if depth == 0:
            break
    else:
        raise ValueError("has an unclosed `{`")
    tails = _expanded("".join(tokens[begin:]))
    heads = [head for choice in choices for head in _expanded(choice)]
    if len(heads) * len(tails) > PATTERNS_MOST:
        raise ValueError(f"stands for over {PATTERNS_MOST} patterns")
    before = "".join(tokens[:start])
    return [before + head + tail for head in heads for tail in tails]


def _tokens(pattern: str) -> list[str]:
    """A pattern as single characters, `*`, `?`, `[…]` classes, and `\\x` for an escaped x. Raises ValueError."""
    tokens, at = [], 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "\\":
            if end == len(pattern):
                raise ValueError("ends in a backslash")
            end += 1
        elif pattern[at] == "[":
            end = pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] in ("!", "^"))) + 1
            if not end:
                raise ValueError("has an unclosed `[`")
        tokens.append(pattern[at:end])
        at = end
    return tokens


def _takes(token: str, letter: str) -> bool:
    if len(token) == 1:
        return token in ("?", letter)
    if token[0] == "\\":
        return token[1] == letter
    negated = token[1] in "!^"
    members, at, found = token[1 + negated : -1], 0, False
    while at < len(members):
        if at + 2 < len(members) and members[at + 1] == "-":
            found = found or members[at] <= letter <= members[at + 2]
            at += 3
        else:
            found = found or members[at] == letter
            at += 1
    return found != negated
