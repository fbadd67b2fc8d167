"""shell: run a bash command, in the foreground to its end or in the background."""

from __future__ import annotations

from guilds_code.bash import bash_command
from guilds_wire.foreground import run_and_tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call
    from guilds_wire.envelope import Result


def shell(call: Call, command: str, timeout_seconds: int, background: bool) -> Result:
    """Run the command; the text is its output and how it ended, or the name of the background command.

    Raises ToolError: `invalid_arguments`, `unavailable` (no bash), `io_error` (no room for a background's log).
    """
    ready = bash_command(call, command)
    if background:
        from guilds_code.background import start

        return start(call, ready, command)
    return run_and_tell(call, ready, timeout_seconds)
