"""Fixtures of the git tests: a server, and the token file of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_home import AgentHome
from tests.git.git_server import GitServer

PutTokens = Callable[..., Path]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    """A git server without repositories."""
    (tmp_path / "served").mkdir()
    server = GitServer(tmp_path / "served")
    yield server
    server.close()


@pytest.fixture
def put_tokens(home: AgentHome) -> PutTokens:
    """Replaces the token file at once, as an orchestrator does: `put_tokens({url: token}, expires_at=…)`."""

    def put(tokens: dict[str, str], **more: Any) -> Path:
        entries = [{"url": url, "token": token, "username": "x-access-token", **more} for url, token in tokens.items()]
        file = home.runtime / "git-tokens.json"
        fresh = home.runtime / "git-tokens.json.fresh"
        fresh.write_text(json.dumps({"version": 1, "tokens": entries}))
        fresh.chmod(0o600)
        fresh.rename(file)
        return file

    return put
