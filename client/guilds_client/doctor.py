"""doctor: what a sandbox has of what the tools need, and the command that mends what it lacks. It changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from guilds_client.errors import SandboxError
from guilds_client.helper_client import HelperClient
from guilds_client.sandbox import Sandbox
from guilds_wire.tools import HELPERS

CHECK_SECONDS = 20
FREE_LEAST_MIB = 1_024
INSTALL_GUILDS = "pip install 'guilds[code,browser]'"
UNKNOWN_TOOL = "doctor"
"""A tool that no helper has: the refusal shows that the helper answers, and does nothing."""

GUILDS = "guilds"
"""Under this name the self-test tells the version that is in the sandbox."""

_FIND = 'for name in "$@"; do command -v "$name" && exit; done; exit 1'
_CHROME = ("sh", "-c", _FIND, "sh", "chromium", "google-chrome", "chrome")
_PROGRAMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("bash", ("bash", "--version"), "apt-get install bash"),
    ("python3", ("python3", "--version"), "apt-get install python3"),
    ("git", ("git", "--version"), "apt-get install git"),
    ("ripgrep", ("rg", "--version"), "apt-get install ripgrep"),
    ("Chrome", _CHROME, "apt-get install chromium"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what there is, or what is wrong and the command that mends it (inside)."""

    name: str
    found: str
    mend: str | None = None

    def __str__(self) -> str:
        return (
            f"ok    {self.name}: {self.found}" if self.mend is None else f"FAIL  {self.name}: {self.found}; {self.mend}"
        )


async def examine(sandbox: Sandbox) -> list[Finding]:
    """Look at everything, in a fixed order. Raises SandboxError when the sandbox can't be reached at all."""
    await sandbox.exec(["true"], timeout=CHECK_SECONDS)
    helpers = HelperClient(sandbox)
    try:
        findings = await asyncio.gather(
            *(_helper(helpers, name) for name in HELPERS),
            _credential_helper(sandbox),
            *(_program(sandbox, *check) for check in _PROGRAMS),
            _disk(sandbox),
        )
        return [*findings, *await _self_test(sandbox, {finding.name for finding in findings})]
    finally:
        await helpers.close()


async def _helper(helpers: HelperClient, name: str) -> Finding:
    try:
        envelope = await helpers.call(name, {"tool": UNKNOWN_TOOL, "args": {}}, timeout=CHECK_SECONDS)
    except SandboxError as problem:
        return Finding(name, str(problem), INSTALL_GUILDS)
    if envelope["ok"] or envelope["error"].get("code") != "unknown_tool":
        return Finding(name, "it answers otherwise than this version does", f"{INSTALL_GUILDS} --upgrade")
    return Finding(name, "answers")


async def _credential_helper(sandbox: Sandbox) -> Finding:
    program = sandbox.program("guilds-git-credential")
    return await _program(sandbox, "guilds-git-credential", (program, "store"), INSTALL_GUILDS, said="answers")


async def _program(sandbox: Sandbox, name: str, argv: Sequence[str], mend: str, said: str = "") -> Finding:
    try:
        done = await sandbox.exec(argv, timeout=CHECK_SECONDS)
    except SandboxError as problem:
        return Finding(name, str(problem), mend)
    if done.exit_code != 0:
        return Finding(name, f"not found, or it fails (exit code {done.exit_code})", mend)
    return Finding(name, said or done.stdout.decode("utf-8", "replace").split("\n")[0])


async def _self_test(sandbox: Sandbox, looked_at: set[str]) -> list[Finding]:
    """What guilds-code says from inside: `ok    guilds: VERSION`, and lines of `FAIL  name: problem; what mends it`."""
    try:
        done = await sandbox.exec([sandbox.program("guilds-code"), "--self-test"], timeout=CHECK_SECONDS)
    except SandboxError:  # that it is missing is found already
        return []
    findings = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        verdict, _, rest = line.partition("  ")
        name, _, said = rest.strip().partition(": ")
        if verdict == "ok" and name == GUILDS:
            findings.append(Finding(name, said))
        if verdict == "FAIL" and name not in looked_at:
            problem, _, mend = said.rpartition("; ")
            findings.append(Finding(name, problem, mend))
    return findings


async def _disk(sandbox: Sandbox) -> Finding:
    """What df says (POSIX format, in KiB) of the folder that is home."""
    mend = f"du -sh {sandbox.home}/* | sort -h, and remove what is not needed"
    try:
        done = await sandbox.exec(["df", "-Pk", sandbox.home], timeout=CHECK_SECONDS)
        free_mib = int(done.stdout.split(b"\n")[1].split()[3]) >> 10
    except (SandboxError, ValueError, IndexError):
        return Finding("free disk", f"{sandbox.home} can't be asked", f"mkdir -p {sandbox.home}")
    found = f"{free_mib:,} MiB in {sandbox.home}"
    return Finding("free disk", found, mend if free_mib < FREE_LEAST_MIB else None)
