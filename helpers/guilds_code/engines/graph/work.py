"""The work on single files: reading and extracting one, resolving one, here or in worker processes.

It writes to no store. Workers are fresh interpreters, not forks: a helper that serves a session has threads. A
tree-sitter parse holds the interpreter's lock, so threads would not help.
"""

from __future__ import annotations

import os
import sys

from guilds_code.engines.graph.facts import DOC, END, KIND, LINE, NAME, PARENT, SHAPE, SIGNATURE, START
from guilds_code.engines.graph.languages import family_of, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen
    from typing import Any

    from guilds_code.engines.graph.resolve import Resolver
    from guilds_code.engines.graph.store import Store

FILE_MAX_BYTES = 2_000_000
CONFIGURATION_MAX_BYTES = 1_000_000
LINE_AVERAGE_MAX_BYTES = 400
"""Written code averages 30 to 60 bytes a line; minified code thousands."""
MINIFIED_FROM_BYTES = 5_000
RECURSION_LIMIT = 20_000
"""Enough for any written code; what is nested deeper is skipped and said. Calls between Python functions take no
C stack since 3.11."""
PARALLEL_FROM_BYTES = 1_500_000
PARALLEL_FROM_FILES = 150
"""From here on the start of a worker (0.1 s) pays."""


def extracted(root: str, path: str, language: str, known: bytes) -> tuple[Any, ...] | None:
    """One file's record for the store; None when its content has the `known` digest or it can't be read."""
    from hashlib import blake2b
    from marshal import dumps
    from zlib import compress

    from guilds_code.engines.graph.facts import Facts
    from guilds_code.engines.graph.words import BODY_WORDS_MAX, OTHER_BODY_WORDS_MAX, documents

    try:
        with open(f"{root}/{path}", "rb") as file:
            source = file.read(FILE_MAX_BYTES + 1)
    except OSError:
        return None
    digest = blake2b(source, digest_size=16).digest()
    if digest == known:
        return None
    skipped = reason_to_skip(path, source)
    facts = Facts()
    if not skipped:
        try:
            facts = module_of(language).extract(source, path, language)
        except RecursionError:
            skipped = "nested too deeply"
        except Exception as problem:  # one file that the extractor fails on is said, the others count
            print(f"{path}: {type(problem).__name__}: {problem}", file=sys.stderr)
            skipped = f"not understood ({type(problem).__name__})"
    qualified = facts.qualified()
    symbols = [
        (d[PARENT], d[KIND], d[NAME], q, d[START], d[END], d[LINE], d[SIGNATURE], d[DOC].partition("\n")[0], d[SHAPE])
        for d, q in zip(facts.defs, qualified, strict=True)
    ]
    lines = source.count(b"\n") + (not source.endswith(b"\n") and source != b"")
    rank = rank_of(path)
    most = BODY_WORDS_MAX if rank == NORMAL else OTHER_BODY_WORDS_MAX
    words = [] if skipped else documents(source, facts, path, most)
    stored = compress(facts.outside(), 1), compress(dumps(facts.refs), 1)
    return (
        path,
        language,
        lines,
        rank,
        skipped,
        digest,
        facts.package,
        *stored,
        symbols,
        words,
    )


def reason_to_skip(path: str, source: bytes) -> str:
    """Why a file is left out of the graph, or nothing."""
    if len(source) > FILE_MAX_BYTES:
        return "over 2 MB"
    if b"\0" in source[:8192]:
        return "binary"
    name = path.rpartition("/")[2]
    if ".min." in name or (
        len(source) > MINIFIED_FROM_BYTES and len(source) / (source.count(b"\n") + 1) > LINE_AVERAGE_MAX_BYTES
    ):
        return "minified"
    head = source[:1500].lower()
    if name in ("package-lock.json", "pnpm-lock.yaml", "composer.lock", "npm-shrinkwrap.json"):
        return "generated"
    if b"@generated" in head or (b"generated" in head and b"do not edit" in head):
        return "generated"
    return ""


NORMAL, TEST, EXAMPLE, VENDORED = range(4)
_FOLDERS = {
    **dict.fromkeys(("test", "tests", "__tests__", "spec", "specs", "testing", "testdata", "fixtures", "e2e"), TEST),
    **dict.fromkeys(("example", "examples", "docs", "doc", "docs_src", "demo", "demos", "samples", "bench"), EXAMPLE),
    **dict.fromkeys(("benchmark", "benchmarks", "tutorial", "tutorials"), EXAMPLE),
    **dict.fromkeys(("vendor", "vendored", "third_party", "node_modules", "_vendor", "external", "dist"), VENDORED),
}


def rank_of(path: str) -> int:
    """What kind of place a file stands in; tests, examples and vendored code count less than the rest."""
    *folders, name = path.split("/")
    found = [_FOLDERS[folder] for folder in folders if folder in _FOLDERS]
    stem = name.partition(".")[0]
    if stem.startswith("test_") or stem.endswith(("_test", "_tests", "Test", "Tests")) or stem == "conftest":
        found.append(TEST)
    if ".test." in name or ".spec." in name:
        found.append(TEST)
    return max(found, default=NORMAL)


