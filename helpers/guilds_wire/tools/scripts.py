"""Declarations of the tools that guilds-script-run serves."""

from __future__ import annotations

from guilds_wire.schema import any_object, object_schema, string
from guilds_wire.tools import Tool

SCRIPT_TIMEOUT_SECONDS = 120

SCRIPT_NAME_MAX_CHARACTERS = 63
RESERVED_NAME = "manifest"  # what the folder itself may come to hold

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_NAME = "The script's name: a to z, 0 to 9, _ and -, beginning with a letter."

TOOLS = (
    Tool(
        name="script_run",
        helper="guilds-script-run",
        description="Run a saved Python script with a JSON object on its stdin, and return its output.",
        parameters=object_schema(
            ("name",),
            name=string(_NAME, minLength=1),
            arguments=any_object("What the script reads from stdin, as JSON."),
        ),
        call_timeout_seconds=SCRIPT_TIMEOUT_SECONDS + 30,
    ),
    Tool(
        name="script_remove",
        helper="guilds-script-run",
        description="Delete a saved script's file.",
        parameters=object_schema(("name",), name=string(_NAME, minLength=1)),
        call_timeout_seconds=30,
    ),
)


def is_script_name(text: str) -> bool:
    """Whether a script can be called that."""
    return (
        0 < len(text) <= SCRIPT_NAME_MAX_CHARACTERS
        and "a" <= text[0] <= "z"
        and _NAME_CHARACTERS.issuperset(text)
        and text != RESERVED_NAME
    )
