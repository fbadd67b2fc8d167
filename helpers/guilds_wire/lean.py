"""The parts of json, hashlib and signal that a call needs, without what those modules import.

A helper is a process a call. Importing `json` costs more than starting the interpreter (it brings re and
enum), `signal` brings enum, `hashlib` loads OpenSSL. Their C halves are built into CPython and start at once;
tests/test_lean.py holds them against the full modules. Nothing else of ours uses a private module.
"""

from __future__ import annotations

import _json
import _signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    class Hash(Protocol):
        """The part of a hashlib object that we use."""

        def update(self, data: bytes, /) -> None: ...
        def hexdigest(self) -> str: ...


try:
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found]  # CPython 3.12 and newer
except ImportError:
    from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]

FAST_SHA256_FROM_BYTES = 4 << 20
"""From this size OpenSSL's speed repays its loading (6 ms; 3 to 6 times as fast)."""

_WHITE_SPACE = " \t\n\r"  # RFC 8259, section 2


def sha256(data: bytes = b"", expected_bytes: int = 0) -> Hash:
    """Start a SHA-256 over `data`; `expected_bytes` is about how much is to come."""
    if max(len(data), expected_bytes) >= FAST_SHA256_FROM_BYTES:
        import hashlib

        return hashlib.sha256(data)
    started: Hash = _sha256(data)
    return started


def loads(text: str) -> Any:
    """Parse one JSON text, strictly: no NaN, no infinities, nothing after it.

    Raises ValueError, with the place, for anything else; also for a text nested too deeply.
    """
    start = _skip_white_space(text, 0)
    try:
        value, end = _scan_once(text, start)
        if _skip_white_space(text, end) == len(text):
            return value
    except (StopIteration, ValueError, SystemError):  # CPython 3.11: SystemError while json is not imported
        pass
    except RecursionError:
        raise ValueError("nested too deeply") from None
    import json  # it finds the same fault and words it

    return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole_number)


def members(text: str) -> dict[str, str]:
    """Each member of a JSON object by its name, as the very text that stands for it.

    `text` is one that `loads` takes, and an object. Raises ValueError for a name that comes twice in one object, at
    any depth: readers differ in which of the two they take (RFC 8259, section 4).
    """
    scan = _json.make_scanner(_ScanningUnique)  # type: ignore[arg-type]
    found: list[tuple[str, str]] = []
    index = _skip_white_space(text, _skip_white_space(text, 0) + 1)
    try:
        while text[index] != "}":
            name, index = _json.scanstring(text, index + 1)
            start = _skip_white_space(text, _skip_white_space(text, index) + 1)
            _, index = scan(text, start)
            found.append((name, text[start:index]))
            index = _skip_white_space(text, index)
            if text[index] == ",":
                index = _skip_white_space(text, index + 1)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return _unique(found)


def dumps(value: Any) -> str:
    """Write a JSON text of plain values (dict, list, str, int, float, bool, None), ASCII only, no spaces."""
    return "".join(_pieces(value))


def signal_defaults() -> None:
    """Set every signal to its default and unblock all: what a program started by hand would find (signal(7))."""
    for number in range(1, _signal.NSIG):
        if number not in (9, 19, 32, 33):  # SIGKILL, SIGSTOP; 32 and 33 belong to glibc's threads
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def on_signal(numbers: Iterable[int], handler: Any) -> None:
    """Install a handler `(number, frame)` for these signals in this process."""
    for number in numbers:
        _signal.signal(number, handler)


def unblock_signals(numbers: Iterable[int]) -> None:
    """Let these signals through, should whoever started this process have blocked them."""
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, numbers)


def wake_on_signals(descriptor: int) -> None:
    """Have a byte written to this non-blocking descriptor whenever a signal with a handler arrives."""
    _signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)


def _skip_white_space(text: str, index: int) -> int:
    while index < len(text) and text[index] in _WHITE_SPACE:
        index += 1
    return index


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


class _Scanning:
    """What `_json` asks for in place of a json.JSONDecoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 (the C scanner's own attribute)


class _ScanningUnique(_Scanning):
    """The same for a reader to whom the values are nothing and the names everything."""

    parse_int = float  # type: ignore[assignment]  # int takes quadratic time

    @staticmethod
    def object_pairs_hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # type: ignore[override]
        return _unique(pairs)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    for name, _ in pairs if len(found) < len(pairs) else ():
        if name not in found:
            raise ValueError(f"the name {name[:80]!a} comes twice in one object")
        del found[name]
    return found


def _whole_number(digits: str) -> int | float:
    """int refuses more digits than 4,300, which JSON does not (sys.set_int_max_str_digits)."""
    return int(digits) if len(digits) <= 4_300 else float(digits)


_scan_once = _json.make_scanner(_Scanning)  # type: ignore[arg-type]


def _pieces(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield _json.encode_basestring_ascii(value)
    elif value is None:
        yield "null"
    elif value is True:
        yield "true"
    elif value is False:
        yield "false"
    elif isinstance(value, int):
        yield int.__repr__(value)
    elif isinstance(value, float):
        yield _finite(value)
    elif isinstance(value, dict):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            yield f"{',' if index else ''}{_json.encode_basestring_ascii(key)}:"
            yield from _pieces(item)
        yield "}"
    elif isinstance(value, (list, tuple)):
        yield "["
        for index, item in enumerate(value):
            if index:
                yield ","
            yield from _pieces(item)
        yield "]"
    else:
        raise TypeError(f"{type(value).__name__} is no JSON value")


def _finite(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is no JSON value")
    return float.__repr__(value)
