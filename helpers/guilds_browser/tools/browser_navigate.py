"""browser_navigate: open an address in the current tab, and say where that led."""

from __future__ import annotations

import asyncio
import re
import time

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from guilds_browser.page_text import shown, shown_url
from guilds_browser.tab import STEP_SECONDS
from guilds_wire.errors import quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playwright.async_api import Request, Response

    from guilds_browser.calls import BrowserCall

NAVIGATION_SECONDS = 15
LEAVE_SECONDS = 2.0
"""How long the page before may take to be left, with a dialog or without."""

URL_MAX_CHARACTERS = 2_000_000  # Chrome's own limit is 2 MB

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d{1,5}(?:[/?#]|$))")
_LOOPBACK = re.compile(r"(localhost|[^/:?#]+\.localhost|127(\.\d+){3}|\[::1\])(?=[:/?#]|$)", re.IGNORECASE)
_NET_ERROR = re.compile(r"net::ERR_\w+")


async def browser_navigate(call: BrowserCall, url: str) -> str:
    """Go there, and wait until the page's content is there, at most 15 s.

    Raises ToolError(`invalid_arguments`) for an address of another kind than http(s), data or about:blank.
    """
    address = _checked(url)
    give_up = time.monotonic() + NAVIGATION_SECONDS
    try:
        return await _go(call, address, give_up, LEAVE_SECONDS)
    except _StaysError:
        call.tab = await call.browser.unblock(call.tab, reopen=False)
        await call.to_front()
    return await _go(call, address, give_up, NAVIGATION_SECONDS)


class _StaysError(Exception):
    """The page before does not let go: its handler of beforeunload does not end."""


async def _go(call: BrowserCall, address: str, give_up: float, leave_seconds: float) -> str:
    """Open it. Raises _StaysError when the page before has not been left in `leave_seconds`."""
    async with call.watch() as watch:
        try:
            response = await _opened(call, address, give_up, leave_seconds)
        except PlaywrightTimeoutError:
            return await _shown_now(call, await _still_loading(call, watch.has_committed, address))
        except PlaywrightError as problem:
            if await call.browser.is_lost():
                raise
            await watch.settle(expects_download="Download is starting" in str(problem))
            call.notes.clear()
            return await _shown_now(call, _why(call, address, problem))
    call.navigated.append(call.tab.page.url)
    landed, title = await call.tab.headline()
    status = f" · HTTP {response.status}" if response else ""
    return f'{shown_url(landed)} "{shown(title)}"{status}'


async def _opened(call: BrowserCall, address: str, give_up: float, leave_seconds: float) -> Response | None:
    """The response of the page. A request is sent once the page before has been left: without one it blocks that."""
    page = call.tab.page
    left = asyncio.Event()

    def requested(request: Request) -> None:
        if request.is_navigation_request():
            left.set()

    page.on("request", requested)
    seconds = give_up - time.monotonic()
    going = asyncio.ensure_future(page.goto(address, wait_until="domcontentloaded", timeout=1000 * max(seconds, 1)))
    leaving = asyncio.ensure_future(left.wait())
    try:
        await asyncio.wait((going, leaving), timeout=leave_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not going.done() and not left.is_set() and not await call.browser.answers(call.tab):
            raise _StaysError
        return await going
    finally:
        page.remove_listener("request", requested)
        leaving.cancel()
        going.add_done_callback(lambda done: done.cancelled() or done.exception())  # it fails with the tab


async def _still_loading(call: BrowserCall, has_committed: bool, address: str) -> str:
    """What is said at the deadline. A server that has sent nothing yet is not waited for any longer: meanwhile
    Chrome would answer nothing about the page before.
    """
    said = f"still loading after {NAVIGATION_SECONDS} s: {shown_url(address)}"
    if has_committed:
        return said
    async with asyncio.timeout(STEP_SECONDS):
        await call.tab.session.ask("Page.stopLoading")
    return f"{said}; its server has sent nothing yet, so it was given up"


async def _shown_now(call: BrowserCall, what: str) -> str:
    landed, title = await call.tab.headline()
    return f'{what}\nthe page now shown: {shown_url(landed)} "{shown(title)}"'


def _why(call: BrowserCall, address: str, problem: PlaywrightError) -> str:
    found = _NET_ERROR.search(str(problem))
    if call.browser.happened.downloads:
        return f"{shown_url(address)} is a download, not a page"
    if found and found[0] == "net::ERR_ABORTED":
        return f"{shown_url(address)}: net::ERR_ABORTED; the server gave no page for it (204, say), or it was stopped"
    if found:
        return f"{shown_url(address)}: {found[0]}"
    return f"{shown_url(address)} did not open: {shown(str(problem).splitlines()[0], 200)}"


def _checked(url: str) -> str:
    """The address to go to. Raises ToolError(`invalid_arguments`)."""
    address = url.strip()
    if not address or len(address) > URL_MAX_CHARACTERS or re.search(r"[\x00-\x1f\x7f]", address):
        raise invalid_argument("url", f"is {quoted(url)}, which is no address")
    if address.lower() == "about:blank":
        return "about:blank"
    scheme = _SCHEME.match(address)
    if scheme is None:
        if address.startswith(("/", ".", "?", "#")):
            raise invalid_argument("url", f"is {quoted(url)}; give a whole address, with its host")
        return ("http://" if _LOOPBACK.match(address) else "https://") + address
    if scheme[1].lower() not in ("http", "https", "data"):
        raise invalid_argument("url", f"is {quoted(url)}; http, https, data: and about:blank can be opened, no others")
    if scheme[1].lower() != "data" and not re.match(r"https?:/*[^/\s]", address, re.IGNORECASE):
        raise invalid_argument("url", f"is {quoted(url)}, which names no host")
    return address
