"""Paths: from what a caller names to an open descriptor inside home, and to what a reader is shown.

Every path is walked by descriptor, component by component, links included, and judged by where the descriptor
stands, so that nothing that moves meanwhile leads out of home. Who acts, acts through the descriptor.
"""

from __future__ import annotations

import errno
import os
import stat

from guilds_wire.errors import ToolError, quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from guilds_wire.places import Places

LINKS_MOST = 40
"""As many links as the kernel follows in one path (path_resolution(7))."""

NAME_MAX_BYTES = 255
PATH_MAX_BYTES = 4_095

KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


class Located:
    """Where a path leads, links followed: an open descriptor (O_PATH) inside home. Close it, or use `with`.

    `missing` holds the names that do not exist yet below the descriptor, which is then their folder.
    `real` is the path of the descriptor without links; `shown` is for the reader.
    """

    __slots__ = ("descriptor", "missing", "real", "shown", "status")

    def __init__(self, descriptor: int, real: bytes, missing: list[bytes], shown: str) -> None:
        self.descriptor = descriptor
        self.missing = missing
        self.real = real
        self.shown = shown
        self.status = os.fstat(descriptor)

    def __enter__(self) -> Located:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)

    @property
    def is_folder(self) -> bool:
        return not self.missing and stat.S_ISDIR(self.status.st_mode)

    def open(self, flags: int) -> int:
        """Open the very file that was located. Raises OSError."""
        return os.open(f"/proc/self/fd/{self.descriptor}", flags | os.O_NONBLOCK)

    def require_file(self) -> None:
        """Raises ToolError(`not_a_file`) unless this is a regular file."""
        if not stat.S_ISREG(self.status.st_mode):
            kind = KINDS.get(stat.S_IFMT(self.status.st_mode), "no regular file")
            raise ToolError("not_a_file", f"{self.shown} is {kind}, not a file.")


class Workspace:
    """Home as a wall, and the working directory as the start of relative paths."""

    __slots__ = ("directory", "home")

    def __init__(self, places: Places, directory: bytes) -> None:
        self.home = places.home
        self.directory = directory

    def locate(self, path: str, *, allow_missing: bool = False) -> Located:
        """Walk to the path. Raises ToolError: `invalid_arguments` for what can't be a path,
        `path_outside_home`, `not_found` unless `allow_missing`, `io_error`.
        """
        named = _checked(path)
        shown = quoted(path) if ".." in path.split("/") else self.shown(named)
        walk = _Walk(os.path.join(self.directory, named))
        try:
            missing = walk.to_the_end()
            where = Located(walk.descriptor, walk.real(), missing, shown)
        except OSError as problem:
            self._require_inside(real_path(walk.descriptor), shown)
            os.close(walk.descriptor)
            raise _walk_error(problem, shown) from problem
        self._require_inside(where.real, shown, where.descriptor)
        if b".." in named.split(b"/") or not self._is_below(named):  # the names alone may say something else
            where.shown = self.shown(os.path.join(where.real, *missing))
        if missing and not allow_missing:
            os.close(where.descriptor)
            raise ToolError("not_found", f"{shown} does not exist{self._advice(where, path)}.")
        return where

    def shown(self, path: bytes) -> str:
        """A path for the reader: relative to the working directory when it lies under it, else absolute."""
        whole = os.path.normpath(os.path.join(self.directory, path))
        if whole == self.directory:
            return "."
        under = self.directory.rstrip(b"/") + b"/"
        return shown_bytes(whole[len(under) :] if whole.startswith(under) else whole)

    def _is_below(self, named: bytes) -> bool:
        return not named.startswith(b"/") or named.startswith(self.directory.rstrip(b"/") + b"/")

    def contains(self, real: bytes) -> bool:
        """Whether a path without links lies in home, or is home."""
        return real == self.home or real.startswith(self.home.rstrip(b"/") + b"/")

    def _require_inside(self, real: bytes, shown: str, descriptor: int | None = None) -> None:
        if not self.contains(real):
            if descriptor is not None:
                os.close(descriptor)
            raise ToolError(
                "path_outside_home",
                f"{quoted(shown)} leads outside of home ({shown_bytes(self.home)}); use a path inside it.",
            )

    def _advice(self, where: Located, path: str) -> str:
        below = self.shown(where.real)
        gone = shown_bytes(where.missing[0])
        if path.startswith("~"):
            return f": `~` is not expanded, home is {shown_bytes(self.home)}"
        if path.startswith("/") or len(where.missing) > 1:
            return f": there is no {quoted(gone)} in {below}"
        return f" (the working directory is {shown_bytes(self.directory)})"


