"""local: processes of this machine and this user, with a folder as home. It isolates nothing."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from guilds_client.errors import ProgramMissingError, SandboxError
from guilds_client.sandboxes.process import PipeProcess, Pipes, Process, ProcessSandbox
from guilds_wire.places import HOME_VARIABLE, RUNTIME_VARIABLE

NOTICE = "local: runs commands as you, on this machine, without isolation"


class LocalSandbox(ProcessSandbox):
    """The folder at `path` as home. Programs run as this user and can reach whatever this user can."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.home = str(existing_folder(path))
        self.runtime_dir = str(_private_folder(self.home))
        self.python = sys.executable
        logging.getLogger("guilds").warning("%s (home: %s)", NOTICE, self.home)

    def program(self, name: str) -> str:
        return installed_program(name)

    async def _start(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:  # noqa: ARG002
        places = {HOME_VARIABLE: self.home, RUNTIME_VARIABLE: self.runtime_dir}
        pipes = await Pipes.open()
        stdin, stdout, stderr = pipes.theirs
        try:
            started = subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=self.home,
                env={**os.environ, **places, **env},
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            pipes.close_ours()
            raise not_started(argv, problem) from problem
        finally:
            pipes.close_theirs()
        return PipeProcess(
            pipes,
            lambda: _end_of(started),
            started.terminate,
            lambda: _kill_group(started.pid),
        )

    async def close(self) -> None:
        """End what is under way. Background commands go on; a run-time folder that holds nothing goes."""
        await super().close()
        for folder in (f"{self.runtime_dir}/requests", self.runtime_dir):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def existing_folder(path: str) -> Path:
    """The folder, as an absolute path with links followed. Raises SandboxError."""
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise SandboxError(f"{folder} is no folder; create it, or name another.")
    return folder


def installed_program(name: str) -> str:
    """Where a helper is installed: beside this interpreter, or on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which(name) or name


def not_started(argv: Sequence[str], problem: Exception) -> SandboxError:
    """The error for a program that could not be started."""
    if isinstance(problem, (FileNotFoundError, PermissionError)):
        return ProgramMissingError(f"{argv[0]} can't be run: {problem.strerror}.", argv=argv)
    return SandboxError(f"{argv[0]} can't be started: {problem}.", argv=argv)


def _private_folder(home: str) -> Path:
    """This user's run-time folder of a home, the same each time, so that background commands are found again."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base, f"guilds-{os.getuid()}", hashlib.sha256(os.fsencode(home)).hexdigest()[:16])
    for made in (folder.parent, folder):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = made.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise SandboxError(f"{made} is not a folder of this user alone (0700); remove it.")
    return folder


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # nobody is left in it
        os.killpg(leader, signal.SIGKILL)


async def _end_of(started: subprocess.Popen[bytes]) -> int:
    """Wait for a child without a thread: its pidfd becomes readable when it ends (pidfd_open(2))."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    descriptor = os.pidfd_open(started.pid)
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return started.wait()
