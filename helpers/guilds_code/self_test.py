"""`guilds-code --self-test`: whether what a sandbox needs is there, for a health check and for `guilds doctor`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from guilds_code.engines.ripgrep import PROGRAMS
from guilds_wire.errors import ToolError
from guilds_wire.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM_SECONDS = 10
MODULES = ("click", "ast_grep_py", "tree_sitter")
BROWSERS = ("chromium", "google-chrome", "chrome")


class _MissingError(Exception):
    """Something is not there; the message says what mends it."""


def self_test() -> int:
    """Print a line for each check, `ok`, `none` (not needed) or `FAIL` with what mends it; 1 when one failed."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("guilds", lambda: _version("guilds")),
        ("python", lambda: sys.version.split()[0]),
        ("bash", lambda: _program(("bash", "--version"), "apt-get install bash")),
        ("git", lambda: _program(("git", "--version"), "apt-get install git")),
        ("ripgrep", _ripgrep),
        *((name, lambda name=name: _module(name)) for name in MODULES),
        ("home", lambda: _writable(Places.from_environment().home)),
        ("run-time folder", lambda: _writable(Places.from_environment().runtime_folder())),
    ]
    failed = False
    for name, check in checks:
        try:
            print(f"ok    {name}: {check()}")
        except (_MissingError, ToolError) as problem:
            failed = True
            print(f"FAIL  {name}: {problem}")
    print(_browser())
    return int(failed)


def _program(words: tuple[str, ...], mend: str) -> str:
    """The first line of what a program prints of its version."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as problem:
        raise _MissingError(f"{problem}; {mend}") from problem
    return done.stdout.split("\n")[0]


def _ripgrep() -> str:
    for program in PROGRAMS:
        if os.access(program, os.X_OK):
            path = os.fsdecode(program)
            return f"{_program((path, '--version'), 'apt-get install ripgrep')}, {path}"
    raise _MissingError("not found; apt-get install ripgrep")


def _module(name: str) -> str:
    try:
        __import__(name)
        return _version(name.replace("_", "-"))
    except ImportError as problem:
        raise _MissingError(f"{problem}; pip install 'guilds[code]'") from problem


def _version(distribution: str) -> str:
    import importlib.metadata

    return importlib.metadata.version(distribution)


def _writable(folder: bytes) -> str:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=b".guilds-self-test-"):
            return f"{os.fsdecode(folder)} is writable"
    except OSError as problem:
        raise _MissingError(f"{os.fsdecode(folder)}: {problem.strerror}; give it to this user") from problem


def _browser() -> str:
    """Not every sandbox has a browser; then the browser tools say what to install."""
    import shutil

    for name in (os.environ.get("GUILDS_CHROME", ""), *BROWSERS):
        if name and (path := shutil.which(name)):
            return f"ok    browser: {path}"
    return "none  browser: the browser tools need one; apt-get install chromium"