class _Walk:
    """A path resolution of our own, as path_resolution(7) has it, that can say where it stopped."""

    __slots__ = ("_file", "_links", "_names", "descriptor")

    def __init__(self, path: bytes) -> None:
        self.descriptor = os.open("/", os.O_PATH | os.O_DIRECTORY)
        self._names = _names(path)
        self._links = 0
        self._file = b""

    def to_the_end(self) -> list[bytes]:
        """Follow every name; the names that are missing at the end. Raises OSError where the way is barred."""
        while self._names:
            name = self._names.pop()
            try:
                child = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.descriptor)
            except FileNotFoundError:
                return [name, *reversed(self._names)]
            if stat.S_ISLNK(os.fstat(child).st_mode):
                self._follow(child)
            else:
                if not stat.S_ISDIR(os.fstat(child).st_mode):
                    self._file = os.path.join(real_path(self.descriptor), name)
                os.close(self.descriptor)
                self.descriptor = child
        return []

    def real(self) -> bytes:
        """Where the walk ended, without links. A file is told by its folder: whoever replaces it meanwhile takes its
        name away from the descriptor.
        """
        return self._file or real_path(self.descriptor)

    def _follow(self, link: int) -> None:
        target = os.readlink(b"", dir_fd=link)
        os.close(link)
        self._links += 1
        if self._links > LINKS_MOST:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith(b"/"):
            root = os.open("/", os.O_PATH | os.O_DIRECTORY)
            os.close(self.descriptor)
            self.descriptor = root
        self._names += _names(target)


def real_path(descriptor: int) -> bytes:
    """The path of an open descriptor without links (proc(5), /proc/pid/fd)."""
    return os.readlink(b"/proc/self/fd/%d" % descriptor)


def shown_bytes(path: bytes) -> str:
    """Raw bytes of a name for a reader: bytes that are not UTF-8 as U+FFFD, control characters as escapes."""
    text = path.decode("utf-8", "replace")
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == " " or c == "\ufffd" else c.encode("unicode_escape").decode("ascii") for c in text
    )


def _names(path: bytes) -> list[bytes]:
    """The components, last one first; a trailing slash is a last `.`, which only a folder has."""
    names = [name for name in path.split(b"/") if name and name != b"."]
    if path.endswith((b"/", b"/.")):
        names.append(b".")
    return names[::-1]


def _checked(path: str) -> bytes:
    named = path.encode("utf-8")
    if b"\0" in named:
        raise invalid_argument("path", "holds a NUL character")
    if len(named) > PATH_MAX_BYTES:
        raise invalid_argument("path", f"has {len(named)} bytes; a path has at most {PATH_MAX_BYTES}")
    longest = max(len(name) for name in named.split(b"/"))
    if longest > NAME_MAX_BYTES:
        raise invalid_argument("path", f"holds a name of {longest} bytes; a name has at most {NAME_MAX_BYTES}")
    return named


def _walk_error(problem: OSError, shown: str) -> ToolError:
    if problem.errno == errno.ENOTDIR:
        return ToolError("not_found", f"{shown} does not exist: a part of it is a file, not a folder.")
    if problem.errno == errno.ELOOP:
        return ToolError("io_error", f"{shown} can't be followed: its links go round in a circle.")
    return ToolError("io_error", f"{shown}: {problem.strerror}.")
