"""file_edit: replace an exact string in a file, and nothing else of it."""

from __future__ import annotations

from guilds_code import changes
from guilds_code.numbered import numbered, shown_line
from guilds_wire import lean
from guilds_wire.envelope import Result
from guilds_wire.errors import ToolError
from guilds_wire.replace import open_target
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call

SHOWN_LINES = 12
CONTEXT_LINES = 3
AMBIGUOUS_LINES_MOST = 10
OVERLAPPING_MOST = 1_000
"""Places that may overlap are only counted to refuse them; finding each costs up to the old string's length."""

_UTF8_BOM = b"\xef\xbb\xbf"
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def file_edit(call: Call, path: str, old_string: str, new_string: str, replace_all: bool) -> Result:
    """Replace `old_string`, byte for byte, by `new_string`; show the lines around the first change.

    Raises ToolError: `no_match`, `ambiguous_match`, `invalid_arguments`, and as file_write does. Each changes nothing.
    """
    if old_string == new_string:
        raise invalid_argument("new_string", "equals `old_string`; there is nothing to change")
    with open_target(call.workspace, path, create=False) as target:
        if target.before is None:
            raise ToolError("not_found", f"{target.shown} does not exist any more.")
        edits = _edits(target.before, old_string, new_string, apart=replace_all)
        if not edits:
            from guilds_code.near_match import no_match

            raise no_match(target.shown, target.before, old_string)
        if len(edits) > 1 and not replace_all:
            raise _ambiguous(target.shown, target.before, edits)
        edits = _apart(edits)
        after = _applied(target.before, edits)
        if after == target.before:
            raise invalid_argument("new_string", "makes no difference to this file's bytes")
        target.write(after, new_file_mode=0o644)
    change = changes.of_edits(target.before, edits)
    text = f"edited {target.shown} (+{change.added} −{change.removed})"
    meta = {
        "path": target.shown,
        "lines_added": change.added,
        "lines_removed": change.removed,
        "content_hash": lean.sha256(after).hexdigest(),
        "replacements": len(edits),
    }
    if target.in_place:
        meta["in_place"] = True
    text, cuts = _with_lines(text, after, change.first, call.cap_bytes)
    return Result(text, meta, cuts)


Edit = tuple[int, int, bytes]


def _edits(content: bytes, old: str, new: str, *, apart: bool = False) -> list[Edit]:
    """Every place where the old string stands, with what comes there: places that do not overlap when `apart` is
    set, else also those that do, up to a number that is far more than one.
    """
    encoding = _BOMS.get(content[:2], "utf-8")
    step = 1 if encoding == "utf-8" else 2
    newline, crlf = "\n".encode(encoding), "\r\n".encode(encoding)
    old_bytes, new_bytes = old.encode(encoding), new.encode(encoding)
    ends = _count(content, newline, step)
    crlf_ends = _count(content, crlf, step)
    if crlf_ends and crlf_ends == ends:
        old_bytes, new_bytes = (_with_crlf(text, encoding) for text in (old, new))
        return [(at, at + len(old_bytes), new_bytes) for at in _places(content, old_bytes, step, apart)]
    found = [(at, at + len(old_bytes), new_bytes) for at in _places(content, old_bytes, step, apart)]
    if found or not crlf_ends or "\n" not in old:
        return found
    return _edits_over_mixed_ends(content, old, new, encoding, step, apart)


def _edits_over_mixed_ends(content: bytes, old: str, new: str, encoding: str, step: int, apart: bool) -> list[Edit]:
    """As _edits, in a file with line ends of both kinds, with the old string's taken as either."""
    import re
    from itertools import islice

    lines = old.replace("\r\n", "\n").encode(encoding).split("\n".encode(encoding))
    end = b"(?:" + re.escape("\r".encode(encoding)) + b")?" + re.escape("\n".encode(encoding))
    pattern = re.compile(b"(?=(" + end.join(map(re.escape, lines)) + b"))")
    edits = []
    for found in islice(pattern.finditer(content), None if apart else OVERLAPPING_MOST):
        if found.start() % step == 0:
            text = found.group(1)
            crlf = "\r\n".encode(encoding) in text
            edits.append((found.start(), found.end(1), _with_crlf(new, encoding) if crlf else new.encode(encoding)))
    return edits


def _with_crlf(text: str, encoding: str) -> bytes:
    return text.replace("\r\n", "\n").replace("\n", "\r\n").encode(encoding)


def _places(content: bytes, wanted: bytes, step: int, apart: bool = True) -> list[int]:
    """Where the bytes stand, at multiples of `step`."""
    places: list[int] = []
    at = content.find(wanted)
    while at >= 0 and (apart or len(places) < OVERLAPPING_MOST):
        if at % step:
            at = content.find(wanted, at + 1)
            continue
        places.append(at)
        at = content.find(wanted, at + (len(wanted) if apart else 1))
    return places


def _count(content: bytes, wanted: bytes, step: int) -> int:
    return content.count(wanted) if step == 1 else len(_places(content, wanted, step))


def _apart(edits: list[Edit]) -> list[Edit]:
    """The edits from left to right that do not overlap one before."""
    kept: list[Edit] = []
    for edit in edits:
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def _applied(content: bytes, edits: list[Edit]) -> bytes:
    pieces, at = [], 0
    for start, end, replacement in edits:
        pieces += [content[at:start], replacement]
        at = end
    return b"".join([*pieces, content[at:]])


def _ambiguous(shown: str, content: bytes, edits: list[Edit]) -> ToolError:
    times = f"at least {OVERLAPPING_MOST}" if len(edits) >= OVERLAPPING_MOST else str(len(edits))
    numbers = list(dict.fromkeys(content.count(b"\n", 0, start) + 1 for start, _, _ in edits[:200]))
    told = ", ".join(map(str, numbers[:AMBIGUOUS_LINES_MOST])) + (
        " and more" if len(numbers) > AMBIGUOUS_LINES_MOST else ""
    )
    return ToolError(
        "ambiguous_match",
        f"{shown} has `old_string` {times} times, at line{'s' if len(numbers) > 1 else ''} {told}; "
        "nothing was changed. Add lines around it until it is one place, or set `replace_all`.",
    )


def _with_lines(text: str, after: bytes, first: int, cap_bytes: int) -> tuple[str, list[int]]:
    """The text with up to 12 numbered lines of the new content around its first change, within the cap; its cuts."""
    cuts: list[int] = []
    encoding = _BOMS.get(after[:2])
    content = after.decode(encoding, "replace").lstrip("\ufeff").encode() if encoding else after.removeprefix(_UTF8_BOM)
    if not content:
        return text, cuts
    start = max(1, first - CONTEXT_LINES)
    lines = content.removesuffix(b"\n").split(b"\n", start + SHOWN_LINES - 1)[start - 1 : start + SHOWN_LINES - 1]
    for number, line in enumerate(lines, start):
        shown, whole = shown_line(line)
        longer = f"{text}\n{numbered(number, shown)}"
        if len(longer.encode()) > cap_bytes:
            break
        text = longer
        cuts += [] if whole else [text.rindex(" … ["), len(text)]
    return text, cuts
