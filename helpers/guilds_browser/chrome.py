"""Starting Chrome on a slot's port and profile, detached, so that it outlives the call and the broker."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time

from guilds_browser import devtools
from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHROME_VARIABLE = "GUILDS_CHROME"
NAMES = ("chromium", "google-chrome", "chrome")

START_SECONDS = 20.0
LEFT_OVER_SECONDS = 5.0
"""How long a Chrome of this profile that does not answer is taken to be still starting."""

END_SECONDS = 5.0

SAID_MAX_BYTES = 64 << 10

WINDOW = "1280,800"

QUIET = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-quic",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-dev-shm-usage",  # containers have 64 MB there, and a page that needs more crashes
    "--hide-crash-restore-bubble",
    "--metrics-recording-only",
    "--password-store=basic",
)
"""Switches that keep Chrome off the network but for its pages, and without questions of its own."""


async def ensure_chrome(home: bytes, slot: int, port: int) -> tuple[dict[str, Any], int | None]:
    """What Chrome on the port says of itself, and its process id if started now. Raises ToolError(`unavailable`)."""
    profile = os.path.join(os.fsdecode(home), ".chrome", str(slot))
    try:
        found = await devtools.version(port)
    except ConnectionError as problem:
        if not await _end_hung_chrome(profile, port):
            raise ToolError("unavailable", f"{problem}; end that program, or use another slot.") from None
        found = None
    if found:
        return found, None
    await _recover_profile(profile, port)
    found = await devtools.version(port)
    return (found, None) if found else await _start(profile, port)


async def _start(profile: str, port: int) -> tuple[dict[str, Any], int]:
    program = _program()
    try:
        os.makedirs(profile, mode=0o700, exist_ok=True)
    except OSError as problem:
        raise ToolError("unavailable", f"Chrome's profile {profile} can't be made: {problem.strerror}.") from None
    sandboxes = (False,) if os.geteuid() == 0 else (True, False)  # Chrome's sandbox refuses to run as root
    said = ""
    for sandbox in sandboxes:
        pid, said = await asyncio.to_thread(_launch, program, profile, port, sandbox)
        if pid and (found := await devtools.version(port)):
            return found, pid
    raise ToolError("unavailable", f"Chrome ({program}) can't be started: {said or 'it ended at once'}.")


def _program() -> str:
    named = os.environ.get(CHROME_VARIABLE)
    for name in (named,) if named else NAMES:
        if found := shutil.which(name):
            return found
    if named:
        raise ToolError("unavailable", f"{CHROME_VARIABLE} is {named}, which is no program; name Chrome's.")
    raise ToolError(
        "unavailable",
        f"there is no Chrome on this machine (none of {', '.join(NAMES)} on PATH). Install one, "
        f"on Debian: apt-get install chromium; or set {CHROME_VARIABLE} to its path.",
    )


def _launch(program: str, profile: str, port: int, sandbox: bool) -> tuple[int, str]:
    """Start it and wait until it listens: its process id, or 0 and why it does not."""
    reading, writing = os.pipe()
    command = [
        program,
        f"--remote-debugging-port={port}",
        f"--remote-debugging-address={devtools.HOST}",
        f"--user-data-dir={profile}",
        f"--window-size={WINDOW}",
        *QUIET,
        *(() if os.environ.get("DISPLAY") else ("--headless",)),
        *(() if sandbox else ("--no-sandbox",)),
        devtools.BLANK,
    ]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing, start_new_session=True
        )
    except OSError as problem:
        os.close(reading)
        return 0, str(problem.strerror)
    finally:
        os.close(writing)
    try:
        said = _read_until_listening(reading)
    finally:
        os.close(reading)  # Chrome ignores SIGPIPE: what it writes from now on is lost
    if said is None:
        return process.pid, ""
    process.kill()
    process.wait()
    return 0, said


def _read_until_listening(pipe: int) -> str | None:
    """None once Chrome has said that it listens, else the last line that it said."""
    import select

    said = b""
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    give_up = time.monotonic() + START_SECONDS
    while (left := give_up - time.monotonic()) > 0 and len(said) < SAID_MAX_BYTES:
        if not waiting.poll(left * 1000):
            break
        part = os.read(pipe, 65_536)
        if not part:
            break
        said += part
        if b"DevTools listening on" in said:
            return None
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL" in line or "error while loading" in line or "cannot" in line.lower()]
    return (fatal or lines or ["it said nothing"])[-1][:300]


async def _recover_profile(profile: str, port: int) -> None:
    """Remove the lock of a Chrome that is dead; wait for one that is starting. Raises ToolError(`unavailable`)."""
    give_up = time.monotonic() + LEFT_OVER_SECONDS
    while pids := _pids_of(profile):
        if await devtools.version(port):
            return
        if time.monotonic() > give_up and not await _end_hung_chrome(profile, port):
            raise ToolError(
                "unavailable",
                f"Chrome (process {pids[0]}) uses the profile {profile} without listening on port {port}; end it.",
            )
        await asyncio.sleep(0.05)
    for name in ("SingletonLock", "SingletonSocket", "SingletonCookie"):
        try:
            os.unlink(os.path.join(profile, name))
        except OSError:  # it is not there
            pass


async def _end_hung_chrome(profile: str, port: int) -> bool:
    """End the Chrome that has this profile and port and does not answer; False when there is none."""
    hung = [pid for pid in _pids_of(profile) if f"--remote-debugging-port={port}" in _words(pid)]
    for pid in hung:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    give_up = time.monotonic() + END_SECONDS
    while hung and time.monotonic() < give_up and not await _is_free(port):
        await asyncio.sleep(0.02)
    return bool(hung)


async def _is_free(port: int) -> bool:
    """Whether nothing listens on a port any more; a listener that is being torn down resets connections."""
    try:
        return await devtools.version(port) is None
    except ConnectionError:
        return False


def _pids_of(profile: str) -> list[int]:
    """The browser processes that run on a profile, their children apart."""
    switch = f"--user-data-dir={profile}"
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            words = _words(int(name))
            if switch in words and not any(word.startswith("--type=") for word in words):
                found.append(int(name))
    return found


def _words(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:  # it has ended
        return []
