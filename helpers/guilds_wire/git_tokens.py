"""Git tokens: the orchestrator's token file, and which of its tokens belongs to which repository.

The rules by which two spellings name one repository stand here alone: the credential helper and the environment of
commands both judge by them. Nothing here asks git, and no message holds a part of the file's content.

`posix` stands in for `os`, whose import would cost the credential helper a tenth of its time.
"""

from __future__ import annotations

import posix
import stat
import time

from guilds_wire.errors import quoted
from guilds_wire.lean import loads, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUNTIME_OPTION = "--runtime-dir"
"""How the credential helper is told the run-time folder, since commands do not inherit the variable for it."""

TOKEN_FILE = b"git-tokens.json"
REJECTED_FILE = b"git-tokens.rejected"
"""One line a refused token: a hash of it and of the token file's identity, so that a new file voids them all."""

FILE_MAX_BYTES = 1 << 20

REJECTED_MAX_BYTES = 64 << 10
"""Past this size the refused tokens are forgotten: each is then offered, and refused, once more."""

USERNAME_DEFAULT = "x-access-token"  # what GitHub expects beside an installation's token

_GITHUB = b"https://github.com"
_DEFAULT_PORTS = {b"https": 443, b"http": 80}
_LOOPBACK = (b"localhost", b"[::1]")
_HOST_MAX_BYTES = 253  # RFC 1035, section 2.3.4, less the length bytes at its ends
_HOST_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789.-_")
_NEVER_IN_A_PATH = frozenset(b"%?#\\") | frozenset(range(0x20)) | {0x7F}


class TokenFileError(Exception):
    """The token file can't be used; the message says why, without any of its content."""


class Entry:
    """One token: the `site` and `path` it is for, as `site_of` and `path_of` spell them, and `name` for a reader.

    `expires` is in seconds since 1970, None when that is not known.
    """

    __slots__ = ("expires", "name", "path", "site", "token", "username")

    def __init__(self, site: bytes, path: bytes, name: str, token: str, username: str, expires: int | None) -> None:
        self.site = site
        self.path = path
        self.name = name
        self.token = token
        self.username = username
        self.expires = expires

    @property
    def expired(self) -> bool:
        return self.expires is not None and time.time() >= self.expires


class Tokens:
    """The token file as it is now. `sites` are the hosts it names, each once.

    `left_out` tells in one line of the entries that can't be used; it is empty when all can.
    """

    def __init__(self, runtime: bytes, identity: bytes, entries: list[Entry], left_out: str) -> None:
        self.entries = entries
        self.left_out = left_out
        self.sites = list(dict.fromkeys(entry.site for entry in entries))
        self._identity = identity
        self._rejected_file = runtime + b"/" + REJECTED_FILE
        self._rejected: list[bytes] | None = None

    def of(self, site: bytes, path: bytes | None) -> list[Entry]:
        """The entries of one repository."""
        return [entry for entry in self.entries if entry.site == site and entry.path == path]

    def is_rejected(self, entry: Entry) -> bool:
        """Whether the server has refused this token since the file was last written."""
        if self._rejected is None:
            try:
                self._rejected = _read(self._rejected_file, REJECTED_MAX_BYTES)[0].split(b"\n")
            except OSError:  # none was refused; or the marks can't be read, and the token is tried once more
                self._rejected = []
        return self._mark(entry) in self._rejected

    def is_usable(self, entry: Entry) -> bool:
        """Whether the token has neither expired nor been refused."""
        return not entry.expired and not self.is_rejected(entry)

    def reject(self, entry: Entry) -> None:
        """Do not offer this token again until the token file is written anew. Raises OSError."""
        if self.is_rejected(entry):
            return
        flags = posix.O_RDWR | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW | posix.O_NONBLOCK
        file = posix.open(self._rejected_file, flags, 0o600)
        try:
            size = posix.fstat(file).st_size
            if size + 66 > REJECTED_MAX_BYTES:
                posix.ftruncate(file, size := 0)
            torn = size and posix.pread(file, 1, size - 1) != b"\n"  # by a full disk, say
            line = b"\n" * bool(torn) + self._mark(entry) + b"\n"
            posix.write(file, line)  # one append, which two at once do not mix (write(2))
        finally:
            posix.close(file)

    def _mark(self, entry: Entry) -> bytes:
        return sha256(self._identity + entry.token.encode()).hexdigest().encode()


