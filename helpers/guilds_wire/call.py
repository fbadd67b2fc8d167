"""Call: one request at work in its places, as every tool gets it."""

from __future__ import annotations

from guilds_wire.paths import Workspace
from guilds_wire.run_state import RunState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.places import Places
    from guilds_wire.request import Request


class Call:
    """What a tool works with: the request, the places, the run's state, the workspace, and its result's cap.

    `cap_bytes` is how many UTF-8 bytes the tool's text may have.
    """

    __slots__ = ("cap_bytes", "ids", "places", "request", "run", "workspace")

    def __init__(self, request: Request, places: Places) -> None:
        self.request = request
        self.places = places
        self.ids = request.run
        self.run = RunState(places, request.run.id)
        self.workspace = Workspace(places, self.run.directory)
        notice = self.run.notice
        self.cap_bytes = request.result_max_bytes - (len(notice.encode()) + 1 if notice else 0)
