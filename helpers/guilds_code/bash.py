"""A bash command of the agent's, ready to run."""

from __future__ import annotations

import os

from guilds_wire.environment import command_environment, fresh_mark
from guilds_wire.errors import ToolError
from guilds_wire.foreground import DIRECTORY_FILE_VARIABLE
from guilds_wire.process import ARGUMENT_MAX_BYTES, Command
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

# Where a process may not be traced, bash reads this file before the command and leaves its directory behind when
# it exits. A command that sets an EXIT trap of its own replaces it: then its change of directory is not kept.
_TELL_DIRECTORY = os.path.join(os.path.dirname(__file__), "tell_directory.bash")


def bash_command(call: Call, text: str) -> Command:
    """The command as `bash -c` takes it, in the run's directory.

    Raises ToolError(`invalid_arguments`) for a text that can't be one argument, `unavailable` without bash.
    """
    encoded = text.encode()
    if b"\0" in encoded:
        raise invalid_argument("command", "holds a NUL character, which no argument of a program can")
    if len(encoded) > ARGUMENT_MAX_BYTES:
        raise invalid_argument(
            "command",
            f"has {len(encoded)} bytes; at most {ARGUMENT_MAX_BYTES} can be run: "
            "write a script with file_write and run that",
        )
    mark = fresh_mark()
    directory = call.run.directory
    return Command(
        program=_bash(),
        argv=[b"bash", b"-c", b"--", encoded],
        environment=command_environment(call, mark, directory),
        directory=directory,
        mark=mark,
        untraced={
            b"BASH_ENV": os.fsencode(_TELL_DIRECTORY),
            DIRECTORY_FILE_VARIABLE: os.path.join(call.places.runtime, b"directory-" + mark.encode()),
        },
    )


def _bash() -> str:
    places = ["/bin", "/usr/bin", *os.environ.get("PATH", "").split(":")]
    for folder in places:
        path = os.path.join(folder, "bash")
        if folder.startswith("/") and os.access(path, os.X_OK):
            return path
    raise ToolError("unavailable", "bash is not installed in this sandbox; install it (apt-get install bash).")
