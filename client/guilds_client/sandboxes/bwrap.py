"""bwrap: a folder as home in a sandbox of bubblewrap's, without privileges and without an engine.

Inside are the folder, the system read-only, and a /tmp, a run-time folder and processes of its own; no network
unless it is asked for. It limits neither memory nor processes: a container does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import guilds_wire
from guilds_client.errors import SandboxUnavailableError
from guilds_client.sandboxes.local import existing_folder, installed_program, not_started
from guilds_client.sandboxes.process import PipeProcess, Pipes, Process, ProcessSandbox
from guilds_wire.places import DEFAULT_HOME, DEFAULT_RUNTIME

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc")
RESIDENT = Path(__file__).with_name("resident.py")
START_SECONDS = 20
ENDED = "The bwrap: sandbox has ended (a command in it may have killed it); open a new one."
MESSAGE_MAX_BYTES = 65_536
BUSY_SECONDS = 0.005
INSTALL = "install it: apt-get install bubblewrap"
WITHOUT = "local:PATH works without it, and isolates nothing: commands run as you"


class BwrapSandbox(ProcessSandbox):
    """The folder at `path` as /home/agent. The sandbox starts with the first process, and ends with `close`."""

    def __init__(self, path: str, *, network: bool = False) -> None:
        super().__init__()
        self._folder = existing_folder(path)
        self._network = network
        self._opening: asyncio.Task[_Inside] | None = None
        self.python = sys.executable

    def program(self, name: str) -> str:
        return installed_program(name)

    async def _start(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:  # noqa: ARG002
        if self._opening is None:
            self._opening = asyncio.create_task(_Inside.open(_bubblewrap(), _options(self._folder, self._network)))
        inside = await asyncio.shield(self._opening)
        pipes = await Pipes.open()
        try:
            number = await inside.start(argv, env, pipes.theirs)
        except BaseException:
            pipes.close_ours()
            raise
        finally:
            pipes.close_theirs()
        return PipeProcess(
            pipes,
            lambda: inside.ended(number),
            lambda: inside.signal(number, signal.SIGTERM),
            lambda: inside.signal(number, signal.SIGKILL),
        )

    async def close(self) -> None:
        await super().close()
        if self._opening is not None:
            opened = await asyncio.gather(self._opening, return_exceptions=True)
            await asyncio.gather(*(inside.close() for inside in opened if isinstance(inside, _Inside)))


class _Inside:
    """The running sandbox, spoken to through its resident (see resident.py)."""

    def __init__(self, bwrap: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._bwrap = bwrap
        self._channel = channel
        self._numbers = itertools.count(1)
        self._starting: dict[int, asyncio.Future[None]] = {}
        self._running: dict[int, asyncio.Future[int]] = {}
        self._is_over = False
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(channel, self._receive)

    @classmethod
    async def open(cls, program: str, options: Sequence[str]) -> _Inside:
        """Start bubblewrap, and wait until it is ready. Raises SandboxUnavailableError with the reason."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        # The options go by a file: the command line of bubblewrap's first process can be read inside.
        with theirs, tempfile.TemporaryFile() as errors, _in_memory("\0".join(options)) as listed:
            resident = [sys.executable, "-I", "-S", str(RESIDENT), str(theirs.fileno())]
            try:
                bwrap = subprocess.Popen(
                    [program, "--args", str(listed.fileno()), "--", *resident],
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    pass_fds=[theirs.fileno(), listed.fileno()],
                    env={},  # --clearenv would do for the resident, but /proc/1/environ is bubblewrap's own
                    start_new_session=True,
                )
            except OSError as problem:
                ours.close()
                raise not_started([program], problem) from problem
            theirs.close()
            inside = cls(bwrap, ours)
            try:
                await asyncio.wait_for(inside._ready, START_SECONDS)
            except (SandboxUnavailableError, TimeoutError):
                await inside.close()
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace").strip() or f"nothing came of it in {START_SECONDS} s"
                raise SandboxUnavailableError(
                    f"bubblewrap can't make a sandbox here ({said}). It needs user namespaces: a kernel setting, "
                    f"AppArmor or a container may forbid them. {WITHOUT}."
                ) from None
        return inside

    async def start(self, argv: Sequence[str], env: Mapping[str, str], descriptors: Sequence[int]) -> int:
        """Start a program inside, and give the number by which it is known. Raises SandboxError."""
        if self._is_over:
            raise SandboxUnavailableError(ENDED, argv=argv)
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        started = self._starting[number] = loop.create_future()
        self._running[number] = loop.create_future()
        message = json.dumps({"id": number, "argv": list(argv), "env": dict(env)}).encode()
        try:
            await self._send(message, descriptors)
            await started
        except OSError as problem:
            self._running.pop(number, None)
            raise not_started(argv, problem) from problem
        except BaseException:
            self.signal(number, signal.SIGKILL)
            raise
        finally:
            self._starting.pop(number, None)
        return number

    async def ended(self, number: int) -> int:
        """Wait for a program's end: its exit code, -n after signal n. Raises SandboxUnavailableError."""
        try:
            return await self._running[number]
        finally:
            self._running.pop(number, None)

    def signal(self, number: int, which: int) -> None:
        """Send a program a signal; SIGKILL goes to its whole group. Nothing happens when it has ended."""
        try:
            self._channel.send(json.dumps({"id": number, "signal": which}).encode())
        except OSError:  # the sandbox is over, or does not answer: `close` ends it
            pass

    async def close(self) -> None:
        """End the sandbox with everything in it."""
        self._over()
        self._bwrap.kill()
        await asyncio.to_thread(self._bwrap.wait)

    async def _send(self, message: bytes, descriptors: Sequence[int]) -> None:
        while True:
            try:
                socket.send_fds(self._channel, [message], descriptors)
                return
            except BlockingIOError:
                await asyncio.sleep(BUSY_SECONDS)

    def _receive(self) -> None:
        try:
            data = self._channel.recv(MESSAGE_MAX_BYTES)
            message = json.loads(data) if data else None
        except BlockingIOError:
            return
        except (OSError, ValueError):
            message = None
        if not isinstance(message, dict):
            self._over()
            return
        number = message.get("id")
        if number is None:
            _settle(self._ready, None)
        elif "exit" in message:
            _settle(self._running.get(number), message["exit"])
        elif "errno" in message:
            _settle(self._starting.get(number), OSError(message["errno"], os.strerror(message["errno"])))
        else:
            _settle(self._starting.get(number), None)

    def _over(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        asyncio.get_running_loop().remove_reader(self._channel)
        self._channel.close()
        everyone: list[asyncio.Future[Any]] = [self._ready, *self._starting.values(), *self._running.values()]
        for waiting in everyone:
            _settle(waiting, SandboxUnavailableError(ENDED))
            if waiting.done() and not waiting.cancelled():
                waiting.exception()  # whoever still waits gets it; nobody has to


def _settle(future: asyncio.Future[Any] | None, outcome: object) -> None:
    if future is None or future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _in_memory(text: str) -> BinaryIO:
    """A file of this text that no folder holds, at its beginning."""
    file = os.fdopen(os.memfd_create("guilds"), "w+b")
    file.write(text.encode())
    file.seek(0)
    return file


def _bubblewrap() -> str:
    """Where bubblewrap is. Raises SandboxUnavailableError when it is not installed."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailableError(f"bubblewrap is not installed; {INSTALL}. {WITHOUT}.")
    return bwrap


def _options(folder: Path, network: bool) -> list[str]:
    """bubblewrap's options."""
    return [
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL"),
        *(("--share-net",) if network else ()),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"),
        *("--perms", "0700", "--tmpfs", DEFAULT_RUNTIME),
        *_system(),
        *_our_own(),
        *_resolver(network),
        *("--bind", str(folder), DEFAULT_HOME, "--chdir", DEFAULT_HOME, "--remount-ro", "/"),
        *(
            "--clearenv",
            "--setenv",
            "HOME",
            DEFAULT_HOME,
            "--setenv",
            "PATH",
            SEARCH_PATH,
            "--setenv",
            "LANG",
            "C.UTF-8",
        ),
    ]


def _system() -> Iterator[str]:
    """The system's folders read-only; of /etc not what is for root's eyes alone, should the caller be root."""
    for path in SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    if os.geteuid() == 0:
        yield from _private_files("/etc")


def _private_files(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            continue
        if stat.S_ISDIR(mode):
            if mode & 0o005 == 0o005:
                yield from _private_files(entry.path)
            else:
                yield from ("--tmpfs", entry.path, "--remount-ro", entry.path)
        elif not mode & 0o004:
            yield from ("--ro-bind", "/dev/null", entry.path)


def _our_own() -> Iterator[str]:
    """The interpreter and the helpers read-only, at the paths that they have here."""
    packages = [str(Path(file).parents[level]) for file, level in ((guilds_wire.__file__, 1), (__file__, 2))]
    for path in dict.fromkeys([sys.base_prefix, sys.prefix, *packages]):
        if not path.startswith("/usr/") and path != "/usr":
            yield from ("--ro-bind", path, path)


def _resolver(network: bool) -> Iterator[str]:
    """The file that /etc/resolv.conf links to, where that lies in a folder which is not shown."""
    target = os.path.realpath("/etc/resolv.conf")
    if network and not target.startswith("/etc/") and os.path.isfile(target):
        yield from ("--ro-bind", target, target)
