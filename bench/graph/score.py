"""Precision and recall of the graph's call edges against an oracle's pairs.

`python score.py REPOSITORY PAIRS.json [-v]`. PAIRS.json comes from one of the oracles beside this file: for each call
{path, line, name, state, targets}. Distinct (caller, callee) pairs are compared. Calls that the oracle can't tell
(state `unknown`: their receiver's type comes from a package that is not installed, say) are set aside: our edge at
such a line counts neither way. The whole of the pairs, with those, is printed too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from guilds_code.tools.graph_export import graph_export

VARIABLES = ("variable", "constant", "field", "property")

Pair = tuple[str, int, int]


class Graph:
    """The exported symbols and call edges of a repository."""

    def __init__(self, repository: str) -> None:
        self.symbols: dict[int, dict[str, Any]] = {}
        self.by_path: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.edges: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as home:
            for line in graph_export(str(Path(repository).resolve()), home):
                one = json.loads(line)
                if one["kind"] == "symbol":
                    self.symbols[one["id"]] = one
                    self.by_path[one["path"]].append(one)
                elif one["relation"] == "calls" and one["confidence"] == "resolved":
                    self.edges.append(one)

    def caller(self, path: str, line: int) -> int:
        """The innermost function or class that a line stands in; the file outside any."""
        found = [s for s in self.by_path[path] if s["start"] <= line <= s["end"] and s["type"] not in VARIABLES]
        return int(max(found, key=lambda s: (s["start"], s["type"] != "file", -s["end"]))["id"]) if found else 0

    def callee(self, path: str, line: int, name: str) -> int:
        """The symbol of that name that is defined around a line, closest to it."""
        found = [s for s in self.by_path[path] if s["name"] == name and s["start"] <= line <= s["end"]]
        return int(max(found, key=lambda s: s["start"])["id"]) if found else 0


def main(repository: str, pairs: str, verbose: bool) -> None:
    graph = Graph(repository)
    calls = json.loads(Path(pairs).read_text("utf-8"))
    expected: dict[tuple[int, int], list[set[int]]] = defaultdict(list)
    allowed: set[tuple[int, int]] = set()
    untold: dict[str, set[int]] = defaultdict(set)
    known = {call["path"] for call in calls}
    for call in calls:
        caller = graph.caller(call["path"], call["line"])
        targets = {t for t in (graph.callee(*target) for target in call["targets"]) if t}
        if targets:
            expected[caller, min(targets)].append(targets)
            allowed |= {(caller, target) for target in targets}
        elif call["state"] == "unknown":
            untold[call["path"]].add(call["line"])
    ours: dict[tuple[int, int], set[int]] = defaultdict(set)
    for edge in graph.edges:
        source = graph.symbols[edge["source"]]
        caller = graph.caller(source["path"], edge["lines"][0]) if source["type"] in VARIABLES else edge["source"]
        if source["path"] in known:
            ours[caller, edge["target"]].update(edge["lines"])
    hit = sum(any((caller, t) in ours for targets in all_ for t in targets) for (caller, _), all_ in expected.items())
    right = [pair for pair in ours if pair in allowed]
    wrong = [pair for pair in ours if pair not in allowed]
    judged = [pair for pair in wrong if not ours[pair] & untold[graph.symbols[pair[0]]["path"]]]
    print(
        f"{len(expected)} pairs of the oracle, {len(ours)} ours: recall {hit / max(1, len(expected)):.3f}, "
        f"precision {len(right) / max(1, len(right) + len(judged)):.3f} "
        f"({len(right) / max(1, len(ours)):.3f} with the calls that the oracle can't tell)"
    )
    for pair in judged if verbose else ():
        source, target = graph.symbols[pair[0]], graph.symbols[pair[1]]
        print(
            f"wrong: {source['path']}:{sorted(ours[pair])} -> {target['path']}:{target['start']} {target['qualified']}"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "-v" in sys.argv[3:])
