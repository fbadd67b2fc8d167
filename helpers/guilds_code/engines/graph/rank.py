"""Ranking for `code_find`: which symbols a question is about.

The full-text index proposes, this module orders: by how many of the question's words a symbol covers and where,
by where its file stands, and among equals by how much it is referenced. It shapes nothing.
"""

from __future__ import annotations

from math import log

from guilds_code.engines.graph.graph import SYMBOL, Symbol
from guilds_code.engines.graph.lookup import NO_CODE, below
from guilds_code.engines.graph.words import COMMON, fold, split, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_code.engines.graph.graph import Graph

PROPOSED_MAX = 400
NAME_WEIGHT, PATH_WEIGHT, DOC_WEIGHT, BODY_WEIGHT = 5.0, 1.5, 2.5, 1.0
EXACT_NAME = 100.0
"""An identifier that the question holds comes before everything else."""
RANKS = (1.0, 0.45, 0.5, 0.4)
"""What a hit is worth in ordinary files, tests, examples and vendored code."""
TYPES = {"file": 0.45, "variable": 0.75, "constant": 0.75, "field": 0.6, "property": 0.7}
_RANK_WORDS: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset(("test", "tests", "fixture", "fixtures")),
    frozenset(("example", "examples", "demo", "tutorial", "docs", "benchmark")),
    frozenset(("vendor", "vendored", "third")),
)


class Hit:
    """A symbol with its score and the question's words that it covers."""

    __slots__ = ("covered", "score", "symbol")

    def __init__(self, symbol: Symbol, score: float, covered: frozenset[str]) -> None:
        self.symbol = symbol
        self.score = score
        self.covered = covered


def find(graph: Graph, question: str, within: str, limit: int) -> list[Hit]:
    """The best hits, best first; `within` is a path prefix. Equal scores stand in the order of path and line."""
    words = list(dict.fromkeys(word for word in split(question) if word not in COMMON)) or split(question)
    terms = list(dict.fromkeys(stem(word) for word in words))
    asked = _identifiers(question, words)
    scored = _scored(graph, terms, asked, frozenset(words), within)
    scored.sort(key=lambda hit: (-hit.score, hit.symbol.path, hit.symbol.start, hit.symbol.id))
    return _without_repeats(scored, limit)


def _identifiers(question: str, words: list[str]) -> frozenset[str]:
    """What in a question can only be, or as well be, an identifier, in lower case."""
    found = set()
    tokens = "".join(c if c.isalnum() or c == "_" else " " for c in question).split()
    for token in tokens:
        if "_" in token or token[1:].lower() != token[1:] or len(tokens) == 1:
            found.add(token.lower())
    return frozenset(found | ({"".join(words)} if 1 < len(words) <= 4 else set()))


def _scored(graph: Graph, terms: list[str], asked: frozenset[str], words: frozenset[str], within: str) -> list[Hit]:
    rows = _proposed(graph, terms, asked, within)
    if not rows:
        return []
    weights = _weights(graph, terms)
    total = sum(weights.values()) or 1.0
    hits = []
    for row in rows:
        *fields, file_rank, name, path, doc, body = row
        symbol = Symbol(tuple(fields))
        parts = [(set(text.split()), weight) for text, weight in
                 ((name, NAME_WEIGHT), (path, PATH_WEIGHT), (doc, DOC_WEIGHT), (body, BODY_WEIGHT))]  # fmt: skip
        score, covered = 0.0, set()
        for term in terms:
            best = max((weight for found, weight in parts if term in found), default=0.0)
            if best:
                more = sum(weight for found, weight in parts if term in found) - best
                score += weights[term] * (best + 0.25 * more)
                covered.add(term)
        coverage = sum(weights[term] for term in covered) / total
        named = set(fold(symbol.name).split())
        focus = len(named & covered) / len(named) if named else 0.0
        score *= coverage * coverage * (0.7 + 0.5 * focus) * (1 + 0.08 * log(1 + symbol.referenced))
        if not _RANK_WORDS[file_rank] & words:
            score *= RANKS[file_rank]
        score *= TYPES.get(symbol.type, 1.0)
        own = symbol.name.lower()
        if own in asked or own.replace("_", "") in asked:
            score += EXACT_NAME * RANKS[file_rank] * TYPES.get(symbol.type, 1.0)
        hits.append(Hit(symbol, score, frozenset(covered)))
    return hits


def _proposed(graph: Graph, terms: list[str], asked: frozenset[str], within: str) -> list[tuple[Any, ...]]:
    """Symbols that the index offers, and those of an asked name, with their file's rank and their words."""
    columns, _, source = SYMBOL.partition(" from ")
    chosen = f"select {columns}, f.rank, w.name, w.path, w.doc, w.body from {source} join words w on w.rowid = s.id"
    narrowed = "(? = '' or f.path = ? or f.path glob ?)"
    place = (within, within, _glob(within))
    query = " OR ".join(f'"{term}"' for term in terms)
    rows: dict[int, tuple[Any, ...]] = {}
    if query:
        proposed = graph.connection.execute(
            "select rowid from words where words match ? order by bm25(words, 10, 3, 5, 1), rowid limit ?",
            (query, PROPOSED_MAX if not within else PROPOSED_MAX * 20),
        ).fetchall()
        for start in range(0, len(proposed), 400):
            ids = [number for (number,) in proposed[start : start + 400]]
            found = graph.connection.execute(
                f"{chosen} where s.id in ({','.join('?' * len(ids))}) and {narrowed}", (*ids, *place)
            )
            rows.update((row[0], row) for row in found)
    for name in sorted(asked):
        found = graph.connection.execute(
            f"{chosen} where s.name = ? collate nocase and s.type not in {NO_CODE} and {narrowed} limit 200",
            (name, *place),
        )
        rows.update((row[0], row) for row in found if below(str(row[12]), within))
    return list(rows.values())


def _glob(within: str) -> str:
    """A pattern for everything below a folder."""
    escaped = "".join(f"[{c}]" if c in "*?[" else c for c in within)
    return f"{escaped}/*"


def _weights(graph: Graph, terms: list[str]) -> dict[str, float]:
    """How telling each word is: the rarer in the repository, the more."""
    total = graph.connection.execute("select count(*) from symbol").fetchone()[0]
    found = {}
    for term in terms:
        count = graph.connection.execute("select count(*) from words where words match ?", (f'"{term}"',)).fetchone()[0]
        found[term] = log(1 + (total - count + 0.5) / (count + 0.5))
    return found


def _without_repeats(hits: list[Hit], limit: int) -> list[Hit]:
    """The first hits; a class and what is in it take one place for the same words."""
    shown: list[Hit] = []
    by_id: dict[int, Hit] = {}
    for hit in hits:
        around = by_id.get(hit.symbol.parent)
        inside = next((other for other in shown if other.symbol.parent == hit.symbol.id), None)
        if (around is not None and hit.covered <= around.covered and hit.score < EXACT_NAME) or (
            inside is not None and hit.covered <= inside.covered and hit.score < EXACT_NAME
        ):
            continue
        shown.append(hit)
        by_id[hit.symbol.id] = hit
        if len(shown) >= limit:
            break
    return shown
