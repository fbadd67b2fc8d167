"""Finding symbols: by name, by qualified name, by place, and the nearest names when there is none.

Reads an open graph; shapes nothing.
"""

from __future__ import annotations

from guilds_code.engines.graph.graph import SYMBOL, Symbol
from guilds_code.engines.graph.store import RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_code.engines.graph.graph import Graph

NO_CODE = "('heading', 'key', 'selector', 'element')"
"""Types that outlines alone show."""
NAMED = "s.name = ? collate nocase and s.name = ?"
"""A condition on the exact name that the index, which folds case, can serve; takes the name twice."""
NEAR_MAX = 5
BASES_DEPTH_MAX = 12
FITTING_MAX = 100
NAMES_COMPARED_MAX = 20_000
_MODULE_FILES = frozenset(("__init__", "index", "mod"))


def matching(graph: Graph, wanted: str, within: str) -> tuple[list[Symbol], int]:
    """The symbols that a name or a qualified name fits, most referenced first, and how many there are; of a great
    many the first FITTING_MAX. `within` is a path prefix."""
    parts = _parts(wanted)
    if not parts:
        return [], 0
    found = _by_name(graph, NAMED, (parts[-1], parts[-1]), parts, within)
    if not found[1] and len(parts) > 1:
        inherited = [symbol for symbol in _inherited(graph, parts) if below(symbol.path, within)]
        found = inherited, len(inherited)
    if not found[1]:
        folded = [part.lower() for part in parts]
        found = _by_name(graph, "s.name = ? collate nocase", (parts[-1],), folded, within, fold=True)
    if not found[1]:
        files = [symbol for symbol in _files(graph, wanted, parts) if below(symbol.path, within)]
        found = sorted(files, key=_order), len(files)
    return found


def _by_name(
    graph: Graph, condition: str, names: tuple[str, ...], parts: list[str], within: str, *, fold: bool = False
) -> tuple[list[Symbol], int]:
    kept: list[Symbol] = []
    total = 0
    rows = graph.connection.execute(
        f"select {SYMBOL} where {condition} and s.type not in {NO_CODE} and s.type <> 'file'", names
    )
    for symbol in map(Symbol, rows):
        if below(symbol.path, within) and _fits(symbol, parts, fold):
            kept.append(symbol)
            total += 1
            if len(kept) > 4 * FITTING_MAX:
                kept = sorted(kept, key=_order)[:FITTING_MAX]
    return sorted(kept, key=_order)[:FITTING_MAX], total


def _order(symbol: Symbol) -> tuple[int, str, int, int]:
    return -symbol.referenced, symbol.path, symbol.start, symbol.id


def at(graph: Graph, path: str, line: int) -> Symbol | None:
    """The innermost symbol of a file that a line lies in; the file itself outside any."""
    found = graph.symbols(
        f"f.path = ? and s.start <= ? and s.end >= ? and s.type not in {NO_CODE}"
        " and s.type not in ('variable', 'constant', 'field', 'property')",
        (path, line, line),
    )
    if not found:
        found = graph.symbols("f.path = ? and s.type = 'file'", (path,))
    return max(found, key=lambda symbol: (symbol.start, symbol.type != "file", -symbol.end), default=None)


def nearest(graph: Graph, wanted: str) -> list[str]:
    """Names that look most like one that does not exist: of the class that was named, then of those that begin so."""
    parts = _parts(wanted)
    if not parts:
        return []
    return list(dict.fromkeys([*_members(graph, parts), *_alike(graph, parts[-1].lower())]))[:NEAR_MAX]


def _members(graph: Graph, parts: list[str]) -> list[str]:
    """What the class or module before the last dot has, likest first, where there is one."""
    from difflib import SequenceMatcher

    holders = matching(graph, ".".join(parts[:-1]), "")[0][:FITTING_MAX] if len(parts) > 1 else []
    numbers = ",".join(str(holder.id) for holder in holders)
    files = ",".join(str(holder.file) for holder in holders)
    found = graph.symbols(f"s.file in ({files}) and s.parent in ({numbers}) limit {NAMES_COMPARED_MAX}")
    names = {symbol.name: f"{parts[-2]}.{symbol.name}" for symbol in found}
    likeness = {name: SequenceMatcher(None, name.lower(), parts[-1].lower()).ratio() for name in names}
    return [names[name] for name in sorted(names, key=lambda name: (-likeness[name], name))]


def _alike(graph: Graph, name: str) -> list[str]:
    from difflib import get_close_matches

    rows = graph.connection.execute(
        f"select distinct name from symbol where type not in {NO_CODE} and name >= ? collate nocase"
        " and name < ? collate nocase and length(name) between ? and ? limit ?",
        (name[0], chr(ord(name[0]) + 1), len(name) - 3, len(name) + 3, NAMES_COMPARED_MAX),
    )
    by_fold: dict[str, str] = {}
    for (other,) in sorted(rows):
        by_fold.setdefault(other.lower(), other)
    return [by_fold[match] for match in get_close_matches(name, by_fold, NEAR_MAX, 0.7)]


