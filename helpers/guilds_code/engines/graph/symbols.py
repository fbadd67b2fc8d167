"""Search hits grouped under the functions and classes they stand in: what `code_search` shows in mode `symbols`.

It runs no search; it is given the lines that matched.
"""

from __future__ import annotations

from guilds_code.engines.graph.choose import choose
from guilds_code.engines.graph.graph import open_graph
from guilds_code.engines.graph.lookup import enclosing
from guilds_code.engines.graph.page import Page
from guilds_wire.envelope import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guilds_code.engines.graph.choose import Chosen
    from guilds_code.engines.graph.graph import Graph, Symbol
    from guilds_wire.call import Call

GROUPS_MAX = 20
GROUP_LINES_MAX = 5
LINE_MAX_CHARACTERS = 300


class _Group:
    """The hits of one symbol, or of a file outside any."""

    __slots__ = ("lines", "path", "symbol")

    def __init__(self, path: str, symbol: Symbol | None) -> None:
        self.path = path
        self.symbol = symbol
        self.lines: list[tuple[int, str]] = []


def grouped(call: Call, path: str, hits: Iterable[tuple[str, int, str]]) -> Result:
    """The hits below `path`, each (real absolute path, line number, text), most referenced symbols first.

    Raises ToolError: what `choose` and `open_graph` raise.
    """
    chosen = choose(call, path)
    with open_graph(chosen.root, chosen.home) as graph:
        groups = _groups(graph, chosen, hits)
        page = Page(call.cap_bytes)
        for group in groups[:GROUPS_MAX]:
            page.add(_heading(chosen, group))
            for number, text in group.lines[:GROUP_LINES_MAX]:
                page.add(f"  {number}: {text.strip()[:LINE_MAX_CHARACTERS]}")
            if len(group.lines) > GROUP_LINES_MAX:
                page.add(f"  … {len(group.lines) - GROUP_LINES_MAX} more in it")
        total = sum(len(group.lines) for group in groups)
        rest = f", {len(groups) - GROUPS_MAX} of them left out" if len(groups) > GROUPS_MAX else ""
        page.add(f"{total} matching lines in {len(groups)} places{rest}")
        text, cuts = page.text("lines")
        return Result(text, {**graph.meta(len(groups)), "matches": total}, cuts)


def _groups(graph: Graph, chosen: Chosen, hits: Iterable[tuple[str, int, str]]) -> list[_Group]:
    by_file: dict[str, list[tuple[int, str]]] = {}
    start = len(chosen.root) + 1
    for path, number, text in hits:
        by_file.setdefault(path[start:], []).append((number, text))
    found: list[_Group] = []
    for path in sorted(by_file):
        spans = enclosing(graph, path)
        own: dict[int, _Group] = {}
        for number, text in sorted(by_file[path]):
            inside = [symbol for first, last, symbol in spans if first <= number <= last]
            symbol = inside[-1] if inside else None
            key = symbol.id if symbol is not None else 0
            if key not in own:
                own[key] = _Group(path, symbol)
                found.append(own[key])
            own[key].lines.append((number, text))
    found.sort(key=lambda group: (-_weight(group), group.path, group.lines[0][0]))
    return found


def _weight(group: _Group) -> int:
    """Outside a symbol after all those in one."""
    return group.symbol.referenced if group.symbol is not None else -1


def _heading(chosen: Chosen, group: _Group) -> str:
    shown = chosen.shown(group.path)
    symbol = group.symbol
    if symbol is None:
        return f"{shown}  (outside any symbol)"
    count = f"referenced in {symbol.referenced} file{'' if symbol.referenced == 1 else 's'}"
    return f"{shown}:{symbol.start}–{symbol.end}  {symbol.type} {symbol.qualified}  ({count})"
