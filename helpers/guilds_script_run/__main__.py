"""The door of guilds-script-run."""

from __future__ import annotations

from guilds_wire.door import Helper
from guilds_wire.door import main as open_door
from guilds_wire.tools.scripts import is_script_name

HELPER = Helper(
    "guilds-script-run",
    modules="guilds_script_run.tools",
    built=("script_run", "script_remove"),
    alone="script_run",
    is_argument=is_script_name,
)


def main() -> int:
    """Serve a request, a session or a person; the exit status."""
    return open_door(HELPER)
