"""script_remove: delete a saved script's file."""

from __future__ import annotations

from guilds_script_run import saved
from guilds_wire.envelope import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call


def script_remove(call: Call, name: str) -> Result:
    """Delete the file, and say so, or that it was not there. Raises ToolError as saved.remove does."""
    saved.require_name(name)
    was_there = saved.remove(call.places, name)
    return Result(f"removed {saved.file_of(name)}" if was_there else f"{saved.file_of(name)} was not there")
