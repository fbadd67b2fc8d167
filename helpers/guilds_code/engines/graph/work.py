"""The work on single files: extracting one, in a process apart, and resolving one, here or in worker processes.

It writes to no store. A grammar's scanner is C code that a file can crash or keep busy for ever, so no file is parsed
in the process that answers. Files are extracted in forks, which cost a few milliseconds. What resolves reads the store,
and SQLite forbids its use on both sides of a fork (sqlite.org, "How To Corrupt An SQLite Database File", 2.6): that
runs in fresh interpreters. A parse holds the interpreter's lock, so threads would not help.
"""

from __future__ import annotations

import os
import sys

from guilds_code.engines.engine_process import fork
from guilds_code.engines.graph.facts import DOC, END, KIND, LINE, NAME, PARENT, SHAPE, SIGNATURE, START
from guilds_code.engines.graph.languages import family_of, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import Popen
    from typing import Any

    from guilds_code.engines.graph.facts import Facts
    from guilds_code.engines.graph.resolve import Resolver
    from guilds_code.engines.graph.store import Store

FILE_MAX_BYTES = 2_000_000
CONFIGURATION_MAX_BYTES = 1_000_000
DIGEST_BYTES = 16
LINE_AVERAGE_MAX_BYTES = 400
"""Written code averages 30 to 60 bytes a line; minified code thousands."""
MINIFIED_FROM_BYTES = 5_000
RECURSION_LIMIT = 20_000
"""Enough for any written code; what is nested deeper is skipped and said. Calls between Python functions take no
C stack since 3.11."""
PARALLEL_FROM_BYTES = 800_000
"""Files of this size together take half a second; from there on another process pays, which loads grammars anew."""
PARALLEL_FROM_FILES = 150
"""From here on the start of an interpreter (0.1 s) pays."""
FILE_CPU_SECONDS = 20.0
"""What one file may take; 2 MB of written code take 3."""
FAILED = "the parser failed on it"


def extracted_apart(root: str, todo: list[tuple[str, str, bytes]], processes: int) -> Iterator[tuple[str, Any]]:
    """(path, record for the store) of each (path, language, digest of what is known of it), as they come; the record is
    None when the content is the known one or can't be read.

    A process that dies, or takes too long over a file, is replaced, and the file is recorded as left out.
    """
    from select import POLLHUP, POLLIN, poll

    workers: dict[int, _Apart] = {}
    poller = poll()

    def start(share: list[tuple[str, str, bytes]]) -> None:
        worker = _Apart(root, share)
        workers[worker.pipe] = worker
        poller.register(worker.pipe, POLLIN | POLLHUP)

    try:
        for first in range(min(processes, len(todo))):
            start(todo[first::processes])
        while workers:
            for pipe, _ in poller.poll():
                worker = workers[pipe]
                piece = os.read(pipe, 1 << 20)
                for result in _complete(worker.buffer, piece):
                    worker.done += 1
                    yield result
                if not piece:
                    poller.unregister(pipe)
                    workers.pop(pipe).end()
                    left = worker.share[worker.done :]
                    if left:
                        path, language, _ = left[0]
                        yield path, _left_out(root, path, language)
                    if left[1:]:
                        start(left[1:])
    finally:
        for worker in workers.values():
            worker.end()


class _Apart:
    """A fork that extracts its share; results come through its pipe, each before the next file is begun."""

    __slots__ = ("_pid", "buffer", "done", "pipe", "share")

    def __init__(self, root: str, share: list[tuple[str, str, bytes]]) -> None:
        self.share = share
        self.done = 0
        self.buffer = bytearray()
        self.pipe, output = os.pipe()
        self._pid = fork(lambda: _extract(root, share, output))
        os.close(output)

    def end(self) -> None:
        """Forget the process, which may be running."""
        from signal import SIGKILL

        os.close(self.pipe)
        os.kill(self._pid, SIGKILL)
        os.waitpid(self._pid, 0)


