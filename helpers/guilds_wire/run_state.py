"""RunState: what a run keeps between its calls, in a folder of its own under `.runs/` in home.

The folder is made when there is something to keep. Whoever uses it holds a shared lock on it (flock(2)), which a
process that goes on writing a log inherits, so that clearing old runs never takes one that is in use.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from guilds_wire.errors import io_error, quoted
from guilds_wire.paths import shown_bytes
from guilds_wire.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

RUN_FOLDERS_MOST = 20
RUNS_FOLDER = b".runs"
LOCK_SECONDS = 2
MAKE_TIMES_MOST = 5

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class RunState:
    """One run's folder and its working directory.

    `directory` is where relative paths start, as absolute bytes. `notice` is a line for the reader when that is
    not where the last command left it, since the directory is gone.
    """

    def __init__(self, places: Places, run_id: str) -> None:
        self.path = os.path.join(places.home, RUNS_FOLDER, run_id.encode("ascii"))
        self.notice: str | None = None
        self._home = places.home
        self._descriptor = self._open()
        kept = self._kept_directory()
        self.directory = _nearest_folder(kept, places.home)
        if self.directory != kept:
            gone, now = quoted(shown_bytes(kept)), quoted(shown_bytes(self.directory))
            how = "can't be entered" if os.path.isdir(kept) else "is gone"
            self.notice = f"[the working directory {gone} {how}; now in {now}]"

    def folder(self) -> int:
        """A descriptor of the run's folder, which is made when it is missing. Raises OSError."""
        if self._descriptor is None:
            self._make()
        assert self._descriptor is not None
        return self._descriptor

    def close(self) -> None:
        """Let go of the folder; for a process that serves many calls."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def set_directory(self, path: bytes) -> None:
        """Keep this as the working directory of the next call. Raises OSError; the old one then stays."""
        if path == self._kept_directory():
            return
        self.write("cwd", path)
        self.directory = path

    def settle(self) -> None:
        """Keep the directory that took the place of a lost one, unless the call has kept another since."""
        if not os.path.isdir(self._kept_directory()):
            try:
                self.set_directory(self.directory)
            except OSError:  # a full or read-only disk; then the next call tells the reader again
                pass

    def read(self, name: str) -> bytes | None:
        """The content of one of the folder's files, or None when there is none."""
        if self._descriptor is None:
            return None
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._descriptor)
        except OSError:
            return None
        try:
            with open(file, "rb") as opened:
                return opened.read()
        except OSError:  # a folder has taken its name
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replace one of the folder's small files at once: a reader sees the old or the new. Raises OSError."""
        folder = self.folder()
        fresh = f".{name}.{os.getpid()}"
        try:
            file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
            with open(file, "wb", buffering=0) as opened:
                opened.write(content)
            os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            _remove(fresh, folder)
            raise

    def lock(self) -> int:
        """A descriptor that holds the run's exclusive lock until it is closed. Raises OSError."""
        file = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self.folder())
        if not _lock(file, fcntl.LOCK_EX):
            os.close(file)
            raise OSError(errno.EDEADLK, f"another process has locked the run for {LOCK_SECONDS} s")
        return file

    def _kept_directory(self) -> bytes:
        kept = self.read("cwd")
        return kept if kept and kept.startswith(b"/") and b"\0" not in kept else self._home

    def _make(self) -> None:
        runs = os.path.dirname(self.path)
        for _ in range(MAKE_TIMES_MOST):
            for path in (runs, self.path):
                try:
                    os.mkdir(path, 0o700)
                except FileExistsError:
                    pass
            self._descriptor = self._open()
            if self._descriptor is not None:  # else another call cleared it before we had it locked
                _clear_old_runs(runs)
                return
        raise OSError(errno.EBUSY, "the run's folder is removed as often as it is made")

    def _open(self) -> int | None:
        """Open, lock and mark as used; None when there is no folder. One that is being removed is none."""
        try:
            folder = os.open(self.path, _FOLDER)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise io_error(problem, shown_bytes(self.path)) from problem
        _lock(folder, fcntl.LOCK_SH)  # without it the folder is only less safe from clearing
        if os.fstat(folder).st_nlink == 0:
            os.close(folder)
            return None
        try:
            os.utime(folder)
        except OSError:  # a read-only file system; the order of use matters to clearing alone, which can't happen
            pass
        return folder


def _lock(descriptor: int, how: int) -> bool:
    """Lock within a bounded time: a process of the agent's may hold the lock for ever."""
    give_up = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.002)
        else:
            return True


def _nearest_folder(path: bytes, home: bytes) -> bytes:
    """The path if it is a folder that can be entered, else its nearest parent that is."""
    while not (os.path.isdir(path) and os.access(path, os.X_OK)):
        if path == b"/":
            return home
        path = os.path.dirname(path.rstrip(b"/")) or b"/"
    return path


def _clear_old_runs(runs: bytes) -> None:
    """Remove the run folders beyond the most recently used ones, those in use apart; one call at a time does it."""
    import shutil  # only a run's first call pays for it

    folder = os.open(runs, _FOLDER)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for used, path in sorted(_run_folders(runs), reverse=True)[RUN_FOLDERS_MOST:]:
            _remove_unless_used(path, used, shutil.rmtree)
    except BlockingIOError:  # another call is at it
        pass
    finally:
        os.close(folder)


def _run_folders(runs: bytes) -> list[tuple[int, bytes]]:
    """When each was last used, and its path."""
    found = []
    with os.scandir(runs) as entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    found.append((entry.stat().st_mtime_ns, entry.path))
            except FileNotFoundError:  # the agent removed it meanwhile
                continue
    return found


def _remove_unless_used(path: bytes, used: int, remove: Callable[..., None]) -> None:
    try:
        folder = os.open(path, _FOLDER)
    except OSError:  # the agent removed it
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(folder).st_mtime_ns == used:
            remove(path, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(folder)


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:  # it was not made, or the disk refuses; the next write takes another name
        pass
