"""What decides on the files of a repository, and on what their imports mean, is noticed when it changes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.graph.conftest import Repository

CALLER = "from a import f\n\n\ndef nn():\n    f()\n"


@pytest.fixture
def git_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home, in which git looks for its settings."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def ignoring(git_home: Path, repository: Repository) -> Repository:  # noqa: ARG001
    return repository.put({"a.py": "def f():\n    pass\n", "sub/n.py": CALLER})


def test_an_edit_of_the_file_that_core_excludes_file_names_is_noticed(ignoring: Repository, tmp_path: Path) -> None:
    ignored = tmp_path / "ignored"
    ignored.write_text("sub\n")
    subprocess.run(["git", "-C", str(ignoring.path), "config", "core.excludesFile", str(ignored)], check=True)
    assert ignoring.calls() == set()

    ignored.write_text("")

    assert ignoring.calls() == {("n.nn", "a.f")}


def test_a_settings_file_that_another_includes_is_noticed(ignoring: Repository, git_home: Path) -> None:
    (git_home / "ignored").write_text("sub\n")
    (git_home / ".gitconfig").write_text("[include]\n\tpath = more\n")
    (git_home / "more").write_text("[core]\n\texcludesFile = ~/ignored\n")
    assert ignoring.calls() == set()

    (git_home / "more").write_text("[core]\n\tpager = cat\n")

    assert ignoring.calls() == {("n.nn", "a.f")}


@pytest.mark.parametrize("folder", ["", "xdg"])
def test_an_edit_of_the_users_ignore_file_is_noticed(
    ignoring: Repository, git_home: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    if folder:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(git_home / folder))
    ignored = git_home / (folder or ".config") / "git/ignore"
    assert ignoring.calls() == {("n.nn", "a.f")}

    ignored.parent.mkdir(parents=True)
    ignored.write_text("sub\n")

    assert ignoring.calls() == set()


@pytest.mark.parametrize("worktree", [False, True])
def test_an_edit_of_the_repositorys_own_excludes_is_noticed(ignoring: Repository, worktree: bool) -> None:
    git = ["git", "-C", str(ignoring.path), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    seen = ignoring
    if worktree:
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
        subprocess.run([*git, "worktree", "add", "-q", str(ignoring.home / "repos/two")], check=True)
        seen = Repository.__new__(Repository)
        seen.home, seen.path = ignoring.home, ignoring.home / "repos/two"
        seen.put({"a.py": "def f():\n    pass\n", "sub/n.py": CALLER})
    assert seen.calls() == {("n.nn", "a.f")}

    (ignoring.path / ".git/info/exclude").write_text("sub\n")

    assert seen.calls() == set()


def test_the_users_ignore_file_says_nothing_outside_git(graph_home: Path, git_home: Path) -> None:
    plain = Repository(graph_home, "plain", git=False).put({"a.py": "def f():\n    pass\n", "sub/n.py": CALLER})
    (git_home / ".config/git").mkdir(parents=True)
    (git_home / ".config/git/ignore").write_text("sub\n")

    assert plain.calls() == {("n.nn", "a.f")}


ALIASED = {
    "a/f.ts": "export function f() {}\n",
    "b/f.ts": "export function f() {}\n",
    "m.ts": "import { f } from '@x/f'\nf()\n",
}
TO_A, TO_B = (f'{{"compilerOptions": {{"paths": {{"@x/*": ["./{folder}/*"]}}}}}}' for folder in "ab")


@pytest.mark.parametrize(
    ("files", "edited", "up"),
    [
        ({"tsconfig.json": '{"extends": "./base.json"}'}, "base.json", ""),
        ({"tsconfig.json": '{"extends": "./cfg/tsconfig.base"}'}, "cfg/tsconfig.base.json", "."),
        ({"tsconfig.json": '{"extends": "./c1.json"}', "c1.json": '{"extends": "./c2.json"}'}, "c2.json", ""),
        ({"tsconfig.json": '{"extends": ["./none.json", "./base.json"]}'}, "base.json", ""),
        ({"jsconfig.json": '{"extends": "./base.json"}'}, "base.json", ""),
        ({"tsconfig.json": '{"references": [{"path": "./tsconfig.app.json"}]}'}, "tsconfig.app.json", ""),
        ({"tsconfig.json": '{"extends": "./made/base.json"}', ".gitignore": "made\n"}, "made/base.json", "."),
        (
            {"tsconfig.json": '{"extends": "@r/cfg/base.json"}', "pkg/package.json": '{"name": "@r/cfg"}'},
            "pkg/base.json",
            ".",
        ),
    ],
)
def test_an_edit_of_what_a_typescript_configuration_goes_on_in_counts(
    repository: Repository, files: dict[str, str], edited: str, up: str
) -> None:
    repository.put({**ALIASED, **files, edited: _from(up, TO_A)})
    assert _called(repository) == {"a/f.ts"}

    repository.put({edited: _from(up, TO_B)})
    assert _called(repository) == {"b/f.ts"}
    (repository.path / edited).unlink()
    assert _called(repository) == set()
    repository.put({edited: _from(up, TO_A)})

    assert _called(repository) == {"a/f.ts"}


def test_of_several_extended_configurations_the_last_counts(repository: Repository) -> None:
    repository.put({**ALIASED, "tsconfig.json": '{"extends": ["./a.json", "./b.json"]}'})

    repository.put({"a.json": TO_A, "b.json": TO_B})

    assert _called(repository) == {"b/f.ts"}


def test_configurations_that_extend_each_other_are_read_once(repository: Repository) -> None:
    many = json.dumps({"extends": ["./tsconfig.json", "./c.json"] * 200})
    repository.put({**ALIASED, "tsconfig.json": many, "c.json": many})

    assert _called(repository) == set()


def test_a_configuration_is_not_waited_for(repository: Repository) -> None:
    repository.put({**ALIASED, "tsconfig.json": '{"extends": "./pipe.json"}'})
    os.mkfifo(repository.path / "pipe.json")

    assert _called(repository) == set()


@pytest.mark.parametrize(
    ("configuration", "module", "target"),
    [
        ({"tsconfig.json": '{"compilerOptions": {"paths": {"@x": ["./src/main.ts"]}}}'}, "@x", "src/main.ts"),
        ({"p/package.json": '{"name": "p", "main": "lib/e.js"}'}, "p", "p/lib/e.js"),
        ({"p/package.json": '{"name": "p", "exports": {"./q": "./dist/r.js"}}'}, "p/q", "p/src/r.ts"),
    ],
)
def test_the_file_that_an_alias_or_a_package_names_counts_once_it_comes(
    repository: Repository, configuration: dict[str, str], module: str, target: str
) -> None:
    repository.put({**configuration, "m.ts": f"import {{ f }} from '{module}'\nf()\n"})
    assert _called(repository) == set()

    repository.put({target: "export function f() {}\n"})

    assert _called(repository) == {target}


def _from(up: str, configuration: str) -> str:
    """A configuration whose paths begin a folder higher when `up` is a dot."""
    return configuration.replace("./", f"{up}./")


def _called(repository: Repository) -> set[str]:
    """The files that calls lead into."""
    return {edge[3] for edge in repository.edges() if edge[2] == "calls" and edge[5] == "resolved"}
