"""Declarations of the tools that guilds-script-run serves."""

from __future__ import annotations

from guilds_wire.schema import any_object, object_schema, string
from guilds_wire.tools import Tool

SCRIPT_TIMEOUT_SECONDS = 120

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
