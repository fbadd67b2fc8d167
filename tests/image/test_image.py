"""The image: what is in it, whose it is, and what an agent can't do to the helpers."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from guilds_client import Agent, Run, open_sandbox
from tests.client.asynchronous import asynchronous
from tests.image.containers import IMAGE, SHUT, Container, container, docker

ROOT = Path(__file__).parents[2]
FULL_MAX_BYTES = 1_200_000_000
AT_REST_MAX_BYTES = 60_000_000
SIDE_BY_SIDE = 20
NEEDED = (
    *("bash", "git", "gh", "rg", "curl", "gcc", "g++", "make", "python3", "pip", "node", "npm", "npx"),
    *("ps", "pgrep", "less", "jq", "unzip", "chromium"),
)
HELPERS = ("guilds-code", "guilds-browser", "guilds-script-run", "guilds-git-credential")

# Programs and modules which say that they were run.
TRAPS = r"""
mkdir -p traps .local/lib/python3.11/site-packages
for name in rg git python3 node bash env; do
    printf '#!/bin/sh\necho "$0" >>/home/agent/taken\nexit 9\n' >traps/$name
    chmod +x traps/$name
done
for name in json os site sitecustomize usercustomize encodings click guilds_code guilds_wire; do
    echo 'open("/home/agent/taken", "a").write(__name__ + "\n"); raise SystemExit(9)' >$name.py
    cp $name.py .local/lib/python3.11/site-packages/
