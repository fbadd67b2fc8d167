"""Places: where home and the run-time folder of a sandbox are. Two variables move them, nothing else does."""

from __future__ import annotations

import os

from guilds_wire.errors import ToolError

HOME_VARIABLE = "GUILDS_HOME"
RUNTIME_VARIABLE = "GUILDS_RUNTIME_DIR"
DEFAULT_HOME = "/home/agent"
DEFAULT_RUNTIME = "/run/guilds"


class Places:
    """Home and the run-time folder, as absolute paths in bytes with every link followed."""

    __slots__ = ("home", "runtime")

    def __init__(self, home: bytes, runtime: bytes) -> None:
        self.home = home
        self.runtime = runtime

    @classmethod
    def from_environment(cls) -> Places:
        """The places this process was given. Raises ToolError(`unavailable`) when home is no folder."""
        home = os.path.realpath(os.fsencode(os.environ.get(HOME_VARIABLE) or DEFAULT_HOME))
        if not os.path.isdir(home):
            raise ToolError(
                "unavailable",
                f"home {os.fsdecode(home)} is no folder; create it, or set {HOME_VARIABLE} to one.",
            )
        return cls(home, os.path.realpath(os.fsencode(os.environ.get(RUNTIME_VARIABLE) or DEFAULT_RUNTIME)))

    def runtime_folder(self) -> bytes:
        """The run-time folder, made (mode 0700) when it is missing. Raises ToolError(`io_error`)."""
        try:
            os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        except OSError as problem:
            raise ToolError(
                "io_error",
                f"the run-time folder {os.fsdecode(self.runtime)} can't be made: {problem.strerror}; "
                f"create it for this user, or set {RUNTIME_VARIABLE}.",
            ) from problem
        return self.runtime
