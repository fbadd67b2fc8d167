"""What a call of guilds-browser costs, process start to exit, in a real Chromium, beside a bare interpreter.

Run: `.venv/bin/python -m bench.browser.bench_browser` (two minutes). Prints the rows of docs/browser.md. Every figure
is the median of 20; the calls take turns with a bare interpreter in one run.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.measure import BARE, BIN, home, medians, row

BROWSER = str(BIN / "guilds-browser")
ROUNDS = 20
FIRST_CALL_ROUNDS = 5
RESULT_MAX_BYTES = 32_768
FIRST_PORT = 9300

APP = """<!doctype html><title>App</title><h1>Inbox</h1><label>Search <input id=search></label>
<button onclick="window.count = (window.count || 0) + 1">Go</button><ul>""" + "".join(
    f"<li><a href=/m{n}>Message {n}</a> <span>from Ada</span></li>" for n in range(1, 131)
)
HUGE = "<!doctype html><title>Huge</title><ul>" + "".join(f"<li><button>Item {n}</button>" for n in range(25_000))
LOOP = "<!doctype html><title>Loop</title><script>setTimeout(() => { for (;;); }, 50)</script>"
PAGES = {"/app": APP, "/huge": HUGE, "/loop": LOOP}


class Site(BaseHTTPRequestHandler):
    """The pages, from memory."""

    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing beside the table."""


class Agent:
    """One slot's browser."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.slot = _free_slot()

    def command(self, tool: str, **arguments: Any) -> list[str]:
        """The command line of one call."""
        body = {
            "tool": f"browser_{tool}",
            "args": arguments,
            "browser": {"slot": self.slot},
            "limits": {"result_max_bytes": RESULT_MAX_BYTES},
        }
        return [BROWSER, base64.b64encode(json.dumps(body).encode()).decode()]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call's answer, which has to be a result."""
        done = subprocess.run(self.command(tool, **arguments), env=self.environment, capture_output=True, check=True)
        answer: dict[str, Any] = json.loads(base64.b64decode(done.stdout))
        assert answer["ok"], answer
        return answer

    def open_tab(self, url: str) -> None:
        """A tab that no broker has seen."""
        address = f"http://127.0.0.1:{FIRST_PORT + self.slot}/json/new?{url}"
        with urllib.request.urlopen(urllib.request.Request(address, method="PUT"), timeout=10):
            time.sleep(1)

    def end(self, *, chrome: bool) -> None:
        """End the broker, and Chrome as well if asked."""
        for name in os.listdir("/proc"):
            if name.isdecimal() and _is_ours(int(name), self.environment["GUILDS_HOME"], chrome):
                os.kill(int(name), signal.SIGKILL)
        time.sleep(0.5)


def main() -> None:
    """Measure and print."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    print("| what | measured | to reach |\n| --- | --- | --- |")
    with home() as environment:
        agent = Agent(environment)
        try:
            warm_calls(agent, site)
            long_page(agent, site)
            first_calls(agent, site)
        finally:
            agent.end(chrome=True)


def warm_calls(agent: Agent, site: str) -> None:
    """Each kind of call on a page of 400 elements."""
    agent.call("navigate", url=f"{site}/app")
    tree = agent.call("snapshot")["text"]
    go, search = (re.findall(rf"(e\d+) {kind}", tree)[0] for kind in ('button "Go"', 'textbox "Search"'))
    calls: dict[str, dict[str, Any]] = {
        "eval": {"script": "return document.title"},
        "snapshot": {},
        "fill": {"target": search, "value": "words"},
        "click": {"target": go},
        "type": {"target": search, "text": "ab"},
        "scroll": {"direction": "down"},
        "screenshot": {},
    }
    inside = {
        name: statistics.median(agent.call(name, **arguments)["meta"]["duration_ms"] for _ in range(ROUNDS))
        for name, arguments in calls.items()
    }
    commands = {"bare": BARE, **{name: agent.command(name, **arguments) for name, arguments in calls.items()}}
    navigate = {"bare": BARE, "navigate": agent.command("navigate", url=f"{site}/app")}
    seconds = medians(commands, agent.environment, ROUNDS)
    bare = seconds.pop("bare")
    row("a bare `python3 -I -S -c pass`", f"{bare * 1000:.1f} ms")
    targets = {"eval": "30 ms", "snapshot": "40 ms", "fill": "60 ms", "click": "110 ms", "screenshot": "60 ms"}
    seconds["navigate"] = medians(navigate, agent.environment, ROUNDS)["navigate"]
    for name, value in seconds.items():
        row(name, f"{value * 1000:.0f} ms ({value / bare:.1f}×)", targets.get(name, ""))
    for name, milliseconds in inside.items():
        row(f"{name}, in the broker", f"{milliseconds:.0f} ms")
    row("characters of that snapshot (264 elements with text, 132 refs)", str(len(tree)), "5,000")


def long_page(agent: Agent, site: str) -> None:
    """A page of 50,000 nodes."""
    agent.call("navigate", url=f"{site}/huge")
    agent.call("snapshot")
    inside = [agent.call("snapshot") for _ in range(ROUNDS)]
    row(
        "snapshot of 50,000 nodes, in the broker",
        f"{statistics.median(a['meta']['duration_ms'] for a in inside):.0f} ms",
    )
    row("its characters", str(len(inside[0]["text"])), "20,000")


def first_calls(agent: Agent, site: str) -> None:
    """What comes before a warm call."""
    agent.call("navigate", url=f"{site}/app")
    times: dict[str, list[float]] = {"broker": [], "chrome": [], "blocked": []}
    for _ in range(FIRST_CALL_ROUNDS):
        agent.end(chrome=False)
        times["broker"].append(_timed(agent))
        agent.end(chrome=False)
        agent.open_tab(f"{site}/loop")
        times["blocked"].append(_timed(agent))
        agent.end(chrome=True)
        times["chrome"].append(_timed(agent))
    row("first call, the broker started", f"{statistics.median(times['broker']):.2f} s", "1.0 s")
    row("first call, Chrome started as well", f"{statistics.median(times['chrome']):.2f} s")
    row("first call with a tab in an endless loop", f"{statistics.median(times['blocked']):.2f} s", "2 s")


def _timed(agent: Agent) -> float:
    start = time.perf_counter()
    agent.call("eval", script="return 1")
    return time.perf_counter() - start


def _is_ours(pid: int, folder: str, chrome: bool) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    if f"--user-data-dir={folder}".encode() in words:
        return chrome
    return b"--broker" in words and f"GUILDS_HOME={folder}".encode() in environment


def _free_slot() -> int:
    for slot in range(2000, 3000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", FIRST_PORT + slot)) != 0:
                return slot
    raise RuntimeError("no free slot")


if __name__ == "__main__":
    main()
