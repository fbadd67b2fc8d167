"""code_find: the symbols and files that a question is about, best first."""

from __future__ import annotations

from guilds_code.engines.graph.choose import choose
from guilds_code.engines.graph.graph import read_graph
from guilds_code.engines.graph.page import Page
from guilds_code.engines.graph.rank import find
from guilds_wire.envelope import Result
from guilds_wire.errors import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_code.engines.graph.graph import Graph, Symbol
    from guilds_wire.call import Call

SOURCE_LINES_MAX = 8
SOURCE_LINE_MAX_CHARACTERS = 200
SIGNATURE_MAX_CHARACTERS = 160


def code_find(call: Call, question: str, in_: str | None = None, source: bool = False, limit: int = 8) -> Result:
    """Raises ToolError: what `choose` and `read_graph` raise."""
    chosen = choose(call, in_)

    def read(graph: Graph) -> Result:
        hits = find(graph, question, chosen.within, limit)
        page = Page(call.cap_bytes, graph.tree.notice)
        for hit in hits:
            symbol = hit.symbol
            page.add(f"{chosen.shown(symbol.path)}:{symbol.line}  {_title(symbol)}")
            if symbol.doc:
                page.add(f"    {clip(symbol.doc, SIGNATURE_MAX_CHARACTERS)}")
            for line in _source(f"{chosen.root}/{symbol.path}", symbol) if source else ():
                page.add(line)
        if not hits:
            page.add(f"nothing in {graph.name} fits {question!r}; try other words, or code_search for text")
        text, cuts = page.text("lines")
        return Result(text, graph.meta(len(hits)), cuts)

    return read_graph(chosen.root, chosen.home, read)


def _title(symbol: Symbol) -> str:
    """The signature, under the class it belongs to."""
    if symbol.type == "file":
        return "file"
    around = symbol.qualified.rpartition(".")[0]
    signature = clip(symbol.signature or symbol.name, SIGNATURE_MAX_CHARACTERS)
    return f"{signature}  [{around}]" if around else signature


def _source(path: str, symbol: Symbol) -> list[str]:
    """The symbol's first lines, numbered; of a file its first lines."""
    last = min(symbol.end, symbol.start + SOURCE_LINES_MAX - 1)
    found = []
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if number > last:
                    break
                if number >= symbol.start:
                    line = raw.decode("utf-8", "replace").rstrip("\r\n")
                    found.append(f"    {number}\t{clip(line, SOURCE_LINE_MAX_CHARACTERS)}")
    except OSError:  # it went since the graph was brought up to date
        return ["    (the file is gone)"]
    return found
