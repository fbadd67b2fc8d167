"""What a call imports is what it costs: the modules of the hot paths are pinned here."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest

from tests.agent_home import BIN, AgentHome

WIRE = {
    "",
    ".call",
    ".descriptors",
    ".door",
    ".envelope",
    ".errors",
    ".lean",
    ".paths",
    ".places",
    ".request",
    ".run_state",
    ".schema",
    ".tools",
    ".tools.code",
}
STANDARD = {
    "__future__",
    "_collections_abc",
    "_json",
    "_stat",
    "binascii",
    "errno",
    "fcntl",
    "genericpath",
    "os",
    "os.path",
    "posixpath",
    "stat",
}
FILES = {"guilds_code", "guilds_code.__main__", "guilds_code.numbered", "guilds_code.tools"}


def _imported(home: AgentHome, body: dict[str, object]) -> set[str]:
    """The modules that one call imports beyond those of the bare interpreter."""
    show = (
        "import sys; bare = set(sys.modules)\n"
        f"sys.path += {[path for path in sys.path if path]!r}\n"
        "import guilds_code.__main__ as program, atexit\n"
        "atexit.register(lambda: print(*(set(sys.modules) - bare), file=sys.stderr))\n"
        "sys.exit(program.main())"
    )
    line = base64.b64encode(json.dumps(body).encode()).decode()
    done = subprocess.run(
        [str(BIN / "python3"), "-I", "-S", "-c", show, line],
        env=home.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split()) - {"atexit"}


def test_file_read_imports_only_what_it_needs(home: AgentHome) -> None:
    home.put("a.txt", "one\n")

    imported = _imported(home, {"tool": "file_read", "args": {"path": "a.txt"}, "run": {"id": "r1"}})

    own = {f"guilds_wire{name}" for name in WIRE} | FILES
    own |= {"guilds_code.file_kinds", "guilds_code.reads", "guilds_code.tools.file_read"}
    assert imported - {"_sha2", "_sha256"} == own | STANDARD


@pytest.mark.parametrize("module", ["re", "json", "enum", "typing", "dataclasses", "subprocess", "hashlib", "click"])
def test_shell_imports_nothing_heavy(home: AgentHome, module: str) -> None:
    assert module not in _imported(home, {"tool": "shell", "args": {"command": "true"}})