def read_tokens(runtime: bytes) -> Tokens:
    """Read the token file of a run-time folder. Raises TokenFileError."""
    path = runtime + b"/" + TOKEN_FILE
    shown = quoted(path.decode("utf-8", "replace"))
    try:
        content, status = _read(path, FILE_MAX_BYTES)
    except OSError as problem:
        raise TokenFileError(f"the token file {shown} can't be read: {problem.strerror}") from None
    try:
        entries, faults = _entries(loads(content.decode()))
    except UnicodeDecodeError:
        raise TokenFileError(f"the token file {shown} is not UTF-8") from None
    except _FormatError as problem:
        raise TokenFileError(f"the token file {shown} is malformed: {problem}") from None
    except ValueError:  # its message might quote the content
        raise TokenFileError(f"the token file {shown} is not JSON") from None
    identity = b"%d %d %d %d\n" % (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    left_out = ""
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        left_out = f"the token file {shown} is malformed in part, which is left out: {faults[0]}{more}"
    return Tokens(runtime, identity, entries, left_out)


def site_of(protocol: bytes, host: bytes) -> bytes | None:
    """A host as the start of a URL in one spelling, `https://github.com`; None for one that never gets a token.

    That is every protocol but https, and http to a loopback host.
    """
    protocol, host = protocol.lower(), host.lower()
    colon = host.rfind(b":")
    name, port = host, b""
    if colon > host.rfind(b"]"):
        name, port = host[:colon], host[colon + 1 :]
        if not port.isdigit() or len(port) > 5:
            return None
    if not 0 < len(name) <= _HOST_MAX_BYTES or not (name in _LOOPBACK or _HOST_CHARACTERS.issuperset(name)):
        return None
    if protocol != b"https" and not (protocol == b"http" and _is_loopback(name)):
        return None
    if port and int(port) != _DEFAULT_PORTS[protocol]:
        name += b":%d" % int(port)
    return protocol + b"://" + name


def path_of(site: bytes, path: bytes) -> bytes | None:
    """A repository's path in one spelling, without `.git`; None for a path that no token belongs to.

    git-lfs asks for `<repository>.git/info/lfs` (its API's "Server Discovery"). GitHub alone is known to take
    every case of a name for the same.
    """
    path = path.removesuffix(b"/")
    if site == _GITHUB:
        path = path.lower()  # of bytes: the ASCII letters alone
    if path.endswith(b".git/info/lfs"):
        path = path.removesuffix(b"/info/lfs")
    path = path.removesuffix(b".git")
    if not _NEVER_IN_A_PATH.isdisjoint(path) or any(name in (b"", b".", b"..") for name in path.split(b"/")):
        return None
    return path


def split_url(url: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Protocol, user information, host with its port, and path (with query and fragment) of a URL, as they stand.

    Raises ValueError for what is no URL.
    """
    protocol, found, rest = url.partition(b"://")
    if not protocol or not found:
        raise ValueError("not a URL")
    end = min((at for mark in (b"/", b"?", b"#") if (at := rest.find(mark)) >= 0), default=len(rest))
    user, _, host = rest[:end].rpartition(b"@")
    return protocol, user, host, rest[end:].removeprefix(b"/")


class _FormatError(ValueError):
    pass


def _is_loopback(name: bytes) -> bool:
    """Whether a host is this machine by its name alone: 127.0.0.0/8 is (RFC 1122, section 3.2.1.3)."""
    numbers = name.split(b".")
    return name in _LOOPBACK or (
        len(numbers) == 4 and numbers[0] == b"127" and all(n.isdigit() and len(n) < 4 and int(n) < 256 for n in numbers)
    )


def _entries(content: Any) -> tuple[list[Entry], list[str]]:
    """The entries that can be used, and what is wrong with each other one."""
    if not isinstance(content, dict) or content.get("version") != 1:
        raise _FormatError("it is no object with `version` 1")
    entries = content.get("tokens")
    if not isinstance(entries, list):
        raise _FormatError("`tokens` is no array")
    checked: list[Entry] = []
    faults: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            checked.append(_entry(entry, f"entry {number}"))
        except _FormatError as fault:
            faults.append(str(fault))
    return checked, faults


def _entry(entry: Any, which: str) -> Entry:
    if not isinstance(entry, dict):
        raise _FormatError(f"{which} is no object")
    url = _line(entry.get("url"), f"`url` of {which}").encode()
    protocol, user, host, path = split_url(url) if url.find(b"://") > 0 else (b"", b"", b"", b"")
    site = site_of(protocol, host)
    spelled = path_of(site, path) if site and not user else None
    if site is None or spelled is None:
        raise _FormatError(f"`url` of {which} is not the https URL of a repository")
    username = entry.get("username")
    expires = entry.get("expires_at")
    return Entry(
        site,
        spelled,
        path.removesuffix(b"/").removesuffix(b".git").decode(),
        _line(entry.get("token"), f"`token` of {which}"),
        USERNAME_DEFAULT if username is None else _line(username, f"`username` of {which}"),
        None if expires is None else _seconds(expires, f"`expires_at` of {which}"),
    )


def _line(value: Any, which: str) -> str:
    """A text that can stand as a value in git's protocol of lines: no control character, no lone surrogate."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise _FormatError(f"{which} is no printable text")
    return value


def _seconds(value: Any, which: str) -> int:
    """Seconds since 1970 of an RFC 3339 time; a fraction is dropped. `datetime` would cost its import."""
    fault = _FormatError(f"{which} is no time such as 2026-11-29T20:00:00Z")
    if not isinstance(value, str) or not value.isascii():
        raise fault
    moment, offset = (value[:-1], "+00:00") if value[-1:] in ("Z", "z") else (value[:-6], value[-6:])
    moment, dot, fraction = moment.partition(".")
    form = "".join("0" if character.isdigit() else character for character in moment + offset).replace("-00:", "+00:")
    if form.upper() != "0000-00-00T00:00:00+00:00" or (dot and not fraction.isdigit()):
        raise fault
    year, month, day = int(moment[:4]), int(moment[5:7]), int(moment[8:10])
    hour, minute, second = int(moment[11:13]), int(moment[14:16]), int(moment[17:])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        raise fault
    east = (int(offset[1:3]) * 60 + int(offset[4:])) * (-60 if offset[0] == "-" else 60)
    return _days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - east


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the Gregorian calendar; a year is counted from March, so that its leap day is last."""
    years = year - (month < 3)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return years * 365 + years // 4 - years // 100 + years // 400 + day_of_year - 719_468


def _read(path: bytes, most_bytes: int) -> tuple[bytes, posix.stat_result]:
    """A regular file's content, at once and bounded, and what it was when it was opened. Raises OSError."""
    file = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK)
    try:
        status = posix.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file")
        if status.st_size > most_bytes:
            raise OSError(0, f"it has over {most_bytes} bytes")
        content = b""
        while len(content) <= most_bytes and (part := posix.read(file, most_bytes)):
            content += part
        return content, status
    finally:
        posix.close(file)
