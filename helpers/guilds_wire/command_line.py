"""The command line for a person, made from the declarations of a helper's tools. Needs click."""

from __future__ import annotations

import os
import sys

import click

from guilds_wire.errors import ToolError
from guilds_wire.lean import dumps, loads
from guilds_wire.request import REQUEST_MAX_BYTES, from_text
from guilds_wire.tools import Tool, tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.door import Helper


def run_by_hand(helper: Helper) -> int:
    """Run what the person typed; 0, 1 after an error of the tool, 2 after wrong usage."""
    commands = {tool.name: _command(helper, tool) for tool in tools_of(helper.name).values()}
    program = commands.get(helper.alone) or click.Group(
        helper.name,
        commands=list(commands.values()),
        help=f"A helper for coding agents. By hand: {helper.name} COMMAND.",
    )
    program.epilog = (
        f"By a program: {helper.name} BASE64, {helper.name} --request-file PATH, or {helper.name} --serve "
        "with a request a line on stdin."
    )
    program.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    program.main(prog_name=helper.name)
    return 0


def _command(helper: Helper, tool: Tool) -> click.Command:
    properties: dict[str, dict[str, Any]] = tool.parameters["properties"]
    required: list[str] = tool.parameters["required"]
    parameters: list[click.Parameter] = [
        click.Argument([_variable(name)], type=_type(properties[name]), metavar=name.upper())
        for name in properties
        if name in required
    ]
    parameters += [_option(name, schema) for name, schema in properties.items() if name not in required]
    parameters += [
        _option(name, schema) for group in helper.settings.values() for name, schema in group["properties"].items()
    ]
    return click.Command(
        helper.command(tool.name),
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
        help=schema["description"] + (" A `-` takes it from stdin." if schema["type"] == "object" else ""),
        metavar="JSON" if schema["type"] == "object" else None,
        callback=_json_text if schema["type"] == "object" else None,
    )


def _type(schema: dict[str, Any]) -> click.ParamType[Any]:
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if schema["type"] == "integer":
        return click.IntRange(schema.get("minimum"), schema.get("maximum"))
    return click.STRING


class _JsonText(str):
    """A JSON text, as it was typed."""

    __slots__ = ()


def _json_text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> _JsonText | None:
    """What was typed, or what stdin holds for `-`, checked to be JSON."""
    if value is None:
        return None
    try:
        text = sys.stdin.buffer.read(REQUEST_MAX_BYTES).decode() if value == "-" else value
        loads(text)
    except ValueError as problem:
        raise click.BadParameter(f"it is not JSON: {problem}") from None
    return _JsonText(text)


def _variable(name: str) -> str:
    """The name under which click keeps a value; `in` is a keyword in Python."""
    return name + "_"


def _perform(helper: Helper, tool: Tool, values: dict[str, Any]) -> None:
    from guilds_wire.door import work

    args = {
        name.removesuffix("_"): value if isinstance(value, _JsonText) else dumps(value)
        for name, value in values.items()
        if value is not None
    }
    settings = {
        key: _object({name: args.pop(name) for name in group["properties"] if name in args})
        for key, group in helper.settings.items()
    }
    try:
        result = work(helper, from_text(_object({"tool": dumps(tool.name), "args": _object(args), **settings})))
    except ToolError as error:
        click.echo(f"error: {error.message}", err=True)
        sys.exit(1)
    try:
        click.echo(result.text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as problem:
        click.echo(f"error: the result can't be printed: {problem.strerror}", err=True)
        os._exit(1)  # the interpreter's own flush at its end would fail once more


def _object(members: dict[str, str]) -> str:
    """A JSON object of members whose values are JSON texts already."""
    return "{" + ",".join(f"{dumps(name)}:{value}" for name, value in members.items()) + "}"
