"""code_callers: what references a symbol, or what it references, with every line where it does."""

from __future__ import annotations

import os

from guilds_code.engines.graph.choose import Chosen, choose
from guilds_code.engines.graph.graph import Graph, Symbol, read_graph
from guilds_code.engines.graph.lookup import at, below, matching, nearest, telling
from guilds_code.engines.graph.page import Page
from guilds_code.engines.graph.store import RELATIONS
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

SYMBOLS_MAX = 6
"""Symbols of one name that are answered at once; the rest is listed."""
POSSIBLE_MAX = 20
LINE_MAX_DIGITS = 9
LINES_MAX = 12
"""Lines shown of one reference; the rest is counted."""
_ORDER = ("calls", "decorates", "inherits", "implements", "uses", "imports")
_MEMBERS = frozenset(("method", "function", "property", "field", "variable", "constant"))


def code_callers(call: Call, symbol: str, direction: str = "in", depth: int = 1, in_: str | None = None) -> Result:
    """Raises ToolError: `not_found` with the nearest names or the file's last line, and what `choose` and `read_graph`
    raise."""
    chosen = choose(call, in_ if in_ is not None else _path_in(call, symbol))
    within = chosen.within if in_ is not None else ""

    def read(graph: Graph) -> Result:
        found, count = _named(graph, chosen, symbol, within)
        if not found and within:
            elsewhere, _ = _named(graph, chosen, symbol, "")
            if elsewhere:
                raise _elsewhere(chosen, symbol, elsewhere[0])
        if not found:
            near = ", ".join(nearest(graph, symbol))
            advice = f"near names: {near}" if near else "use code_find or code_search to look for it"
            raise ToolError("not_found", f"no symbol {quoted(symbol)} in {graph.name}; {advice}.")
        answer = _Answer(graph, chosen, Page(call.cap_bytes, graph.tree.notice), direction, depth)
        for one in found[:SYMBOLS_MAX]:
            answer.about(one)
        if count > 1:
            shown = found[:SYMBOLS_MAX]
            names = [name or answer.location(one) for one, name in zip(shown, telling(graph, shown), strict=True)]
            answer.page.add(f"{count} symbols fit; name one as {', '.join(f'`{name}`' for name in names)}")
        for one in found[SYMBOLS_MAX:]:
            answer.page.add(f"also {answer.place(one)}")
        if count > len(found):
            answer.page.add_left_out(f"and {count - len(found)} more")
        text, cuts = answer.page.text("lines")
        return Result(text, graph.meta(answer.hits), cuts)

    return read_graph(chosen.root, chosen.home, read)


def _elsewhere(chosen: Chosen, wanted: str, symbol: Symbol) -> ToolError:
    where, place = chosen.shown(chosen.within), f"{chosen.shown(symbol.path)}:{symbol.line}"
    advice = "`in` narrows where a symbol is defined, not where it is referenced; leave it out"
    return ToolError("not_found", f"{quoted(wanted)} is not defined in {where} but in {place}: {advice}.")


