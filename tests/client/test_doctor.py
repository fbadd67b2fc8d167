"""`guilds doctor` says what a sandbox lacks, and the command that mends it."""

from __future__ import annotations

from pathlib import Path

from guilds_client import open_sandbox
from guilds_client.doctor import examine
from tests.client.asynchronous import asynchronous


@asynchronous
async def test_what_is_there_is_named(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox:
        found = {finding.name: finding for finding in await examine(sandbox)}

    assert found["guilds-code"].found == "answers"
    assert found["git"].found.startswith("git version")
    assert found["free disk"].found.endswith(f"MiB in {folder.resolve()}")
    assert found["git"].mend is None


@asynchronous
async def test_the_version_in_the_sandbox_is_told(folder: Path) -> None:
    helper = folder / "helper"
    helper.write_text("#!/bin/sh\necho 'ok    guilds: 7.8.9'\n")
    helper.chmod(0o755)
    async with open_sandbox(f"local:{folder}") as sandbox:
        sandbox.program = lambda name: str(helper)  # type: ignore[method-assign]  # noqa: ARG005
        found = [str(finding) for finding in await examine(sandbox)]

    assert "ok    guilds: 7.8.9" in found


@asynchronous
async def test_what_is_missing_is_named_with_what_mends_it(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox:
        sandbox.program = lambda name: f"/nowhere/{name}"  # type: ignore[method-assign]
        found = {finding.name: finding for finding in await examine(sandbox)}

    assert "/nowhere/guilds-code can't be run" in found["guilds-code"].found
    assert str(found["guilds-code"]).endswith("; pip install 'guilds[code,browser]'")
