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
WEIGHED_MAX = 25_000
"""Symbols that the index ranks for one question; a hundred thousand take it half a second."""
NAME, DOC, PATH, BODY = 1.0, 0.75, 0.55, 0.4
"""How much a word of the question counts by where it is found; the class around a method counts as its path."""
ABBREVIATED = 0.8
"""What is left of it when only the beginning agrees (`auth` for authentication), from 4 letters on."""
ABBREVIATION_MIN_CHARACTERS = 4
OWN_WORDS_ENOUGH = 2
"""Words that a method must hold itself to be shown below its class."""
EXACT_NAME = 100.0
"""An identifier that the question holds comes before everything else."""
RANKS = (1.0, 0.45, 0.5, 0.4)
"""What a hit is worth in ordinary files, tests, examples and vendored code."""
TYPES = {"file": 0.45, "variable": 0.75, "constant": 0.75, "field": 0.6, "property": 0.7}
_AROUND = "`'\"(),:;?!"
"""What may stand around a name in a question."""
_RANK_WORDS: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset(("test", "tests", "fixture", "fixtures")),
    frozenset(("example", "examples", "demo", "tutorial", "docs", "benchmark")),
    frozenset(("vendor", "vendored", "third")),
)


class Hit:
    """A symbol with its score and the question's words that it covers."""

    __slots__ = ("covered", "own", "score", "symbol")

    def __init__(self, symbol: Symbol, score: float, covered: frozenset[str], own: int) -> None:
        self.symbol = symbol
        self.score = score
        self.covered = covered
        self.own = own
        """How many of them its own name and comment hold."""


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
    written = (word.strip(_AROUND).rstrip(".").rpartition("/")[2].lower() for word in question.split())
    found = {name for name in written if "." in name}  # as a file's is
    tokens = "".join(c if c.isalnum() or c == "_" else " " for c in question).split()
    for token in tokens:
        if "_" in token or token[1:].lower() != token[1:] or len(tokens) == 1:
            found.add(token.lower())
    return frozenset(found | ({"".join(words)} if 1 < len(words) <= 4 else set()))


