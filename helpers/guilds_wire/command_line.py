"""The command line for a person, made from the declarations of a helper's tools. Needs click."""

from __future__ import annotations

import sys

import click

from guilds_wire.errors import ToolError
from guilds_wire.request import from_body
from guilds_wire.tools import Tool, tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.door import Helper


def run_by_hand(helper: Helper) -> int:
    """Run what the person typed; 0, 1 after an error of the tool, 2 after wrong usage."""
    group = click.Group(
        helper.name,
        commands=[_command(helper, tool) for tool in tools_of(helper.name).values()],
        help=_help(helper),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    group.main(prog_name=helper.name)
    return 0


def _help(helper: Helper) -> str:
    return (
        f"A helper for coding agents. By hand: {helper.name} COMMAND. By a program: {helper.name} BASE64, "
        f"{helper.name} --request-file PATH, or {helper.name} --serve with a request a line on stdin."
    )


def _command(helper: Helper, tool: Tool) -> click.Command:
    properties: dict[str, dict[str, Any]] = tool.parameters["properties"]
    required: list[str] = tool.parameters["required"]
    parameters: list[click.Parameter] = [
        click.Argument([_variable(name)], type=_type(properties[name]), metavar=name.upper())
        for name in properties
        if name in required
    ]
    parameters += [_option(name, schema) for name, schema in properties.items() if name not in required]
    return click.Command(
        tool.name.replace("_", "-"),
        params=parameters,
        callback=lambda **values: _perform(helper, tool, values),
        help=tool.description
        + "".join(f"\n\n{name.upper()}: {properties[name]['description']}" for name in properties if name in required),
    )


def _option(name: str, schema: dict[str, Any]) -> click.Option:
    default = schema.get("default")
    return click.Option(
        [f"--{name.replace('_', '-')}", _variable(name)],
        type=None if schema["type"] == "boolean" else _type(schema),
        is_flag=schema["type"] == "boolean",
        default=default,
        show_default=default not in (None, False),
        help=schema["description"],
    )


def _type(schema: dict[str, Any]) -> click.ParamType[Any]:
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if schema["type"] == "integer":
        return click.IntRange(schema.get("minimum"), schema.get("maximum"))
    return click.STRING


def _variable(name: str) -> str:
    """The name under which click keeps a value; `in` is a keyword in Python."""
    return name + "_"


def _perform(helper: Helper, tool: Tool, values: dict[str, Any]) -> None:
    from guilds_wire.door import work

    args = {name.removesuffix("_"): value for name, value in values.items() if value is not None}
    try:
        result = work(helper, from_body({"tool": tool.name, "args": args}))
    except ToolError as error:
        click.echo(f"error: {error.message}", err=True)
        sys.exit(1)
    click.echo(result.text.encode("utf-8", "replace"))
