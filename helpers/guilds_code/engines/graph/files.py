"""Which files a repository has, and which of them moved since the last look. Reads names and stamps, no contents.

A stamp is one number of modification time, change time, size and inode, so an edit that keeps size and
modification time still shows in the change time, which no program can set back. The list comes from git, or from
ripgrep outside git; it is made again only when a folder, an ignore file or git's index moved.
"""

from __future__ import annotations

import os

from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TICK_NS = 20_000_000
"""File times come from the kernel's coarse clock, which lags by a tick (10 ms at HZ=100): what is not older than
the look by more than this can change again under the same stamp."""
EMPTY_FOLDERS_MAX = 2000
"""Folders without a listed file that are watched outside git; with more, the list is made at every look."""
LIST_TIMEOUT_SECONDS = 120
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
BY_RIPGREP = "git can't list the files here (git status says why); ripgrep did"


class Tree:
    """A repository's files and folders as they were at one look."""

    __slots__ = ("files", "folders", "misnamed", "nested", "notice", "racy", "settled", "watched")

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        """Path, relative to the root → stamp."""
        self.folders: dict[str, int] = {}
        self.watched: dict[str, int] = {}
        """Absolute paths of what decides on the list: ignore files, git's index."""
        self.racy: list[str] = []
        """Files that may have changed after they were read, under the same stamp."""
        self.settled = False
        """Whether equal stamps of folders prove the list."""
        self.nested: list[str] = []
        """Folders that git leaves out, since they are repositories of their own."""
        self.misnamed = 0
        """Files whose names are not UTF-8."""
        self.notice = ""
        """What the reader must know about where the list comes from."""

    def stored(self) -> bytes:
        from marshal import dumps

        listed = self.nested, self.misnamed, self.notice
        return dumps((self.files, self.folders, self.watched, self.racy, self.settled, *listed))

    @classmethod
    def of(cls, stored: bytes) -> Tree:
        from marshal import loads

        tree = cls()
        tree.files, tree.folders, tree.watched, tree.racy, tree.settled, *listed = loads(stored)
        tree.nested, tree.misnamed, tree.notice = listed
        return tree


def unchanged(root: str, tree: Tree) -> bool:
    """Whether every known file and folder is as it was, and none can have come."""
    if not tree.settled or tree.racy or not listed_the_same(root, tree):
        return False
    lstat, base = os.lstat, root + "/"
    try:
        for path, stamp in tree.files.items():
            s = lstat(base + path)
            if hash((s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino)) != stamp:
                return False
    except OSError:
        return False
    return True


def listed_the_same(root: str, tree: Tree) -> bool:
    """Whether no folder, ignore file or index moved."""
    if not tree.settled:
        return False
    base = root + "/"
    return all(_folder_stamp(base + path) == stamp for path, stamp in tree.folders.items()) and all(
        stamp_of(path) == stamp for path, stamp in tree.watched.items()
    )


def look(root: str, before: Tree | None) -> Tree:
    """The tree as it is now. Raises ToolError(`unavailable`) when no program can list it."""
    from time import time_ns

    looked_ns = time_ns()
    tree = Tree()
    if before is not None and listed_the_same(root, before):
        tree.folders, tree.watched, tree.settled = before.folders, before.watched, True
        tree.nested, tree.misnamed, tree.notice = before.nested, before.misnamed, before.notice
        names: Iterable[str] = before.files
    else:
        names = _listed(root, tree, looked_ns)
    base = root + "/"
    for name in names:
        try:
            s = os.lstat(base + name)
        except OSError:
            continue
        if s.st_mode & 0o170000 == 0o040000:
            tree.nested.append(name.rstrip("/"))
        if s.st_mode & 0o170000 != 0o100000:
            continue
        tree.files[name] = hash((s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino))
        if max(s.st_mtime_ns, s.st_ctime_ns) >= looked_ns - TICK_NS:
            tree.racy.append(name)
    return tree


def _listed(root: str, tree: Tree, looked_ns: int) -> list[str]:
    """Every file's path, sorted; the folders and the ignore files that decide on it go into the tree."""
    git = _output([*_GIT, "-C", root, "rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"])
    if git is not None:
        found = _output([*_GIT, "-C", root, "ls-files", "-z", "-co", "--exclude-standard"])
        if found is None:
            tree.notice = BY_RIPGREP
        folder, common, top = os.fsdecode(git).split("\n")[:3]
        common = os.path.normpath(os.path.join(root, common))
        watched = [f"{folder}/index", f"{common}/info/exclude", f"{common}/config", f"{folder}/config.worktree"]
        watched += _git_settings(root, top)
        above = root
        while above not in (top, "/"):
            above = os.path.dirname(above)
            watched.append(above + "/.gitignore")
    else:
        found, watched = None, [f"{root}/.git/info/exclude"]
    names, tree.misnamed = _names(_by_ripgrep(root), root + "/") if found is None else _names(found, "")
    folders = {""}
    for name in names:
        folder = name.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    empty, ignores, whole = _without_files(root, folders, in_git=found is not None)
    tree.folders = {path: _folder_stamp(f"{root}/{path}") for path in sorted(folders | empty)}
    tree.watched = {path: stamp_of(path) for path in sorted({*watched, *ignores})}
    newest = max((_folder_time(f"{root}/{path}") for path in tree.folders), default=0)
    tree.settled = whole and newest < looked_ns - TICK_NS
    return names


