"""Bringing a graph up to date: what moved is extracted again, and what depends on it is resolved again.

The one writer of the store. Each step is committed whole: a kill at any instant leaves a store that the next call
takes on from. It shapes no answers.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from time import monotonic

from guilds_code.engines.graph import work
from guilds_code.engines.graph.files import look, stamp_of
from guilds_code.engines.graph.languages import CONFIGURATION, OUTLINED, family_of, language_of, languages_of, module_of
from guilds_code.engines.graph.store import RELATIONS, Lock, Store, batches, damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sized
    from typing import Any

    from guilds_code.engines.graph.files import Tree

DEADLINE_SECONDS = 630.0
"""A build that is not done by then is answered from as far as it is, and taken on by the next call."""
COMMIT_FILES = 400
PARAMETERS_MAX = 500
"""Placeholders in one statement; SQLite's own limit was 999 before 3.32."""


class Refreshed:
    """What a refresh did."""

    __slots__ = ("files", "missing", "tree")

    def __init__(self, tree: Tree, files: int, missing: int) -> None:
        self.tree = tree
        self.files = files
        """Files that were read again."""
        self.missing = missing
        """Files that could not be read or resolved in time."""


def refresh(root: str, folder: str, *, anew: bool = False) -> tuple[Store, Refreshed]:
    """An up-to-date store in `folder` for the repository at `root`. A damaged or foreign store is made anew, and any
    when `anew` says so."""
    with _uncollected(), Lock(folder):
        return _refreshed(root, folder, anew=anew)


