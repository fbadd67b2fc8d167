"""graph_export: the whole graph of a folder as JSON lines, symbols first. By hand only, for measuring."""

from __future__ import annotations

import os
import sys

from guilds_code.engines.graph.graph import read_graph
from guilds_code.engines.graph.lookup import NAMED, NO_CODE, module_name
from guilds_code.engines.graph.store import RELATIONS
from guilds_wire.errors import ToolError
from guilds_wire.lean import dumps
from guilds_wire.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from guilds_code.engines.graph.graph import Graph

NAME_ONLY_TARGETS_MAX = 8
"""A reference by name alone is given as edges to the symbols of that name while they are no more than this."""


def export_by_hand(words: list[str]) -> int:
    """Print the graph of the folder that was named; 0, 1 after an error, 2 after wrong usage."""
    if len(words) != 1 or words[0].startswith("-"):
        print("usage: guilds-code graph-export FOLDER", file=sys.stderr)
        return 2
    try:
        places = Places.from_environment()
        for line in graph_export(os.path.realpath(words[0]), os.fsdecode(places.home)):
            print(line)
    except ToolError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 1
    return 0


def graph_export(folder: str, home: str) -> list[str]:
    """The lines, for the folder (absolute, links followed). Raises ToolError as `read_graph` does."""
    return read_graph(folder, home, lambda graph: [*_symbols(graph), *_edges(graph), *_name_only(graph)])


def _symbols(graph: Graph) -> Iterator[str]:
    for s in graph.symbols(f"s.type not in {NO_CODE} order by f.path, s.id"):
        qualified = s.path if s.type == "file" else f"{module_name(s.path)}.{s.qualified}"
        yield dumps(
            {
                "kind": "symbol",
                "id": s.id,
                "path": s.path,
                "name": s.name,
                "qualified": qualified,
                "type": s.type,
                "start": s.start,
                "end": s.end,
            }
        )


def _edges(graph: Graph) -> Iterator[str]:
    rows = graph.connection.execute(
        "select source, target, relation, lines from edge order by source, target, relation"
    )
    for source, target, relation, lines in rows:
        yield _edge(source, target, RELATIONS[relation], "resolved", lines)


def _name_only(graph: Graph) -> Iterator[str]:
    rows = graph.connection.execute(
        "select l.name, l.source, l.lines, f.language from loose l join symbol s on s.id = l.source"
        " join file f on f.id = s.file order by l.source, l.name"
    ).fetchall()
    for name, source, lines, language in rows:
        targets = graph.connection.execute(
            f"select s.id from symbol s join file f on f.id = s.file where {NAMED} and f.language = ?"
            " and s.type in ('method', 'function', 'property', 'field') order by s.id limit ?",
            (name, name, language, NAME_ONLY_TARGETS_MAX + 1),
        ).fetchall()
        if len(targets) <= NAME_ONLY_TARGETS_MAX:
            for (target,) in targets:
                yield _edge(source, target, "calls", "name_only", lines)


def _edge(source: int, target: int, relation: str, confidence: str, lines: str) -> str:
    return dumps(
        {
            "kind": "edge",
            "source": source,
            "target": target,
            "relation": relation,
            "confidence": confidence,
            "lines": [int(line) for line in lines.split(",")],
        }
    )
