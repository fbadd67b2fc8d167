"""What the client's tests share: a home for a local: sandbox, whose run-time folder lies with the test's files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _run_time_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is an agent's home."""
    home = tmp_path / "home"
    home.mkdir()
    return home
