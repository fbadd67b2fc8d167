"""An agent's browser in a test: its home and slot, the tools in short, what a snapshot says, what runs for it."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import guilds_browser
from guilds_browser.devtools import Session
from tests.agent_home import BIN, AgentHome, Envelope
from tests.browser.site import Site

RESULT_MAX_BYTES = 32_768
FIRST_PORT = 9300
SLOTS = range(700, 1700)
AT_ONCE_SECONDS = 4.0
"""Sooner than the 5 s after which an act would give up."""

NODE = re.compile(r'^ *(?:- )*(?:(e\d+) )?([a-z]+)(?: "((?:[^"\\]|\\.)*)")?(.*)$', re.MULTILINE)


USED: list[int] = []


class Node:
    """A line of a snapshot."""

    def __init__(self, found: re.Match[str]) -> None:
        self.ref, self.role, self.name, self.rest = found[1] or "", found[2], found[3] or "", found[4]


class AgentBrowser:
    """One home, one slot, and the site that its pages come from."""

    def __init__(self, top: Path, site: Site) -> None:
        self.home = AgentHome(top)
        self.site = site
        self.slot = free_slot(*USED)
        USED.append(self.slot)

    @property
    def port(self) -> int:
        return FIRST_PORT + self.slot

    @property
    def profile(self) -> Path:
        return self.home.path / ".chrome" / str(self.slot)

    @property
    def socket_path(self) -> Path:
        return self.home.runtime / f"browser-{self.slot}.sock"

    def call(
        self,
        tool: str,
        *,
        most_bytes: int = RESULT_MAX_BYTES,
        run: str = "r1",
        env: dict[str, str] | None = None,
        **arguments: Any,
    ) -> Envelope:
        """One call in a process of its own; `tool` without its prefix."""
        return self.home.ask(self.request(tool, most_bytes, run, arguments), env=env)

    def start(self, tool: str, **arguments: Any) -> subprocess.Popen[bytes]:
        """Begin a call and do not wait for it."""
        request = json.dumps(self.request(tool, RESULT_MAX_BYTES, "r1", arguments)).encode()
        return subprocess.Popen(
            [str(BIN / "guilds-browser"), *self.home.carried(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=self.home.environment(),
        )

    def answer(self, call: subprocess.Popen[bytes]) -> Envelope:
        """The answer of a call that was started."""
        line, _ = call.communicate(timeout=70)
        return Envelope(line.strip())

    def on_another_slot(self) -> AgentBrowser:
        """The same home, its next free slot."""
        other = copy.copy(self)
        other.slot = free_slot(self.slot)
        return other

    def touch_the_installed_package(self) -> None:
        """What an installation of another version does to the files."""
        os.utime(guilds_browser.__file__)

    def hold_port(self) -> socket.socket:
        """A listener on the slot's port that never answers."""
        return socket.create_server(("127.0.0.1", self.port))

    def devtools_command(self, method: str, **parameters: Any) -> None:
        """Tell the first tab something over its own DevTools address, and do not wait."""

        async def tell() -> None:
            target = next(target["id"] for target in self.devtools("list") if target["type"] == "page")
            async with Session(self.port, target) as session:
                session.tell(method, **parameters)
                await asyncio.sleep(1)

        asyncio.run(tell())

    def request(self, tool: str, most_bytes: int, run: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The request of a call."""
        return {
            "tool": f"browser_{tool}",
            "args": arguments,
            "run": {"id": run},
            "limits": {"result_max_bytes": most_bytes},
            "browser": {"slot": self.slot},
        }

    def go(self, path: str) -> Envelope:
        """Open a page of the site, or a whole address."""
        return self.call("navigate", url=self.site.near + path if path.startswith("/") else path)

    def snapshot(self, **arguments: Any) -> str:
        return self.call("snapshot", **arguments).text

    def see(self, path: str) -> str:
        """Open a page and take its snapshot."""
        assert self.go(path).body["ok"], path
        return self.snapshot()

    def see_with(self, path: str, part: str) -> str:
        """Open a page whose frames come late; its snapshot once `part` is in it."""
        give_up = time.monotonic() + 15
        tree = self.see(path)
        while part not in tree and time.monotonic() < give_up:
            tree = self.snapshot()
        assert part in tree, tree
        return tree

    def click(self, target: str, **arguments: Any) -> Envelope:
        return self.call("click", target=target, **arguments)

    def fill(self, target: str, value: str) -> Envelope:
        return self.call("fill", target=target, value=value)

    def type(self, target: str, text: str, **arguments: Any) -> Envelope:
        return self.call("type", target=target, text=text, **arguments)

    def run(self, script: str) -> Any:
        """The value of a script in the page."""
        return json.JSONDecoder().raw_decode(self.call("eval", script=script).text)[0]

    def until(self, script: str, value: Any = True) -> Any:
        """Run a script until it gives this value, for at most 10 s; what it gave last."""
        give_up = time.monotonic() + 10
        while (found := self.run(script)) != value and time.monotonic() < give_up:
            time.sleep(0.05)
        return found

    def devtools(self, path: str, method: str = "GET") -> Any:
        """Chrome's own HTTP interface."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/{path}", method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=10) as answer:
            return json.loads(answer.read())

    def end_tab(self, target: str) -> None:
        """Have Chrome close a tab."""
        address = f"http://127.0.0.1:{self.port}/json/close/{target}"
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10):
            pass

    def addresses(self) -> list[str]:
        """The addresses of Chrome's tabs, from Chrome itself."""
        return sorted(target["url"] for target in self.devtools("list") if target["type"] == "page")

    def until_shown(self, title: str) -> None:
        """Wait until Chrome has a tab of that title."""
        assert wait_until(lambda: any(target["title"] == title for target in self.devtools("list"))), title

    def chrome(self) -> int:
        """The browser process. Fails when there is not exactly one."""
        switch = f"--user-data-dir={self.profile}"
        (pid,) = [pid for pid, words in commands() if switch in words and not has_type(words)]
        return pid

    def broker(self) -> int:
        """The broker's process. Fails when there is not exactly one."""
        (pid,) = self.brokers()
        return pid

    def brokers(self) -> list[int]:
        mine = f"GUILDS_HOME={self.home.path}".encode()
        return [pid for pid, words in commands() if "--broker" in words and mine in environment_of(pid)]

    def driver(self) -> int:
        """Playwright's driver, a child of the broker."""
        (pid,) = [pid for pid, words in commands() if "run-driver" in words and parent_of(pid) == self.broker()]
        return pid

    def processes(self) -> list[int]:
        """Whatever runs for this home."""
        mine = f"GUILDS_HOME={self.home.path}".encode()
        return [
            pid
            for pid, words in commands()
            if mine in environment_of(pid) or any(str(self.home.top) in word for word in words)
        ]

    def kill(self, pid: int) -> None:
        """End a process at once, and see it gone."""
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not alive(pid))

    def end(self) -> None:
        """End the broker and Chrome, and whatever else runs for this home."""
        for _ in range(200):
            left = self.processes()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                return
            time.sleep(0.05)
        raise AssertionError(f"left running: {left}")


