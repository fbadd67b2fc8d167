"""What code_search and code_match cost beside the engines' own command lines, on a generated tree, warm; memory.

Run: `.venv/bin/python -m bench.bench_search` (three minutes). Prints the rows of docs/performance.md.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

from bench.measure import BIN, home, medians, peak_mib, request, row

CODE = str(BIN / "guilds-code")
FILES = 20_000
FILE_BYTES = 11_000
FOLDERS = 19
ROUNDS = 5

PYTHON = """def {0}_{1}({2}, {3}=None):
    # {4} {5} {6} {0}
    {2} = {3}.{4}({5}, '{6}')
    if {2} == {5}:
        return {1}({2}) + 1
    return [{3}.{4} for {3} in {2}]

"""
TYPESCRIPT = """export function {0}{1}({2}: string, {3}: number): string {{
  // {4} {5} {6} {0}
  const {4} = {2}.{5}({3}, '{6}');
  if ({4} === {2}) {{
    return {1}({2});
  }}
  return {2}.map(({5}) => {5}.{6});
}}

"""
TEXT = "{0} {1} {2} {3} {4} {5} {6} {0} {2} {4}\n"


def main() -> None:
    """Measure and print."""
    print("| what | measured | to reach |\n| --- | --- | --- |")
    with home() as environment:
        folder = Path(environment["GUILDS_HOME"])
        make_tree(folder)
        os.chdir(folder)
        search(environment)
        memory(environment, folder)
        part = folder / "d0"
        os.chdir(part)
        match({**environment, "GUILDS_HOME": str(part)})


def make_tree(top: Path) -> None:
    """Write the files: half Python, a quarter TypeScript, a quarter text; one in 500 holds a rare call."""
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(4_000)]
    templates = {"py": PYTHON, "ts": TYPESCRIPT, "md": TEXT}
    blocks = {name: [text.format(*chance.sample(words, 7)) for _ in range(2_000)] for name, text in templates.items()}
    for number in range(FILES):
        kind = ("py", "ts", "py", "md")[number % 4]
        folder = top / f"d{number % FOLDERS}/s{number % 11}"
        folder.mkdir(parents=True, exist_ok=True)
        count = chance.randint(FILE_BYTES // 2, FILE_BYTES * 3 // 2) // len(blocks[kind][0])
        rare = "rare_call(1, 2)\n" if number % 500 == 0 else ""
        (folder / f"f{number}.{kind}").write_text("".join(chance.choices(blocks[kind], k=count)) + rare)


def search(environment: dict[str, str]) -> None:
    """Both modes beside `rg --json` and the start of a helper."""
    engine = next(path for path in ("/usr/bin/rg", str(BIN / "rg")) if os.access(path, os.X_OK))
    for pattern in ("rare_call", "return", "e"):
        commands = {
            "engine": [engine, "--json", pattern, "./"],
            "start": [CODE, request("file_read", path="d0")],
            "files": [CODE, request("code_search", pattern=pattern)],
            "content": [CODE, request("code_search", pattern=pattern, mode="content")],
        }
        seconds = medians(commands, environment, ROUNDS)
        peer = seconds["engine"] + seconds["start"]
        for mode in ("files", "content"):
            took = seconds[mode]
            row(
                f"code_search `{pattern}`, mode {mode}, 20,000 files, to `rg --json` and a helper's start",
                f"{took / peer:.2f}× ({took * 1000:.0f} ms)",
                "≤ 1.25×",
            )


def memory(environment: dict[str, str], folder: Path) -> None:
    """A million matches: in one file, and in one line."""
    million = folder / "million"
    for what, content in (("in one file", "needle\n" * 1_000_000), ("in one line", "needle " * 1_000_000)):
        million.write_text(content)
        command = [CODE, request("code_search", pattern="needle", path="million", mode="content")]
        row(f"peak memory, a million matches {what}", f"{peak_mib(command, environment):.0f} MiB", "≤ 150 MiB")
    million.unlink()
    command = [CODE, request("code_search", pattern="e", mode="content")]
    row("peak memory, over a million matches in 20,000 files", f"{peak_mib(command, environment):.0f} MiB", "≤ 150 MiB")


def match(environment: dict[str, str]) -> None:
    """Patterns with and without a literal word beside the ast-grep command line."""
    for pattern, most in (("rare_call($$$A)", "≤ 0.7×"), ("$A == $B", "≤ 1.1×"), ("$A.$B", "≤ 1.1×")):
        commands = {
            "engine": [str(BIN / "ast-grep"), "run", "-p", pattern, "-l", "python", "--json=stream", "."],
            "ours": [CODE, request("code_match", pattern=pattern, lang="python")],
        }
        seconds = medians(commands, environment, ROUNDS)
        processor = {
            name: min(cpu_seconds(command, environment) for _ in range(ROUNDS)) for name, command in commands.items()
        }
        what = f"code_match `{pattern}`, {FILES // FOLDERS // 2} Python files, to `ast-grep run`"
        ours, engine = seconds["ours"], seconds["engine"]
        row(what, f"{ours / engine:.2f}× ({ours * 1000:.0f} ms)", most)
        row(f"{what}, processor time", f"{processor['ours'] / processor['engine']:.2f}×", most)
        command = [CODE, request("code_match", pattern=pattern, lang="python")]
        row(f"peak memory of it, `{pattern}`", f"{peak_mib(command, environment):.0f} MiB")


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """Processor time of a command and all that it waited for: on a busy machine it tells more than the clock."""
    before = os.times()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


if __name__ == "__main__":
    main()
