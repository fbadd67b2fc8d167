"""mcp_server: a run's tools over the Model Context Protocol, by the official SDK. Each call is a call of the run."""

from __future__ import annotations

import base64
import importlib.metadata
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from guilds_client.errors import SandboxError, one_line
from guilds_client.run import Run

LOOPBACK = "127.0.0.1"
SCREENSHOT_TOOL = "browser_screenshot"
SCREENSHOT = "screenshots/latest.jpg"
SCREENSHOT_TYPE = "image/jpeg"


def mcp_server(run: Run) -> Server[Any]:
    """The SDK's server whose tools are those of the run."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        offered = run.offered()
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters))
                for tool in offered
            ]
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        message = await run.call(params.name, params.arguments or {})
        content: list[Any] = [types.TextContent(text=message.content)]
        if message.tool_name == SCREENSHOT_TOOL and message.metadata["error"] is None:
            content.append(await _picture(run))
        return types.CallToolResult(content=content, is_error=message.metadata["error"] is not None)

    version = importlib.metadata.version("guilds")
    return Server("guilds", version=version, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(run: Run) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    server = mcp_server(run)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(run: Run, port: int) -> None:
    """Serve clients of this machine at http://127.0.0.1:PORT/mcp (streamable HTTP) until interrupted."""
    import uvicorn

    application = mcp_server(run).streamable_http_app(host=LOOPBACK)
    await uvicorn.Server(uvicorn.Config(application, host=LOOPBACK, port=port, log_level="warning")).serve()


async def _picture(run: Run) -> types.ImageContent | types.TextContent:
    """The screenshot that was just taken, or why it can't be shown."""
    try:
        data = await run.sandbox.read_file(f"{run.sandbox.home}/{SCREENSHOT}")
    except SandboxError as problem:
        return types.TextContent(text=f"The picture can't be shown: {one_line(run.redacted(problem.text))}")
    return types.ImageContent(data=base64.b64encode(data).decode(), mime_type=SCREENSHOT_TYPE)