def nodes(tree: str) -> list[Node]:
    """The lines of a snapshot but its first."""
    return [Node(found) for found in NODE.finditer(tree.partition("\n")[2])]


def node(tree: str, name: str, role: str | None = None) -> Node:
    """The first node of that name and, if given, role."""
    found = [each for each in nodes(tree) if each.name == name and role in (None, each.role)]
    assert found, f"no {role or 'node'} {name!r} in:\n{tree}"
    return found[0]


def ref(tree: str, name: str, role: str | None = None) -> str:
    """The ref of a node."""
    found = node(tree, name, role)
    assert found.ref, f"{found.role} {name!r} has no ref in:\n{tree}"
    return found.ref


def refs(tree: str) -> dict[str, str]:
    """Name by ref of every node that has one; no ref stands twice."""
    found = [each for each in nodes(tree) if each.ref]
    assert len({each.ref for each in found}) == len(found), tree
    return {each.ref: each.name for each in found}


def refused_at_once(answer: Envelope) -> str:
    """The message of an error that was found by looking, not by waiting."""
    message = answer.message
    assert answer.code not in ("internal", "timeout", "engine_failed"), answer.body
    assert answer.meta["duration_ms"] < 1000 * AT_ONCE_SECONDS, answer.body
    return message


def free_slot(*taken: int) -> int:
    """A slot whose port nothing listens on; a worker begins where no other does."""
    start = (os.getpid() * 7) % len(SLOTS)
    for step in range(len(SLOTS)):
        slot = SLOTS[(start + step) % len(SLOTS)]
        with socket.socket() as probe:
            if slot not in taken and probe.connect_ex(("127.0.0.1", FIRST_PORT + slot)) != 0:
                return slot
    raise AssertionError("no free slot")


def wait_until(condition: Any, seconds: float = 10) -> bool:
    """Whether it comes true in time."""
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def commands() -> list[tuple[int, list[str]]]:
    """Every live process with its command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
            if words != [""] and alive(int(name)):
                found.append((int(name), words))
    return found


def has_type(words: list[str]) -> bool:
    """Whether this is one of Chrome's child processes."""
    return any(word.startswith("--type=") for word in words)


def environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def resident_bytes(pid: int) -> int:
    """How much memory a process has in use."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
