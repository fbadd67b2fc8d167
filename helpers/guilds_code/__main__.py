"""The door of guilds-code."""

from __future__ import annotations

import sys

from guilds_wire.door import Helper
from guilds_wire.door import main as open_door

HELPER = Helper(
    "guilds-code",
    modules="guilds_code.tools",
    built=(
        "shell",
        "shell_status",
        "file_read",
        "file_edit",
        "file_write",
        "code_search",
        "code_match",
        "code_map",
        "code_find",
        "code_outline",
        "code_callers",
    ),
    sharing=("file_read", "file_edit", "file_write"),
)


def main() -> int:
    """Serve a request, a session or a person, or one of the two commands that no model is offered; the exit status."""
    if sys.argv[1:] == ["--self-test"]:
        from guilds_code.self_test import self_test

        return self_test()
    if sys.argv[1:2] == ["graph-export"]:
        from guilds_code.tools.graph_export import export_by_hand

        return export_by_hand(sys.argv[2:])
    return open_door(HELPER)
