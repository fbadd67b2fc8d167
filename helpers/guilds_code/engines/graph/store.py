"""The store: one SQLite file for each repository's graph. It is a cache: whatever is wrong with it, it is made anew.

Tables and how they are read; it knows no language and reads no repository. A symbol's number is its file's `base`
(the file itself), or that plus one plus its place among the file's definitions.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

    from guilds_code.engines.graph.files import Tree

VERSION = 11
"""Of the tables and of what the extractors find; raise it with either, and stores are rebuilt."""
FILE_NAME = "graph.sqlite"
LOCK_NAME = "lock"
BUSY_TIMEOUT_SECONDS = 30.0
MEMORY_MAX_BYTES = 256_000_000
"""Of a store that can't be kept on disk: room for some thousands of files."""
RELATIONS = ("calls", "imports", "inherits", "implements", "uses", "decorates")

_TABLES = """
create table meta(key text primary key, value) without rowid;
create table file(id integer primary key, path text not null unique, language text not null, base integer not null,
  symbols integer not null, lines integer not null, rank integer not null, skipped text not null,
  resolved integer not null);
create table facts(file integer primary key, digest blob not null, package text not null,
  outside blob not null, refs blob not null);
create table symbol(id integer primary key, file integer not null, parent integer not null, type text not null,
  name text not null, qualified text not null, start integer not null, end integer not null, line integer not null,
  signature text not null, doc text not null, shape text not null, referenced integer not null default 0);
create index symbol_file on symbol(file);
create index symbol_name on symbol(name collate nocase);
create index symbol_referenced on symbol(referenced) where referenced > 0;
create table edge(source integer not null, target integer not null, relation integer not null, lines text not null,
  primary key(target, relation, source)) without rowid;
create index edge_source on edge(source);
create table loose(name text not null, source integer not null, lines text not null, primary key(name, source))
  without rowid;
create index loose_source on loose(source);
create table depends(on_file integer not null, file integer not null, primary key(on_file, file)) without rowid;
create index depends_file on depends(file);
create table looked(key text not null, file integer not null, primary key(key, file)) without rowid;
create index looked_file on looked(file);
create virtual table words using fts5(name, path, doc, body, detail=column);
create virtual table vocabulary using fts5vocab(words, row);
"""
_ENDS = " || ' ' || ".join(
    f"coalesce((select max({key}) from {table}), '')"
    for table, key in (
        *(("file", "id"), ("facts", "file"), ("symbol", "id"), ("edge", "target"), ("loose", "name")),
        *(("depends", "on_file"), ("looked", "key"), ("words_data", "id"), ("words_idx", "segid")),
        *(("words_content", "id"), ("words_docsize", "id"), ("words_config", "k")),
    )
)
"""The last key of each table; of `words` its shadow tables (sqlite.org, "FTS5", 9)."""


