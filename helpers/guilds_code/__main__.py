"""The door of guilds-code."""

from __future__ import annotations

from guilds_wire.door import Helper
from guilds_wire.door import main as open_door

HELPER = Helper(
    "guilds-code",
    modules="guilds_code.tools",
    built=("shell", "shell_status", "file_read", "file_edit", "file_write", "code_search", "code_match"),
    sharing=("file_read", "file_edit", "file_write"),
)


def main() -> int:
    """Serve a request, a session or a person; the exit status."""
    return open_door(HELPER)
