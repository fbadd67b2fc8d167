"""Page: an answer's lines within a cap in bytes, with what was left out said and its place recorded."""

from __future__ import annotations

RESERVE_BYTES = 120
"""Kept free for the line that says what was left out."""


ELLIPSIS = "…"
"""Where the graph clips a signature, a doc or a line of source."""


_CONTROLS = {c: chr(c).encode("unicode_escape").decode() for c in (*range(9), *range(10, 32), *range(127, 160))}
_CONTROLS.update((c, chr(c).encode("unicode_escape").decode()) for c in (0x2028, 0x2029))


def plain(line: str) -> str:
    """A line whose names and texts come from files, with all control characters but tabs as escapes: none of them can
    begin another line."""
    return line.translate(_CONTROLS)


class Page:
    """Lines of an answer. What does not fit is counted, and every ellipsis in a line counts as a cut."""

    __slots__ = ("_cuts", "_lines", "_notice", "_offset", "_room", "left_out")

    def __init__(self, cap_bytes: int, notice: str = "") -> None:
        self._cuts: list[int] = []
        self._lines: list[str] = []
        self._offset = 0
        self._notice = f"\nnote: {notice}" if notice else ""
        self._room = cap_bytes - RESERVE_BYTES - len(self._notice.encode())
        self.left_out = 0

    def add(self, line: str) -> bool:
        """Add a line if there is room and none was left out before it; whether it was added."""
        line = plain(line)
        size = len(line.encode("utf-8", "replace")) + 1
        if self.left_out or size > self._room:
            self.left_out += 1
            return False
        self._room -= size
        self._lines.append(line)
        at = line.find(ELLIPSIS)
        while at >= 0:
            self._cuts += [self._offset + at, self._offset + at + 1]
            at = line.find(ELLIPSIS, at + 1)
        self._offset += len(line) + 1
        return True

    def add_left_out(self, line: str) -> None:
        """Add a line that tells what is left out between those around it."""
        before = self._offset
        if self.add(line):
            self._cuts += [max(0, before - 1), self._offset]

    def text(self, what: str) -> tuple[str, list[int]]:
        """The whole text, and the cuts in it; `what` names the lines that are left out."""
        text = "\n".join(self._lines)
        cuts = [min(cut, len(text)) for cut in self._cuts]
        if not self.left_out:
            return text + self._notice, cuts
        notice = f"\n[… {self.left_out} more {what} left out …]"
        return text + notice + self._notice, [*cuts, len(text), len(text + notice)]