class Store:
    """An open store."""

    __slots__ = ("connection", "folder")

    def __init__(self, folder: str, connection: Connection) -> None:
        self.folder = folder
        self.connection = connection

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    @classmethod
    def open(cls, folder: str) -> Store | None:
        """The store in a folder, or None when there is none that this version can use."""
        from sqlite3 import DatabaseError

        if not os.path.isfile(f"{folder}/{FILE_NAME}"):
            return None
        for read_only in (False, True):
            connection = _connect(folder, read_only=read_only)
            try:
                row = connection.execute("select value from meta where key = 'version'").fetchone()
                if row is not None and row[0] == stamp():
                    return cls(folder, _without_sync(connection))
                problem = None
            except DatabaseError as raised:
                problem = raised
            connection.close()
            if problem is None or damaged(problem):
                return None
        return None

    @classmethod
    def create(cls, folder: str) -> Store:
        """An empty store in place of whatever is there. The lock must be held."""
        for ending in ("", "-wal", "-shm", "-journal"):
            path = f"{folder}/{FILE_NAME}{ending}"
            if os.path.lexists(path):
                os.unlink(path)
        connection = _without_sync(_connect(folder))
        try:
            connection.execute("pragma journal_mode = wal")
            connection.executescript(_creation())
        except Exception:
            connection.close()
            raise
        return cls(folder, connection)

    @classmethod
    def in_memory(cls, kept: Store | None) -> Store:
        """A store that lasts for one answer, from a kept one if there is one; its folder is "".

        Writing more than MEMORY_MAX_BYTES to it raises OperationalError.
        """
        from sqlite3 import connect

        connection = connect(":memory:", isolation_level=None, check_same_thread=False)
        if kept is not None:
            with kept:
                kept.connection.backup(connection)
        else:
            connection.executescript(_creation())
        size = connection.execute("pragma page_size").fetchone()[0]
        connection.execute(f"pragma max_page_count = {MEMORY_MAX_BYTES // size}")
        return cls("", connection)

    def value(self, key: str) -> Any:
        """A value of `meta`, or None."""
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row is not None else None

    def set(self, key: str, value: Any) -> None:
        """Set a value of `meta`."""
        self.connection.execute("insert or replace into meta values(?, ?)", (key, value))

    def facts(self, column: str, path: str) -> bytes:
        """A file's facts, `outside` or `refs`, as `marshal` wrote them. Raises DatabaseError when they are gone or
        damaged; zlib's checksum tells."""
        from sqlite3 import DatabaseError
        from zlib import decompress, error

        row = self.connection.execute(
            f"select {column} from facts join file on id = file where path = ?", (path,)
        ).fetchone()
        try:
            return decompress(row[0])
        except (error, TypeError) as problem:
            raise DatabaseError(f"the facts of {path} are damaged") from problem

    def tree(self) -> Tree | None:
        """The files as they were when the graph was last brought up to date; None while it never was.

        Raises DatabaseError when a table is gone or does not end where it then ended, as an emptied one: that shows in
        no other way, and looking takes a tenth of a millisecond.
        """
        from sqlite3 import DatabaseError

        from guilds_code.engines.graph.files import Tree

        stored = self.value("tree")
        if stored is None:
            return None
        kept, found = self.connection.execute(f"select (select value from meta where key = 'ends'), {_ENDS}").fetchone()
        if kept != found:
            raise DatabaseError("a table of the graph is not as it was left")
        return Tree.of(stored)

    def set_tree(self, tree: Tree) -> None:
        """Record what the graph was brought up to date with; the last write of a refresh."""
        self.set("tree", tree.stored())
        self.set("ends", self.connection.execute(f"select {_ENDS}").fetchone()[0])
        word = self.connection.execute("select term from vocabulary limit 1").fetchone()
        self.set("word", word[0] if word is not None else None)

    def require_words(self) -> None:
        """Raises DatabaseError when the full text does not find a word that it holds: where its list of segments is
        damaged it is taken for empty."""
        from sqlite3 import DatabaseError

        word = self.value("word")
        if word is not None:
            found = self.connection.execute("select 1 from words where words match ? limit 1", (f'"{word}"',))
            if found.fetchone() is None:
                raise DatabaseError("the full text is not as it was left")


class Lock:
    """The right to write a repository's store, for one process at a time; the kernel gives it back at any death."""

    __slots__ = ("_descriptor",)

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._descriptor = os.open(f"{folder}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> Lock:
        from fcntl import LOCK_EX, flock

        flock(self._descriptor, LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def damaged(problem: Exception) -> bool:
    """Whether a failure while reading or writing says that the store is damaged, and not that its disk or its lock is.

    The numbers are SQLite's primary result codes; a value that does not read as what it should be has none. A question
    that can't be put to SQLite at all is no damage.
    """
    from sqlite3 import DatabaseError

    if isinstance(problem, UnicodeEncodeError) or not isinstance(problem, (DatabaseError, *_MISREAD)):
        return False
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code == _ERROR:
        return "syntax error" not in str(problem)
    return code not in _NOT_THE_STORE


_MISREAD = (ValueError, TypeError, LookupError, AttributeError, EOFError, RuntimeError)
"""What comes of values that are not what a writer writes; of a damaged store in a worker, RuntimeError."""


def out_of_reach(problem: Exception) -> bool:
    """Whether a failure is that of the store's disk, its lock or the right to use it."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF in _NOT_THE_STORE


_ERROR = 1
"""What SQLite says of a missing table, of full text whose tables do not fit, and of a statement that it does not
understand."""


_NOT_THE_STORE = frozenset((3, 5, 6, 7, 8, 10, 13, 14, 23))
"""PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, AUTH."""


def stamp() -> str:
    """What a store must say to be usable: `marshal` changes with Python's version."""
    from sys import version_info

    return f"{VERSION}.{version_info[0]}.{version_info[1]}"


def _creation() -> str:
    return f"begin; {_TABLES} insert into meta values('version', '{stamp()}'); commit;"


def batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    """A list in pieces."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _connect(folder: str, *, read_only: bool = False) -> Connection:
    """A connection to a folder's store; read-only it asks for no lock and no file beside it, which a folder that
    can't be written has no place for (sqlite.org, "Write-Ahead Logging", read-only databases)."""
    from sqlite3 import connect

    if read_only:
        from urllib.parse import quote

        name = f"file:{quote(folder)}/{FILE_NAME}?immutable=1"
        return connect(name, uri=True, isolation_level=None, check_same_thread=False)
    return connect(f"{folder}/{FILE_NAME}", timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)


def _without_sync(connection: Connection) -> Connection:
    """A cache need not survive a crash of the machine: what that harms is made anew."""
    connection.execute("pragma synchronous = off")
    return connection
