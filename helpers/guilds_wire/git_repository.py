"""The repository that holds a folder, and the URL of its origin: read off its files, without running git.

Follows gitrepository-layout(5) and the syntax in git-config(1). Of the configuration only the repository's own files
count: no include is followed, and a file that git itself would refuse gives no URL.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG_MAX_BYTES = 8 << 20
POINTER_MAX_BYTES = 8 << 10

_KEY_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_FALSE = ("false", "no", "off", "0")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


def origin_url(directory: bytes) -> bytes | None:
    """The first `remote.origin.url` of the repository that holds an absolute `directory`; None without one."""
    git_directory = _git_directory(directory)
    if git_directory is None:
        return None
    common = _pointer(os.path.join(git_directory, b"commondir"))  # a worktree shares its repository's configuration
    config = _read(os.path.join(git_directory, common or b"", b"config"), CONFIG_MAX_BYTES)
    try:
        urls, of_worktree = _origin(config or b"")
        if of_worktree:  # git-worktree(1), "CONFIGURATION FILE"; what it sets is meant in place of what all share
            config = _read(os.path.join(git_directory, b"config.worktree"), CONFIG_MAX_BYTES)
            urls = _origin(config or b"")[0] + urls
    except ValueError:
        return None
    return urls[0].encode("latin-1") if urls else None


def _origin(config: bytes) -> tuple[list[str], bool]:
    """The URLs of the origin, and whether each worktree has a configuration of its own besides."""
    urls: list[str] = []
    of_worktree = False
    for name, value in _settings(config):
        if name == "remote.origin.url":
            urls.append(value)
        elif name == "extensions.worktreeconfig":
            of_worktree = value.lower() not in _FALSE
    return urls, of_worktree


def _git_directory(directory: bytes) -> bytes | None:
    """The git directory of the nearest folder upwards that has one, or is one (a bare repository)."""
    while True:
        inside = os.path.join(directory, b".git")
        if _is_git_directory(inside):
            return inside
        target = _pointer(inside)  # of a worktree or a submodule
        if target and target.startswith(b"gitdir: "):
            return os.path.join(directory, target.removeprefix(b"gitdir: "))
        if _is_git_directory(directory):
            return directory
        if directory == b"/":
            return None
        directory = os.path.dirname(directory)


def _is_git_directory(path: bytes) -> bool:
    return os.path.lexists(os.path.join(path, b"HEAD")) and (
        os.path.isdir(os.path.join(path, b"objects")) or os.path.isfile(os.path.join(path, b"commondir"))
    )


def _pointer(path: bytes) -> bytes | None:
    content = _read(path, POINTER_MAX_BYTES)
    return None if content is None or b"\0" in content else content.rstrip(b"\r\n")


def _read(path: bytes, most_bytes: int) -> bytes | None:
    """A regular file's content, None when there is none or it is larger."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        whole = stat.S_ISREG(status.st_mode) and status.st_size <= most_bytes
        return os.read(file, status.st_size) if whole else None
    finally:
        os.close(file)


def _settings(config: bytes) -> Iterator[tuple[str, str]]:
    """Each setting as `section.subsection.key` and value, its bytes as Latin-1. Raises ValueError where git would."""
    text = config.removeprefix(b"\xef\xbb\xbf").decode("latin-1").replace("\r\n", "\n")
    section = ""
    lines = iter(text.split("\n"))
    for line in lines:
        rest = line.strip()
        while rest.startswith("["):
            section, rest = _section(rest)
        if not rest or rest[0] in "#;":
            continue
        key, equals, value = rest.partition("=")
        key = key.strip().lower()
        if not key[:1].isalpha() or not _KEY_CHARACTERS.issuperset(key):
            raise ValueError(f"{key} is no name")
        yield f"{section}.{key}", _value(value, lines) if equals else ""  # a name alone is the boolean true


def _section(line: str) -> tuple[str, str]:
    """The name in a header, `remote.origin` for `[remote "origin"]`, and what follows it on the line."""
    end = min((at for mark in '"]' if (at := line.find(mark)) > 0), default=0)
    name = line[1:end].strip().lower()
    if not end:
        raise ValueError("a header without its end")
    if not _KEY_CHARACTERS.union(".").issuperset(name):
        raise ValueError(f"{name} is no name")
    if line[end] == "]":
        return name, line[end + 1 :].lstrip()
    subsection = ""
    rest = iter(line[end + 1 :])
    for character in rest:
        if character == '"':
            break
        subsection += next(rest, "") if character == "\\" else character
    after = "".join(rest)
    if not after.startswith("]"):
        raise ValueError("a header without its end")
    return f"{name}.{subsection}", after[1:].lstrip()


def _value(text: str, lines: Iterator[str]) -> str:
    """A value up to its comment; one that ends in a backslash takes the next of the lines too."""
    value: list[str] = []
    blanks: list[str] = []
    quoted = False
    characters = iter(text)
    while character := next(characters, ""):
        if character in " \t" and not quoted:
            if value:
                blanks.append(character)
            continue
        if character in "#;" and not quoted:
            break
        value += blanks
        blanks.clear()
        if character == '"':
            quoted = not quoted
            continue
        if character == "\\":
            escaped = next(characters, None)
            if escaped is None:
                characters = iter(next(lines, ""))
                continue
            character = _ESCAPES[escaped] if escaped in _ESCAPES else _refuse(escaped)
        value.append(character)
    if quoted:
        raise ValueError("a quote without its end")
    return "".join(value)


def _refuse(escaped: str) -> str:
    raise ValueError(f"\\{escaped} is no escape")
