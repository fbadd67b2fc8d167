"""A home and a run-time folder of a test's own, and the installed helpers called on them as a caller does."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from guilds_wire.request import ARGUMENT_MAX_BYTES
from guilds_wire.tools import all_tools

BIN = Path(os.environ.get("GUILDS_BIN") or Path(sys.executable).parent)
CALL_SECONDS = 60

AS_NOBODY = """
import ctypes, os, sys
import guilds_code.__main__ as program
import guilds_code.tools.shell, guilds_wire.foreground, guilds_wire.exec_again
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: what a program started by this user would be
sys.exit(program.main())
"""
"""guilds-code as an ordinary user, for root, whose interpreter that user may not be able to reach."""


class Envelope:
    """The decoded answer of one call, and the process that gave it."""

    def __init__(self, line: bytes, process: subprocess.CompletedProcess[bytes] | None = None) -> None:
        self.body: dict[str, Any] = json.loads(base64.b64decode(line, validate=True))
        self.process = process

    @property
    def text(self) -> str:
        assert self.body["ok"], self.body
        return str(self.body["text"])

    @property
    def code(self) -> str:
        assert not self.body["ok"], self.body
        return str(self.body["error"]["code"])

    @property
    def message(self) -> str:
        assert not self.body["ok"], self.body
        return str(self.body["error"]["message"])

    @property
    def problems(self) -> list[dict[str, str]]:
        return list(self.body["error"]["details"])

    @property
    def meta(self) -> dict[str, Any]:
        return dict(self.body["meta"])


class AgentHome:
    """`path` is home, `runtime` the run-time folder; every call is a fresh process of the installed helper."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.path = top / "home"
        self.runtime = top / "runtime"
        self.path.mkdir()
        (self.runtime / "requests").mkdir(parents=True)

    def environment(self, **more: str) -> dict[str, str]:
        """The helper's environment: the test's own without what would move its places, and `more`."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("GUILD", "GIT_", "GH_"))}
        return {**own, "GUILDS_HOME": str(self.path), "GUILDS_RUNTIME_DIR": str(self.runtime), **more}

    def put(self, name: str, content: str | bytes, mode: int = 0o644) -> Path:
        """A file in home."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def call(
        self,
        tool: str,
        *,
        run: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        limits: dict[str, Any] | None = None,
        user: int | None = None,
        **arguments: Any,
    ) -> Envelope:
        """One call of a tool, in run `r1`; `in_` stands for an argument named `in`."""
        arguments = {name.rstrip("_"): value for name, value in arguments.items()}
        body = {"tool": tool, "args": arguments, "run": {"id": "r1", **(run or {})}, "limits": limits or {}}
        return self.ask(body, env=env, user=user)

    def ask(self, body: Any, *, env: dict[str, str] | None = None, user: int | None = None) -> Envelope:
        """Send a request as it is."""
        tool = all_tools().get(body.get("tool", "")) if isinstance(body, dict) else None
        return self.send(json.dumps(body).encode(), tool.helper if tool else "guilds-code", env=env, user=user)

    def send(
        self, raw: bytes, helper: str = "guilds-code", *, env: dict[str, str] | None = None, user: int | None = None
    ) -> Envelope:
        """Send raw bytes in the place of a request's JSON."""
        return self.run([str(BIN / helper), *self.carried(raw)], env=env, user=user)

    def carried(self, raw: bytes) -> list[str]:
        """The arguments that carry a request: itself, or a file when it is large."""
        encoded = base64.b64encode(raw).decode()
        if len(encoded) <= ARGUMENT_MAX_BYTES:
            return [encoded]
        file = self.runtime / "requests" / f"q{time.monotonic_ns()}"
        file.write_text(encoded)
        return ["--request-file", str(file)]

    def run(self, argv: list[str], *, env: dict[str, str] | None = None, user: int | None = None) -> Envelope:
        """Run a helper that answers with one envelope."""
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CALL_SECONDS,
            check=False,
            env=self.environment(**(env or {})),
            cwd=self.top,
            user=user,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(b"\n") == 1, done.stdout
        return Envelope(done.stdout.strip(), done)

    def by_hand(self, helper: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a helper as a person does."""
        return subprocess.run(
            [str(BIN / helper), *words],
            capture_output=True,
            text=True,
            timeout=CALL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=self.environment(),
            cwd=self.top,
        )

    def let_everybody_in(self) -> None:
        """Have another user own home and the run-time folder, and reach them."""
        for path in (self.top, *self.top.parents):
            path.chmod(path.stat().st_mode | 0o055)
        for path in (self.path, self.runtime):
            os.chown(path, 65534, 65534)

    def start(self, tool: str, *, call_id: str = "c1", **arguments: Any) -> subprocess.Popen[bytes]:
        """Start one call and do not wait for it."""
        body = {"tool": tool, "args": arguments, "run": {"id": "r1", "call_id": call_id}}
        return subprocess.Popen(
            [str(BIN / all_tools()[tool].helper), *self.carried(json.dumps(body).encode())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=self.top,
        )
