"""file_read: numbered lines of a text file, or the entries of a folder."""

from __future__ import annotations

import codecs
import os

from guilds_code import reads
from guilds_code.file_kinds import LOOKED_AT_BYTES, binary_type, byte_order_mark
from guilds_code.numbered import LineRange, numbered
from guilds_wire import lean
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError, io_error
from guilds_wire.paths import shown_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.paths import Located

CHUNK_BYTES = 1 << 20
ENTRIES_MOST = 200


def file_read(call: Call, path: str, offset: int, limit: int) -> Result:
    """Show lines `offset` to `offset + limit - 1`, or fewer where the cap or the file ends them.

    Raises ToolError: `path_outside_home`, `not_found` (also for an offset past the end), `not_a_file`, `io_error`.
    """
    with call.workspace.locate(path) as located:
        try:
            if located.is_folder:
                return _folder(call, located, offset, limit)
            located.require_file()
            with open(located.open(os.O_RDONLY), "rb", buffering=0) as file:
                start = file.read(LOOKED_AT_BYTES)
                kind = binary_type(start)
                if kind is not None:
                    return _binary(located, kind)
                seen = _Seen(located, start, LineRange(offset, offset + limit - 1))
                while chunk := file.read(CHUNK_BYTES):
                    seen.feed(chunk)
        except OSError as problem:
            raise io_error(problem, located.shown) from problem
    return _lines(call, seen.finished(), offset)


class _Seen:
    """One pass over a file: its hash, size, encoding, and the lines of the range."""

    def __init__(self, located: Located, start: bytes, lines: LineRange) -> None:
        self.shown = located.shown
        self.real = located.real
        self.lines = lines
        self.bytes = 0
        mark, self.encoding = byte_order_mark(start)
        self._hash = lean.sha256(expected_bytes=located.status.st_size)
        self._mark_bytes = len(mark)
        self._decoder = codecs.getincrementaldecoder(self.encoding)("strict" if self.encoding == "utf-8" else "replace")
        self.feed(start)

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the file."""
        self.bytes += len(chunk)
        self._hash.update(chunk)
        self._take(chunk[self._mark_bytes :], final=False)
        self._mark_bytes = 0

    def finished(self) -> _Seen:
        """The file has ended."""
        self._take(b"", final=True)
        self.lines.finish()
        return self

    @property
    def content_hash(self) -> str:
        return self._hash.hexdigest()

    def _take(self, chunk: bytes, final: bool) -> None:
        if self.encoding.startswith("utf-16"):
            chunk = self._decoder.decode(chunk, final).encode("utf-8", "replace")
        elif self.encoding == "utf-8":
            self._check(chunk, final)
        self.lines.feed(chunk)

    def _check(self, chunk: bytes, final: bool) -> None:
        """Note when this is not UTF-8 after all; the bytes stay what they are."""
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self.encoding = "unknown-8bit"


def _lines(call: Call, seen: _Seen, offset: int) -> Result:
    count = seen.lines.count
    meta: dict[str, Any] = {
        "path": seen.shown,
        "lines": count,
        "content_hash": seen.content_hash,
        "bytes": seen.bytes,
        "encoding": seen.encoding,
    }
    if offset > count and (count or offset > 1):
        raise ToolError("not_found", f"{seen.shown} has {count} lines; offset {offset} is past its end.")
    if not count:
        return Result(f"{seen.shown} · empty", meta | {"range": [0, 0]})
    page = _Page(seen, offset, call.cap_bytes)
    last = page.last
    meta["range"] = [offset, last]
    if call.ids.seq is not None:
        wanted = reads.Shown(seen.real, seen.content_hash, offset, last)
        if page.is_whole and (step := reads.step_that_showed(call, wanted)) is not None:
            text = f"{seen.shown} lines {offset}–{last}: unchanged since step {step}; read that result."
            return Result(text, meta | {"repeat_of": step})
        try:
            reads.record(call, [reads.Shown(seen.real, seen.content_hash, *run) for run in page.whole_runs()])
        except OSError as problem:
            meta["not_recorded"] = problem.strerror
    return Result(page.text, meta, page.cuts)


class _Page:
    """The shown lines under their header, as many as the cap lets; `cuts` where a line or the range was cut."""

    def __init__(self, seen: _Seen, offset: int, cap_bytes: int) -> None:
        self._first = offset
        self._whole: list[bool] = []
        self.cuts: list[int] = []
        count = seen.lines.count
        head = f"{seen.shown} · lines {offset}–{count} of {count}"
        room = cap_bytes - len(head.encode()) - len(f"\n[continue with offset={count}]")
        body: list[str] = []
        for number, line in enumerate(seen.lines.lines, offset):
            text, whole = line.shown()
            shown = numbered(number, text)
            if room < len(shown.encode()) + 1 and not body:  # one line of wide characters can pass a small cap
                shown, whole = shown.encode()[: max(0, room - 5)].decode("utf-8", "ignore") + " …", False
            room -= len(shown.encode()) + 1
            if room < 0:
                break
            body.append(shown)
            self._whole.append(whole)
        self.last = offset + len(body) - 1
        self.text = f"{seen.shown} · lines {offset}–{self.last} of {count}"
        for shown, whole in zip(body, self._whole, strict=True):
            self.text += "\n" + shown
            if not whole:
                end = len(self.text)
                self.cuts += [end - len(shown) + shown.rindex(" …"), end]
        if self.last < count:
            end = len(self.text)
            self.text += f"\n[continue with offset={self.last + 1}]"
            self.cuts += [end, len(self.text)]

    @property
    def is_whole(self) -> bool:
        """Whether every shown line is shown whole."""
        return all(self._whole)

    def whole_runs(self) -> list[tuple[int, int]]:
        """First and last number of each run of lines that are shown whole."""
        runs: list[tuple[int, int]] = []
        for number, whole in enumerate(self._whole, self._first):
            if whole and runs and runs[-1][1] == number - 1:
                runs[-1] = (runs[-1][0], number)
            elif whole:
                runs.append((number, number))
        return runs


def _binary(located: Located, kind: str) -> Result:
    size = located.status.st_size
    named = f" ({kind})" if kind else ""
    meta = {"path": located.shown, "bytes": size, "encoding": "binary"}
    return Result(f"{located.shown} · binary, {size} bytes{named}", meta)


def _folder(call: Call, located: Located, offset: int, limit: int) -> Result:
    folder = located.open(os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(folder) as entries:
            names = sorted(_entry(entry) for entry in entries)
    finally:
        os.close(folder)
    if offset > max(1, len(names)):
        raise ToolError("not_found", f"{located.shown} has {len(names)} entries; offset {offset} is past its end.")
    shown = names[offset - 1 :][: min(limit, ENTRIES_MOST)]
    while len("\n".join(shown).encode()) > call.cap_bytes - 80:
        shown = shown[: len(shown) * 7 // 8]
    text = "\n".join(shown) or "(empty folder)"
    meta = {"path": located.shown, "entries": len(names)}
    after = len(names) - (offset - 1) - len(shown)
    if not after:
        return Result(text, meta)
    whole = f"{text}\n[… {after} more; continue with offset={offset + len(shown)}]"
    return Result(whole, meta, [len(text), len(whole)])


def _entry(entry: os.DirEntry[str]) -> str:
    try:
        slash = "/" if entry.is_dir() else ""
    except OSError:  # a link that goes round in a circle
        slash = ""
    return shown_bytes(os.fsencode(entry.name)) + slash
