"""An MCP client of the official SDK drives a sandbox through `guilds mcp`."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guilds_client import Agent, Run
from tests.client.asynchronous import asynchronous
from tests.client.fakes import ExecSandbox, envelope

mcp: Any = pytest.importorskip("mcp")

GUILDS = str(Path(sys.executable).parent / "guilds")


def texts(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


@asynchronous
async def test_a_client_on_stdio_sees_the_tools_and_gets_results_by_the_same_path(folder: Path) -> None:
    command = ["mcp", "--sandbox", f"local:{folder}", "--coding", "--secret", "API_KEY"]
    environment = {**os.environ, "API_KEY": "hunter22"}
    server = mcp.StdioServerParameters(command=GUILDS, args=command, env=environment)

    async with mcp.Client(mcp.client.stdio.stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("shell", {"command": "echo hunter22"})
        refused = await client.call_tool("file_read", {"path": "absent.txt"})
        unknown = await client.call_tool("browser_eval", {"script": "1"})

    shell = next(tool for tool in tools if tool.name == "shell")
    assert "additionalProperties" not in shell.input_schema
    assert not any(tool.name.startswith("browser_") for tool in tools)
    assert texts(result) == ["[redacted:API_KEY]\nremaining_tool_calls: 999"]
    assert not result.is_error
    assert texts(refused)[0].startswith("ERROR: absent.txt")
    assert refused.is_error
    assert texts(unknown)[0].startswith("ERROR: tool browser_eval is not offered this run")


@asynchronous
async def test_a_client_over_http_gets_the_same(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [GUILDS, "mcp", "--sandbox", f"local:{folder}", "--coding", "--http", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            await _answers(port)
            async with mcp.Client(f"http://127.0.0.1:{port}/mcp") as client:
                result = await client.call_tool("shell", {"command": "echo hello"})
        finally:
            server.terminate()

    assert texts(result) == ["hello\nremaining_tool_calls: 999"]


async def _answers(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return


class _Pictured(ExecSandbox):
    """A sandbox whose screenshot can be read."""

    async def read_file(self, path: str) -> bytes:
        assert path == "/home/agent/screenshots/latest.jpg"
        return b"\xff\xd8 picture"


@asynchronous
async def test_a_screenshot_comes_as_an_image() -> None:
    from guilds_client.mcp_server import mcp_server

    run = Run(_Pictured(lambda _: envelope("1280 x 720")), agent=Agent("a1", browser=True))

    async with mcp.Client(mcp_server(run)) as client:
        result = await client.call_tool("browser_screenshot", {})

    picture = result.content[1]
    assert texts(result) == ["1280 x 720\nremaining_tool_calls: 59"]
    assert (picture.mime_type, base64.b64decode(picture.data)) == ("image/jpeg", b"\xff\xd8 picture")