def _git_settings(root: str, top: str) -> list[str]:
    """The files that tell git what to ignore everywhere, and those that name them (git-config(1), FILES and
    `core.excludesFile`; gitignore(5))."""
    user = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    found = ["/etc/gitconfig", os.path.expanduser("~/.gitconfig"), f"{user}/git/config", f"{user}/git/ignore"]
    listed = os.fsdecode(_output([*_GIT, "-C", root, "config", "--list", "--show-origin", "-z"]) or b"").split("\0")
    for origin, setting in zip(listed[::2], listed[1::2], strict=False):
        kind, _, path = origin.partition(":")
        if kind == "file":
            found.append(os.path.join(root, path))
        key, _, value = setting.partition("\n")
        if key == "core.excludesfile" and value:
            found.append(os.path.join(top, os.path.expanduser(value)))
    return found


def _by_ripgrep(root: str) -> bytes:
    """Its list of files: 0 is some, 1 none, 2 some with a folder that can't be read (rg(1), EXIT STATUS)."""
    import sys

    for program in ("/usr/bin/rg", f"{os.path.dirname(sys.executable)}/rg", "rg"):
        output = _output([program, *_RIPGREP, "--", root], expected=(0, 1, 2))
        if output is not None:
            return output
    raise ToolError(
        "unavailable", f"{root} is no git checkout and ripgrep can't be run to list its files; install ripgrep."
    )


_USUAL_GIT = "/usr/bin/git"
_GIT = (
    _USUAL_GIT if os.access(_USUAL_GIT, os.X_OK) else "git",
    *("-c", "core.fsmonitor=false", "-c", "safe.directory=*", "-c", "core.quotePath=false"),
)
# The first git on PATH may be the agent's program, and fsmonitor would run one that a repository's configuration names
_RIPGREP = (
    "--files",
    "--null",
    "--hidden",
    "--no-config",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--glob",
    "!.git",
)


def _names(output: bytes, prefix: str) -> tuple[list[str], int]:
    """Paths in UTF-8, each once, sorted, and how many are not in UTF-8: those no store can hold as text."""
    found = set()
    misnamed = set()
    for raw in output.split(b"\0"):
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            misnamed.add(raw)
            continue
        if name:
            found.add(name.removeprefix(prefix))
    return sorted(found), len(misnamed)


def _without_files(root: str, known: set[str], *, in_git: bool) -> tuple[set[str], list[str], bool]:
    """Folders without a listed file that a file may come into, ignore files, and whether that is all of them."""
    empty: set[str] = set()
    ignores: list[str] = []
    pending = sorted(known)
    while pending:
        found = []
        for folder in pending:
            for name, is_folder in _entries(f"{root}/{folder}" if folder else root):
                path = f"{folder}/{name}" if folder else name
                if name in IGNORE_FILES:
                    ignores.append(f"{root}/{path}")
                if is_folder and name != ".git" and path not in known and path not in empty:
                    found.append(path)
        pending = _not_ignored(root, found) if in_git and found else found
        empty.update(pending)
        if len(empty) > EMPTY_FOLDERS_MAX:
            return empty, ignores, False
    return empty, ignores, True


def _entries(folder: str) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name, entry.is_dir(follow_symlinks=False)
    except OSError:
        return


def _not_ignored(root: str, paths: list[str]) -> list[str]:
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    output = _output([*_GIT, "-C", root, "check-ignore", "-z", "--stdin"], given, (0, 1))
    ignored = {os.fsdecode(raw) for raw in (output or b"").split(b"\0")}
    return [path for path in paths if path not in ignored]


def _output(command: list[str], given: bytes = b"", expected: tuple[int, ...] = (0,)) -> bytes | None:
    """What a program prints, or None when it can't be run or fails."""
    import subprocess

    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            timeout=LIST_TIMEOUT_SECONDS,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode in expected else None


def stamp_of(path: str) -> int:
    """One number of a file's times, size and inode, links followed; 0 when it is not there."""
    try:
        s = os.stat(path)
    except OSError:
        return 0
    return hash((s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino))


def _folder_stamp(path: str) -> int:
    try:
        s = os.lstat(path)
    except OSError:
        return 0
    return hash((s.st_mtime_ns, s.st_ctime_ns, s.st_ino))


def _folder_time(path: str) -> int:
    try:
        s = os.lstat(path)
    except OSError:
        return 0
    return max(s.st_mtime_ns, s.st_ctime_ns)
