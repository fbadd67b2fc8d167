"""Fixtures that the tests of several parts share."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from guilds_wire.processes import read
from tests.agent_home import AgentHome
from tests.image.outside import OUTSIDE

# Examples take as long as the machine lets them; a failing one is printed in a form that can be run again.
settings.register_profile("guilds", deadline=None, print_blob=True)
settings.load_profile("guilds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With stand-ins for the helpers, tests that would test the stand-ins are skipped, each with its reason."""
    if "GUILDS_BIN" in os.environ:
        reasons = {name: f"would {reason}" for reason, names in OUTSIDE.items() for name in names}
        for item in items:
            name = getattr(item, "originalname", item.name)
            if name in reasons:
                item.add_marker(pytest.mark.skip(reason=reasons[name]))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AgentHome]:
    """An agent's home. Whatever still runs in it after the test is ended, and the test fails for it."""
    home = AgentHome(tmp_path)
    yield home
    left = _until_gone(home)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left running: {left}"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB in `home/disk`."""
    disk = tmp_path / "home" / "disk"
    disk.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "guilds-test", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def _until_gone(home: AgentHome) -> list[int]:
    """The processes of this home that do not end by themselves within a moment."""
    give_up = time.monotonic() + 3
    while (left := _processes_of(home)) and time.monotonic() < give_up:
        time.sleep(0.05)
    return left


def _processes_of(home: AgentHome) -> list[int]:
    marker = f"GUILDS_HOME={home.path}".encode()
    mine = f"PWD={home.path}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and read(int(name)):
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                if "GUILDS_BIN" in os.environ and Path(f"/proc/{name}/cmdline").read_bytes().endswith(b"\0--serve\0"):
                    continue  # a session that the stand-ins keep
            except OSError:
                continue
            if marker in environment or any(word.startswith(mine) for word in environment):
                found.append(int(name))
    return found