class Resolvers:
    """One resolver for each language family, over the facts in a store."""

    def __init__(
        self, store: Store, root: str, languages: dict[str, str], packages: dict[str, str], listed: list[str]
    ) -> None:
        self._store = store
        self._root = root
        self._languages = languages
        """Every file in the graph → its language."""
        self._packages = packages
        self._listed = listed
        self._made: dict[str, Resolver] = {}

    def edges(self, path: str) -> tuple[Any, ...]:
        """(path, found, loose, files read, names looked for) of one file, as plain values."""
        from marshal import loads
        from sqlite3 import DatabaseError

        resolver = self._resolver(self._languages[path])
        refs = loads(self._store.facts("refs", path))
        try:
            edges = resolver.edges(path, refs)
        except DatabaseError:  # the store is damaged, not this file's code
            raise
        except Exception as problem:  # one file that a language fails on is said, the others count
            print(f"{path}: {type(problem).__name__}: {problem}", file=sys.stderr)
            return (path, None, [], [], [])
        return (path, list(edges.found.items()), list(edges.loose.items()), list(edges.on), list(edges.keys))

    def _resolver(self, language: str) -> Resolver:
        family = language if module_of(language).__name__.endswith(".broad") else family_of(language)
        if family not in self._made:
            paths = [path for path, used in self._languages.items() if family in (used, family_of(used))]
            self._made[family] = module_of(language).Semantics(
                self._facts, paths, self._listed, self._text, self._packages, self._named(family)
            )
        return self._made[family]

    def _named(self, family: str) -> Callable[[str], list[tuple[str, int]]]:
        """Look-up by name in one family."""
        languages = sorted({used for used in self._languages.values() if family in (used, family_of(used))})
        marks = ",".join("?" * len(languages))

        def named(name: str) -> list[tuple[str, int]]:
            return list(
                self._store.connection.execute(
                    "select f.path, s.id - f.base - 1 from symbol s join file f on f.id = s.file"
                    " where s.name = ? collate nocase and s.name = ? and s.type <> 'file'"
                    f" and f.language in ({marks}) order by f.path, s.id",
                    (name, name, *languages),
                )
            )

        return named

    def _facts(self, path: str) -> Any:
        from guilds_code.engines.graph.facts import Facts

        return Facts.of(self._store.facts("outside", path))

    def _text(self, path: str) -> str | None:
        try:
            with open(f"{self._root}/{path}", "rb") as file:
                return file.read(CONFIGURATION_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return None


def in_workers(job: str, shared: tuple[Any, ...], shares: list[list[Any]]) -> Iterator[Any]:
    """Run `job` over each share in a process of its own; their results as they come.

    Raises RuntimeError when a worker dies before it is done.
    """
    from marshal import dumps, loads
    from select import POLLHUP, POLLIN, poll
    from subprocess import PIPE, Popen

    code = "import sys; sys.path[:] = sys.argv[1:]; from guilds_code.engines.graph.work import main; main()"
    workers: dict[int, tuple[Popen[bytes], bytearray]] = {}
    poller = poll()
    try:
        for share in shares:
            worker = Popen([sys.executable, "-I", "-S", "-c", code, *sys.path], stdin=PIPE, stdout=PIPE)
            assert worker.stdin is not None
            assert worker.stdout is not None
            workers[worker.stdout.fileno()] = (worker, bytearray())
            poller.register(worker.stdout.fileno(), POLLIN | POLLHUP)
            with worker.stdin as given:
                given.write(dumps((job, shared, share)))
        running = len(workers)
        while running:
            for descriptor, _ in poller.poll():
                worker, buffer = workers[descriptor]
                piece = os.read(descriptor, 1 << 20)
                buffer += piece
                while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "little")):
                    result = loads(bytes(buffer[4 : 4 + size]))
                    del buffer[: 4 + size]
                    yield result
                if not piece:
                    poller.unregister(descriptor)
                    running -= 1
                    if worker.wait() != 0:
                        raise RuntimeError(f"a graph worker ended with status {worker.returncode}")
    finally:
        for worker, _ in workers.values():
            if worker.poll() is None:
                worker.kill()
            worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()


def main() -> None:
    """A worker: one job on stdin, results on stdout."""
    import gc
    from marshal import dumps, load

    gc.disable()  # facts hold no cycles; collecting costs a third of the time
    sys.setrecursionlimit(RECURSION_LIMIT)
    out = os.dup(1)
    os.dup2(2, 1)
    job, shared, share = load(sys.stdin.buffer)
    work: Callable[..., Iterator[Any]] = extract_all if job == "extract" else resolve_all
    with open(out, "wb", buffering=1 << 16) as stream:
        for result in work(*shared, share):
            data = dumps(result)
            stream.write(len(data).to_bytes(4, "little") + data)


def extract_all(root: str, share: list[tuple[str, str, bytes]]) -> Iterator[tuple[str, Any]]:
    """(path, record or None) of each (path, language, known digest)."""
    for path, language, known in share:
        yield path, extracted(root, path, language, known)


def resolve_all(
    folder: str, root: str, languages: dict[str, str], packages: dict[str, str], listed: list[str], share: list[str]
) -> Iterator[tuple[Any, ...]]:
    """The edges of each path, from the store in a folder."""
    from guilds_code.engines.graph.store import Store

    store = Store.open(folder)
    if store is None:
        raise RuntimeError("the store is gone")
    with store:
        resolvers = Resolvers(store, root, languages, packages, listed)
        for path in share:
            yield resolvers.edges(path)