def refresh_in_memory(root: str, folder: str, *, anew: bool = False) -> tuple[Store, Refreshed]:
    """The same in memory, where the folder can't be written. What it holds is used as far as it can be read.

    Raises OperationalError when the graph takes more than such a store may.
    """
    with _uncollected():
        try:
            store = Store.in_memory(None if anew else Store.open(folder))
            return store, _Refresh(store, root).run()
        except Exception as problem:
            if not damaged(problem):
                raise
        store = Store.in_memory(None)
        return store, _Refresh(store, root).run()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection: facts hold no cycles, and collecting costs a third of the time."""
    from gc import disable, enable, isenabled

    sys.setrecursionlimit(max(sys.getrecursionlimit(), work.RECURSION_LIMIT))  # for good: other threads may refresh too
    collecting = isenabled()
    disable()
    try:
        yield
    finally:
        if collecting:
            enable()


def _refreshed(root: str, folder: str, *, anew: bool) -> tuple[Store, Refreshed]:
    store = None if anew else Store.open(folder)
    if store is not None:
        try:
            return store, _Refresh(store, root).run()
        except Exception as problem:
            store.connection.close()
            if not damaged(problem):
                raise
    store = Store.create(folder)
    return store, _Refresh(store, root).run()


class _Refresh:
    def __init__(self, store: Store, root: str) -> None:
        self.store = store
        self.connection = store.connection
        self.root = root
        self.deadline = monotonic() + DEADLINE_SECONDS
        self.interfaces: set[int] = set()
        """Files whose interface changed, that are new, or that went."""
        self.families: set[str] = set()
        """The families in which an interface changed or a file is resolved again."""
        self.touched: set[int] = set()
        """Symbols whose references changed."""
        self.keys: set[str] = set()

    def run(self) -> Refreshed:
        before = self.store.tree()
        tree = look(self.root, before)
        moved = [p for p, s in tree.files.items() if before is None or before.files.get(p) != s or p in before.racy]
        first = before is None
        self.connection.execute("begin immediate")
        self.remove_gone(tree, before)
        languages = languages_of(tree.files)
        changed = set(moved) | self.renamed(languages)
        todo = [(path, language, b"") for path, language in languages.items() if path in changed]
        read, late = self.extract(todo, first)
        configured = self.configured(moved, tree, before)
        waiting = self.affected(configured)
        unresolved = self.resolve(waiting, list(tree.files), first)
        if "go" in self.families:
            from guilds_code.engines.graph.languages.go import structural

            self.touched |= structural(self.connection)
        self.count_references(first)
        for path in late:
            tree.files.pop(path, None)
        tree.settled = tree.settled and not late and not unresolved
        if before is None or read or waiting or tree.stored() != before.stored():
            self.store.set("other", sum(1 for path in tree.files if language_of(path) is None))
            self.store.set_tree(tree)
        self.connection.execute("commit")
        if first:
            self.connection.execute("pragma wal_checkpoint(truncate)")
        return Refreshed(tree, read, len(late) + unresolved)

    def renamed(self, languages: dict[str, str]) -> set[str]:
        """Headers that were taken for another language before; their records are forgotten."""
        known = self.connection.execute("select path, language from file where language in ('c', 'cpp')").fetchall()
        found = {path for path, language in known if languages.get(path, language) != language}
        for path in found:
            self.forget(path)
        return found

    # files that went, came or changed

    def remove_gone(self, tree: Tree, before: Tree | None) -> None:
        if before is None:
            gone = [p for (p,) in self.connection.execute("select path from file") if p not in tree.files]
        else:
            gone = [path for path in before.files if path not in tree.files and language_of(path) is not None]
        for path in gone:
            self.forget(path)

    def forget(self, path: str) -> None:
        """Remove a file's record, if there is one."""
        row = self.connection.execute(
            "select id, base, symbols, language, package from file join facts on file = id where path = ?", (path,)
        ).fetchone()
        if row is not None:
            number, base, count, language, package = row
            self.keys.add(f"package:{package}")
            self.forget_symbols(base, count, language)
            self.interfaces.add(number)
            self.families.add(family_of(language))
            self.keys |= keys_of(path)
            self.connection.execute("delete from file where id = ?", (number,))
            self.connection.execute("delete from facts where file = ?", (number,))

    def extract(self, todo: list[tuple[str, str, bytes]], first: bool) -> tuple[int, list[str]]:
        """Extract what changed; how many files did, and the paths for which there was no time."""
        known = {
            path: (number, digest, base, count, package)
            for batch in batches([path for path, _, _ in todo], PARAMETERS_MAX)
            for number, path, digest, base, count, package in self.connection.execute(
                "select id, path, digest, base, symbols, package from file join facts on file = id"
                f" where path in ({marks(batch)})",
                batch,
            )
        }
        todo = [(p, language, known[p][1] if p in known else b"") for p, language, _ in todo]
        left = dict.fromkeys(path for path, _, _ in todo)
        read = since = 0
        for path, record in self.records(todo):
            left.pop(path, None)
            if record is not None:
                self.write(record, known.get(path))
                read += 1
                since += 1
            if first and since >= COMMIT_FILES:
                self.connection.execute("commit")
                self.connection.execute("begin immediate")
                since = 0
            if monotonic() > self.deadline:
                break
        return read, list(left)

    def records(self, todo: list[tuple[str, str, bytes]]) -> Iterator[tuple[str, Any]]:
        sizes = {path: _size(f"{self.root}/{path}") for path, _, _ in todo}
        for language in {language for _, language, _ in todo} - OUTLINED:
            module_of(language)  # what resolves needs it anyhow, and a fork has it then
        cores = len(os.sched_getaffinity(0))
        if cores > 1 and sum(sizes.values()) > work.PARALLEL_FROM_BYTES:
            todo = sorted(todo, key=lambda item: -sizes[item[0]])
            yield from work.extracted_apart(self.root, todo, cores)
        else:
            yield from work.extracted_apart(self.root, todo, 1)

    def write(self, record: tuple[Any, ...], known: tuple[Any, ...] | None) -> None:
        """Put one file's record in the place of what was known of it."""
        path, language, lines, rank, skipped, digest, package, outside, refs, symbols, words = record
        same = known is not None and known[3] == len(symbols) and self.same_interface(path, outside)
        if known is not None and same:
            number, _, base, count, _ = known
            self.connection.execute("delete from words where rowid between ? and ?", (base, base + count))
        else:
            self.families.add(family_of(language))
            self.keys.add(f"package:{package}")
            if known is not None:
                self.keys.add(f"package:{known[4]}")
                self.forget_symbols(known[2], known[3], language)
                number = known[0]
            else:
                self.keys |= keys_of(path)
                number = self.take("next file", 1)
            self.interfaces.add(number)
            if language in _BY_NAME:
                self.keys.update(f"name:{symbol[2]}" for symbol in symbols)
            base = self.take("next symbol", len(symbols) + 1)
        self.connection.execute(
            "insert or replace into file values(?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (number, path, language, base, len(symbols), lines, rank, skipped),
        )
        self.connection.execute(
            "insert or replace into facts values(?, ?, ?, ?, ?)",
            (number, digest, package, outside, refs),
        )
        name = path.rpartition("/")[2]
        rows = [(base, number, 0, "file", name, path, 1, lines, 1, "", "", "")]
        for place, (parent, *row) in enumerate(symbols, base + 1):
            rows.append((place, number, base + 1 + parent, *row))
        if same:
            self.connection.executemany(
                "update symbol set start = ?, end = ?, line = ?, signature = ?, doc = ? where id = ?",
                [(row[6], row[7], row[8], row[9], row[10], row[0]) for row in rows],
            )
        else:
            self.connection.executemany(f"insert into symbol values({'?, ' * 12} 0)", rows)
        if language not in OUTLINED:
            self.connection.executemany(
                "insert into words(rowid, name, path, doc, body) values(?, ?, ?, ?, ?)",
                [(place, *row) for place, row in enumerate(words, base)],
            )

    def same_interface(self, path: str, outside: bytes) -> bool:
        """Whether a file's new facts say to other files what its old ones did."""
        from zlib import decompress

        from guilds_code.engines.graph.facts import Facts

        old, new = Facts.of(self.store.facts("outside", path)), Facts.of(decompress(outside))
        return old.interface() == new.interface()

    def take(self, key: str, count: int) -> int:
        """The first of so many numbers that were never used before."""
        number: int = self.store.value(key) or 1
        self.store.set(key, number + count)
        return number

    def forget_symbols(self, base: int, count: int, language: str) -> None:
        span = (base, base + count)
        if language in _BY_NAME:
            names = self.connection.execute("select distinct name from symbol where id between ? and ?", span)
            self.keys.update(f"name:{name}" for (name,) in names)
        self.forget_edges(base, count)
        for statement in (
            "delete from edge where target between ? and ?",
            "delete from symbol where id between ? and ?",
            "delete from words where rowid between ? and ?",
        ):
            self.connection.execute(statement, span)

    def forget_edges(self, base: int, count: int) -> None:
        span = (base, base + count)
        found = self.connection.execute("select distinct target from edge where source between ? and ?", span)
        self.touched.update(target for (target,) in found)
        self.connection.execute("delete from edge where source between ? and ?", span)
        self.connection.execute("delete from loose where source between ? and ?", span)

    # what is resolved again

    def configured(self, moved: list[str], tree: Tree, before: Tree | None) -> set[str]:
        """The families whose imports may mean something else now."""
        changed = set(moved) | (before.files.keys() - tree.files.keys() if before is not None else set())
        families = {"typescript"} if self.extended_moved(changed, tree, before) else set()
        if before is None:
            return set()
        for path in changed:
            name = path.rpartition("/")[2]
            if name in CONFIGURATION and (
                not name.startswith("__init__") or (path in tree.files) != (path in before.files)
            ):
                families.add(_CONFIGURED[name])
        return families

    def extended_moved(self, changed: set[str], tree: Tree, before: Tree | None) -> bool:
        """Whether what a TypeScript configuration goes on in changed. Such files that are not listed are watched."""
        relisted = before is None or tree.watched is not before.watched
        if not relisted and not any(path.endswith(".json") for path in changed):
            return False
        if not any(path.endswith(("tsconfig.json", "jsconfig.json")) for path in tree.files):
            return False
        from guilds_code.engines.graph.languages.modules import extended

        paths = extended(tree.files, lambda path: work.text_of(self.root, path))
        outside = {f"{self.root}/{path}": stamp_of(f"{self.root}/{path}") for path in paths - tree.files.keys()}
        moved = before is not None and any(before.watched.get(path) != stamp for path, stamp in outside.items())
        tree.watched = {**tree.watched, **outside}
        return moved or not paths.isdisjoint(changed)

    def affected(self, configured: set[str]) -> list[str]:
        """The files to resolve: those not resolved yet, those that depend on what changed, and those that looked
        for what came or went."""
        numbers = {n for (n,) in self.connection.execute("select id from file where resolved = 0")}
        for batch in batches(sorted(self.interfaces), PARAMETERS_MAX):
            found = self.connection.execute(f"select file from depends where on_file in ({marks(batch)})", batch)
            numbers.update(number for (number,) in found)
        for keys in batches(sorted(self.keys), PARAMETERS_MAX):
            found = self.connection.execute(f"select file from looked where key in ({marks(keys)})", keys)
            numbers.update(number for (number,) in found)
        rows = self.connection.execute("select id, path, language from file order by path")
        return [
            path
            for number, path, language in rows
            if language not in OUTLINED and (number in numbers or family_of(language) in configured)
        ]

    def resolve(self, paths: list[str], listed: list[str], first: bool) -> int:
        """Resolve these files; how many there was no time for."""
        languages, packages, places = {}, {}, {}
        for number, path, language, base, count, package in self.connection.execute(
            "select id, path, language, base, symbols, package from file join facts on file = id"
        ):
            languages[path] = language
            packages[path] = package
            places[path] = (number, base, count)
        self.families.update(family_of(languages[path]) for path in paths)
        cores = len(os.sched_getaffinity(0))
        if cores > 1 and len(paths) > work.PARALLEL_FROM_FILES and first and self.store.folder:
            self.connection.execute("commit")
            share = -(-len(paths) // cores)
            shared = (self.store.folder, self.root, languages, packages, listed)
            results: Iterable[Any] = work.resolved_in_workers(shared, list(batches(paths, share)))
            self.connection.execute("begin immediate")
        else:
            resolvers = work.Resolvers(self.store, self.root, languages, packages, listed)
            results = (resolvers.edges(path) for path in paths)
        done = 0
        for path, found, loose, on, keys in results:
            self.write_edges(places, path, found, loose, on, keys)
            done += 1
            if first and done % COMMIT_FILES == 0:
                self.connection.execute("commit")
                self.connection.execute("begin immediate")
            if monotonic() > self.deadline:
                break
        self.connection.execute(f"update file set resolved = 1 where language in ({marks(OUTLINED)})", sorted(OUTLINED))
        return len(paths) - done

    def write_edges(
        self,
        places: dict[str, tuple[int, int, int]],
        path: str,
        found: list[Any] | None,
        loose: list[Any],
        on: list[str],
        keys: list[str],
    ) -> None:
        """Put a file's edges in the place of its old ones."""
        number, base, count = places[path]
        self.forget_edges(base, count)
        if found is None:
            reason = "references not understood"
            self.connection.execute("update file set skipped = ?, resolved = 1 where id = ?", (reason, number))
            return
        self.connection.execute("delete from depends where file = ?", (number,))
        self.connection.execute("delete from looked where file = ?", (number,))
        rows = []
        for (source, target_path, target, relation), lines in found:
            place = places[target_path][1] + 1 + target
            self.touched.add(place)
            rows.append((base + 1 + source, place, RELATIONS.index(relation), _joined(lines)))
        self.connection.executemany("insert or replace into edge values(?, ?, ?, ?)", rows)
        self.connection.executemany(
            "insert or replace into loose values(?, ?, ?)",
            [(name, base + 1 + source, _joined(lines)) for (source, name), lines in loose],
        )
        self.connection.executemany(
            "insert into depends values(?, ?)", [(places[other][0], number) for other in on if other in places]
        )
        self.connection.executemany("insert into looked values(?, ?)", [(key, number) for key in keys])
        self.connection.execute("update file set resolved = 1 where id = ?", (number,))

    def count_references(self, first: bool) -> None:
        """How many files, tests and the like aside, reference each touched symbol."""
        counted = (
            "select count(distinct s.file) from edge e join symbol s on s.id = e.source join file f on f.id = s.file"
            " where e.target = symbol.id and e.relation <> 3 and f.rank = 0"
        )
        if first:
            self.connection.execute(
                "update symbol set referenced = c.n from (select e.target t, count(distinct s.file) n from edge e"
                " join symbol s on s.id = e.source join file f on f.id = s.file"
                " where e.relation <> 3 and f.rank = 0 group by e.target) c where c.t = symbol.id"
            )
        else:
            self.connection.executemany(
                f"update symbol set referenced = ({counted}) where id = ?", [(n,) for n in sorted(self.touched)]
            )


_BY_NAME = frozenset(("c", "rust"))
"""Languages that look names up over all files: linkage in C, implementations in Rust."""
_CONFIGURED = {
    "package.json": "typescript",
    "tsconfig.json": "typescript",
    "jsconfig.json": "typescript",
    "go.mod": "go",
    "Cargo.toml": "rust",
    "__init__.py": "python",
    "__init__.pyi": "python",
}


def marks(values: Sized) -> str:
    """As many placeholders as there are values."""
    return ",".join("?" * len(values))


def keys_of(path: str) -> set[str]:
    """The names under which an import may look for a file: its own, without its ending, and its folder's."""
    folder, _, name = path.rpartition("/")
    return {name, name.partition(".")[0], name.rpartition(".")[0], folder.rpartition("/")[2]}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _joined(lines: list[int]) -> str:
    return ",".join(map(str, sorted(lines)))
