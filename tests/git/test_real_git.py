"""git itself, in the shell, against a real server: what it asks, whom it asks, and what it sends."""

from __future__ import annotations

import pytest

from tests.agent_home import BIN, AgentHome, Envelope
from tests.git.conftest import PutTokens
from tests.git.git_server import IDENTITY, GitServer


def shell(home: AgentHome, command: str, **env: str) -> Envelope:
    return home.call("shell", command=command, env={"HOME": str(home.path), **IDENTITY, **env})


@pytest.fixture
def spy(home: AgentHome) -> str:
    """A credential helper of the agent's own, which answers with a wrong password and leaves a trace."""
    return str(home.put("spy", '#!/bin/sh\necho "$@" >>"$0.log"\necho username=eve\necho password=eve\n', 0o755))


def test_git_clones_fetches_and_pushes_with_the_token_of_the_repository(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    app, lib = server.add("acme/app", "tok-app"), server.add("acme/lib", "tok-lib")
    put_tokens({app: "tok-app", lib: "tok-lib"})

    cloned = shell(home, f"git clone -q {app} repos/app && git clone -q {lib[:-4]} repos/lib && cat repos/*/name.txt")
    pushed = shell(home, "cd repos/app && git commit -q --allow-empty -m second && git push -q && git rev-parse HEAD")
    fetched = shell(home, "git fetch -q && git status -sb")

    assert cloned.text == "acme/appacme/lib"
    assert pushed.text == server.head("acme/app")
    assert fetched.text == "## main...origin/main"
    assert server.sent() == {("acme/app", "tok-app"), ("acme/lib", "tok-lib")}


def test_a_background_command_has_the_tokens_too(home: AgentHome, server: GitServer, put_tokens: PutTokens) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"})

    home.call("shell", command=f"git clone -q {app} app; touch done", background=True, env={"HOME": str(home.path)})
    shell(home, "until [ -e done ]; do sleep 0.05; done")

    assert (home.path / "app/name.txt").read_text() == "acme/app"


def test_a_submodule_is_cloned_with_its_own_token(home: AgentHome, server: GitServer, put_tokens: PutTokens) -> None:
    app, part = server.add("acme/app", "tok-app"), server.add("acme/part", "tok-part")
    server.add_submodule("acme/part", of="acme/app")
    put_tokens({app: "tok-app", part: "tok-part"})

    cloned = shell(home, f"git clone -q --recurse-submodules {app} app && cat app/part/name.txt")

    assert cloned.text == "acme/part"
    assert server.sent() == {("acme/app", "tok-app"), ("acme/part", "tok-part")}


def test_a_renamed_repository_is_cloned_with_the_token_of_its_new_name(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    new = server.add("acme/new", "tok-new")
    server.moved["acme/old"] = "acme/new"
    put_tokens({new: "tok-new"})

    cloned = shell(home, f"git clone -q {server.base}/acme/old.git app && cat app/name.txt")

    assert cloned.text.endswith("acme/new")
    assert server.sent() == {("acme/new", "tok-new")}


def test_after_a_redirect_to_another_repository_no_token_is_sent(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    server.add("acme/new", "tok-new")
    server.moved["acme/old"] = "acme/new"
    put_tokens({f"{server.base}/acme/old": "tok-new"})

    cloned = shell(home, f"git clone -q {server.base}/acme/old.git app")

    assert "no token for acme/new; this run has acme/old" in cloned.text
    assert server.sent() == set()


def test_the_path_of_large_files_gets_the_token_of_its_repository(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    put_tokens({server.add("acme/app", "tok-app"): "tok-app"})

    filled = shell(home, f"echo url={server.base}/acme/app.git/info/lfs | git credential fill")

    assert "password=tok-app" in filled.text.split("\n")


def test_an_expired_token_is_not_sent_and_git_says_what_helps(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"}, expires_at="2020-01-01T00:00:00Z")

    cloned = shell(home, f"git clone -q {app} app")

    assert "the token for acme/app has expired; the next shell call brings a fresh one" in cloned.text
    assert cloned.meta["exit_code"] == 128
    assert server.sent() == set()


def test_a_token_that_the_server_refuses_is_sent_once_and_a_fresh_one_then_works(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    app = server.add("acme/app", "tok-good")
    put_tokens({app: "tok-bad"})

    refused = shell(home, f"git clone -q {app} app")
    again = shell(home, f"git clone -q {app} app")
    put_tokens({app: "tok-good"})
    cloned = shell(home, f"git clone -q {app} app && cat app/name.txt")

    assert "Authentication failed" in refused.text
    assert "the token for acme/app was refused by the server" in again.text
    assert [password for _, password in server.passwords if password == "tok-bad"] == ["tok-bad"]
    assert cloned.text == "acme/app"


@pytest.mark.parametrize(
    "configure",
    [
        "git config --global credential.helper {spy}",
        "git config --global credential.{base}.helper {spy}",
        "git config --global credential.{base}/acme.helper {spy}",
        "git config --global credential.{base}/acme/app.git.helper {spy}; "
        "git config --global --add credential.{base}/acme/app.git.helper ''; "
        "git config --global --add credential.{base}/acme/app.git.helper {spy}",
        "git config --global credential.useHttpPath false; git config --global credential.{base}.useHttpPath false; "
        "git config --global credential.{base}/acme/app.git.useHttpPath false",
        "git config --file inc credential.helper {spy}; git config --file inc credential.{base}.helper {spy}; "
        "git config --global includeIf.gitdir:~/.path ~/inc; git config --global include.path ~/inc",
        "git config --global core.askPass {spy}",
        "git config --global credential.{base}.helper ''; git config --global --add credential.{base}.helper '!{spy}'",
        "mkdir -p .config/git; git config --file .config/git/config credential.{base}.helper {spy}",
    ],
)
def test_no_configuration_in_home_takes_the_place_of_our_helper(
    home: AgentHome, server: GitServer, put_tokens: PutTokens, spy: str, configure: str
) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"})
    shell(home, configure.format(spy=spy, base=server.base))

    cloned = shell(home, f"git clone -q {app} app && cat app/name.txt")

    assert cloned.text == "acme/app"
    assert server.sent() == {("acme/app", "tok-app")}
    assert not (home.path / "spy.log").exists()


@pytest.mark.parametrize(
    "configure",
    [
        "git config credential.helper {spy}",
        "git config credential.{base}.helper {spy}",
        "git config credential.{base}/acme/app.git.helper '!{spy}'",
        "git config extensions.worktreeConfig true; git config --worktree credential.{base}.helper {spy}",
        "git config --file ../inc credential.{base}.helper {spy}; "
        "git config --global includeIf.gitdir:~/app/.path ~/inc; "
        "git config include.path ../../inc",
        "git config credential.{base}.useHttpPath false",
    ],
)
def test_no_configuration_of_a_repository_takes_the_place_of_our_helper(
    home: AgentHome, server: GitServer, put_tokens: PutTokens, spy: str, configure: str
) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"})
    shell(home, f"git clone -q {app} app; cd app; " + configure.format(spy=spy, base=server.base))

    pushed = shell(home, "git commit -q --allow-empty -m second && git push -q && git fetch -q && git rev-parse HEAD")

    assert pushed.text == server.head("acme/app")
    assert server.sent() == {("acme/app", "tok-app")}
    assert not (home.path / "spy.log").exists()


def test_without_a_token_git_asks_nobody_and_sends_nothing(
    home: AgentHome, server: GitServer, put_tokens: PutTokens, spy: str
) -> None:
    app, other = server.add("acme/app", "tok-app"), server.add("other/repo", "tok-other")
    put_tokens({app: "tok-app"})
    shell(home, f"git config --global core.askPass {spy}; git config --global credential.helper {spy}")

    cloned = shell(home, f"git clone -q {other} repo", GIT_ASKPASS=spy, SSH_ASKPASS=spy)

    assert "no token for other/repo; this run has acme/app" in cloned.text
    assert server.sent() == set()
    assert not (home.path / "spy.log").exists()


def test_a_helper_for_another_host_still_serves_it(home: AgentHome, put_tokens: PutTokens, spy: str) -> None:
    put_tokens({"https://github.com/acme/app": "tok-1"})
    shell(home, f"git config --global credential.helper {spy}")

    filled = shell(home, "echo url=https://git.example.com/a/b | git credential fill")

    assert "password=eve" in filled.text


def test_no_token_shows_in_what_git_traces_or_in_an_argument(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"})

    traced = shell(home, f"git clone {app} app", GIT_TRACE="1", GIT_TRACE_SETUP="1", GIT_TRACE_CURL="1")

    logs = b"".join(path.read_bytes() for path in home.path.glob(".runs/*/*.log"))
    assert b"guilds-git-credential" in logs + traced.text.encode()
    assert b"tok-app" not in logs + traced.text.encode()


def test_the_helper_serves_git_with_two_lines_of_configuration_and_nothing_else(
    home: AgentHome, server: GitServer, put_tokens: PutTokens
) -> None:
    app = server.add("acme/app", "tok-app")
    put_tokens({app: "tok-app"})
    helper = f"{BIN}/guilds-git-credential --runtime-dir {home.runtime}"
    home.put(".gitconfig", f'[credential "{server.base}"]\n\thelper = {helper}\n\tuseHttpPath = true\n')

    alone = "env -i PATH=$PATH HOME=$HOME GIT_TERMINAL_PROMPT=0"
    cloned = shell(home, f"{alone} git clone -q {app} app && cat app/name.txt")

    assert cloned.text == "acme/app"
