"""Request: the base64 JSON that a caller sends, checked once and from then on a typed value."""

from __future__ import annotations

import binascii
import os
import stat

from guilds_wire.errors import ToolError, quoted
from guilds_wire.lean import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.places import Places

RESULT_BYTES_VARIABLE = "CODE_RESULT_MAX_BYTES"
RESULT_BYTES_DEFAULT = 8_192
RESULT_BYTES_LEAST = 1_024
RESULT_BYTES_MOST = 1_048_576

ARGUMENT_MAX_BYTES = 65_536
"""A longer encoded request goes by file: Linux takes at most 131,071 bytes in one argument (execve(2))."""

REQUEST_MAX_BYTES = 64 << 20
"""The most that is read of a request file or a session's line."""

ID_MAX_CHARACTERS = 128
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class RunIds:
    """Whose call this is: run, agent, call, its step in the conversation, the oldest step still visible."""

    __slots__ = ("agent_id", "call_id", "id", "seq", "visible_from")

    def __init__(
        self,
        id: str = "manual",  # noqa: A002 (the wire's name)
        agent_id: str = "manual",
        call_id: str | None = None,
        seq: int | None = None,
        visible_from: int | None = None,
    ) -> None:
        self.id = id
        self.agent_id = agent_id
        self.call_id = call_id or "c" + os.urandom(8).hex()
        self.seq = seq
        self.visible_from = visible_from


class Request:
    """One call. `body` is the whole JSON object, for the keys that one helper alone knows; `text` is its JSON."""

    __slots__ = ("args", "body", "limits", "result_max_bytes", "run", "text", "tool")

    def __init__(self, tool: str, args: dict[str, Any], run: RunIds, body: dict[str, Any], text: str) -> None:
        self.tool = tool
        self.args = args
        self.run = run
        self.body = body
        self.text = text
        self.limits: dict[str, Any] = body.get("limits") or {}
        self.result_max_bytes = _result_max_bytes(self.limits)


def parse(encoded: bytes) -> Request:
    """Decode and check a request. Raises ToolError(`invalid_request`) with what is wrong."""
    try:
        text = binascii.a2b_base64(encoded.strip(), strict_mode=True).decode("utf-8")
    except binascii.Error as problem:
        raise _invalid(f"it is not base64 (standard alphabet, padded, one line): {problem}") from None
    except UnicodeDecodeError as problem:
        raise _invalid(f"it is not UTF-8 at byte {problem.start}") from None
    return from_text(text)


def call_id_of(encoded: bytes) -> str | None:
    """The call id in a request that was refused, so that its caller can tell which; None when it has none."""
    try:
        call_id = loads(binascii.a2b_base64(encoded.strip()).decode())["run"]["call_id"]
    except (ValueError, KeyError, TypeError):
        return None
    return call_id if _is_id(call_id) else None


def from_text(text: str) -> Request:
    """Check a request's JSON. Raises ToolError(`invalid_request`)."""
    try:
        body = loads(text)
    except ValueError as problem:
        raise _invalid(f"it is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise _invalid(f"it is {_kind(body)}, not an object")
    tool, args = body.get("tool"), body.get("args")
    if not isinstance(tool, str):
        raise _invalid(f"`tool` is {_kind(tool) if 'tool' in body else 'missing'}; it is the tool's name")
    if not isinstance(args, dict):
        raise _invalid(f"`args` is {_kind(args) if 'args' in body else 'missing'}; it is an object")
    for key in ("run", "limits"):
        if not isinstance(body.get(key, {}), dict):
            raise _invalid(f"`{key}` is {_kind(body[key])}; it is an object")
    return Request(tool, args, _run_ids(body.get("run", {})), body, text)


def read_request_file(path: bytes, places: Places) -> bytes:
    """Take the encoded request out of a file directly inside `requests/`, and delete the file.

    Raises ToolError(`invalid_request`) for anything else at that path, which is then left alone.
    """
    shown = quoted(os.fsdecode(path))
    folder, name = os.path.split(path)
    try:
        requests = os.open(os.path.join(places.runtime, b"requests"), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise _invalid(f"the requests folder can't be opened: {problem.strerror}") from None
    try:
        if name in (b"", b".", b"..") or not _same_folder(folder or b".", requests):
            raise _invalid(f"{shown} is not directly inside the requests folder")
        return _take(requests, name, shown)
    finally:
        os.close(requests)


def _take(requests: int, name: bytes, shown: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(name, flags, dir_fd=requests)
    except OSError as problem:
        raise _invalid(f"the request file {shown} can't be opened: {problem.strerror}") from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise _invalid(f"{shown} is no regular file")
        os.unlink(name, dir_fd=requests)
        if status.st_size > REQUEST_MAX_BYTES:
            raise _invalid(f"the request file has {status.st_size} bytes; at most {REQUEST_MAX_BYTES} are read")
        parts = []
        while part := os.read(file, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError as problem:
        raise _invalid(f"the request file {shown}: {problem.strerror}") from None
    finally:
        os.close(file)


def _same_folder(path: bytes, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _run_ids(run: dict[str, Any]) -> RunIds:
    for key in ("id", "agent_id", "call_id"):
        if key in run and not _is_id(run[key]):
            shown = quoted(run[key]) if isinstance(run[key], str) else _kind(run[key])
            raise _invalid(
                f"`run.{key}` is {shown}; an id has 1 to {ID_MAX_CHARACTERS} of A-Z a-z 0-9 . _ - "
                "and begins with a letter or digit"
            )
    for key in ("seq", "visible_from"):
        if run.get(key) is not None and type(run[key]) is not int:
            raise _invalid(f"`run.{key}` is {_kind(run[key])}; it is a whole number or null")
    known = ("id", "agent_id", "call_id", "seq", "visible_from")
    return RunIds(**{key: run[key] for key in known if key in run})


def _is_id(value: Any) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= ID_MAX_CHARACTERS
        and value[0] not in "._-"
        and _ID_CHARACTERS.issuperset(value)
    )


def _result_max_bytes(limits: dict[str, Any]) -> int:
    value: Any = limits.get("result_max_bytes")
    name = "`limits.result_max_bytes`"
    if value is None:
        name, text = RESULT_BYTES_VARIABLE, os.environ.get(RESULT_BYTES_VARIABLE) or str(RESULT_BYTES_DEFAULT)
        value = int(text) if text.isdecimal() and len(text) < 10 else text
    if type(value) is not int or not RESULT_BYTES_LEAST <= value <= RESULT_BYTES_MOST:
        shown = quoted(str(value))
        raise _invalid(f"{name} is {shown}; it is a number from {RESULT_BYTES_LEAST} to {RESULT_BYTES_MOST}")
    return value


def _invalid(problem: str) -> ToolError:
    return ToolError("invalid_request", f"The request was refused: {problem}.")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
