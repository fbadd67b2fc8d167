"""guilds: the client at a command line: one call, what is offered, what a sandbox lacks, and an MCP server.

A program imports guilds_client instead.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

import click
import orjson

from guilds_client.agent import Agent
from guilds_client.arguments import ArgumentsError, parse_arguments
from guilds_client.doctor import examine
from guilds_client.errors import SandboxError
from guilds_client.helper_client import Envelope
from guilds_client.native import DECLARED, ask
from guilds_client.registry import Registry
from guilds_client.run import Run
from guilds_client.sandboxes import ADDRESSES, open_sandbox
from guilds_client.schemas import lower_schema
from guilds_client.tool import Tool, ToolContext
from guilds_wire.errors import ToolError

AGENT_ID = "manual"
MCP_TOOL_CALLS = 1_000
"""The budget of an MCP server: a client that calls without end is stopped, one that works for a day is not."""

_sandbox = click.option("--sandbox", "address", required=True, metavar="ADDRESS", help=f"{ADDRESSES}.")
_network = click.option("--network", is_flag=True, help="Let a bwrap: sandbox reach the network.")
_secrets = click.option(
    "--secret",
    "secret_names",
    multiple=True,
    metavar="NAME",
    help="Keep the value of this environment variable out of results. Can be given several times.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Sandbox tools for coding agents, from the orchestrator's side."""


@main.command()
@_sandbox
@_network
@_secrets
@click.option("--raw", is_flag=True, help="Print the helper's envelope as JSON, instead of what the model reads.")
@click.argument("tool")
@click.argument("arguments", default="")
def call(address: str, network: bool, secret_names: tuple[str, ...], raw: bool, tool: str, arguments: str) -> None:
    """Call TOOL with ARGUMENTS (a JSON object), and print the result as the model would read it."""

    async def work() -> int:
        agent = Agent(AGENT_ID, coding=True, browser=True)
        secrets = _values(secret_names)
        async with (
            open_sandbox(address, network=network) as sandbox,
            Run(sandbox, agent=agent, id=AGENT_ID, secrets=secrets) as run,
        ):
            if raw:
                try:
                    envelope = await _envelope(run, tool, arguments)
                except (SandboxError, ToolError) as problem:  # it can quote what the helper printed
                    click.echo(f"error: {run.redacted(str(problem))}", err=True)
                    return 1
                click.echo(orjson.dumps(run.redacted(envelope)))
                return 0
            message = await run.call(tool, arguments)
        click.echo(message.content)
        return 1 if message.metadata["error"] is not None else 0

    sys.exit(_finished(work()))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print names, descriptions and schemas as JSON.")
def tools(as_json: bool) -> None:
    """List the tools that a model would be offered, coding and browser tools among them."""

    shown = [replace(tool, parameters=lower_schema(tool.parameters)) for tool in Registry()]
    click.echo(orjson.dumps([_described(tool) for tool in shown]) if as_json else _listed(shown))


@main.command()
@_sandbox
@_network
def doctor(address: str, network: bool) -> None:
    """Say what the sandbox has and what it lacks, and the command that mends it."""

    async def work() -> int:
        async with open_sandbox(address, network=network) as sandbox:
            findings = await examine(sandbox)
        click.echo("\n".join(str(finding) for finding in findings))
        return int(any(finding.mend is not None for finding in findings))

    sys.exit(_finished(work()))


@main.command()
@_sandbox
@_network
@_secrets
@click.option("--coding", is_flag=True, help="Offer the shell, file and code tools.")
@click.option("--browser", is_flag=True, help="Offer the browser tools.")
@click.option(
    "--http", "port", type=click.IntRange(1, 65_535), metavar="PORT", help="Serve at http://127.0.0.1:PORT/mcp."
)
def mcp(
    address: str, network: bool, secret_names: tuple[str, ...], coding: bool, browser: bool, port: int | None
) -> None:
    """Offer a sandbox's tools to an MCP client, on stdin and stdout, or over HTTP on this machine."""

    async def work() -> int:
        try:
            from guilds_client.mcp_server import serve_http, serve_stdio
        except ImportError as problem:
            raise SandboxError(f"{problem}; install it: pip install 'guilds[mcp]'.") from None
        agent = Agent(AGENT_ID, coding=coding, browser=browser)
        secrets = _values(secret_names)
        async with (
            open_sandbox(address, network=network) as sandbox,
            Run(sandbox, agent=agent, secrets=secrets, max_tool_calls=MCP_TOOL_CALLS) as run,
        ):
            await (serve_stdio(run) if port is None else serve_http(run, port))
        return 0

    sys.exit(_finished(work()))


def _finished(work: Coroutine[Any, Any, int]) -> int:
    """The exit status of a command; 1 with a line on stderr when the sandbox fails."""
    try:
        return asyncio.run(work)
    except (SandboxError, ToolError, ValueError) as problem:
        click.echo(f"error: {problem}", err=True)
        return 1
    except KeyboardInterrupt:
        return 130


def _values(names: Sequence[str]) -> dict[str, str]:
    """The secrets, from the environment: a value on a command line could be read by others."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise click.UsageError(f"--secret: the environment has no {', '.join(missing)}.")
    return {name: os.environ[name] for name in names}


async def _envelope(run: Run, name: str, arguments: str) -> Envelope:
    """What a helper answers, before the result's path."""
    if name not in DECLARED:
        raise click.UsageError(f"{name} is no tool of a helper; there are: {', '.join(DECLARED)}.")
    try:
        args = parse_arguments(arguments, DECLARED[name].parameters).text
    except ArgumentsError as problem:
        raise click.UsageError(f"the arguments can't be taken: {problem}.") from None
    return await ask(ToolContext(run, name, "c" + os.urandom(8).hex(), 1, args), DECLARED[name], args)


def _described(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _listed(shown: Sequence[Tool]) -> str:
    width = max(len(tool.name) for tool in shown)
    return "\n".join(f"{tool.name:{width}}  {tool.description}" for tool in shown)
