"""The door of guilds-browser: a stub that forwards every request to the broker of its slot, or the broker itself."""

from __future__ import annotations

import sys

from guilds_browser.forward import BROKER_OPTION, SLOT_MOST, forward
from guilds_wire.door import Helper
from guilds_wire.door import main as open_door
from guilds_wire.schema import integer, object_schema

HELPER = Helper(
    "guilds-browser",
    forward=forward,
    prefix="browser_",
    settings={"browser": object_schema(slot=integer("Which of the browsers.", 0, SLOT_MOST, default=0))},
)


def main() -> int:
    """Serve a request, a session or a person, or be the broker; the exit status."""
    if sys.argv[1:2] == [BROKER_OPTION]:
        from guilds_browser.broker import serve

        return serve(*(int(number) for number in sys.argv[2:5]))
    return open_door(HELPER)
