"""code_outline: every signature of a file with its span of lines, nested, without bodies."""

from __future__ import annotations

from guilds_code.engines.graph.choose import choose
from guilds_code.engines.graph.graph import Graph, Symbol, read_graph
from guilds_code.engines.graph.languages import language_of
from guilds_code.engines.graph.page import Page
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_code.engines.graph.choose import Chosen
    from guilds_wire.call import Call

DOC_ROOM_CHARACTERS = 160
"""A line holds the signature, and the doc's first line where both stay within this."""


def code_outline(call: Call, path: str) -> Result:
    """Raises ToolError: what `locate` raises, `not_a_file`, and what `read_graph` raises."""
    with call.workspace.locate(path) as located:
        if located.is_folder:
            raise ToolError("not_a_file", f"{located.shown} is a folder; name a file, or use code_map for an overview.")
        located.require_file()
        shown = located.shown
    chosen = choose(call, path)
    if language_of(chosen.within) is None:
        return _unread(shown, f"the graph does not read this kind of file; use file_read, or code_search in {shown}")

    def read(graph: Graph) -> Result:
        row = graph.connection.execute("select 1 from file where path = ?", (chosen.within,)).fetchone()
        language, lines, skipped, symbols = _known(graph, chosen) if row is not None else _unlisted(chosen)
        if skipped and not symbols:
            return _unread(shown, f"left out of the graph ({skipped}); use file_read, or code_search in {shown}")
        page = Page(call.cap_bytes, graph.tree.notice)
        count = f"{len(symbols)} symbol{'' if len(symbols) == 1 else 's'}"
        page.add(f"{shown} · {language} · {lines} lines · {count}")
        depths: dict[int, int] = {}
        for symbol in _nested(symbols):
            depth = depths[symbol.id] = depths.get(symbol.parent, -1) + 1
            page.add(_line(symbol, depth))
        text, cuts = page.text("symbols")
        return Result(text, graph.meta(len(symbols)), cuts)

    return read_graph(chosen.root, chosen.home, read)


def _known(graph: Graph, chosen: Chosen) -> tuple[str, int, str, list[Symbol]]:
    """The language, lines, reason to skip and symbols of a file in the graph."""
    row = graph.connection.execute("select id, language, lines, skipped from file where path = ?", (chosen.within,))
    number, language, lines, skipped = row.fetchone()
    order = "order by s.start, s.end desc, s.id"
    return language, lines, skipped, graph.symbols(f"s.file = ? and s.type <> 'file' {order}", (number,))


def _unlisted(chosen: Chosen) -> tuple[str, int, str, list[Symbol]]:
    """The same of a file that the graph leaves out, since it is ignored: it is read on the spot."""
    from guilds_code.engines.graph.work import extracted_apart

    language = language_of(chosen.within) or ""
    _, record = next(extracted_apart(chosen.root, [(chosen.within, language, b"")], 1))
    if record is None:
        return language, 0, "it can't be read", []
    symbols = [
        Symbol((number, 0, parent + 1, kind, name, qualified, start, end, line, signature, doc, 0, chosen.within))
        for number, (parent, kind, name, qualified, start, end, line, signature, doc, _) in enumerate(record[9], 1)
    ]
    symbols.sort(key=lambda symbol: (symbol.start, -symbol.end, symbol.id))
    return language, record[2], record[4], symbols


def _nested(symbols: list[Symbol]) -> list[Symbol]:
    """Each symbol after the one it is in, also where that stands elsewhere in the file."""
    known = {symbol.id for symbol in symbols}
    inside: dict[int, list[Symbol]] = {}
    for symbol in symbols:
        inside.setdefault(symbol.parent if symbol.parent in known else 0, []).append(symbol)
    ordered: list[Symbol] = []
    pending = list(reversed(inside.get(0, [])))
    while pending:
        symbol = pending.pop()
        ordered.append(symbol)
        pending.extend(reversed(inside.get(symbol.id, [])))
    return ordered


def _line(symbol: Symbol, depth: int) -> str:
    span = f"{symbol.start}–{symbol.end}" if symbol.end > symbol.start else str(symbol.start)
    line = f"{'  ' * depth}{span}  {symbol.signature or symbol.name}"
    doc = f"  — {symbol.doc}" if symbol.doc else ""
    return line + doc if len(line) + len(doc) <= DOC_ROOM_CHARACTERS else line


def _unread(shown: str, why: str) -> Result:
    return Result(f"{shown} · {why}", {"hits": 0})
