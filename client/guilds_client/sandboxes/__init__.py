"""The sandboxes, and the address that names one. Each engine's library is imported when it is used."""

from __future__ import annotations

from guilds_client.errors import SandboxError
from guilds_client.sandbox import Sandbox

ADDRESSES = "local:PATH"


def open_sandbox(address: str) -> Sandbox:
    """The sandbox at an address (local:PATH).

    Use it as `async with open_sandbox(…) as sandbox`. Raises SandboxError when it can't be used.
    """
    kind, _, rest = address.partition(":")
    if not rest:
        raise SandboxError(f"{address!r} is no sandbox address; one is {ADDRESSES}.")
    if kind == "local":
        from guilds_client.sandboxes.local import LocalSandbox

        return LocalSandbox(rest)
    raise SandboxError(f"{address!r} is no sandbox address; one is {ADDRESSES}.")
