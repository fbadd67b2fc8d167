"""The environment of a command: the helper's own, quiet and never asking, with the call's ids and git's tokens."""

from __future__ import annotations

import os

from guilds_wire.git_wiring import git_environment
from guilds_wire.processes import MARK_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

_SET = {
    b"PAGER": b"cat",
    b"GIT_PAGER": b"cat",
    b"MANPAGER": b"cat",
    b"SYSTEMD_PAGER": b"cat",
    b"GIT_TERMINAL_PROMPT": b"0",
    b"NO_COLOR": b"1",
    b"TERM": b"dumb",
    b"DEBIAN_FRONTEND": b"noninteractive",
    # `true` leaves the text that git prepared as it is, where an editor would wait for somebody.
    b"GIT_EDITOR": b"true",
    b"GIT_SEQUENCE_EDITOR": b"true",
    b"EDITOR": b"true",
    b"VISUAL": b"true",
}
_NOT_PASSED_ON = (b"BASH_ENV", b"ENV", b"GIT_ASKPASS", b"SSH_ASKPASS")
_NOT_PASSED_ON_PREFIX = b"GUILDS_"


def command_environment(call: Call, mark: str, directory: bytes) -> dict[bytes, bytes]:
    """What a command of this call, started in `directory`, finds in its environment."""
    inherited = {
        name: value
        for name, value in os.environb.items()
        if name not in _NOT_PASSED_ON and not name.startswith(_NOT_PASSED_ON_PREFIX)
    }
    return (
        inherited
        | _SET
        | git_environment(inherited, call.places.runtime, directory)
        | {
            b"PWD": directory,
            b"GUILD_RUN_ID": call.ids.id.encode(),
            b"GUILD_AGENT_ID": call.ids.agent_id.encode(),
            b"GUILD_CALL_ID": call.ids.call_id.encode(),
            MARK_VARIABLE: mark.encode(),
        }
    )


def fresh_mark() -> str:
    """A mark for one call."""
    return os.urandom(12).hex()
