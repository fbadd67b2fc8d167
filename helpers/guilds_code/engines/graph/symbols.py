"""Search hits grouped under the functions and classes they stand in, for `code_search` in mode `symbols`.

It runs no search and reads no file; it is given the numbers of the lines that matched.
"""

from __future__ import annotations

from guilds_code.engines.graph.lookup import enclosing
from guilds_code.engines.graph.page import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guilds_code.engines.graph.graph import Graph, Symbol


class Group:
    """The numbers of the hit lines in one symbol, or of a file outside any (`symbol` is None then)."""

    __slots__ = ("numbers", "path", "symbol")

    def __init__(self, path: str, symbol: Symbol | None) -> None:
        self.path = path
        self.symbol = symbol
        self.numbers: list[int] = []

    def heading(self, shown: str) -> str:
        """The group's first line; `shown` is its file for the reader."""
        symbol = self.symbol
        if symbol is None:
            return f"{shown}  (outside any symbol)"
        count = f"referenced in {symbol.referenced} file{'' if symbol.referenced == 1 else 's'}"
        return plain(f"{shown}:{symbol.start}–{symbol.end}  {symbol.type} {symbol.qualified}  ({count})")


def grouped(graph: Graph, hits: Iterable[tuple[str, list[int]]]) -> list[Group]:
    """The hits, each a file's path in the repository with its line numbers; most referenced symbols first."""
    found: list[Group] = []
    for path, numbers in sorted(hits):
        spans = enclosing(graph, path) if _can_be_asked_for(path) else []
        own: dict[int, Group] = {}
        for number in numbers:
            inside = [symbol for first, last, symbol in spans if first <= number <= last]
            symbol = inside[-1] if inside else None
            key = symbol.id if symbol is not None else 0
            if key not in own:
                own[key] = Group(path, symbol)
                found.append(own[key])
            own[key].numbers.append(number)
    found.sort(key=lambda group: (-_weight(group), group.path, group.numbers[0]))
    return found


def _can_be_asked_for(path: str) -> bool:
    """Whether the graph can hold a file of this name: a name that is not UTF-8 is no text to it."""
    return not any("\udc80" <= letter <= "\udcff" for letter in path)


def _weight(group: Group) -> int:
    """Outside a symbol after all those in one."""
    return group.symbol.referenced if group.symbol is not None else -1