class _Answer:
    def __init__(self, graph: Graph, chosen: Chosen, page: Page, direction: str, depth: int) -> None:
        self.graph = graph
        self.chosen = chosen
        self.page = page
        self.incoming = direction == "in"
        self.depth = depth
        self.hits = 0

    def about(self, symbol: Symbol) -> None:
        """One symbol's heading, its references, and those that may be ones."""
        self.page.add(self.place(symbol))
        seen = {symbol.id}
        before = self.hits
        self.level(symbol, 1, seen)
        if self.hits == before:
            self.page.add(f"  {'nothing references it' if self.incoming else 'it references nothing here'}")
        if self.incoming and symbol.type in _MEMBERS:
            self.possible(symbol, seen)

    def place(self, symbol: Symbol) -> str:
        return f"{self.location(symbol)}  {symbol.type} {symbol.qualified}"

    def location(self, symbol: Symbol) -> str:
        return f"{self.chosen.shown(symbol.path)}:{symbol.line}"

    def level(self, symbol: Symbol, depth: int, seen: set[int]) -> None:
        for other, relations in self.references(symbol):
            self.hits += 1
            again = other.id in seen
            name = "(module level)" if other.type == "file" and self.incoming else other.qualified
            kinds = "; ".join(f"{relation} {_lines(lines)}" for relation, lines in relations)
            first = relations[0][1][0] if self.incoming else other.line
            self.page.add(f"{'  ' * depth}{self.chosen.shown(other.path)}:{first}  {name}  {kinds}")
            if not again:
                seen.add(other.id)
                if depth < self.depth and other.type != "file":
                    self.level(other, depth + 1, seen)

    def references(self, symbol: Symbol) -> list[tuple[Symbol, list[tuple[str, list[int]]]]]:
        """The symbols on the other side, each with its relations and their lines."""
        if self.incoming:
            rows = self.graph.connection.execute(
                "select source, relation, lines from edge where target = ?", (symbol.id,)
            ).fetchall()
            rows += self.imports_from(symbol) if symbol.type == "file" else []
        else:  # what stands inside a symbol references for it
            rows = self.graph.connection.execute(
                "select e.target, e.relation, e.lines from edge e join symbol s on s.id = e.source where s.file = ?"
                " and s.start >= ? and s.end <= ? and (s.id = ? or s.type <> 'file')",
                (symbol.file, symbol.start, symbol.end, symbol.id),
            ).fetchall()
        found: dict[int, dict[str, list[int]]] = {}
        for number, relation, lines in rows:
            kept = found.setdefault(number, {}).setdefault(RELATIONS[relation], [])
            kept.extend(int(line) for line in lines.split(","))
        others = self.known(found)
        result = []
        for other in others:
            named = found[other.id]
            if "decorates" in named and "calls" in named:  # `@route(…)` is told once
                named["calls"] = [line for line in named["calls"] if line not in named["decorates"]]
                if not named["calls"]:
                    del named["calls"]
            relations = [(relation, sorted(set(named[relation]))) for relation in _ORDER if relation in named]
            inside = other.file == symbol.file and symbol.start <= other.start and other.end <= symbol.end
            if not (inside and not self.incoming and symbol.type != "file"):
                result.append((other, relations))
        result.sort(key=lambda one: (_ORDER.index(one[1][0][0]), one[0].path, one[1][0][1][0], one[0].start, one[0].id))
        return result

    def imports_from(self, file: Symbol) -> list[tuple[int, int, str]]:
        """What other files import of a file's symbols."""
        return self.graph.connection.execute(
            "select e.source, e.relation, e.lines from symbol t join edge e on e.target = t.id"
            " join symbol s on s.id = e.source where t.file = ? and t.id <> ? and e.relation = ? and s.file <> t.file",
            (file.file, file.id, RELATIONS.index("imports")),
        ).fetchall()

    def known(self, numbers: dict[int, dict[str, list[int]]]) -> list[Symbol]:
        ids = sorted(numbers)
        found: list[Symbol] = []
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            found += self.graph.symbols(f"s.id in ({','.join('?' * len(part))})", part)
        return found

    def possible(self, symbol: Symbol, seen: set[int]) -> None:
        """References by this name on receivers whose type is not known."""
        rows = self.graph.connection.execute(
            "select l.source, l.lines from loose l join symbol s on s.id = l.source join file f on f.id = s.file"
            " where l.name = ? and f.language = (select language from file where id = ?)",
            (symbol.name, symbol.file),
        ).fetchall()
        lines = {number: [int(line) for line in joined.split(",")] for number, joined in rows if number not in seen}
        if not lines:
            return
        others = self.known({number: {} for number in lines})
        others.sort(key=lambda other: (other.path, lines[other.id][0], other.id))
        self.page.add("  possible (name only)")
        for other in others[:POSSIBLE_MAX]:
            name = "(module level)" if other.type == "file" else other.qualified
            shown = self.chosen.shown(other.path)
            self.page.add(f"    {shown}:{lines[other.id][0]}  {name}  calls {_lines(lines[other.id])}")
        if len(others) > POSSIBLE_MAX:
            self.page.add_left_out(f"    and {len(others) - POSSIBLE_MAX} more by that name")


def _named(graph: Graph, chosen: Chosen, wanted: str, within: str) -> tuple[list[Symbol], int]:
    """The symbols that were asked for, by place or by name, and how many they are."""
    path, _, line = wanted.rpartition(":")
    if path and line.isdigit():
        line = line[:LINE_MAX_DIGITS]
        for candidate in (chosen.inside(path), path):
            symbol = at(graph, candidate, int(line)) if candidate is not None else None
            if symbol is not None:
                _require_line(graph, chosen, symbol, int(line))
                return [symbol], 1
        return [], 0
    found, count = matching(graph, wanted, within)
    if not found and (candidate := chosen.inside(wanted)) is not None:
        found = [s for s in graph.symbols("f.path = ? and s.type = 'file'", (candidate,)) if below(s.path, within)]
        count = len(found)
    return found, count


def _require_line(graph: Graph, chosen: Chosen, symbol: Symbol, line: int) -> None:
    """Refuse a line that the symbol's file does not have, if the file was read."""
    for file in graph.symbols("s.type = 'file' and s.file = ? and f.skipped = ''", (symbol.file,)):
        if not 1 <= line <= max(1, file.end):
            where = f"{chosen.shown(file.path)} has the lines 1 to {max(1, file.end)}"
            raise ToolError("not_found", f"{where}; there is no line {line}.")


def _path_in(call: Call, symbol: str) -> str | None:
    """The path of `path:line`, if there is such a file."""
    path, _, line = symbol.rpartition(":")
    if not (path and line.isdigit()):
        return None
    here = os.path.join(os.fsdecode(call.workspace.directory), path)
    return path if os.path.isfile(here) else None


def _lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:LINES_MAX]))
    return shown if len(lines) <= LINES_MAX else f"{shown} and {len(lines) - LINES_MAX} more"
