"""What a command finds in its environment for git: the configuration, and GH_TOKEN of the repository it is in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.agent_home import BIN, AgentHome, Envelope
from tests.git.conftest import PutTokens

APP = "https://github.com/acme/app"
HELPER = str(BIN / "guilds-git-credential")


def shell(home: AgentHome, command: str, **env: str) -> Envelope:
    return home.call("shell", command=command, env={"HOME": str(home.path), **env})


def git(home: AgentHome, *words: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *identity, *words],
        cwd=home.path,
        env=home.environment(HOME=str(home.path)),
        check=True,
        capture_output=True,
    )


def gh_token(home: AgentHome, folder: str, **env: str) -> str:
    shell(home, f"cd ~/'{folder}'", **env)
    return shell(home, "echo ${GH_TOKEN-unset}", **env).text


@pytest.fixture
def repository(home: AgentHome) -> Path:
    """A repository with one commit."""
    git(home, "init", "-q", "-b", "main", "app")
    git(home, "-C", "app", "commit", "-q", "--allow-empty", "-m", "first")
    return home.path / "app"


def test_without_a_token_file_github_is_wired(home: AgentHome) -> None:
    answer = shell(
        home,
        "git config --get-all credential.https://github.com.helper; "
        "git config --get credential.https://github.com.useHttpPath",
    )

    assert answer.text == f"\n{HELPER} --runtime-dir {home.runtime}\ntrue"


def test_every_host_of_the_token_file_is_wired_once(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens(
        {
            "https://Git.Example.com:8443/a/b": "t1",
            "https://git.example.com:8443/a/c": "t2",
            "http://127.0.0.1:4711/x": "t3",
        }
    )

    answer = shell(home, "echo $GIT_CONFIG_COUNT; env | sed -n 's/^GIT_CONFIG_KEY_.*=//p' | sort -u")

    assert answer.text.split("\n") == [
        "9",
        "credential.http://127.0.0.1:4711.helper",
        "credential.http://127.0.0.1:4711.useHttpPath",
        "credential.https://git.example.com:8443.helper",
        "credential.https://git.example.com:8443.useHttpPath",
        "credential.https://github.com.helper",
        "credential.https://github.com.useHttpPath",
    ]


def test_hosts_past_the_bound_are_told_and_the_others_wired(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({f"https://host-{number}.example.com/a/b": "t" for number in range(510)} | {APP: "tok-1"})

    answer = shell(
        home, "echo $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_0; git config credential.https://host-498.example.com.helper"
    )

    assert answer.text == f"1500 credential.https://github.com.helper\n{HELPER} --runtime-dir {home.runtime}"
    assert answer.process
    assert answer.process.stderr == b"git has tokens for 500 of 511 hosts: more are not wired\n"


def test_one_entry_that_can_not_be_used_is_told_and_the_others_wired(home: AgentHome) -> None:
    (home.runtime / "git-tokens.json").write_text(
        '{"version": 1, "tokens": [{"url": "tok-1"}, {"url": "https://git.example.com/a", "token": "tok-2"}]}'
    )

    answer = shell(home, "git config credential.https://git.example.com.useHttpPath")

    assert answer.text == "true"
    assert answer.process
    assert b"entry 1" in answer.process.stderr
    assert b"tok-" not in answer.process.stderr


@pytest.mark.parametrize("count", ["+1", " \t1", "01", "\n+01"])
def test_a_count_is_read_as_git_reads_it(home: AgentHome, count: str) -> None:
    answer = shell(
        home, "git config user.name", GIT_CONFIG_COUNT=count, GIT_CONFIG_KEY_0="user.name", GIT_CONFIG_VALUE_0="Ada"
    )

    assert answer.text == "Ada"


def test_entries_of_the_environment_stay_and_are_numbered_on(home: AgentHome) -> None:
    answer = shell(
        home,
        "git config user.name; echo $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_0 $GIT_CONFIG_KEY_1",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="user.name",
        GIT_CONFIG_VALUE_0="Ada",
    )

    assert answer.text == "Ada\n4 user.name credential.https://github.com.helper"


@pytest.mark.parametrize("count", ["", "x", "-1", "9" * 30, "1 ", "+ 1", "++1", "1_0", " "])
def test_a_count_that_git_could_not_read_is_begun_anew(home: AgentHome, count: str) -> None:
    answer = shell(home, "git config --get credential.https://github.com.useHttpPath", GIT_CONFIG_COUNT=count)

    assert answer.text == "true"


def test_a_run_time_folder_of_any_name_reaches_the_helper(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    home.runtime.rename(home.top / "it's $HOME; `id`\n\\")
    home.runtime = home.top / "it's $HOME; `id`\n\\"

    answer = shell(home, f"echo url={APP} | git credential fill")

    assert "password=tok-1" in answer.text.split("\n")


def test_a_token_file_that_can_not_be_used_does_not_stop_a_command(home: AgentHome) -> None:
    (home.runtime / "git-tokens.json").write_text('{"version": 1, "tokens": ["tok-1"]}')

    answer = shell(home, "echo on")

    assert answer.text == "on"
    assert answer.process
    assert b"malformed" in answer.process.stderr
    assert b"tok-1" not in answer.process.stderr


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "url",
    [APP, f"{APP}.git", f"{APP}/", "https://eve:pw@github.com/acme/app.git", "https://GITHUB.com:443/Acme/App",
     "git@github.com:acme/app.git", "git@github.com:/acme/app", "github.com:acme/app.git", "ssh://git@github.com/acme/app.git",
     "ssh://git@github.com:2222/acme/app", "ssh://github.com/acme/app/"],
)  # fmt: skip
def test_gh_token_is_that_of_the_origin_in_every_form(home: AgentHome, put_tokens: PutTokens, url: str) -> None:
    put_tokens({"https://github.com/acme/lib": "tok-2", APP: "tok-1"})
    git(home, "-C", "app", "remote", "add", "origin", url)

    assert gh_token(home, "app") == "tok-1"


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "url",
    ["https://github.com/acme/app2", "https://github.com/acme", "http://github.com/acme/app", "/srv/acme/app.git",
     "../github.com:acme/app", "file:///acme/app", "git@example.com:acme/app.git", "https://github.com/acme/app/x",
     "://", "https://github.com/acme/../acme/app", "git@github.com:acme/%61pp", "git://github.com/acme/app",
     "github.com:", ":"],
)  # fmt: skip
def test_another_origin_gives_no_gh_token(home: AgentHome, put_tokens: PutTokens, url: str) -> None:
    put_tokens({APP: "tok-1"})
    git(home, "-C", "app", "remote", "add", "origin", url)

    assert gh_token(home, "app") == "unset"
    assert gh_token(home, "app", GH_TOKEN="inherited") == "inherited"


@pytest.mark.usefixtures("repository")
def test_an_origin_over_http_on_loopback_gives_its_token(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({"http://127.0.0.1:4711/acme/app": "tok-1"})
    git(home, "-C", "app", "remote", "add", "origin", "http://127.0.0.1:4711/acme/app.git")

    assert gh_token(home, "app") == "tok-1"


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "folder", ["app/deep/er", "tree", "tree/deep", "bare.git", "app/.git/hooks", "app/.git/worktrees/tree"]
)
def test_gh_token_is_found_wherever_in_the_repository_one_stands(
    home: AgentHome, put_tokens: PutTokens, folder: str
) -> None:
    put_tokens({APP: "tok-1"})
    git(home, "-C", "app", "remote", "add", "origin", APP)
    git(home, "-C", "app", "worktree", "add", "-q", str(home.path / "tree"))
    git(home, "clone", "-q", "--bare", "app", "bare.git")
    git(home, "-C", "bare.git", "remote", "set-url", "origin", APP)
    (home.path / "app/deep/er").mkdir(parents=True)
    (home.path / "tree/deep").mkdir()

    assert gh_token(home, folder) == "tok-1"


def test_a_submodule_has_the_token_of_its_own_origin(home: AgentHome, put_tokens: PutTokens, repository: Path) -> None:
    git(home, "init", "-q", "whole")
    git(home, "-C", "whole", "submodule", "--quiet", "add", str(repository), "part")
    git(home, "-C", "whole", "remote", "add", "origin", "https://github.com/acme/whole")
    git(home, "-C", "whole/part", "remote", "set-url", "origin", APP)
    put_tokens({APP: "tok-part", "https://github.com/acme/whole": "tok-whole"})

    assert gh_token(home, "whole/part") == "tok-part"
    assert gh_token(home, "whole") == "tok-whole"


@pytest.mark.usefixtures("repository")
def test_an_expired_token_leaves_an_inherited_gh_token_alone(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"}, expires_at="2020-01-01T00:00:00Z")
    git(home, "-C", "app", "remote", "add", "origin", APP)

    assert gh_token(home, "app") == "unset"
    assert gh_token(home, "app", GH_TOKEN="inherited") == "inherited"


@pytest.mark.usefixtures("repository")
def test_the_token_of_the_repository_wins_over_an_inherited_one(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    git(home, "-C", "app", "remote", "add", "origin", APP)

    assert gh_token(home, "app", GH_TOKEN="inherited") == "tok-1"


def test_outside_of_a_repository_there_is_no_gh_token(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    assert gh_token(home, "") == "unset"