def telling(graph: Graph, symbols: list[Symbol]) -> list[str]:
    """For each of these, which have one name, a qualified name that fits it alone, as short as may be; else none."""
    found: list[str] = []
    named: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        name = symbol.name
        if name not in named:
            named[name] = graph.symbols(f"{NAMED} and s.type not in {NO_CODE} and s.type <> 'file'", (name, name))
        own = symbol.qualified.replace("::", ".").split(".")
        parts = [*symbol.path.split("/")[:-1], symbol.path.rpartition("/")[2].partition(".")[0], *own]
        names = (parts[-count:] for count in range(len(own) + 1, len(parts) + 1))
        others = [other for other in named[name] if other.id != symbol.id]
        alone = (one for one in names if _parts(".".join(one)) == one and not any(_fits(o, one) for o in others))
        found.append(".".join(next(alone, ())))
    return found


def enclosing(graph: Graph, path: str) -> list[tuple[int, int, Symbol]]:
    """The functions, classes and the like of a file as (start, end, symbol), outer ones first."""
    rows = graph.connection.execute(
        f"select {SYMBOL} where f.path = ? and s.type not in {NO_CODE}"
        " and s.type not in ('file', 'variable', 'constant', 'field', 'property') order by s.start, s.end desc, s.id",
        (path,),
    )
    return [(symbol.start, symbol.end, symbol) for symbol in map(Symbol, rows)]


def below(path: str, within: str) -> bool:
    """Whether a path is a folder's or file's own or lies in it."""
    return not within or path == within or path.startswith(within + "/")


def module_name(path: str) -> str:
    """A file's name as a module: without its ending, a package's by its folder."""
    stem = path.rpartition("/")[2].partition(".")[0]
    folder = path.rpartition("/")[0]
    return folder.rpartition("/")[2] if stem in _MODULE_FILES and folder else stem


def _parts(wanted: str) -> list[str]:
    for separator in ("::", "->", "#", "/", "\\", ":"):
        wanted = wanted.replace(separator, ".")
    return [part for part in wanted.strip().removesuffix("()").split(".") if part]


def _fits(symbol: Symbol, parts: list[str], fold: bool = False) -> bool:
    """Whether a qualified name is the end of this symbol's, with or without the file's own name in it."""
    own = symbol.qualified.replace("::", ".").split(".")
    *folders, name = symbol.path.split("/")
    stem = name.partition(".")[0]
    if fold:
        own, folders, stem = [p.lower() for p in own], [p.lower() for p in folders], stem.lower()
    names = [[*folders, stem, *own], [*folders, *own]]
    return any(name[-len(parts) :] == parts for name in names)


def _inherited(graph: Graph, parts: list[str]) -> list[Symbol]:
    """The member that a class has from what it is derived from: `Flask.route` where a base defines `route`."""
    rows = graph.connection.execute(
        f"with recursive above(id, depth) as (select s.id, 0 from symbol s where {NAMED} union"
        f" select e.target, depth + 1 from above join edge e on e.source = above.id"
        f" where e.relation in ({RELATIONS.index('inherits')}, {RELATIONS.index('implements')}) and depth < ?)"
        " select id, min(depth) from above group by id order by 2, 1",
        (parts[-2], parts[-2], BASES_DEPTH_MAX),
    ).fetchall()
    starts = {number for number, depth in rows if depth == 0}
    fitting = {s.id for s in graph.symbols(f"s.id in ({','.join(map(str, sorted(starts)))})") if _fits(s, parts[:-1])}
    if not fitting:
        return []
    for number, _ in rows:
        found = graph.symbols("s.parent = ? and s.name = ?", (number, parts[-1]))
        if found:
            return found
    return []


def _files(graph: Graph, wanted: str, parts: list[str]) -> list[Symbol]:
    """Files that are named, by path or as a module."""
    exact = graph.symbols("s.type = 'file' and f.path = ?", (wanted,))
    if exact:
        return exact
    found = []
    for symbol in graph.symbols("s.type = 'file' and (s.name like ? or s.name like '\\_\\_init%' escape '\\')",
                                (parts[-1] + ".%",)):  # fmt: skip
        *folders, name = symbol.path.split("/")
        stem = name.partition(".")[0]
        dotted = folders if stem in _MODULE_FILES and folders else [*folders, stem]
        if dotted[-len(parts) :] == parts or [*folders, stem][-len(parts) :] == parts:
            found.append(symbol)
    return found
