"""guilds: the client at a command line, for one call or to look around. A program imports guilds_client instead."""

from __future__ import annotations

import asyncio
import os
import sys

import click
import orjson

from guilds_client.agent import Agent
from guilds_client.arguments import ArgumentsError, parse_arguments
from guilds_client.errors import SandboxError
from guilds_client.helper_client import Envelope
from guilds_client.native import DECLARED, ask
from guilds_client.run import Run
from guilds_client.sandboxes import ADDRESSES, open_sandbox
from guilds_client.tool import ToolContext

AGENT_ID = "manual"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Sandbox tools for coding agents, from the orchestrator's side."""


_sandbox = click.option("--sandbox", "address", required=True, metavar="ADDRESS", help=f"{ADDRESSES}.")
_network = click.option("--network", is_flag=True, help="Let a bwrap: sandbox reach the network.")


@main.command()
@_sandbox
@_network
@click.option("--raw", is_flag=True, help="Print the helper's envelope as JSON, instead of what the model reads.")
@click.argument("tool")
@click.argument("arguments", default="")
def call(address: str, network: bool, raw: bool, tool: str, arguments: str) -> None:
    """Call TOOL with ARGUMENTS (a JSON object), and print the result as the model would read it."""
    sys.exit(asyncio.run(_call(address, network, raw, tool, arguments)))


async def _call(address: str, network: bool, raw: bool, name: str, arguments: str) -> int:
    agent = Agent(AGENT_ID, coding=True, browser=True)
    try:
        async with open_sandbox(address, network=network) as sandbox, Run(sandbox, agent=agent, id=AGENT_ID) as run:
            if raw:
                click.echo(orjson.dumps(await _envelope(run, name, arguments)))
                return 0
            message = await run.call(name, arguments)
    except SandboxError as problem:
        click.echo(f"error: {problem}", err=True)
        return 1
    click.echo(message.content)
    return 1 if message.metadata["error"] is not None else 0


async def _envelope(run: Run, name: str, arguments: str) -> Envelope:
    """What a helper answers, before the result's path."""
    if name not in DECLARED:
        raise click.UsageError(f"{name} is no tool of a helper; there are: {', '.join(DECLARED)}.")
    try:
        args = parse_arguments(arguments, DECLARED[name].parameters).text
    except ArgumentsError as problem:
        raise click.UsageError(f"the arguments can't be taken: {problem}.") from None
    return await ask(ToolContext(run, name, "c" + os.urandom(8).hex(), 1, args), DECLARED[name], args)
