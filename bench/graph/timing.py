"""Times of the graph: a cold build, queries on an unchanged repository, and a query after an edit.

`python timing.py REPOSITORY`. Each query is a whole process, started as the installed helper starts; the best of
several counts, since other work on the machine only adds. The repository is copied first, edits go into the copy.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
QUERY = """
import sys
sys.path[:] = {path!r}
from guilds_code.engines.graph.graph import open_graph
from guilds_code.engines.graph.rank import find
with open_graph({root!r}, {home!r}) as graph:
    find(graph, "open the configuration file", "", 8)
    import resource
    print(graph.refreshed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def main(repository: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "repository").resolve(), Path(folder, "home").resolve()
        shutil.copytree(repository, root, symlinks=True)
        code = QUERY.format(path=sys.path, root=str(root), home=str(home))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall, said = query(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"cold build and query: {wall:.2f} s wall, {cpu:.2f} s CPU, {after.ru_maxrss // 1024} MB, files {said}")
        time.sleep(0.1)
        query(code)
        best, said = min(query(code) for _ in range(RUNS))
        print(f"query, nothing changed: {best * 1000:.0f} ms, (refreshed, MB) {said}")
        edited = max(root.rglob("*.py"), key=lambda path: path.stat().st_size if "test" not in str(path) else 0)
        edited.write_text(edited.read_text("utf-8").replace("\n    ", "\n    # edited\n    ", 1), "utf-8")
        print(f"query after a changed body: {query(code)[0] * 1000:.0f} ms ({edited.relative_to(root)})")
        edited.write_text(edited.read_text("utf-8") + "\n\ndef added_by_the_bench(x):\n    return x\n", "utf-8")
        print(f"query after a changed interface: {query(code)[0] * 1000:.0f} ms")


def query(code: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1])
