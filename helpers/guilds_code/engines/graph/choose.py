"""Which repository a call is about, and which part of it."""

from __future__ import annotations

import os

from guilds_wire.errors import ToolError, quoted
from guilds_wire.paths import shown_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

REPOSITORIES = "repos"
LISTED_MAX = 20


class Chosen:
    """A repository's folder, the path in it that was asked about ("" for all of it), and where paths start."""

    __slots__ = ("_directory", "home", "root", "within")

    def __init__(self, root: str, within: str, home: str, directory: str) -> None:
        self.root = root
        self.within = within
        self.home = home
        self._directory = directory

    def inside(self, path: str) -> str | None:
        """A path from the working directory, or an absolute one, as one within the repository; None outside it."""
        if "\0" in path:
            return None
        whole = os.path.normpath(os.path.join(self._directory, path))
        folder, name = os.path.split(whole)
        whole = os.path.join(os.path.realpath(folder), name)
        return whole[len(self.root) + 1 :] if whole.startswith(self.root + "/") else None

    def shown(self, path: str) -> str:
        """A path of the repository for the reader: relative to the working directory when it is under it."""
        whole = f"{self.root}/{path}" if path else self.root
        if whole == self._directory:
            return "."
        under = self._directory.rstrip("/") + "/"
        return shown_bytes(os.fsencode(whole[len(under) :] if whole.startswith(under) else whole))


def choose(call: Call, path: str | None) -> Chosen:
    """The repository that holds `path`, else the working directory (a git checkout elsewhere in home will do), else
    the only one there is.

    Raises ToolError: what `locate` raises for the path, `invalid_arguments` when several could be meant,
    `not_found` when there is none.
    """
    home, directory = os.fsdecode(call.places.home), os.fsdecode(call.workspace.directory)
    if path is not None:
        with call.workspace.locate(path) as located:
            real, is_folder = os.fsdecode(located.real), located.is_folder
        folder = real if is_folder else os.path.dirname(real)
        root = _holding(folder, home) or folder
        return Chosen(root, real[len(root) + 1 :], home, directory)
    root = _holding(directory, home)
    if not root:
        names = repositories(call)
        if not names:
            raise ToolError("not_found", f"there is no repository in {home}/{REPOSITORIES}; clone one there first.")
        if len(names) > 1:
            raise ToolError("invalid_arguments", f"several repositories are here ({_listed(names)}); name one of them.")
        root = f"{home}/{REPOSITORIES}/{names[0]}"
    return Chosen(os.path.realpath(root), "", home, directory)


def choose_by_name(call: Call, name: str | None) -> Chosen:
    """The repository of that name under `repos/`, or at that path. Raises ToolError as `choose` does."""
    if name is None:
        return choose(call, None)
    home, directory = os.fsdecode(call.places.home), os.fsdecode(call.workspace.directory)
    path = name
    if "/" not in name and name not in (".", ".."):
        named = f"{home}/{REPOSITORIES}/{name}"
        if name != ".git" and os.path.isdir(named):
            path = named
        elif not os.path.isdir(os.path.join(directory, name)):
            there = _listed(repositories(call)) or "none"
            raise ToolError("not_found", f"there is no repository {quoted(name)}; those there are: {there}.")
    with call.workspace.locate(path) as located:
        if not located.is_folder:
            raise ToolError("invalid_arguments", f"{located.shown} is no folder; name a repository.")
        real = os.fsdecode(located.real)
    return Chosen(real, "", home, directory)


def repositories(call: Call) -> list[str]:
    """The names of the folders under `repos/`, sorted, without links that lead out of home."""
    try:
        with os.scandir(f"{os.fsdecode(call.places.home)}/{REPOSITORIES}") as entries:
            found = [entry for entry in entries if entry.is_dir() and entry.name != ".git"]
    except OSError:
        return []
    inside = call.workspace.contains
    return sorted(entry.name for entry in found if inside(os.fsencode(os.path.realpath(entry.path))))


def _listed(names: list[str]) -> str:
    return ", ".join(shown_bytes(os.fsencode(name)) for name in names[:LISTED_MAX])


def _holding(folder: str, home: str) -> str:
    """The repository that a folder lies in, or "": the one under `repos/`, save where that is a checkout which leaves
    out another one around the folder; elsewhere the checkout around it."""
    start = f"{home}/{REPOSITORIES}/"
    name = folder[len(start) :].partition("/")[0] if folder.startswith(start) else ""
    checkout = _checkout_around(folder, home)
    root = start + name if name else checkout
    return checkout if checkout.startswith(f"{root}/") and os.path.lexists(f"{root}/.git") else root


def _checkout_around(folder: str, home: str) -> str:
    """The git checkout that a folder lies in, no higher than home, or ""."""
    above = folder
    while above == home or above.startswith(home + "/"):
        if os.path.lexists(f"{above}/.git"):
            return above
        above = os.path.dirname(above)
    return ""
