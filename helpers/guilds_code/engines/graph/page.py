"""Page: an answer's lines within a cap in bytes, with what was left out said and its place recorded."""

from __future__ import annotations

RESERVE_BYTES = 120
"""Kept free for the line that says what was left out."""


class Page:
    """Lines of an answer. What does not fit is counted."""

    __slots__ = ("_lines", "_notice", "_room", "left_out")

    def __init__(self, cap_bytes: int, notice: str = "") -> None:
        self._lines: list[str] = []
        self._notice = f"\nnote: {notice}" if notice else ""
        self._room = cap_bytes - RESERVE_BYTES - len(self._notice.encode())
        self.left_out = 0

    def add(self, line: str) -> bool:
        """Add a line if there is room and none was left out before it; whether it was added."""
        size = len(line.encode("utf-8", "replace")) + 1
        if self.left_out or size > self._room:
            self.left_out += 1
            return False
        self._room -= size
        self._lines.append(line)
        return True

    def text(self, what: str) -> tuple[str, list[int]]:
        """The whole text, and the cut in it; `what` names the lines that are left out."""
        text = "\n".join(self._lines)
        if not self.left_out:
            return text + self._notice, []
        notice = f"\n[… {self.left_out} more {what} left out …]"
        return text + notice + self._notice, [len(text), len(text + notice)]
