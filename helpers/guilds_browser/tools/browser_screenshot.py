"""browser_screenshot: a picture of the page as a JPEG at its fixed place, password fields masked."""

from __future__ import annotations

import asyncio
import base64
import os

from guilds_browser.locate import gone, locate
from guilds_browser.tab import FRAME_SECONDS, DocumentGoneError, ScriptError
from guilds_wire.errors import ToolError
from guilds_wire.replace import open_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_browser.calls import BrowserCall

PLACE = "screenshots/latest.jpg"
QUALITY_PERCENT = 70
SHOT_SECONDS = 8.0
SIDE_MOST_PIXELS = 16_384
"""A texture's longest side in Chrome's compositor; what lies beyond it is left out."""

FILE_MODE = 0o644


async def browser_screenshot(call: BrowserCall, full_page: bool, target: str | None = None) -> str:
    """Take it and write it whole. Raises ToolError as `locate` does, and `io_error`."""
    clip = await _clip(call, full_page, target)
    masked, scale = await _mask(call)
    try:
        parameters: dict[str, Any] = {"format": "jpeg", "quality": QUALITY_PERCENT, "optimizeForSpeed": True}
        if clip:
            parameters |= {"clip": clip, "captureBeyondViewport": True}
        async with asyncio.timeout(SHOT_SECONDS):
            answer = await call.tab.session.ask("Page.captureScreenshot", **parameters)
    finally:
        await _unmask(call, masked)
    data = base64.b64decode(answer["data"])
    path = os.path.join(os.fsdecode(call.browser.places.home), PLACE)
    with open_target(call.workspace(), path, create=True) as file:
        file.write(data, FILE_MODE)
    width, height = jpeg_size(data)
    call.meta["screenshot_path"] = path
    return f"{path} · {width}x{height} pixels, scale {scale:g}, {len(data)} bytes"


async def _clip(call: BrowserCall, full_page: bool, target: str | None) -> dict[str, Any] | None:
    """What part of the page is taken, in CSS pixels from its top; None for the viewport."""
    if target is not None:
        element = await locate(call, target)
        if element.document.frame_id != call.tab.target_id:
            raise ToolError("conflict", f"{element.label} is in a frame; take the picture of the frame's element.")
        box = await element.ask("boxOf")
        if box is None:
            raise gone(element.number, element.state["role"], element.state["name"])
        x, y, width, height = box
        if width < 1 or height < 1:
            raise ToolError("conflict", f"{element.label} has no size, so there is nothing to be seen of it.")
    elif full_page:
        size = (await call.tab.session.ask("Page.getLayoutMetrics"))["cssContentSize"]
        x, y, width, height = 0, 0, size["width"], size["height"]
    else:
        return None
    if max(width, height) > SIDE_MOST_PIXELS:
        call.notes.append(f"[only the first {SIDE_MOST_PIXELS} pixels of {max(width, height):.0f} are in it]")
    sides = {"width": min(width, SIDE_MOST_PIXELS), "height": min(height, SIDE_MOST_PIXELS)}
    return {"x": x, "y": y, "scale": 1, **sides}


async def _mask(call: BrowserCall) -> tuple[list[str], float]:
    """Mask the password fields of every frame: the frames that have some, and pixels to a CSS pixel.

    A picture is not taken unmasked.
    """
    masked = []
    scale = 1.0
    for frame_id in await call.tab.frame_ids():
        try:
            _, (count, scale) = await call.tab.ask(frame_id, "mask", seconds=FRAME_SECONDS)
        except (DocumentGoneError, TimeoutError):  # a frame that hangs paints what it painted before
            continue
        if count:
            masked.append(frame_id)
    return masked, scale


async def _unmask(call: BrowserCall, masked: list[str]) -> None:
    for frame_id in masked:
        try:
            await call.tab.ask(frame_id, "unmask", seconds=FRAME_SECONDS)
        except (DocumentGoneError, ScriptError, TimeoutError):  # it has gone, and the mask with it
            pass


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels, from the frame header (ITU-T T.81, B.2.2)."""
    at = 2
    while at + 9 < len(data):
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + length
    raise ToolError("engine_failed", "Chrome gave a picture that is no JPEG.")
