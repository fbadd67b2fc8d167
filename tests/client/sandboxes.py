"""A sandbox of each kind, for the tests that every kind must pass."""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import guilds_wire
from guilds_client import Sandbox, SandboxError, open_sandbox
from tests.client.kubernetes_api import KubernetesApi

BIN = Path(sys.executable).parent
KINDS = ["local", "bwrap", "docker", "k8s-v4", "k8s-v5"]
IMAGE = "guilds-test-skeleton:1"


@asynccontextmanager
async def sandbox_of(kind: str, home: Path) -> AsyncIterator[Sandbox]:
    """An open sandbox of a kind; in all but docker: its home is the folder `home`."""
    if kind == "docker":
        with container() as name:
            async with open_sandbox(f"docker:{name}") as sandbox:
                yield sandbox
    elif kind.startswith("k8s"):
        async with cluster(home, protocol=f"{kind[-2:]}.channel.k8s.io") as api, open_pod(home, api) as sandbox:
            yield sandbox
    else:
        async with open_sandbox(f"{kind}:{home}") as sandbox:
            await usable(sandbox)
            yield sandbox


async def usable(sandbox: Sandbox) -> None:
    """Skip the test where bubblewrap can't work."""
    try:
        await sandbox.exec(["true"], timeout=30)
    except SandboxError as problem:
        pytest.skip(str(problem))


@asynccontextmanager
async def cluster(home: Path, protocol: str) -> AsyncIterator[tuple[KubernetesApi, int]]:
    """A cluster of one pod, whose processes run here with `home` as home; with the API's port."""
    environment = {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "GUILDS_HOME": str(home),
        "GUILDS_RUNTIME_DIR": str(home.parent / "pod"),
    }
    api = KubernetesApi(environment, protocol)
    async with await api.serve() as server:
        yield api, server.sockets[0].getsockname()[1]


@asynccontextmanager
async def open_pod(home: Path, served: tuple[KubernetesApi, int]) -> AsyncIterator[Sandbox]:
    """The pod of that cluster, by a kubeconfig."""
    pytest.importorskip("kubernetes")
    api, port = served
    file = home.parent / "kubeconfig"
    file.write_text(json.dumps(kubeconfig(port, api.token)))
    before = os.environ.get("KUBECONFIG")
    os.environ["KUBECONFIG"] = str(file)
    try:
        async with open_sandbox("k8s:agents/agent-7") as sandbox:
            sandbox.home, sandbox.runtime_dir = str(home), str(home.parent / "pod")
            yield sandbox
    finally:
        os.environ.pop("KUBECONFIG") if before is None else os.environ.update(KUBECONFIG=before)


def kubeconfig(port: int, token: str) -> dict[str, Any]:
    """A kubeconfig with one cluster and one user."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {"token": token}}],
    }


@contextmanager
def container() -> Iterator[str]:
    """A running container on the engine that the environment names: this machine's programs, nothing else of it."""
    docker: Any = pytest.importorskip("docker")
    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException as problem:
        pytest.skip(f"no container engine answers: {problem}")
    try:
        client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        repository, tag = IMAGE.split(":")
        client.api.import_image_from_data(_skeleton(), repository=repository, tag=tag)
    packages = Path(guilds_wire.__file__).parent.parent
    shown = {"/usr", "/etc", sys.prefix, sys.base_prefix, str(packages)}
    name = f"guilds-test-{uuid.uuid4().hex[:8]}"
    made = client.containers.run(
        IMAGE,
        ["sleep", "infinity"],
        name=name,
        detach=True,
        network_mode="none",
        environment={"PATH": f"{BIN}:/usr/bin:/bin"},
        volumes={path: {"bind": path, "mode": "ro"} for path in shown},
        tmpfs={"/run/guilds": "mode=0700", "/home/agent": ""},
    )
    try:
        yield name
    finally:
        made.remove(force=True)
        client.close()


def _skeleton() -> bytes:
    """An image's content: the links that a merged /usr needs."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(link)
        for name in ("usr", "etc", "tmp", "run", "home"):
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(directory)
    return data.getvalue()