def _scored(graph: Graph, terms: list[str], asked: frozenset[str], words: frozenset[str], within: str) -> list[Hit]:
    counts = _counts(graph, terms)
    rows = _proposed(graph, counts, asked, within)
    if not rows:
        return []
    size = graph.connection.execute("select coalesce(sum(symbols + 1), 0) from file").fetchone()[0]
    weights = {term: log(1 + (max(size, count) - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    total = sum(weights.values()) or 1.0
    hits = []
    for row in rows:
        *fields, file_rank, name, path, doc, body = row
        symbol = Symbol(tuple(fields))
        named = set(fold(symbol.name).split())
        around = f"{path} {fold(symbol.qualified.rpartition('.')[0])}"
        parts = [(set(text.split()), worth) for text, worth in ((name, NAME), (doc, DOC), (around, PATH), (body, BODY))]
        score, own_words = 0.0, 0
        covered: set[str] = set()
        matched: set[str] = set()
        for term in terms:
            found = [_worth(term, tokens) * worth for tokens, worth in parts]
            best = max(found)
            if best:
                score += weights[term] * (best + 0.15 * (sum(found) - best))
                covered.add(term)
                own_words += max(found[:2]) > 0
                matched.update(word for word in named if word == term or _abbreviates(word, term))
        coverage = score / total
        focus = len(matched) / len(named) if named else 0.0
        score *= coverage * (0.6 + 0.6 * focus) * (1 + 0.08 * log(1 + symbol.referenced))
        if not _RANK_WORDS[file_rank] & words:
            score *= RANKS[file_rank]
        score *= TYPES.get(symbol.type, 1.0)
        own = symbol.name.lower()
        if own in asked or own.replace("_", "") in asked:
            score += EXACT_NAME * RANKS[file_rank] * (1.0 if symbol.type == "file" else TYPES.get(symbol.type, 1.0))
        hits.append(Hit(symbol, score, frozenset(covered), own_words))
    return hits


def _worth(term: str, tokens: set[str]) -> float:
    """How well the best of the tokens fits a word of the question."""
    if term in tokens:
        return 1.0
    return ABBREVIATED if any(_abbreviates(token, term) for token in tokens) else 0.0


def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is the beginning of the other, long enough to mean it."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= ABBREVIATION_MIN_CHARACTERS and long.startswith(short)


def _proposed(graph: Graph, counts: dict[str, int], asked: frozenset[str], within: str) -> list[tuple[Any, ...]]:
    """Symbols that the index offers, and those of an asked name, with their file's rank and their words.

    The rarest words propose; one that a great many symbols have only helps to order them.
    """
    columns, _, source = SYMBOL.partition(" from ")
    chosen = f"select {columns}, f.rank, w.name, w.path, w.doc, w.body from {source} join words w on w.rowid = s.id"
    narrowed = "(? = '' or f.path = ? or f.path glob ?)"
    place = (within, within, _glob(within))
    parts: list[str] = []
    weighed = 0
    for term in sorted(counts, key=lambda term: (counts[term], term)):
        weighed += counts[term]
        if weighed <= WEIGHED_MAX or not parts:
            parts.append(f'"{term}"')
            if len(term) > ABBREVIATION_MIN_CHARACTERS:
                parts.append(f'name : "{term[:ABBREVIATION_MIN_CHARACTERS]}"*')
    query = " OR ".join(parts)
    rows: dict[int, tuple[Any, ...]] = {}
    if query:
        proposed = _best(graph, query, PROPOSED_MAX if not within else PROPOSED_MAX * 20)
        if not proposed:
            graph.store.require_words()
        for start in range(0, len(proposed), 400):
            ids = proposed[start : start + 400]
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


def _best(graph: Graph, query: str, most: int) -> list[int]:
    """The symbols that fit best by the index. Of several that fit equally at the end, all or none: numbers tell when
    a symbol was first seen, and the answer must not depend on that."""
    score = "bm25(words, 10, 3, 6, 1)"
    rows = graph.connection.execute(
        f"select rowid, {score} from words where words match ? order by 2 limit ?", (query, most)
    ).fetchall()
    if len(rows) == most:
        better = [number for number, worth in rows if worth < rows[-1][1]]
        if better:
            return better
        rows = graph.connection.execute(
            "select w.rowid from words w join symbol s on s.id = w.rowid join file f on f.id = s.file"
            " where words match ? order by f.path, s.start, s.qualified limit ?",
            (query, most),
        ).fetchall()
    return [row[0] for row in rows]


def _glob(within: str) -> str:
    """A pattern for everything below a folder."""
    escaped = "".join(f"[{c}]" if c in "*?[" else c for c in within)
    return f"{escaped}/*"


def _counts(graph: Graph, terms: list[str]) -> dict[str, int]:
    """How many symbols have each word."""
    rows = graph.connection.execute(
        f"select term, doc from vocabulary where term in ({','.join('?' * len(terms))})", terms
    )
    return {**dict.fromkeys(terms, 0), **dict(rows)}


def _without_repeats(hits: list[Hit], limit: int) -> list[Hit]:
    """The first hits; a class and what is in it take one place for the same words."""
    shown: list[Hit] = []
    by_id: dict[int, Hit] = {}
    for hit in hits:
        around = by_id.get(hit.symbol.parent)
        inside = next((other for other in shown if other.symbol.parent == hit.symbol.id), None)
        by_class = around is not None and hit.covered <= around.covered and hit.own < OWN_WORDS_ENOUGH
        if (by_class or (inside is not None and hit.covered <= inside.covered)) and hit.score < EXACT_NAME:
            continue
        shown.append(hit)
        by_id[hit.symbol.id] = hit
        if len(shown) >= limit:
            break
    return shown
