"""Result and envelope: what a tool returns, and the line of base64 in which it travels."""

from __future__ import annotations

import binascii

from guilds_wire.lean import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.errors import ToolError


class Result:
    """What a tool has to say: `text` for the model, `meta` for the record.

    `cuts` are the character offsets in `text` around each place where something was left out.
    """

    __slots__ = ("cuts", "meta", "text")

    def __init__(self, text: str, meta: dict[str, Any] | None = None, cuts: list[int] | None = None) -> None:
        self.text = text
        self.meta = meta or {}
        self.cuts = cuts or []

    def prefixed(self, line: str) -> Result:
        """The same result under a first line."""
        shift = len(line) + 1
        return Result(f"{line}\n{self.text}", self.meta, [cut + shift for cut in self.cuts])

    def within(self, most_bytes: int) -> Result:
        """The same result, cut at a character should it be longer. A tool keeps to its cap by itself; a name of
        thousands of bytes in a heading is what is left for this wall.
        """
        encoded = self.text.encode("utf-8", "replace")
        if len(encoded) <= most_bytes:
            return self
        text = encoded[: most_bytes - 3].decode("utf-8", "ignore")
        pairs = [pair for pair in zip(self.cuts[::2], self.cuts[1::2], strict=False) if pair[0] < len(text)]
        whole = [cut for pair in pairs if pair[1] <= len(text) for cut in pair]
        end = len(text) if len(whole) == 2 * len(pairs) else pairs[-1][0]  # a marker that is cut itself
        return Result(text + "…", self.meta, [*whole, end, len(text) + 1])


def of_result(result: Result) -> dict[str, Any]:
    """The envelope of a result."""
    return {"ok": True, "text": result.text, "meta": {**result.meta, "cuts": result.cuts}}


def of_error(error: ToolError) -> dict[str, Any]:
    """The envelope of an error."""
    fault: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        fault["details"] = error.details
    return {"ok": False, "error": fault, "meta": error.meta}


def encode(envelope: dict[str, Any]) -> bytes:
    """One line of base64 without its line end."""
    return binascii.b2a_base64(dumps(envelope).encode("ascii"), newline=False)


def decode(line: bytes) -> dict[str, Any]:
    """The envelope in a line that a helper printed. Raises ValueError when it is none."""
    from guilds_wire.lean import loads

    envelope = loads(binascii.a2b_base64(line.strip(), strict_mode=True).decode("utf-8"))
    if not isinstance(envelope, dict) or not isinstance(envelope.get("ok"), bool):
        raise ValueError("not an envelope")
    return envelope
