"""guilds-code as a user for whom file modes count, whoever runs the tests."""

from __future__ import annotations

import os
import sys

from tests.agent_home import AS_NOBODY, BIN, AgentHome


def as_an_ordinary_user(home: AgentHome, tool: str) -> list[str]:
    """The start of a command line that calls the tool so."""
    if os.geteuid() != 0:
        return [str(BIN / "guilds-code")]
    home.let_everybody_in()
    return [
        sys.executable,
        "-c",
        "import ast_grep_py, mmap, resource" + AS_NOBODY.replace("tools.shell", f"tools.{tool}"),
    ]
