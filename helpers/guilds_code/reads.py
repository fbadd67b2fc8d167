"""Which lines of which files a run has been shown, so that it is not shown them again.

Kept in the run's `reads.json`. Only lines shown whole count, only for the content that they had (by its hash), and
only while the step that showed them is still in the model's context.
"""

from __future__ import annotations

import os

from guilds_wire.lean import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call

FILE = "reads.json"
RECORDS_MOST = 1_000
"""The newest are kept."""


class Shown:
    """Lines `first` to `last` of a file (by its path without links) with a content hash."""

    __slots__ = ("content_hash", "first", "last", "path")

    def __init__(self, path: bytes, content_hash: str, first: int, last: int) -> None:
        self.path = os.fsdecode(path)
        self.content_hash = content_hash
        self.first = first
        self.last = last


def step_that_showed(call: Call, wanted: Shown) -> int | None:
    """The newest visible step that has shown all these lines, None when there is none."""
    oldest = call.ids.visible_from
    steps = [
        record["seq"]
        for record in _records(call)
        if record["path"] == wanted.path
        and record["content_hash"] == wanted.content_hash
        and record["range"][0] <= wanted.first
        and wanted.last <= record["range"][1]
        and (oldest is None or record["seq"] >= oldest)
    ]
    return max(steps, default=None)


def record(call: Call, shown: list[Shown]) -> None:
    """Note what this step shows. Raises OSError; then it is only shown again another time."""
    if not shown or call.ids.seq is None:
        return
    new = [
        {
            "path": one.path,
            "content_hash": one.content_hash,
            "range": [one.first, one.last],
            "seq": call.ids.seq,
        }
        for one in shown
    ]
    lock = call.run.lock()
    try:
        known = _records(call)
        call.run.write(FILE, dumps({"version": 1, "reads": (known + new)[-RECORDS_MOST:]}).encode())
    finally:
        os.close(lock)


def _records(call: Call) -> list[dict[str, Any]]:
    """What is noted; a file that is damaged or of another version holds nothing."""
    content = call.run.read(FILE)
    try:
        noted = loads(content.decode()) if content else {}
        records = noted["reads"] if noted.get("version") == 1 else []
        return [one for one in records if isinstance(one["seq"], int) and len(one["range"]) == 2]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
