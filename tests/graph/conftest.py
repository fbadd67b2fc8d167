"""Repositories of a test's own, and the graph's tools called on them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from guilds_code.tools.code_callers import code_callers
from guilds_code.tools.code_find import code_find
from guilds_code.tools.code_map import code_map
from guilds_code.tools.code_outline import code_outline
from guilds_code.tools.graph_export import graph_export
from guilds_wire.call import Call
from guilds_wire.envelope import Result
from guilds_wire.places import Places
from guilds_wire.request import Request, RunIds

Edge = tuple[str, str, str, str, str, str, tuple[int, ...]]


class Repository:
    """A folder under `repos/` of a home, by default a git repository."""

    def __init__(self, home: Path, name: str = "one", *, git: bool = True) -> None:
        self.home = home
        self.path = home / "repos" / name
        self.path.mkdir(parents=True)
        if git:
            subprocess.run(["git", "init", "-q", str(self.path)], check=True)

    def put(self, files: dict[str, str]) -> Repository:
        """Write files."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return self

    def edges(self, home: Path | None = None) -> set[Edge]:
        """Every edge as (source's path and name, relation, target's path and name, confidence, lines)."""
        return {edge for edge, _ in self.edges_with_start(home)}

    def edges_with_start(self, home: Path | None = None) -> set[tuple[Edge, int]]:
        """Every edge with the line where its target starts."""
        symbols: dict[int, dict[str, Any]] = {}
        found = set()
        for line in graph_export(str(self.path), str(home or self.home)):
            one = json.loads(line)
            if one["kind"] == "symbol":
                symbols[one["id"]] = one
            else:
                source, target = symbols[one["source"]], symbols[one["target"]]
                ends = (source["path"], source["qualified"], one["relation"], target["path"], target["qualified"])
                found.add(((*ends, one["confidence"], tuple(one["lines"])), target["start"]))
        return found

    def calls(self) -> set[tuple[str, str]]:
        """The resolved calls as (caller, callee) by qualified names."""
        return {(edge[1], edge[4]) for edge in self.edges() if edge[2] == "calls" and edge[5] == "resolved"}

    def related(self, relation: str) -> set[tuple[str, str]]:
        """The resolved pairs of a relation."""
        return {(edge[1], edge[4]) for edge in self.edges() if edge[2] == relation and edge[5] == "resolved"}

    def call(self, cap_bytes: int = 8192) -> Call:
        """A call whose working directory is the home."""
        request = Request("code_map", {}, RunIds(), {"limits": {"result_max_bytes": cap_bytes}}, "{}")
        return Call(request, Places(os.fsencode(self.home), os.fsencode(self.home / "runtime")))

    def map(self, name: str | None = None) -> Result:
        return code_map(self.call(), name)

    def find(self, question: str, **how: Any) -> Result:
        return code_find(self.call(), question, **how)

    def outline(self, path: str, cap_bytes: int = 8192) -> Result:
        return code_outline(self.call(cap_bytes), path)

    def callers(self, symbol: str, **how: Any) -> Result:
        return code_callers(self.call(), symbol, **how)


@pytest.fixture
def graph_home(tmp_path: Path) -> Path:
    home = (tmp_path / "home").resolve()
    home.mkdir()
    return home


@pytest.fixture
def repository(graph_home: Path) -> Repository:
    return Repository(graph_home)
