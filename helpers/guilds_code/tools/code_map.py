"""code_map: a first look at a repository: totals, its folders, and what is referenced most."""

from __future__ import annotations

from guilds_code.engines.graph.choose import choose_by_name
from guilds_code.engines.graph.graph import read_graph
from guilds_code.engines.graph.languages import OUTLINED
from guilds_code.engines.graph.lookup import NO_CODE
from guilds_code.engines.graph.page import Page
from guilds_wire.envelope import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_code.engines.graph.choose import Chosen
    from guilds_code.engines.graph.graph import Graph, Symbol
    from guilds_wire.call import Call

SPLIT_OVER_SHARE = 0.6
CLUSTERS_MAX = 14
CLUSTER_SYMBOLS = 3
TOP_SYMBOLS = 10
CONSIDERED_SYMBOLS = 3000
NESTED_MAX = 8


class _Cluster:
    __slots__ = ("files", "folder", "symbols", "top")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.files = 0
        self.symbols = 0
        self.top: list[Symbol] = []


def code_map(call: Call, repo: str | None = None) -> Result:
    """Raises ToolError: what `choose_by_name` and `read_graph` raise."""
    chosen = choose_by_name(call, repo)
    return read_graph(chosen.root, chosen.home, lambda graph: _overview(call, chosen, graph))


def _overview(call: Call, chosen: Chosen, graph: Graph) -> Result:
    rows = graph.connection.execute("select path, language, symbols from file where skipped = ''").fetchall()
    code = [(path, symbols) for path, language, symbols in rows if language not in OUTLINED]
    page = Page(call.cap_bytes, graph.tree.notice)
    for line in _totals(graph, rows, code):
        page.add(line)
    most = graph.symbols(
        f"s.referenced > 0 and s.type not in {NO_CODE} and s.type <> 'file'"
        f" order by s.referenced desc, f.path, s.start, s.id limit {CONSIDERED_SYMBOLS}"
    )
    clusters = _clusters(code, most)
    for cluster in clusters[:CLUSTERS_MAX]:
        page.add(_cluster_line(chosen, cluster))
    rest = clusters[CLUSTERS_MAX:]
    if rest:
        files, symbols = sum(c.files for c in rest), sum(c.symbols for c in rest)
        page.add_left_out(f"and {len(rest)} smaller folders: {_count(files, 'file')}, {_count(symbols, 'symbol')}")
    if most:
        page.add("most referenced:")
    for symbol in most[:TOP_SYMBOLS]:
        shown = f"{chosen.shown(symbol.path)}:{symbol.line}  {symbol.type} {symbol.qualified}"
        page.add(f"  {shown}  ({_count(symbol.referenced, 'file')})")
    text, cuts = page.text("lines")
    return Result(text, graph.meta(len(clusters)), cuts)


def _totals(graph: Graph, rows: list[tuple[str, str, int]], code: list[tuple[str, int]]) -> list[str]:
    languages: dict[str, int] = {}
    for _, language, _ in rows:
        languages[language] = languages.get(language, 0) + 1
    order = sorted(languages, key=lambda language: (-languages[language], language))
    named = [f"{language} {languages[language]}" for language in order if language not in OUTLINED]
    outlined = [f"{language} {languages[language]}" for language in order if language in OUTLINED]
    symbols = sum(count for _, count in code)
    total = f"{graph.name}: {_count(len(code), 'file')}, {_count(symbols, 'symbol')}"
    more = f"outline only: {', '.join(outlined)}" if outlined else ""
    lines = [" · ".join(filter(None, (total, ", ".join(named), more)))]
    left_out = [f"{count} {why}" for why, count in graph.skipped()]
    other = graph.store.value("other") or 0
    if other:
        left_out.append(f"{other} of kinds that the graph does not read")
    if graph.tree.misnamed:
        left_out.append(f"{graph.tree.misnamed} whose name is not UTF-8")
    if graph.tree.nested:
        shown = ", ".join(graph.tree.nested[:NESTED_MAX])
        more = f" and {len(graph.tree.nested) - NESTED_MAX} more" if len(graph.tree.nested) > NESTED_MAX else ""
        left_out.append(f"git repositories of their own: {shown}{more}")
    if graph.missing:
        left_out.append(f"{graph.missing} not done in time, the next call goes on")
    if left_out:
        lines.append(f"left out: {', '.join(left_out)}")
    return lines


def _clusters(code: list[tuple[str, int]], most: list[Symbol]) -> list[_Cluster]:
    """Folders with their counts, heaviest first; one that holds most of everything is split into its own."""
    cuts = {""}
    while True:
        weights: dict[str, int] = {}
        for path, _ in code:
            folder = _cluster_of(path, cuts)
            weights[folder] = weights.get(folder, 0) + 1
        heavy = max(weights, key=lambda folder: (weights[folder], folder), default="")
        inner = {_child(path, heavy) for path, _ in code if _cluster_of(path, cuts) == heavy} - {""}
        if not weights or weights[heavy] <= SPLIT_OVER_SHARE * len(code) or not inner:
            break
        cuts |= inner
    found: dict[str, _Cluster] = {}
    for path, symbols in code:
        cluster = found.setdefault(_cluster_of(path, cuts), _Cluster(_cluster_of(path, cuts)))
        cluster.files += 1
        cluster.symbols += symbols
    for symbol in most:
        holder = found.get(_cluster_of(symbol.path, cuts))
        if holder is not None and len(holder.top) < CLUSTER_SYMBOLS:
            holder.top.append(symbol)
    return sorted(found.values(), key=lambda cluster: (-cluster.symbols, cluster.folder))


def _cluster_of(path: str, cuts: set[str]) -> str:
    """The deepest of the folders that a path is in."""
    folder = path.rpartition("/")[0]
    while folder not in cuts:
        folder = folder.rpartition("/")[0]
    return folder


def _child(path: str, folder: str) -> str:
    """The folder right below `folder` that a path is in, or nothing for a file of its own."""
    rest = path[len(folder) + 1 :] if folder else path
    name, slash, _ = rest.partition("/")
    return (f"{folder}/{name}" if folder else name) if slash else ""


def _cluster_line(chosen: Chosen, cluster: _Cluster) -> str:
    top = ", ".join(symbol.qualified for symbol in cluster.top)
    counts = f"{_count(cluster.files, 'file')}, {_count(cluster.symbols, 'symbol')}"
    return f"{chosen.shown(cluster.folder)}/  {counts}" + (f"  · {top}" if top else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
