"""Containers of the image, run as the README runs them."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

IMAGE = os.environ.get("GUILDS_TEST_IMAGE", "guilds")
AGENT = 1000
"""The user id of `agent`."""

CALL_SECONDS = 120
SHUT = (
    *("--init", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
    *("--pids-limit=512", "--memory=2g", "--tmpfs=/tmp:exec"),
)
PLACES = ("--tmpfs=/home/agent:exec,uid=1000,gid=1000", "--tmpfs=/run/guilds:mode=0700,uid=1000,gid=1000")


class Container:
    """A running container, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.address = f"docker:{name}"

    @property
    def pid(self) -> int:
        """Its first process, as this machine numbers it."""
        return int(docker("inspect", "--format={{.State.Pid}}", self.name))

    def run(self, *argv: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program in it as the agent, without the client."""
        settings = [f"--env={name}={value}" for name, value in env.items()]
        command = ["docker", "exec", "--interactive", *settings, self.name, *argv]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=CALL_SECONDS, check=False)

    def shell(self, command: str, **env: str) -> str:
        """The output of a bash command that succeeds."""
        done = self.run("bash", "-c", command, **env)
        assert done.returncode == 0, done
        return done.stdout.strip()


@contextmanager
def container(
    *options: str, image: str = IMAGE, places: tuple[str, ...] = PLACES, volumes: Mapping[str, str] | None = None
) -> Iterator[Container]:
    """A container that is removed afterwards. `places` are what home and the run-time folder are."""
    name = f"guilds-test-{uuid.uuid4().hex[:8]}"
    mounts = [f"--volume={here}:{there}" for here, there in (volumes or {}).items()]
    docker("run", "--detach", f"--name={name}", *SHUT, *places, *mounts, *options, image)
    try:
        yield Container(name)
    finally:
        docker("rm", "--force", "--volumes", name)


def docker(*words: str) -> str:
    """What the engine's command prints. Raises CalledProcessError."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=CALL_SECONDS, check=True)
    return done.stdout.strip()
