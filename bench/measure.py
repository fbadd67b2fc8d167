"""What the benchmarks share: commands timed in turn as whole processes, and a home for them to work in."""

from __future__ import annotations

import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
BARE = [str(BIN / "python3"), "-I", "-S", "-c", "pass"]
"""The peer of every helper's call: an interpreter that starts and ends."""


@contextmanager
def home() -> Iterator[dict[str, str]]:
    """An environment with a home and a run-time folder of its own."""
    with tempfile.TemporaryDirectory(prefix="guilds-bench-") as top:
        for name in ("home", "runtime"):
            os.makedirs(f"{top}/{name}/requests")
        yield {**os.environ, "GUILDS_HOME": f"{top}/home", "GUILDS_RUNTIME_DIR": f"{top}/runtime"}


def request(tool: str, **arguments: Any) -> str:
    """A request's base64 text."""
    body = {"tool": tool, "args": arguments, "run": {"id": "bench"}, "limits": {"result_max_bytes": 8192}}
    return base64.b64encode(json.dumps(body).encode()).decode()


def medians(
    commands: Mapping[str, Sequence[str]], environment: dict[str, str] | None = None, rounds: int = 40
) -> dict[str, float]:
    """Seconds from start to exit, the median of `rounds`; the commands take turns, so that drift hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 2):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
            if turn >= 2:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def peak_mib(command: Sequence[str], environment: dict[str, str] | None = None) -> float:
    """The largest resident size of a command or of what it waited for, in MiB."""
    child = os.fork()
    if child == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1):
            os.dup2(null, descriptor)
        os.execve(command[0], list(command), environment or dict(os.environ))
    _, _, usage = os.wait4(child, 0)
    return usage.ru_maxrss / 1024


def row(what: str, figure: str, target: str = "") -> None:
    """Print one line of a table in Markdown."""
    print(f"| {what} | {figure} | {target} |", flush=True)
