"""Replacing a file: whole and at once, keeping what belongs to it, one writer of a folder at a time.

The new content is written beside the target under one fixed name and renamed over it (rename(2) is atomic). Only
who holds the folder's lock (flock(2)) uses that name, so what a killed writer left is overwritten or removed by
the next one, and two writers never meet. fsync comes before the rename, so that a crash leaves no empty file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from guilds_wire.descriptors import write_all
from guilds_wire.errors import ToolError, io_error
from guilds_wire.paths import Located, real_path, shown_bytes
from guilds_wire.run_state import RUNS_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from guilds_wire.paths import Workspace

FRESH_NAME = ".guilds-replacement~"
"""What the new content is called until it is renamed."""

KEPT_NAME = ".guilds-replaced~"
"""What the old content is called as well, until it is known that nobody changed it at the last moment."""

LOCK_SECONDS = 10
"""Ours hold the lock for milliseconds; who holds it longer is a command of the agent's (`flock . make`)."""
READ_MAX_BYTES = 128 << 20
"""The largest file that is changed: its content is held in memory."""

RECENT_NANOSECONDS = 50_000_000
"""A file changed within this time of our look may change again under the same timestamp (a kernel tick is 1 to
10 ms): then its content is compared."""


class Target:
    """A file that is to be made or changed, with its folder locked. Use it with `with`.

    `before` is its present content, None when there is none yet.
    """

    def __init__(self, workspace: Workspace, located: Located) -> None:
        self.shown = located.shown
        self.before: bytes | None = None
        self.in_place = False
        self._locked = False
        self._status: os.stat_result | None = None
        self._workspace = workspace
        self._folder, self._name = _folder_and_name(workspace, located)

    def __enter__(self) -> Target:
        try:
            self._locked = self._lock()
            self._remove(FRESH_NAME, KEPT_NAME)
            self._look()
        except BaseException:
            os.close(self._folder)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._folder)

    def write(self, content: bytes, new_file_mode: int) -> None:
        """Make this the file's content; `new_file_mode` (less umask) counts for a file that is not there yet.

        Raises ToolError(`conflict`) when the file is another than `before` by now, ToolError(`io_error`) when the
        system refuses; the old content is then whole.
        """
        try:
            if (self._status is not None and self._status.st_nlink > 1) or not self._replace(content, new_file_mode):
                self._write_in_place(content)
        except OSError as problem:
            raise io_error(problem, self.shown) from problem
        finally:
            self._remove(FRESH_NAME, KEPT_NAME)

    def _lock(self) -> bool:
        """Take the folder's lock; False when somebody else keeps it, or the folder can't be opened for it. Then the
        fresh name, which only one can make, keeps two writers apart.
        """
        give_up = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > give_up:
                    return False
                time.sleep(0.002)
            except OSError:  # an O_PATH descriptor
                return False

    def _look(self) -> None:
        """Read the file as it is now that nobody else changes it through us."""
        try:
            file = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._folder)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise io_error(problem, self.shown) from problem
        with open(file, "rb", buffering=0) as opened:
            self._status = os.fstat(file)
            if not stat.S_ISREG(self._status.st_mode):
                raise ToolError("conflict", f"{self.shown} is no longer a file; look at it again.")
            self._require_writable(self._status)
            self.before = opened.read()

    def _require_writable(self, status: os.stat_result) -> None:
        if not status.st_mode & 0o222:
            mode = stat.S_IMODE(status.st_mode)
            raise ToolError(
                "io_error",
                f"{self.shown} is write-protected (mode {mode:04o}); chmod it first if that is meant.",
            )
        if status.st_size > READ_MAX_BYTES:
            raise ToolError(
                "io_error",
                f"{self.shown} has {status.st_size} bytes; files up to {READ_MAX_BYTES} are changed here. Use shell.",
            )

    def _replace(self, content: bytes, new_file_mode: int) -> bool:
        """Rename a new file over the target. False, and nothing changed, when the new file can't be made the
        equal of the old one (its owner, say), so that it has to be written in place.
        """
        mode = 0o600 if self._status else new_file_mode
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            fresh = os.open(FRESH_NAME, flags, mode, dir_fd=self._folder)
        except FileExistsError:
            raise ToolError(
                "conflict", f"{self.shown}: another change in its folder is under way; try again."
            ) from None
        self._locked = True  # the fresh name is ours now, and so is its removal
        with open(fresh, "wb", buffering=0):
            if self._status and not self._copy_properties(fresh, self._status):
                return False
            write_all(fresh, content)
            if self._status and self._status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                os.fchmod(fresh, stat.S_IMODE(self._status.st_mode))  # an ordinary user's write has cleared them
            os.fsync(fresh)
        self._require_unchanged()
        if self._status is None:
            self._link_new()
        else:
            self._rename_over(self._status)
        return True

    def _rename_over(self, before: os.stat_result) -> None:
        """Put the new file in the old one's place, and the old one back should it have changed at the last moment."""
        kept = self._keep_old()
        os.rename(FRESH_NAME, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        if kept:
            now = os.stat(KEPT_NAME, dir_fd=self._folder, follow_symlinks=False)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
                os.rename(KEPT_NAME, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
                raise self._changed()

    def _keep_old(self) -> bool:
        """Give the old file a second name; False where that can't be done (no hard links, another's file)."""
        try:
            os.link(self._name, KEPT_NAME, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _link_new(self) -> None:
        """Give a new file its name, without taking the place of one that somebody else has just made."""
        try:
            os.link(
                FRESH_NAME,
                self._name,
                src_dir_fd=self._folder,
                dst_dir_fd=self._folder,
                follow_symlinks=False,
            )
        except FileExistsError:
            raise self._changed() from None
        except OSError as problem:
            if problem.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            # A file system without hard links (vfat, some FUSE ones): rename is all there is.
            os.rename(FRESH_NAME, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _copy_properties(self, fresh: int, status: os.stat_result) -> bool:
        """Owner, extended attributes (access lists are among them), mode: in this order, since a change of owner
        clears the set-id bits (chown(2)). False when the system does not let us.
        """
        try:
            now = os.fstat(fresh)
            if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
                os.fchown(fresh, status.st_uid, status.st_gid)
            old = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._folder)
            with open(old, "rb"):
                has = {name: os.getxattr(fresh, name) for name in _attributes(fresh)}
                for name in _attributes(old):
                    if has.get(name) != (value := os.getxattr(old, name)):
                        os.setxattr(fresh, name, value)
            os.fchmod(fresh, stat.S_IMODE(status.st_mode))
        except OSError as problem:
            if problem.errno in (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL):
                return False
            raise
        return True

    def _write_in_place(self, content: bytes) -> None:
        """Overwrite the file's own bytes, for a file with several names or of an owner that we can't give.

        A process of its own does it, so that a kill of this one leaves no half of it.
        """
        self._require_unchanged()
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                self._overwrite(content)
            except OSError as problem:
                os.write(tell, b"%d" % (problem.errno or errno.EIO))
            finally:
                os._exit(0)
        os.close(tell)
        with open(told, "rb") as answer:
            number = answer.read()
        os.waitpid(child, 0)
        if number:
            raise OSError(int(number), os.strerror(int(number)))
        self.in_place = True

    def _overwrite(self, content: bytes) -> None:
        file = os.open(self._name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=self._folder)
        with open(file, "wb", buffering=0):
            length = len(self.before or b"")
            if len(content) > length:
                _reserve(file, length, len(content))
            write_all(file, content)
            os.ftruncate(file, len(content))
            os.fsync(file)

    def _require_unchanged(self) -> None:
        """Raises ToolError(`conflict`) when the file is not the one whose content is in `before`."""
        try:
            now = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            if self._status is None:
                return
            raise self._changed() from None
        if self._status is None or _identity(now) != _identity(self._status):
            raise self._changed()
        if time.time_ns() - now.st_mtime_ns < RECENT_NANOSECONDS and self._content_now() != self.before:
            raise self._changed()

    def _content_now(self) -> bytes:
        file = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._folder)
        with open(file, "rb", buffering=0) as opened:
            return opened.read(READ_MAX_BYTES + 1)

    def _changed(self) -> ToolError:
        return ToolError(
            "conflict",
            f"{self.shown} was changed by somebody else meanwhile; nothing was written. Read it again.",
        )

    def _remove(self, *names: str) -> None:
        """Remove what a write left behind. Without the lock it may be another's, who is still at it."""
        for name in names if self._locked else ():
            try:
                os.unlink(name, dir_fd=self._folder)
            except OSError:  # there is none; or the folder can't be written, which the write finds and tells
                pass


def open_target(workspace: Workspace, path: str, *, create: bool) -> Target:
    """The file at a path, to be changed; with `create` one that does not exist yet, its folders made.

    Raises ToolError as Workspace.locate does, and `not_a_file`.
    """
    with workspace.locate(path, allow_missing=create) as located:
        if not located.missing:
            located.require_file()
        elif b".." in located.missing or b"." in located.missing:
            raise ToolError("not_found", f"{located.shown}: {path} goes through a folder that does not exist.")
        return Target(workspace, located)


def _folder_and_name(workspace: Workspace, located: Located) -> tuple[int, bytes]:
    _require_writable_place(workspace, os.path.join(located.real, *located.missing[:1]), located.shown)
    try:
        if located.missing:
            folder, name = _made_folder(located), located.missing[-1]
        else:
            parent, name = os.path.split(located.real)
            folder = _open_folder(parent)
    except OSError as problem:
        raise io_error(problem, located.shown) from problem
    try:  # judged once more by where the descriptor stands: a folder may have been moved since
        _require_writable_place(workspace, os.path.join(real_path(folder), name), located.shown)
    except ToolError:
        os.close(folder)
        raise
    return folder, name


def _require_writable_place(workspace: Workspace, real: bytes, shown: str) -> None:
    runs = os.path.join(workspace.home, RUNS_FOLDER)
    if real == runs or real.startswith(runs + b"/"):
        raise ToolError(
            "path_outside_home",
            f"{shown} lies in {shown_bytes(RUNS_FOLDER)}, which the tools keep: it can be read, not written.",
        )
    if not workspace.contains(real):
        raise ToolError("conflict", f"{shown} was moved meanwhile; nothing was written.")


def _open_folder(path: bytes) -> int:
    """The folder, for its lock; one that may be written and not read at least to act in."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return os.open(path, os.O_PATH | os.O_DIRECTORY)


def _made_folder(located: Located) -> int:
    """The folder of a missing file, its missing parents made, each through the descriptor of the one above."""
    folder = located.open(os.O_RDONLY | os.O_DIRECTORY)
    for name in located.missing[:-1]:
        try:
            os.mkdir(name, dir_fd=folder)
        except FileExistsError:
            pass
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        os.close(folder)
        folder = below
    return folder


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _attributes(file: int) -> list[str]:
    try:
        return os.listxattr(file)
    except OSError as problem:
        if problem.errno == errno.EOPNOTSUPP:  # the file system has none
            return []
        raise


def _reserve(file: int, length: int, wanted: int) -> None:
    """Have the disk's room before the first byte is overwritten, so that a full disk costs nothing."""
    try:
        os.posix_fallocate(file, 0, wanted)
    except OSError as problem:
        if problem.errno in (errno.EOPNOTSUPP, errno.EINVAL):  # the file system can't promise room
            return
        os.ftruncate(file, length)
        raise
