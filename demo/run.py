"""The tools at work: an agent's calls on a small real project, each shown as a model would see it.

The project is a copy of this repository in a temporary home, the sandbox is `local:`. Run it with `make demo`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import guilds_client as guilds

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
COPIED = ("helpers", "client", "tests", "docs", "pyproject.toml", "README.md", "LICENSE")

TESTS = (
    f"PYTHONPATH=helpers:client:. {PYTHON} -B -m pytest -q -p no:cacheprovider tests/test_schema.py -k no_text 2>&1"
    " | tail -4; exit ${PIPESTATUS[0]}"
)

STEPS: list[tuple[str, str, dict[str, Any]]] = [
    ("Look around", "shell", {"command": "cd repos/guilds && ls"}),
    ("A folder", "file_read", {"path": "helpers/guilds_wire"}),
    ("Some lines of a file", "file_read", {"path": "helpers/guilds_wire/errors.py", "offset": 48, "limit": 14}),
    ("The same lines again", "file_read", {"path": "helpers/guilds_wire/errors.py", "offset": 50, "limit": 5}),
    (
        "An edit that does not match",
        "file_edit",
        {
            "path": "helpers/guilds_wire/errors.py",
            "old_string": '    return text if len(text) <= most else text[: most - 1] + "..."',
            "new_string": "",
        },
    ),
    (
        "An edit that breaks something",
        "file_edit",
        {
            "path": "helpers/guilds_wire/errors.py",
            "old_string": "MESSAGE_MAX_CHARACTERS = 500",
            "new_string": "MESSAGE_MAX_CHARACTERS = 5",
        },
    ),
    (
        "Run its tests",
        "shell",
        {"command": TESTS},
    ),
    (
        "Mend it",
        "file_edit",
        {
            "path": "helpers/guilds_wire/errors.py",
            "old_string": "MESSAGE_MAX_CHARACTERS = 5\n",
            "new_string": "MESSAGE_MAX_CHARACTERS = 500\n",
        },
    ),
    (
        "Run its tests again",
        "shell",
        {"command": TESTS},
    ),
    ("Write a file", "file_write", {"path": "site/index.html", "content": "<h1>It serves</h1>\n"}),
    (
        "Start a server",
        "shell",
        {"command": f"cd site && exec {PYTHON} -u -m http.server --bind 127.0.0.1 0", "background": True},
    ),
    (
        "Ask it",
        "shell",
        {
            "command": "until grep -q port ../../.runs/*/*.log; do sleep 0.1; done; "
            "port=$(grep -oh 'port [0-9]*' ../../.runs/*/*.log | cut -d' ' -f2); "
            f"{PYTHON} -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "
            "http://127.0.0.1:$port/",
        },
    ),
    ("How it is doing", "shell_status", {"id": "b1"}),
    ("Stop it", "shell_status", {"id": "b1", "stop": True}),
    ("More output than fits", "shell", {"command": "seq 1 20000"}),
    ("A command that hangs", "shell", {"command": "echo waiting; sleep 60", "timeout_seconds": 1}),
    ("A way out of home", "file_read", {"path": "/etc/passwd"}),
]


async def main() -> int:
    """Run every step and print it."""
    with tempfile.TemporaryDirectory(prefix="guilds-demo-") as top:
        _copy_project(Path(top) / "repos" / "guilds")
        async with (
            guilds.open_sandbox(f"local:{top}") as sandbox,
            guilds.Run(sandbox, agent=guilds.Agent(id="demo", coding=True)) as run,
        ):
            for title, tool, arguments in STEPS:
                _print_call(title, tool, arguments)
                message = await run.call(tool, arguments)
                _print_result(message.content)
    return 0


def _copy_project(target: Path) -> None:
    target.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        else:
            shutil.copy2(source, target / name)


def _print_call(title: str, tool: str, arguments: dict[str, Any]) -> None:
    shown = json.dumps(arguments, ensure_ascii=False)
    print(f"\n{_colour('1', '# ' + title)}\n{_colour('36', tool)} {shown}", flush=True)


def _print_result(content: str) -> None:
    lines = content.split("\n")
    if len(lines) > 24:
        lines = [
            *lines[:10],
            _colour("2", f"  ({len(lines) - 20} lines of this result not printed here)"),
            *lines[-10:],
        ]
    print("\n".join(_colour("31", line) if line.startswith("ERROR:") else line for line in lines), flush=True)


def _colour(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
