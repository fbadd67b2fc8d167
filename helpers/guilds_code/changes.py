"""What a change of a file comes to: lines added and removed, and where."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Change:
    """Counts of whole lines, and the number of the first line that differs, in the new content."""

    __slots__ = ("added", "first", "removed")

    def __init__(self, added: int, removed: int, first: int) -> None:
        self.added = added
        self.removed = removed
        self.first = first


def between(before: bytes, after: bytes) -> Change:
    """The change from one content to another, as one block from the first to the last line that differs."""
    return of_edits(before, [(0, len(before), after)])


def of_edits(before: bytes, edits: Iterable[tuple[int, int, bytes]]) -> Change:
    """The change by edits `(start, end, replacement)` of byte ranges that are in order and do not overlap."""
    added = removed = first = 0
    for start, old, new in _blocks(before, edits):
        same = _common_lines(old, new)
        gone, come = old[same:], new[same:]
        same_end = _common_lines(gone[::-1], come[::-1])
        if not first:
            first = before.count(b"\n", 0, start) + same + 1 + added - removed
        added += len(come) - same_end
        removed += len(gone) - same_end
    return Change(added, removed, first)


def _blocks(before: bytes, edits: Iterable[tuple[int, int, bytes]]) -> Iterable[tuple[int, list[bytes], list[bytes]]]:
    """Whole lines before and after, for each run of edits that touch the same lines, with where they start."""
    start = end = -1
    pieces: list[bytes] = []
    for edit_start, edit_end, replacement in edits:
        if start >= 0 and before.find(b"\n", end, edit_start) >= 0:
            yield _block(before, start, end, pieces)
            start = -1
        if start < 0:
            start = end = before.rfind(b"\n", 0, edit_start) + 1
            pieces = []
        pieces += [before[end:edit_start], replacement]
        end = edit_end
    if start >= 0:
        yield _block(before, start, end, pieces)


def _block(before: bytes, start: int, end: int, pieces: list[bytes]) -> tuple[int, list[bytes], list[bytes]]:
    line_end = before.find(b"\n", end) + 1 or len(before)
    old = before[start:line_end]
    new = b"".join(pieces) + before[end:line_end]
    return start, _lines(old), _lines(new)


def _lines(content: bytes) -> list[bytes]:
    """Lines that end at `\\n` alone (bytes.splitlines knows other ends)."""
    parts = content.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])


def _common_lines(one: list[bytes], other: list[bytes]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
