"""The tools at work: an agent's calls on a small real project, each shown as a model would see it.

The project is a copy of this repository in a temporary home, the sandbox is `local:`. Run it with `make demo`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import guilds_client as guilds

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
SLOT = 90  # of the browser: a port that no other agent on this machine is likely to have
COPIED = ("helpers", "client", "tests", "docs", "pyproject.toml", "README.md", "LICENSE")

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]

TESTS = (
    f"PYTHONPATH=helpers:client:. {PYTHON} -B -m pytest -q -rN -p no:cacheprovider tests/test_schema.py -k no_text 2>&1"
    " | tail -4; exit ${PIPESTATUS[0]}"
)

PAGE = """<!doctype html><title>Orders</title><h1>Orders</h1>
<form onsubmit="event.preventDefault(); if (confirm('Really order?'))
    document.querySelector('output').textContent = `${this.name.value}: ${this.size.value}`">
  <label>Name <input name="name"></label>
  <label>Size <select name="size"><option>Small<option>Large</select></label>
  <button>Order</button> <output></output>
</form>
<div style="height: 200px; overflow: auto" aria-label="Results"><p style="height: 2000px">Many results</p></div>
"""

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
    ("Which files speak of it", "code_search", {"pattern": "MESSAGE_MAX_CHARACTERS"}),
    ("The lines", "code_search", {"pattern": "MESSAGE_MAX_\\w+", "path": "helpers", "mode": "content", "context": 1}),
    ("Nothing, but nearly", "code_search", {"pattern": "message_max", "path": "helpers"}),
    (
        "Calls of a shape",
        "code_match",
        {"pattern": "os.open($NAME, $$$REST)", "path": "helpers/guilds_wire", "limit": 5},
    ),
    ("Another repository", "shell", {"command": "cd ../flask"}),
    ("At a glance", "code_map", {"repo": "flask"}),
    ("Where something is", "code_find", {"question": "how are url rules registered", "limit": 4}),
    ("What is in a file", "code_outline", {"path": "config.py"}),
    ("What uses it", "code_callers", {"symbol": "setupmethod"}),
    ("What it uses", "code_callers", {"symbol": "Flask.wsgi_app", "direction": "out"}),
    ("Hits under their functions", "code_search", {"pattern": "before_request", "mode": "symbols"}),
    ("And back", "shell", {"command": "cd ../guilds"}),
    ("Write a page", "file_write", {"path": "site/index.html", "content": PAGE}),
    (
        "Serve it",
        "shell",
        {"command": f"cd site && exec {PYTHON} -u -m http.server --bind 127.0.0.1 {PORT}", "background": True},
    ),
    ("Wait for it", "shell", {"command": f"until (: </dev/tcp/127.0.0.1/{PORT}) 2>/dev/null; do sleep 0.1; done"}),
    ("Open it in the browser", "browser_navigate", {"url": f"127.0.0.1:{PORT}"}),
    ("Look at it", "browser_snapshot", {}),
    ("Fill the form", "browser_fill", {"target": 'role=textbox[name="Name"]', "value": "Ada"}),
    ("Choose", "browser_fill", {"target": 'role=combobox[name="Size"]', "value": "Large"}),
    ("Order, and say yes", "browser_click", {"target": 'role=button[name="Order"]', "dialog": "accept"}),
    ("What the page says now", "browser_eval", {"script": "return document.querySelector('output').textContent"}),
    ("Scroll the panel", "browser_scroll", {"direction": "down"}),
    ("Take a picture", "browser_screenshot", {}),
    ("How it is doing", "shell_status", {"id": "b1"}),
    ("Stop it", "shell_status", {"id": "b1", "stop": True}),
    ("More output than fits", "shell", {"command": "seq 1 20000"}),
    ("A command that hangs", "shell", {"command": "echo waiting; sleep 60", "timeout_seconds": 1}),
    ("A way out of home", "file_read", {"path": "/etc/passwd"}),
]


async def main() -> int:
    """Run every step and print it."""
    with tempfile.TemporaryDirectory(prefix="guilds-demo-", ignore_cleanup_errors=True) as top:
        _copy_project(Path(top) / "repos" / "guilds")
        _copy_package("flask", Path(top) / "repos" / "flask")
        async with (
            guilds.open_sandbox(f"local:{top}") as sandbox,
            guilds.Run(
                sandbox, agent=guilds.Agent(id="demo", coding=True, browser=True, slot=SLOT), max_tool_calls=80
            ) as run,
        ):
            for title, tool, arguments in STEPS:
                _print_call(title, tool, arguments)
                message = await run.call(tool, arguments)
                _print_result(message.content)
        _end_chrome(Path(top))
    return 0


def _copy_project(target: Path) -> None:
    target.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        else:
            shutil.copy2(source, target / name)


def _copy_package(name: str, target: Path) -> None:
    """The source of an installed package, as a repository."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, target, ignore=shutil.ignore_patterns("__pycache__"))


def _end_chrome(home: Path) -> None:
    """The browser outlives the run, as an agent's does; its profile names its process, `<host>-<pid>`."""
    pid = int(os.readlink(home / ".chrome" / str(SLOT) / "SingletonLock").rpartition("-")[2])
    os.kill(pid, signal.SIGTERM)
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.05)


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
