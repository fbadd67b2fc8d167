"""What goes wrong with a container or a pod, in words that say what to do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from guilds_client import Agent, Run, SandboxError, SandboxUnavailableError, open_sandbox
from tests.client.asynchronous import asynchronous
from tests.client.sandboxes import cluster, container, open_pod

V5 = "v5.channel.k8s.io"


@asynchronous
async def test_a_container_that_is_not_there_is_named() -> None:
    with container():
        async with open_sandbox("docker:no-such-container") as sandbox:
            with pytest.raises(SandboxUnavailableError, match="no container no-such-container"):
                await sandbox.exec(["true"], timeout=30)


@asynchronous
async def test_a_container_that_is_killed_under_a_call_is_one_error_line() -> None:
    docker: Any = pytest.importorskip("docker")
    with container() as name:
        async with open_sandbox(f"docker:{name}") as sandbox:
            run = Run(sandbox, agent=Agent("a1", coding=True))
            call = asyncio.create_task(run.call("shell", {"command": "sleep 60"}))
            await asyncio.sleep(1.5)
            client = docker.from_env()
            await asyncio.to_thread(client.containers.get(name).kill)
            killed = await asyncio.wait_for(call, 30)
            after = await run.call("shell", {"command": "true"})
            client.close()

    assert killed.content.startswith("ERROR: guilds-code ended with exit code 137 before it answered")
    assert after.content.startswith("ERROR: Container ")
    assert "is not running" in after.content


@asynchronous
async def test_an_engine_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    async with open_sandbox("docker:agent-7") as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"engine can't be reached.*DOCKER_HOST"):
            await sandbox.exec(["true"], timeout=30)


@asynchronous
async def test_a_pod_that_is_not_there_is_named(folder: Path) -> None:
    async with cluster(folder, V5) as served, open_pod(folder, served), open_sandbox("k8s:agents/gone") as sandbox:
        with pytest.raises(SandboxUnavailableError, match="agents/gone can't be used: there is no such pod"):
            await sandbox.exec(["true"], timeout=30)


@asynchronous
async def test_credentials_that_are_refused_are_said(folder: Path) -> None:
    async with cluster(folder, V5) as served, open_pod(folder, served) as sandbox:
        served[0].token = "another"
        with pytest.raises(SandboxUnavailableError, match="the credentials are refused"):
            await sandbox.exec(["true"], timeout=30)


@asynchronous
async def test_a_connection_that_is_lost_ends_the_process_and_is_an_error(folder: Path) -> None:
    async with cluster(folder, V5) as served, open_pod(folder, served) as sandbox:
        command = f"sleep 1; touch {folder}/marker"
        call = asyncio.create_task(sandbox.exec(["bash", "-c", command], timeout=30))
        await asyncio.sleep(0.5)
        for connection in list(served[0].connections):
            connection.transport.abort()
        with pytest.raises(SandboxUnavailableError, match="ended before the process did"):
            await call
        await asyncio.sleep(1)

    assert not (folder / "marker").exists()


@asynchronous
async def test_no_cluster_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    async with open_sandbox("k8s:agents/agent-7") as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"No cluster is configured.*set KUBECONFIG"):
            await sandbox.exec(["true"], timeout=30)


@pytest.mark.parametrize("address", ["", "local:", "ssh:host", "docker", "k8s:pod", "k8s:a/b/c/d", "k8s:a//c"])
def test_an_address_that_is_none_is_refused_with_those_there_are(address: str) -> None:
    with pytest.raises(SandboxError, match=r"local:PATH|k8s:NAMESPACE/POD"):
        open_sandbox(address)


def test_the_network_is_settled_by_bwrap_alone(folder: Path) -> None:
    with pytest.raises(SandboxError, match="is for bwrap: alone"):
        open_sandbox(f"local:{folder}", network=True)