def _extract(root: str, share: list[tuple[str, str, bytes]], output: int) -> None:
    """In a fork: extract, and hold on to nothing of the parent's. Past its time a file ends the process (SIGPROF)."""
    from gc import disable
    from marshal import dumps
    from signal import ITIMER_PROF, SIG_DFL, SIGPROF, setitimer, signal

    disable()  # facts hold no cycles; collecting costs a third of the time
    sys.setrecursionlimit(RECURSION_LIMIT)
    signal(SIGPROF, SIG_DFL)
    os.closerange(3, output)
    os.closerange(output + 1, os.sysconf("SC_OPEN_MAX"))
    with open(output, "wb") as stream:
        for path, language, known in share:
            setitimer(ITIMER_PROF, FILE_CPU_SECONDS)
            data = dumps((path, _extracted(root, path, language, known)))
            stream.write(len(data).to_bytes(4, "little") + data)
            stream.flush()


def _complete(buffer: bytearray, piece: bytes) -> Iterator[Any]:
    """The results that are whole with the next piece of a stream, each after its length; the rest stays."""
    from marshal import loads

    buffer += piece
    while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "little")):
        result = loads(bytes(buffer[4 : 4 + size]))
        del buffer[: 4 + size]
        yield result


def _extracted(root: str, path: str, language: str, known: bytes) -> tuple[Any, ...] | None:
    """One file's record for the store; None when its content has the `known` digest or it can't be read."""
    from hashlib import blake2b

    from guilds_code.engines.graph.facts import Facts

    source = _content(root, path)
    if source is None or blake2b(source, digest_size=DIGEST_BYTES).digest() == known:
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
    return _record(path, language, source, facts, skipped)


def _left_out(root: str, path: str, language: str) -> tuple[Any, ...] | None:
    """The record of a file that ended the process it was extracted in."""
    from guilds_code.engines.graph.facts import Facts

    source = _content(root, path)
    return _record(path, language, source, Facts(), FAILED) if source is not None else None


def _content(root: str, path: str) -> bytes | None:
    try:
        with open(f"{root}/{path}", "rb") as file:
            return file.read(FILE_MAX_BYTES + 1)
    except OSError:
        return None


def _record(path: str, language: str, source: bytes, facts: Facts, skipped: str) -> tuple[Any, ...]:
    """What the store keeps of one file, as plain values."""
    from hashlib import blake2b
    from marshal import dumps
    from zlib import compress

    from guilds_code.engines.graph.words import BODY_WORDS_MAX, OTHER_BODY_WORDS_MAX, documents

    digest = blake2b(source, digest_size=DIGEST_BYTES).digest()
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
        return text_of(self._root, path)


def text_of(root: str, path: str) -> str | None:
    """The text of a configuration file, or None when it can't be read."""
    try:
        with open(f"{root}/{path}", "rb", opener=_at_once) as file:
            return file.read(CONFIGURATION_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def resolved_in_workers(shared: tuple[Any, ...], shares: list[list[str]]) -> Iterator[tuple[Any, ...]]:
    """The edges of the paths of each share, a process each, as they come; `shared` are the first parameters of
    `resolve_all`.

    Raises RuntimeError when a worker dies before it is done.
    """
    from marshal import dumps
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
                given.write(dumps((*shared, share)))
        running = len(workers)
        while running:
            for descriptor, _ in poller.poll():
                worker, buffer = workers[descriptor]
                piece = os.read(descriptor, 1 << 20)
                yield from _complete(buffer, piece)
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
    """A worker that resolves: what to do on stdin, results on stdout."""
    import gc
    from marshal import dumps, load

    gc.disable()  # facts hold no cycles; collecting costs a third of the time
    sys.setrecursionlimit(RECURSION_LIMIT)
    out = os.dup(1)
    os.dup2(2, 1)
    with open(out, "wb", buffering=1 << 16) as stream:
        for result in resolve_all(*load(sys.stdin.buffer)):
            data = dumps(result)
            stream.write(len(data).to_bytes(4, "little") + data)


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
