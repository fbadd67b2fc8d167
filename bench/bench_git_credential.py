"""What git's tokens cost: an answer of the credential helper, a shell call with them, a script.

Run: `.venv/bin/python -m bench.bench_git_credential` (half a minute). Prints the rows of docs/performance.md.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path

from bench.measure import BARE, BIN, home, medians, request, row

ENTRIES = 20
ROUNDS = 60
HELPER = str(BIN / "guilds-git-credential")


def main() -> None:
    """Measure and print."""
    print("| what | measured | to reach |\n| --- | --- | --- |")
    with home() as environment:
        folder, runtime = Path(environment["GUILDS_HOME"]), Path(environment["GUILDS_RUNTIME_DIR"])
        (folder / "scripts").mkdir()
        (folder / "scripts/nothing.py").write_text("")
        shell = [str(BIN / "guilds-code"), request("shell", command="true")]
        without = medians({"bare": BARE, "shell": shell}, environment)
        put_tokens(runtime)
        make_repository(folder)
        commands = {
            "bare": BARE,
            "shell": shell,
            "python": ["python3", "-u", "-P", str(folder / "scripts/nothing.py")],
            "script": [str(BIN / "guilds-script-run"), request("script_run", name="nothing")],
        }
        seconds = medians(commands, environment)
        answer(environment)
    bare = seconds["bare"]
    row("shell `true` without a token file", f"{without['shell'] / without['bare']:.2f}×", "≤ 3.5×")
    row("the same in a repository that has a token", f"{seconds['shell'] / bare:.2f}×")
    row("script_run against `python3 SCRIPT` itself", f"{seconds['script'] / seconds['python']:.2f}×")


def answer(environment: dict[str, str]) -> None:
    """An answer to git; `medians` would leave the question out."""
    asked = b"protocol=https\nhost=github.com\npath=acme/app-7.git\n\n"
    seconds: dict[str, list[float]] = {"bare": [], "get": []}
    for _ in range(ROUNDS):
        for name, command in {"bare": BARE, "get": [HELPER, "get"]}.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, input=asked, stdout=subprocess.DEVNULL, check=True)
            seconds[name].append(time.perf_counter() - start)
    bare, get = (statistics.median(seconds[name]) for name in ("bare", "get"))
    row(f"`guilds-git-credential get`, {ENTRIES} tokens", f"{get / bare:.2f}× ({get * 1000:.1f} ms)", "≤ 1.6×")


def put_tokens(runtime: Path) -> None:
    """A token file as a run has it."""
    tokens = [
        {
            "url": f"https://github.com/acme/app-{number}",
            "token": f"ghs_{number:036}",
            "username": "x-access-token",
            "expires_at": "2099-01-01T00:00:00Z",
        }
        for number in range(ENTRIES)
    ]
    (runtime / "git-tokens.json").write_text(json.dumps({"version": 1, "tokens": tokens}))


def make_repository(folder: Path) -> None:
    """A repository in home itself, where the shell's commands run."""
    for words in (("init", "-q"), ("remote", "add", "origin", "https://github.com/acme/app-7.git")):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


if __name__ == "__main__":
    main()
