"""k8s: a pod's container, over the exec stream of the Kubernetes API (channel protocols v4 and v5)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from guilds_client.errors import SandboxError, SandboxUnavailableError
from guilds_client.sandboxes.process import STDERR, STDOUT, Chunk, Process, ProcessSandbox
from guilds_client.sandboxes.remote import RemoteProcess, Stream, header, library, supervised

EXTRA = "k8s"
STDIN_CHANNEL, STATUS_CHANNEL = 0, 3
FRAME_BYTES = 32_768
"""How much is sent in one frame; what a proxy on the way takes is not known to be more."""

WORDS = {401: "the credentials are refused", 403: "the credentials may not exec there", 404: "there is no such pod"}


class KubernetesSandbox(ProcessSandbox):
    """A container of a pod, by the current kubeconfig, or by the pod's own account inside a cluster."""

    def __init__(self, namespace: str, pod: str, container: str | None = None) -> None:
        super().__init__()
        self._config = library("kubernetes.config", EXTRA)
        self._client = library("kubernetes.client", EXTRA)
        self._name = "/".join(filter(None, (namespace, pod, container)))
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
        self._container = [("container", container)] if container else []
        self._configuration: Any = None
        self._connecting = threading.Lock()

    @classmethod
    def at(cls, place: str) -> KubernetesSandbox:
        """The sandbox at NAMESPACE/POD[/CONTAINER]. Raises SandboxError."""
        parts = place.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise SandboxError(f"k8s:{place} names no pod; it is k8s:NAMESPACE/POD[/CONTAINER].")
        return cls(*parts)

    async def _start(self, argv: Sequence[str], env: Mapping[str, str], stdin_bytes: int | None) -> Process:
        told = header(argv, env, stdin_bytes)
        return await RemoteProcess.open(lambda: self._connect(told))

    def _connect(self, told: bytes) -> Stream:
        """Start a supervisor in the pod; in a thread, since whoever gives the credentials may take their time."""
        with self._connecting:
            if self._configuration is None:
                self._configuration = self._configured()
        streams = [("stdin", "true"), ("stdout", "true"), ("stderr", "true"), ("tty", "false")]
        query = [("command", supervised(self.python)), *self._container, *streams]
        stream = _ExecStream(self._configuration, self._name, self._path, query)
        stream.send(told)
        return stream

    def _configured(self) -> Any:
        """Where the cluster is, and who asks. `load_config` would do as much, and print what it does."""
        configuration = self._client.Configuration()
        file = os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
        try:
            if "KUBECONFIG" in os.environ or os.path.exists(file):
                self._config.load_kube_config(file, client_configuration=configuration)
            else:
                self._config.load_incluster_config(client_configuration=configuration)
        except (self._config.ConfigException, OSError) as problem:
            raise SandboxUnavailableError(f"No cluster is configured ({problem}); set KUBECONFIG.") from None
        return configuration


class _ExecStream(Stream):
    """The library opens the connection; its own reader of channels would hold all that comes in memory."""

    def __init__(self, configuration: Any, name: str, path: str, query: Sequence[tuple[str, Any]]) -> None:
        ws_client = library("kubernetes.stream.ws_client", EXTRA)
        self._library = library("websocket", EXTRA)
        self._name = name
        self._status = b""
        url = ws_client.get_websocket_url(configuration.host.rstrip("/") + path, query)
        credentials = configuration.auth_settings().get("BearerToken")
        headers = {"authorization": credentials["value"]} if credentials else {}
        with _cluster_errors(name):
            self._websocket = ws_client.create_websocket(configuration, url, headers)

    def send(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), FRAME_BYTES):
                self._websocket.send_binary(bytes([STDIN_CHANNEL]) + data[start : start + FRAME_BYTES])
        except self._library.WebSocketException as problem:
            raise BrokenPipeError(str(problem)) from None

    def receive(self) -> Chunk | None:
        """Each message is a byte that says which channel, then data."""
        try:
            while True:
                kind, frame = self._websocket.recv_data_frame(True)
                if kind == self._library.ABNF.OPCODE_CLOSE:
                    return None
                channel, data = frame.data[:1], frame.data[1:]
                if channel == bytes([STATUS_CHANNEL]):
                    self._status += data
                elif data and channel and channel[0] in (STDOUT, STDERR):
                    return channel[0], data
        except (self._library.WebSocketException, OSError):  # what that means, the status says, or that there is none
            return None

    def exit_code(self) -> int:
        try:
            status = json.loads(self._status)
            if status["status"] == "Success":
                return 0
            causes = (status.get("details") or {}).get("causes") or []
            codes = [int(cause["message"]) for cause in causes if cause.get("reason") == "ExitCode"]
        except (ValueError, KeyError, TypeError):
            raise SandboxUnavailableError(f"The connection to {self._name} ended before the process did.") from None
        if not codes:
            raise SandboxUnavailableError(f"{self._name} can't run it: {status.get('message')}")
        return codes[0]

    def close(self) -> None:
        connection = self._websocket.sock  # None when the library has closed it
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._websocket.shutdown()


@contextlib.contextmanager
def _cluster_errors(name: str) -> Iterator[None]:
    """The library's errors as ours."""
    websocket = library("websocket", EXTRA)
    try:
        yield
    except websocket.WebSocketBadStatusException as problem:
        why = WORDS.get(problem.status_code, f"the API answered with status {problem.status_code}")
        raise SandboxUnavailableError(f"{name} can't be used: {why}.") from None
    except (websocket.WebSocketException, OSError) as problem:
        raise SandboxUnavailableError(f"The cluster can't be reached ({problem}).") from None
