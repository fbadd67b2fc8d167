"""The four sandboxes, and the address that names one. Each engine's library is imported when it is used."""

from __future__ import annotations

from guilds_client.errors import SandboxError
from guilds_client.sandbox import Sandbox

ADDRESSES = "local:PATH, bwrap:PATH, docker:NAME or k8s:NAMESPACE/POD[/CONTAINER]"


def open_sandbox(address: str, *, network: bool = False) -> Sandbox:
    """The sandbox at an address: local:PATH, bwrap:PATH, docker:NAME, k8s:NAMESPACE/POD[/CONTAINER].

    `network` lets a bwrap: sandbox reach the network; elsewhere it is settled where the machine is made.
    Use it as `async with open_sandbox(…) as sandbox`. Raises SandboxError when it can't be used.
    """
    kind, _, rest = address.partition(":")
    if not rest:
        raise SandboxError(f"{address!r} is no sandbox address; one is {ADDRESSES}.")
    if network and kind != "bwrap":
        raise SandboxError(f"`network` is for bwrap: alone; what {kind}: reaches is settled where it is made.")
    if kind == "local":
        from guilds_client.sandboxes.local import LocalSandbox

        return LocalSandbox(rest)
    if kind == "bwrap":
        from guilds_client.sandboxes.bwrap import BwrapSandbox

        return BwrapSandbox(rest, network=network)
    if kind == "docker":
        from guilds_client.sandboxes.docker import DockerSandbox

        return DockerSandbox(rest)
    if kind == "k8s":
        from guilds_client.sandboxes.kubernetes import KubernetesSandbox

        return KubernetesSandbox.at(rest)
    raise SandboxError(f"{address!r} is no sandbox address; one is {ADDRESSES}.")
