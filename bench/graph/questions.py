"""How well `code_find` ranks: mean reciprocal rank and hit@3 over frozen questions.

`python questions.py QUESTIONS.json FOLDER [-v]`, where FOLDER holds the repositories that the questions name. A
question counts as answered by any of the symbols beside it. questions.json was written before the ranking was tuned;
nobody had seen an answer to those of questions_held_out.json when they were written, and nothing was tuned to them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from guilds_code.engines.graph.graph import open_graph
from guilds_code.engines.graph.rank import find

SHOWN = 10


def main(file: str, folder: str, verbose: bool) -> None:
    questions = json.loads(Path(file).read_text("utf-8"))
    reciprocal, within_three = 0.0, 0
    with tempfile.TemporaryDirectory() as home:
        for repository, question, expected in questions:
            with open_graph(str(Path(folder, repository).resolve()), home) as graph:
                found = [hit.symbol.qualified for hit in find(graph, question, "", SHOWN)]
            place = next((i for i, name in enumerate(found, 1) if name in expected), 0)
            reciprocal += 1 / place if place else 0
            within_three += 0 < place <= 3
            if verbose and place != 1:
                print(f"{place:2} {repository}: {question} -> {found[:4]}")
    count = len(questions)
    print(f"{count} questions: mean reciprocal rank {reciprocal / count:.3f}, hit@3 {within_three / count:.1%}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "-v" in sys.argv[3:])
