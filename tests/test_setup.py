"""What an installation puts where, and what set-up does when it was interrupted or can't go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAUNCHER = (ROOT / "helpers/bin/guilds-code").read_bytes()
COMMANDS = ["guilds-code", "guilds-browser", "guilds-script-run", "guilds-git-credential"]
PACKAGES = [
    "guilds_wire",
    "guilds_code",
    "guilds_browser",
    "guilds_script_run",
    "guilds_git_credential",
    "guilds_client",
]


def run_setup(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "scripts/setup"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class FakePython:
    """An interpreter whose `venv` is a copy of itself beside the launchers, and which logs what it is asked for.

    It stands in for the real one, which would fetch packages.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "python"
        self.log = folder / "log"
        write_program(
            self.path,
            f'echo "$*" >>{self.log}',
            'case "$*" in',
            "  *version_info*) echo 3.12.0 imitated ;;",
            '  *" -m venv "*) mkdir -p .venv/bin && cp "$PYTHON" helpers/bin/* .venv/bin ;;',
            '  *" install "*) exit "$INSTALL_EXIT" ;;',
            "esac",
        )

    def working(self) -> dict[str, str]:
        return {"PYTHON": str(self.path), "INSTALL_EXIT": "0"}

    def failing(self) -> dict[str, str]:
        """The environment in which installing packages breaks off."""
        return {"PYTHON": str(self.path), "INSTALL_EXIT": "1"}

    def environments_made(self) -> int:
        return self.log.read_text().count(" -m venv ")


def write_program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what set-up reads, with no environment in it and no Debian package asked for."""
    copy = tmp_path / "checkout"
    for part in ("scripts", "requirements", "helpers/bin"):
        shutil.copytree(ROOT / part, copy / part)
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "scripts/debian-packages.txt").write_text("")
    return copy


@pytest.mark.parametrize("command", COMMANDS)
def test_the_installed_command_is_our_launcher_and_can_be_run(command: str) -> None:
    installed = Path(sysconfig.get_path("scripts")) / command

    assert installed.read_bytes() == LAUNCHER
    assert os.access(installed, os.X_OK)


def test_an_editable_install_names_the_folders_that_the_launcher_reads() -> None:
    names = Path(sysconfig.get_path("purelib")) / "_guilds.pth"

    assert sorted(names.read_text().splitlines()) == [str(ROOT / "client"), str(ROOT / "helpers")]


def test_a_wheel_holds_every_package_and_four_whole_launchers(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )

    [path] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        scripts = {name.rpartition("/")[2]: wheel.read(name) for name in wheel.namelist() if ".data/scripts/" in name}
        packages = {name.partition("/")[0] for name in wheel.namelist() if name.endswith(".py")}
    assert scripts == dict.fromkeys(COMMANDS, LAUNCHER)
    assert packages == set(PACKAGES)


def test_set_up_refuses_an_old_python_and_says_how_to_name_another(checkout: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "old", '[ "$1" != --version ] || echo Python 3.9.2', "exit 1")

    done = run_setup(checkout, PYTHON=str(tmp_path / "old"))

    assert done.returncode == 1
    assert "'" + str(tmp_path / "old") + "' is: Python 3.9.2. Name another: make setup PYTHON=" in done.stderr
    assert not (checkout / ".venv").exists()


def test_set_up_names_the_packages_that_an_ordinary_user_must_have_installed(checkout: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "id", "echo 1000")
    (checkout / "scripts/debian-packages.txt").write_text("# a comment\nsh-package sh\nodd-package no-such-command\n")

    done = run_setup(checkout, PYTHON=sys.executable, PATH=f"{tmp_path}:{os.environ['PATH']}")

    assert done.returncode == 1
    assert done.stderr == "setup: missing packages; as root: apt-get install odd-package\n"


def test_an_interrupted_set_up_is_made_anew_and_a_finished_one_left_alone(checkout: Path, tmp_path: Path) -> None:
    python = FakePython(tmp_path)

    interrupted = run_setup(checkout, **python.failing())
    repeated = run_setup(checkout, **python.working())
    third = run_setup(checkout, **python.failing())

    assert [interrupted.returncode, repeated.returncode, third.returncode] == [1, 0, 0]
    assert python.environments_made() == 2
    assert third.stdout == third.stderr == ""


@pytest.mark.parametrize("source", ["pyproject.toml", "requirements/dev.txt", "helpers/bin/guilds-browser"])
def test_an_environment_is_made_anew_when_what_it_was_made_from_changes(
    checkout: Path, tmp_path: Path, source: str
) -> None:
    python = FakePython(tmp_path)
    run_setup(checkout, **python.working())
    with (checkout / source).open("a") as file:
        file.write("# changed")

    done = run_setup(checkout, **python.working())

    assert done.returncode == 0
    assert python.environments_made() == 2


def test_an_edit_taken_back_in_the_middle_of_its_set_up_does_not_leave_half_of_it(
    checkout: Path, tmp_path: Path
) -> None:
    python = FakePython(tmp_path)
    lock = checkout / "requirements/dev.txt"
    before = lock.read_text()
    run_setup(checkout, **python.working())
    lock.write_text(before + "# changed")
    run_setup(checkout, **python.failing())
    lock.write_text(before)

    done = run_setup(checkout, **python.working())

    assert done.returncode == 0
    assert python.environments_made() == 3


@pytest.mark.parametrize("part", ["python", "guilds-code"])
def test_an_environment_that_lost_its_interpreter_or_a_command_is_made_anew(
    checkout: Path, tmp_path: Path, part: str
) -> None:
    python = FakePython(tmp_path)
    run_setup(checkout, **python.working())
    (checkout / ".venv/bin" / part).unlink()

    done = run_setup(checkout, **python.working())

    assert done.returncode == 0
    assert python.environments_made() == 2
