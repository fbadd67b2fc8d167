"""The launcher starts the package of its own name, whatever the caller's environment and folder hold.

A copy of it stands in a made-up environment beside a package that reports how it was started.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LAUNCHERS = Path(__file__).parent.parent / "helpers/bin"
COMMANDS = ["guilds-code", "guilds-browser", "guilds-script-run", "guilds-git-credential"]

REPORTING_MAIN = """
import sys

def main():
    import json
    import os
    report = {
        "package": __name__,
        "path": sys.path,
        "json": json.__file__,
        "arguments": [os.fsencode(argument).hex() for argument in sys.argv[1:]],
        "site": "site" in sys.modules,
        "utf8_mode": sys.flags.utf8_mode,
    }
    print(json.dumps(report))
    return 7
"""


class Environment:
    """A folder laid out as a virtual environment is, with all four commands and their reporting packages."""

    def __init__(self, top: Path) -> None:
        self.bin = top / "environment/bin"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.packages = top / "environment/lib" / version / "site-packages"
        self.bin.mkdir(parents=True)
        self.packages.mkdir(parents=True)
        (self.bin / "python3").symlink_to(os.path.realpath(sys.executable))
        for command in COMMANDS:
            shutil.copy(LAUNCHERS / command, self.bin / command)
            make_package(self.packages, command.replace("-", "_"))


def make_package(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__main__.py").write_text(REPORTING_MAIN)


def run(*command: str | bytes | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=cwd, env=os.environ | variables, capture_output=True, timeout=30, check=False)


def report_of(done: subprocess.CompletedProcess[bytes]) -> Any:
    """What the package said of its start; 7 is the exit code it asks for."""
    assert done.returncode == 7, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of modules which end the program when anything imports them."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for module in ("json", "os", "site", "sitecustomize", "usercustomize", "encodings", "guilds_code"):
        (folder / f"{module}.py").write_text("raise SystemExit('imported from a hostile folder')")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_starts_the_package_of_its_own_name(environment: Environment, command: str) -> None:
    report = report_of(run(environment.bin / command))

    assert report["package"] == command.replace("-", "_") + ".__main__"


def test_what_main_returns_is_the_exit_code(environment: Environment) -> None:
    assert run(environment.bin / "guilds-code").returncode == 7


def test_a_command_is_found_on_path(environment: Environment) -> None:
    report = report_of(run("guilds-code", PATH=f"{environment.bin}:{os.environ['PATH']}"))

    assert report["package"] == "guilds_code.__main__"


def test_a_relative_path_to_a_command_leaves_only_absolute_import_folders(environment: Environment) -> None:
    report = report_of(run("./guilds-code", cwd=environment.bin))

    assert [folder for folder in report["path"] if not os.path.isabs(folder)] == []


def test_a_symbolic_link_elsewhere_starts_the_interpreter_beside_the_command(
    environment: Environment, tmp_path: Path
) -> None:
    first, second = tmp_path / "guilds-code", tmp_path / "elsewhere"
    first.symlink_to(environment.bin / "guilds-code")
    second.symlink_to(first.name)

    report = report_of(run(second))

    assert report["package"] == "guilds_code.__main__"


def test_a_folder_name_with_spaces_and_quotes_is_no_obstacle(tmp_path: Path) -> None:
    odd = tmp_path / 'it\'s a "folder" $HOME'
    odd.mkdir()
    environment = Environment(odd)

    report = report_of(run(environment.bin / "guilds-code"))

    assert report["package"] == "guilds_code.__main__"


def test_python_variables_of_the_caller_change_nothing(environment: Environment, hostile: Path) -> None:
    done = run(
        environment.bin / "guilds-code",
        PYTHONPATH=str(hostile),
        PYTHONSTARTUP=str(hostile / "json.py"),
        PYTHONHOME=str(hostile),
        PYTHONUSERBASE=str(hostile),
        PYTHONINSPECT="1",
    )

    assert str(hostile) not in done.stdout.decode()
    assert report_of(done)["site"] is False


def test_text_is_utf8_whatever_the_locale(environment: Environment) -> None:
    report = report_of(run(environment.bin / "guilds-code", LC_ALL="C.UTF-8", PYTHONUTF8="0"))

    assert report["utf8_mode"] == 1


def test_modules_in_the_working_directory_are_not_imported(environment: Environment, hostile: Path) -> None:
    report = report_of(run(environment.bin / "guilds-code", cwd=hostile))

    assert str(hostile) not in [*report["path"], os.path.dirname(report["json"])]


def test_modules_beside_the_command_are_not_imported(environment: Environment, hostile: Path) -> None:
    shutil.copytree(hostile, environment.bin, dirs_exist_ok=True)

    report = report_of(run(environment.bin / "guilds-code"))

    assert str(environment.bin) not in report["path"]


def test_arguments_arrive_byte_for_byte(environment: Environment) -> None:
    arguments = [
        *(b"", b"two words", b'it\'s "quoted" $HOME `id` \\ *', b"line\nbreak\ttab", b"\xff\xfe not UTF-8"),
        *("ümläut".encode(), b"-c", b"--", b"-h"),
    ]

    report = report_of(run(environment.bin / "guilds-code", *arguments, LC_ALL="C"))

    assert [bytes.fromhex(argument) for argument in report["arguments"]] == arguments


def test_an_editable_install_imports_from_the_checkout(environment: Environment, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    shutil.move(environment.packages / "guilds_code", checkout)
    (environment.packages / "_guilds.pth").write_text(f"{checkout}\n{tmp_path}/client")

    report = report_of(run(environment.bin / "guilds-code"))

    assert report["path"][-3:-1] == [str(checkout), f"{tmp_path}/client"]
