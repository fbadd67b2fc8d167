"""guilds-git-credential: answers git with the token of the repository that git is talking to.

It speaks git-credential(1): an operation as argument, attributes on stdin, an answer on stdout. It keeps no
credential, asks nobody, and gives a token for no other repository than the token's own.
"""

from __future__ import annotations

import posix
import sys

from guilds_wire.git_tokens import (
    RUNTIME_OPTION,
    Entry,
    TokenFileError,
    Tokens,
    path_of,
    read_tokens,
    site_of,
    split_url,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Attributes = dict[bytes, bytes]
    Reply = tuple[bytes, str]

RUNTIME_VARIABLE, DEFAULT_RUNTIME = b"GUILDS_RUNTIME_DIR", b"/run/guilds"
"""As guilds_wire.places has them, whose import of `os` would cost a tenth of this program's time."""

USAGE = f"usage: guilds-git-credential [{RUNTIME_OPTION} DIR] get|store|erase"
ATTRIBUTES_MAX_BYTES = 1 << 20
NAMES_MOST = 20
HEX_DIGITS, FORBIDDEN = frozenset(b"0123456789abcdefABCDEF"), frozenset(b"\r\n\0")
QUIT = b"quit=1\n"
"""Ends git's search: it would go on to an askpass program, and send that one's text as the password."""


def main() -> int:
    """Do one operation; 0, or 1 when git can't be answered, or 2 for wrong usage."""
    arguments = sys.argv[1:]
    runtime = posix.environ.get(RUNTIME_VARIABLE) or DEFAULT_RUNTIME
    option, equals, folder = "".join(arguments[:1]).partition("=")
    if option == RUNTIME_OPTION:
        folder, arguments = (folder, arguments[1:]) if equals else ("".join(arguments[1:2]), arguments[2:])
        runtime = folder.encode("utf-8", "surrogateescape")
    if len(arguments) != 1 or not runtime:
        _say(USAGE)
        return 2
    if arguments[0] not in ("get", "erase"):  # `store`, and what git may come to ask: gitcredentials(7) wants silence
        return 0
    answer, line = reply(arguments[0], _stdin(), runtime)
    if line:
        _say(line)
    try:
        posix.write(1, answer)
    except OSError:
        return 1
    return 0


def reply(operation: str, given: bytes, runtime: bytes) -> Reply:
    """The answer on stdout to `get` or `erase`, and a line for stderr, empty where there is nothing to say.

    `given` are the attributes as they came, `runtime` is the folder of the token file.
    """
    answer = _get if operation == "get" else _erase
    try:
        attributes = _attributes(given)
    except ValueError as problem:
        return (QUIT if operation == "get" else b""), f"the credential request was refused: {problem}"
    site = site_of(attributes.get(b"protocol", b""), attributes.get(b"host", b""))
    if site is None or not attributes.get(b"path"):
        return b"", ""
    return answer(site, attributes, runtime)


def _get(site: bytes, attributes: Attributes, runtime: bytes) -> Reply:
    """A credential, or the word to quit, or nothing, which lets git go on elsewhere."""
    try:
        tokens = read_tokens(runtime)
    except TokenFileError as problem:
        return b"", str(problem)
    if site not in tokens.sites:
        return b"", tokens.left_out
    entries = _matching(tokens, site, attributes)
    for entry in entries:
        if tokens.is_usable(entry):
            return _credential(entry), tokens.left_out
    why = _gone(entries[0]) if entries else _nothing_for(tokens, site, attributes)
    return QUIT, f"{why}; {tokens.left_out}" if tokens.left_out else why


def _erase(site: bytes, attributes: Attributes, runtime: bytes) -> Reply:
    """Mark the token that git sends back because the server refused it."""
    password = attributes.get(b"password")
    try:
        tokens = read_tokens(runtime)
        for entry in _matching(tokens, site, attributes):
            if entry.token.encode() == password:
                tokens.reject(entry)
    except TokenFileError:  # without the file there is nothing to refuse; the next `get` tells of it
        pass
    except OSError as problem:
        return b"", f"the refusal of a token can't be noted, so it will be offered again: {problem.strerror}"
    return b"", ""


def _matching(tokens: Tokens, site: bytes, attributes: Attributes) -> list[Entry]:
    """The entries of the repository, and of the user if git knows one already."""
    username = attributes.get(b"username")
    entries = tokens.of(site, path_of(site, attributes[b"path"]))
    return [entry for entry in entries if not username or entry.username.encode() == username]


def _credential(entry: Entry) -> bytes:
    lines = [f"username={entry.username}", f"password={entry.token}"]
    if entry.expires is not None:
        lines.append(f"password_expiry_utc={entry.expires}")
    return "".join(f"{line}\n" for line in lines).encode()


def _gone(entry: Entry) -> str:
    why = "has expired" if entry.expired else "was refused by the server"
    return f"the token for {entry.name} {why}; the next shell call brings a fresh one"


def _nothing_for(tokens: Tokens, site: bytes, attributes: Attributes) -> str:
    from guilds_wire.errors import quoted

    path, username = attributes[b"path"], attributes.get(b"username")
    asked = quoted(path.removesuffix(b"/").removesuffix(b".git").decode("utf-8", "replace"))
    if username:
        asked += f" as {quoted(username.decode('utf-8', 'replace'))}"
    names = list(dict.fromkeys(entry.name for entry in tokens.entries if entry.site == site))
    more = f" and {len(names) - NAMES_MOST} more" if len(names) > NAMES_MOST else ""
    return f"no token for {asked}; this run has {', '.join(names[:NAMES_MOST])}{more}"


def _attributes(given: bytes) -> Attributes:
    """The attributes up to the first empty line, a later one in place of an earlier one of its name.

    `url` stands for its parts, and unsets those it lacks (git-credential(1), "INPUT/OUTPUT FORMAT").
    Raises ValueError for what git never sends.
    """
    if len(given) > ATTRIBUTES_MAX_BYTES:
        raise ValueError(f"it has over {ATTRIBUTES_MAX_BYTES} bytes")
    attributes: Attributes = {}
    for line in given.split(b"\n"):
        if not line:
            break
        if b"\r" in line or b"\0" in line:
            raise ValueError("a value holds a carriage return or NUL")
        key, equals, value = line.partition(b"=")
        if not equals:
            raise ValueError("a line is no key=value")
        attributes |= _parts(value) if key == b"url" else {key: value}
    return attributes


def _parts(url: bytes) -> Attributes:
    """The parts of a URL, of which git decodes those of the user (an encoded host or path is nobody's here)."""
    protocol, user, host, path = split_url(url)
    username, _, password = (_decoded(part) for part in user.partition(b":"))
    return {b"protocol": protocol, b"host": host, b"path": path, b"username": username, b"password": password}


def _decoded(text: bytes) -> bytes:
    """A text without its percent-encoding; a `%` before anything but two hex digits stands for itself.

    Raises ValueError for a line break or NUL.
    """
    first, *rest = text.split(b"%")
    parts = [first]
    for part in rest:
        coded = len(part) > 1 and HEX_DIGITS.issuperset(part[:2])
        parts.append(bytes((int(part[:2], 16),)) + part[2:] if coded else b"%" + part)
    decoded = b"".join(parts)
    if not FORBIDDEN.isdisjoint(decoded):
        raise ValueError("a value holds a line break or NUL")
    return decoded


def _stdin() -> bytes:
    """What the caller sends, up to a little more than is taken."""
    given = b""
    try:
        while len(given) <= ATTRIBUTES_MAX_BYTES and (part := posix.read(0, 65_536)):
            given += part
    except OSError:  # it is closed: nothing is asked
        return b""
    return given


def _say(line: str) -> None:
    """One line for the person or agent who reads git's output."""
    try:
        posix.write(2, f"{line}\n".encode("utf-8", "replace"))
    except OSError:  # nobody reads it
        pass
