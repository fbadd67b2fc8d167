"""What a call of guilds-code costs: time as a ratio to a bare interpreter, speed through a session, memory.

Run: `.venv/bin/python -m bench.bench_calls` (two minutes). Prints the rows of docs/performance.md.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from bench.measure import BARE, BIN, home, medians, peak_mib, request, row

CODE = str(BIN / "guilds-code")
SESSION_CALLS = 2_000
GIGABYTE = 1 << 30


def main() -> None:
    """Measure and print."""
    print("| what | measured | to reach |\n| --- | --- | --- |")
    with home() as environment:
        folder = Path(environment["GUILDS_HOME"])
        (folder / "a.txt").write_text("".join(f"line {n} of a file with some words\n" for n in range(1, 101)))
        calls(environment)
        session(environment)
        output(environment)
        big_file(environment, folder)


def calls(environment: dict[str, str]) -> None:
    """One process a call."""
    commands = {
        "bare": BARE,
        "file_read": [CODE, request("file_read", path="a.txt")],
        "file_edit": [CODE, request("file_edit", path="a.txt", old_string="line 7 ", new_string="line 7 ")],
        "file_write": [CODE, request("file_write", path="b.txt", content="x\n")],
        "shell": [CODE, request("shell", command="true")],
        "shell_status": [CODE, request("shell_status")],
    }
    seconds = medians(commands, environment)
    bare = seconds.pop("bare")
    row("a bare `python3 -I -S -c pass`", f"{bare * 1000:.1f} ms")
    targets = {"file_read": "≤ 3.0×", "shell": "≤ 3.5×"}
    labels = {"file_read": "file_read of 100 lines", "shell": "shell `true`", "file_edit": "file_edit that is refused"}
    for name, value in seconds.items():
        row(labels.get(name, name), f"{value / bare:.2f}× ({value * 1000:.1f} ms)", targets.get(name, ""))


def session(environment: dict[str, str]) -> None:
    """Calls through one process that serves them all, on one core."""
    line = request("file_read", path="a.txt").encode() + b"\n"
    process = subprocess.Popen(
        ["taskset", "-c", "0", CODE, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    start = time.perf_counter()
    for _ in range(SESSION_CALLS):
        process.stdin.write(line)
        process.stdin.flush()
        process.stdout.readline()
    seconds = time.perf_counter() - start
    process.stdin.close()
    process.wait()
    row("file_read through a session, one core", f"{SESSION_CALLS / seconds:.0f} calls a second", "≥ 300")


def output(environment: dict[str, str]) -> None:
    """A gigabyte of output, against bash writing it to a file."""
    big = environment | {"SHELL_LOG_MAX_BYTES": str(4 * GIGABYTE)}
    target = Path(environment["GUILDS_HOME"]) / "out"
    for label, produce in {
        "text, line by line": f"yes 'a line of output as a build prints it' | head -c {GIGABYTE}",
        "one line": f"head -c {GIGABYTE} /dev/zero | tr '\\0' x",
    }.items():
        commands = {
            "file": ["bash", "-c", f"{produce} > {target}"],
            "shell": [CODE, request("shell", command=produce, timeout_seconds=300)],
        }
        seconds = medians(commands, big, rounds=3)
        row(
            f"1 GB of output ({label}): speed against `bash -c … > file`",
            f"{seconds['file'] / seconds['shell']:.2f} ({GIGABYTE / seconds['shell'] / 1e6:.0f} MB/s)",
            "≥ 0.33",
        )
        row(f"peak memory meanwhile ({label})", f"{peak_mib(commands['shell'], big):.0f} MiB", "< 60 MB")
        target.unlink()


def big_file(environment: dict[str, str], folder: Path) -> None:
    """The first lines of a file of a gigabyte."""
    big = folder / "big.txt"
    with big.open("wb") as file:
        for _ in range(GIGABYTE >> 20):
            file.write(b"0123456789abcde\n" * (1 << 16))
    command = [CODE, request("file_read", path="big.txt")]
    seconds = medians({"read": command, "sha256sum": ["sha256sum", str(big)]}, environment, rounds=3)
    row("file_read of lines 1 to 200 of 1 GB", f"{seconds['read']:.2f} s ({seconds['sha256sum']:.2f} s sha256sum)")
    row("peak memory meanwhile", f"{peak_mib(command, environment):.0f} MiB", "< 40 MB")


if __name__ == "__main__":
    main()
