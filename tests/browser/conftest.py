"""Fixtures of the browser's tests: one site and one Chrome for a worker's tests, or a Chrome of a test's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.agent import AgentBrowser
from tests.browser.site import Site


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Two origins with the same pages."""
    pytest.importorskip("playwright")
    if not any(shutil.which(name) for name in ("chromium", "google-chrome", "chrome")):
        pytest.skip("no Chrome on this machine")
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="session")
def shared_browser(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentBrowser]:
    """A browser that stays through a worker's tests."""
    browser = AgentBrowser(tmp_path_factory.mktemp("agent"), site)
    yield browser
    browser.end()


@pytest.fixture
def browser(shared_browser: AgentBrowser) -> AgentBrowser:
    """The shared browser with one empty tab."""
    shared_browser.go("about:blank")
    _, *others = [target["id"] for target in shared_browser.devtools("list") if target["type"] == "page"]
    for target in others:
        shared_browser.end_tab(target)
    shared_browser.go("about:blank")
    shared_browser.site.seen.clear()
    return shared_browser


@pytest.fixture
def own_browser(site: Site, tmp_path: Path) -> Iterator[AgentBrowser]:
    """A browser that nothing has been done with, and whose processes may be ended."""
    browser = AgentBrowser(tmp_path, site)
    yield browser
    browser.end()
