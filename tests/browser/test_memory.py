"""Neither the broker nor the page grows with calls.

The number of calls comes from GUILDS_TEST_MEMORY_CALLS (a long run has 1,000).
"""

from __future__ import annotations

import asyncio
import os

from guilds_browser.devtools import Session
from tests.browser.agent import AgentBrowser, ref, resident_bytes

CALLS = int(os.environ.get("GUILDS_TEST_MEMORY_CALLS", "60"))
BROKER_GROWTH_MAX_BYTES = 30 << 20
HEAP_GROWTH_MAX_BYTES = 2 << 20
WARM_UP_ROUNDS = 3


def heap_bytes(browser: AgentBrowser) -> int:
    """What the page's JavaScript holds after a collection."""

    async def ask() -> int:
        (target,) = [target["id"] for target in browser.devtools("list") if target["type"] == "page"]
        async with Session(browser.port, target) as session:
            await session.ask("HeapProfiler.collectGarbage")
            return int((await session.ask("Runtime.getHeapUsage"))["usedSize"])

    return asyncio.run(ask())


def round_of_calls(browser: AgentBrowser, go: str, search: str) -> None:
    """Five calls of different kinds."""
    browser.snapshot()
    browser.click(go)
    browser.fill(search, "words")
    browser.run("return document.title")
    browser.click("text=no such thing")


def test_neither_the_broker_nor_the_page_grows_with_calls(own_browser: AgentBrowser) -> None:
    tree = own_browser.see("/app.html")
    go, search = ref(tree, "Go"), ref(tree, "Search")
    for _ in range(WARM_UP_ROUNDS):
        round_of_calls(own_browser, go, search)
    broker = own_browser.broker()
    memory, heap = resident_bytes(broker), heap_bytes(own_browser)

    for _ in range(CALLS // 5):
        round_of_calls(own_browser, go, search)

    assert own_browser.broker() == broker
    assert resident_bytes(broker) - memory < BROKER_GROWTH_MAX_BYTES
    assert heap_bytes(own_browser) - heap < HEAP_GROWTH_MAX_BYTES
