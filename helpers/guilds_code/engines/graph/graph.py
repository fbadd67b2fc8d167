"""Graph: a repository's graph as its readers see it, and where it is kept.

Opening one brings it up to date. On an unchanged repository that is a few stat calls and one SQLite file: no
parser, no git. It shapes no answers.
"""

from __future__ import annotations

import os
from time import monotonic

from guilds_code.engines.graph.files import unchanged
from guilds_code.engines.graph.store import FILE_NAME, Store, damaged, out_of_reach
from guilds_wire.errors import ToolError
from guilds_wire.paths import shown_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from guilds_code.engines.graph.files import Tree

    Read = TypeVar("Read")

CACHE_FOLDER = ".cache/graft"
IN_MEMORY = "the graph can't be kept on disk, so it was made in memory for this answer"


class Symbol:
    """One symbol: where it is, and what is known of it without its file."""

    __slots__ = ("doc", "end", "file", "id", "line", "name", "parent", "path", "qualified", "referenced", "signature",
                 "start", "type")  # fmt: skip

    def __init__(self, row: tuple[Any, ...]) -> None:
        (
            self.id, self.file, self.parent, self.type, self.name, self.qualified, self.start, self.end, self.line,
            self.signature, self.doc, self.referenced, self.path,
        ) = row  # fmt: skip


SYMBOL = (
    "s.id, s.file, s.parent, s.type, s.name, s.qualified, s.start, s.end, s.line, s.signature, s.doc, s.referenced,"
    " f.path from symbol s join file f on f.id = s.file"
)
"""The columns of a Symbol and where they come from; to be put after `select`."""


class Graph:
    """An open, up-to-date graph. Close it, or use `with`."""

    __slots__ = ("connection", "missing", "name", "refreshed", "root", "started", "store", "tree")

    def __init__(
        self, root: str, name: str, store: Store, tree: Tree, refreshed: int, missing: int, started: float
    ) -> None:
        self.root = root
        self.tree = tree
        """The files that it was made of, and what is to be said of their list."""
        self.name = shown_bytes(os.fsencode(name))
        self.store = store
        self.connection = store.connection
        self.refreshed = refreshed
        """Files that were read again for this answer."""
        self.missing = missing
        """Files for which there was no time."""
        self.started = started

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def symbols(self, condition: str, parameters: Iterable[object] = ()) -> list[Symbol]:
        """The symbols that a condition on s (symbol) and f (file) holds for."""
        rows = self.connection.execute(f"select {SYMBOL} where {condition}", tuple(parameters))
        return [Symbol(row) for row in rows]

    def skipped(self) -> list[tuple[str, int]]:
        """Why files were left out, and how many for each reason."""
        return list(
            self.connection.execute(
                "select skipped, count(*) from file where skipped <> '' group by skipped order by 2 desc, 1"
            )
        )

    def meta(self, hits: int) -> dict[str, Any]:
        """The fields that every answer of the graph records."""
        skipped = sum(count for _, count in self.skipped())
        return {
            "repository": self.name,
            "hits": hits,
            "engine_ms": round((monotonic() - self.started) * 1000),
            "refreshed": self.refreshed,
            "skipped": skipped + self.tree.misnamed + self.missing,
        }


def read_graph(root: str, home: str, read: Callable[[Graph], Read]) -> Read:
    """What `read` makes of the graph of the folder at `root`; made anew and read again when its store is damaged.

    Damage shows only where it is read: looking through all of a store first would cost more than most answers.
    Raises ToolError: what `open_graph` and `read` raise.
    """
    try:
        with open_graph(root, home) as graph:
            return read(graph)
    except Exception as problem:
        if out_of_reach(problem):
            raise _unkept(root, home, problem) from problem
        if not damaged(problem):
            raise
    with open_graph(root, home, anew=True) as graph:
        return read(graph)


def open_graph(root: str, home: str, *, anew: bool = False) -> Graph:
    """The graph of the folder at `root` (absolute, links followed), brought up to date, or made anew.

    Raises ToolError: `not_found` when the folder is gone, `unavailable` when the store can be kept neither on disk
    nor in memory.
    """
    from sqlite3 import OperationalError

    started = monotonic()
    if not os.path.isdir(root):
        raise ToolError("not_found", f"{shown_bytes(os.fsencode(root))} is no folder; name a repository that is there.")
    name, folder = place_of(root, home)
    if not anew and os.path.isfile(f"{folder}/{FILE_NAME}"):
        try:
            store = Store.open(folder)
            if store is not None:
                tree = store.tree()
                if tree is not None and unchanged(root, tree):
                    return Graph(root, name, store, tree, 0, 0, started)
                store.connection.close()
        except Exception as problem:
            if not damaged(problem) and not out_of_reach(problem):
                raise  # what is damaged the refresh makes anew, and what it can't reach it tells
    from guilds_code.engines.graph.refresh import refresh, refresh_in_memory

    try:
        store, done = refresh(root, folder, anew=anew)
    except (OSError, OperationalError) as problem:
        try:
            store, done = refresh_in_memory(root, folder, anew=anew)
        except OperationalError:
            raise _unkept(root, home, problem) from problem
        done.tree.notice = "; ".join(filter(None, (done.tree.notice, IN_MEMORY)))
    return Graph(root, name, store, done.tree, done.files, done.missing, started)


def _unkept(root: str, home: str, problem: Exception) -> ToolError:
    name, folder = place_of(root, home)
    name, folder = (shown_bytes(os.fsencode(one)) for one in (name, folder))
    advice = "make room there and let it be written"
    return ToolError("unavailable", f"the graph of {name} can't be kept in {folder}: {problem}; {advice}.")


def place_of(root: str, home: str) -> tuple[str, str]:
    """A repository's name, and the folder its graph is kept in."""
    name = os.path.basename(root) or "root"
    if os.path.dirname(root) != f"{home}/repos":
        from hashlib import blake2b

        name = f"{name}-{blake2b(os.fsencode(root), digest_size=4).hexdigest()}"
    return name, f"{home}/{CACHE_FOLDER}/{name}"