done
mkdir -p repos/app && cd repos/app && git init -q . && echo 'def answer(): pass' >app.py && git add .
"""
HOSTILE = {
    "PATH": "/home/agent/traps:/usr/local/bin:/usr/bin:/bin",
    "PYTHONPATH": "/home/agent",
    "PYTHONSTARTUP": "/home/agent/json.py",
    "PYTHONHOME": "/home/agent",
    "PYTHONUSERBASE": "/home/agent/.local",
    "PYTHONBREAKPOINT": "json.x",
    "NODE_OPTIONS": "--require=/home/agent/none.js",
    "BASH_ENV": "/home/agent/traps/git",
}

# What `gh auth setup-git` writes, with a helper that says that it was asked.
OF_THE_AGENT = r"""
printf '#!/bin/sh\necho asked >>/home/agent/taken\necho username=eve\necho password=eve\n' >eve && chmod +x eve
git config --global credential.https://github.com.helper ''
git config --global --add credential.https://github.com.helper /home/agent/eve
"""
FILL = "printf 'protocol=https\\nhost=github.com\\npath=acme/app.git\\n\\n' | git credential fill"
TOKENS = {"version": 1, "tokens": [{"url": "https://github.com/acme/app", "token": "tok-1"}]}


@pytest.mark.parametrize("name", NEEDED)
def test_what_agents_need_is_there(shared: Container, name: str) -> None:
    assert shared.shell(f"command -v {name}").startswith("/usr/")


def test_programs_can_be_built_and_packages_installed(shared: Container) -> None:
    shared.shell("mkdir -p build && echo 'int main() { return 7; }' >build/a.cpp")

    assert shared.shell("cd build && g++ -flto a.cpp -o a && ./a; echo $?") == "7"
    assert shared.shell("python3 -m venv build/env && build/env/bin/pip --version").startswith("pip ")
    assert shared.shell("npm --version && node -p '6 * 7'").endswith("42")


@pytest.mark.parametrize(
    "language", ["el", "ru", "ar", "he", "hi", "bn", "ta", "th", "ka", "am", "km", "zh", "ja", "ko"]
)
def test_there_is_type_for_most_scripts(shared: Container, language: str) -> None:
    assert shared.shell(f"fc-list :lang={language}") != ""


def test_the_health_check_passes_and_names_the_engines(shared: Container) -> None:
    check = json.loads(docker("image", "inspect", "--format={{json .Config.Healthcheck.Test}}", IMAGE))

    done = shared.run(*check[1:])

    assert check[0] == "CMD"
    assert done.returncode == 0, done.stdout
    assert "ok    ripgrep: " in done.stdout
    assert "ok    run-time folder: /run/guilds is writable" in done.stdout


def test_the_health_check_says_what_is_not_writable() -> None:
    with container(places=("--tmpfs=/home/agent:uid=1000",)) as made:
        done = made.run("guilds-code", "--self-test")

    assert done.returncode == 1
    assert "FAIL  run-time folder: /run/guilds" in done.stdout


def test_labels_and_lists_say_what_is_in_it(shared: Container) -> None:
    labels = json.loads(docker("image", "inspect", "--format={{json .Config.Labels}}", IMAGE))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    listed = shared.shell("cat /opt/guilds/share/*-packages.txt")

    assert labels["org.opencontainers.image.version"] == version
    assert labels["org.opencontainers.image.source"] != "unknown"
    assert "\nchromium\t" in listed
    assert "\nplaywright-" in listed
    assert f"guilds-{version}" in listed


def test_the_helpers_are_roots_and_the_run_time_folder_is_the_agents() -> None:
    ask = (
        "find /opt/guilds /usr/local /etc/gitconfig '(' ! -user root -o -writable ! -type l ')' -print;"
        "stat -c '%U %a' /run/guilds /home/agent; id -un"
    )

    assert docker("run", "--rm", "--network=none", IMAGE, "bash", "-c", ask).split("\n") == [
        "agent 700",
        "agent 755",
        "agent",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["guilds-code", "code-search", "def answer", "--path", "repos"], "repos/app/app.py: 1"),
        (["guilds-code", "code-match", "def answer(): pass", "--path", "repos"], "def answer(): pass"),
        (["guilds-code", "code-map"], "app: 1 file, 1 symbol"),
        (["guilds-code", "file-read", "repos/app/app.py"], "1\tdef answer(): pass"),
        (["guilds-code", "shell-status"], "(no background commands)"),
        (["guilds-code", "--help"], "code-search"),
        (["guilds-browser", "navigate", "about:blank"], "about:blank"),
        (["guilds-script-run", "--help"], "Usage"),
    ],
)
def test_nothing_of_the_agents_breaks_a_helper_or_is_run_by_it(trapped: Container, words: list[str], says: str) -> None:
    done = trapped.run(*words, **HOSTILE)

    assert says in done.stdout
    assert trapped.shell("cat taken 2>/dev/null; rm -f taken") == ""


def test_the_credential_helper_answers_among_traps(trapped: Container) -> None:
    trapped.run("tee", "/run/guilds/git-tokens.json", stdin=json.dumps(TOKENS))

    done = trapped.run(
        "guilds-git-credential", "get", stdin="protocol=https\nhost=github.com\npath=acme/app\n", **HOSTILE
    )

    assert "password=tok-1" in done.stdout.split("\n")
    assert trapped.shell("cat taken 2>/dev/null; rm -f taken") == ""


@pytest.fixture(scope="module")
def trapped() -> Iterator[Container]:
    """A container whose home holds what would take a helper over."""
    with container() as made:
        made.shell(TRAPS)
        yield made


def test_git_asks_our_helper_without_further_set_up(own: Container) -> None:
    own.run("tee", "/run/guilds/git-tokens.json", stdin=json.dumps(TOKENS))

    assert "password=tok-1" in own.shell(FILL).split("\n")


@asynchronous
async def test_a_credential_helper_of_the_agents_own_does_not_win() -> None:
    with container() as made:
        made.run("tee", "/run/guilds/git-tokens.json", stdin=json.dumps(TOKENS))
        made.shell(OF_THE_AGENT)
        async with open_sandbox(made.address) as sandbox:
            run = Run(sandbox, agent=Agent("a1", coding=True))
            message = await run.call("shell", {"command": f"{FILL}; cat taken"})

    assert "password=tok-1" in message.content.split("\n")
    assert "eve" not in message.content
    assert "No such file" in message.content


@asynchronous
async def test_a_background_command_goes_on_between_calls_and_zombies_are_reaped() -> None:
    with container() as made:
        async with open_sandbox(made.address) as sandbox:
            run = Run(sandbox, agent=Agent("a1", coding=True))
            await run.call("shell", {"command": "(setsid sleep 0.2 &) ; (setsid true &)"})
            started = await run.call("shell", {"command": "sleep 2; echo over", "background": True})
        meanwhile = made.run("guilds-code", "shell-status").stdout
        after = made.shell("sleep 3; guilds-code shell-status --id b1")
        zombies = made.shell("ps -eo stat= | grep -c ^Z || true")

    assert started.content.startswith("b1 started")
    assert meanwhile.startswith("b1 running")
    assert "exited 0" in after
    assert "over" in after
    assert zombies == "0"


def test_a_restart_loses_background_commands_and_neither_their_numbers_nor_the_browser() -> None:
    folders = ("--volume=/home/agent", "--volume=/run/guilds")
    with container(places=folders) as made:
        made.shell("guilds-code shell 'sleep 600' --background && guilds-browser navigate 'data:text/html,<title>one'")
        docker("restart", "--time=1", made.name)
        status = made.shell("guilds-code shell-status")
        next_one = made.shell("guilds-code shell 'sleep 600' --background")
        page = made.shell("guilds-browser navigate 'data:text/html,<title>two' && guilds-browser snapshot")

    assert status.startswith("b1 lost")
    assert next_one.startswith("b2 started")
    assert "title two" in page


def test_chromium_runs_without_a_sandbox_of_its_own_where_it_can_not_have_one(shared: Container) -> None:
    assert "hello" in shared.shell("guilds-browser navigate 'data:text/html,<h1>hello' && guilds-browser snapshot")
    assert "--no-sandbox" in shared.shell("pgrep -a chromium")


def test_chromium_has_its_own_sandbox_where_the_container_lets_it() -> None:
    with container("--security-opt=seccomp=unconfined", "--cap-add=SYS_CHROOT") as made:
        page = made.shell("guilds-browser navigate 'data:text/html,<h1>hello' && guilds-browser snapshot")
        running = made.shell("pgrep -a chromium")

    assert "hello" in page
    assert "--type=renderer" in running
    assert "--no-sandbox" not in running


def test_the_code_variant_has_all_but_the_browser() -> None:
    with container(image=f"{IMAGE}:code") as made:
        checked = made.run("guilds-code", "--self-test")
        browser = made.run("guilds-browser", "navigate", "about:blank")
        listed = made.shell("node -p 1; guilds-code shell 'echo works'; ls /opt/guilds/share")

    assert checked.returncode == 0, checked.stdout
    assert browser.returncode == 1
    assert browser.stderr.startswith("error: ")
    assert listed.startswith("1\nworks\n")
    assert "browser" not in listed


def test_the_full_image_is_no_larger_than_it_may_be() -> None:
    assert int(docker("image", "inspect", "--format={{.Size}}", IMAGE)) < FULL_MAX_BYTES


def test_many_containers_side_by_side_take_little_memory_at_rest() -> None:
    places = ("--tmpfs=/home/agent:uid=1000", "--tmpfs=/run/guilds:uid=1000")
    made = [docker("run", "--detach", *SHUT, *places, IMAGE) for _ in range(SIDE_BY_SIDE)]
    try:
        for name in made:
            docker("exec", name, "guilds-code", "shell", "true")
        used = [_memory_bytes(name) for name in made]
    finally:
        docker("rm", "--force", *made)

    assert max(used) < AT_REST_MAX_BYTES


def _memory_bytes(name: str) -> int:
    """What the kernel counts for a container, without cached files."""
    pid = docker("inspect", "--format={{.State.Pid}}", name)
    group = Path(f"/proc/{pid}/cgroup").read_text()
    for line in group.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory" or not controllers:
            base = "/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup"
            stat = Path(f"{base}{path}/memory.stat")
            if stat.exists():
                counted = dict(row.split() for row in stat.read_text().splitlines())
                return int(counted.get("anon") or counted["rss"])
    raise AssertionError(group)


def test_the_readme_shows_what_works() -> None:
    section = (ROOT / "README.md").read_text().split("\n## In a container\n")[1].split("\n## ")[0]
    commands = "\n".join(line.strip() for line in section.splitlines() if line.startswith("    "))
    environment = {**os.environ, "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "remaining_tool_calls" in done.stdout
