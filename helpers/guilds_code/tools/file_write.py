"""file_write: create a file, or replace it whole and at once."""

from __future__ import annotations

from guilds_code import changes
from guilds_code.numbered import count_lines
from guilds_wire import lean
from guilds_wire.envelope import Result
from guilds_wire.replace import open_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.call import Call


def file_write(call: Call, path: str, content: str) -> Result:
    """Make `content`, as UTF-8, the file's content; say how many lines that are.

    Raises ToolError: `path_outside_home`, `not_a_file`, `conflict`, `io_error`; the old file is then as it was.
    """
    data = content.encode()
    with open_target(call.workspace, path, create=True) as target:
        before = target.before
        if before != data:
            target.write(data, new_file_mode=0o755 if data.startswith(b"#!") else 0o644)
    change = changes.between(before or b"", data)
    lines = count_lines(data)
    text = (
        f"unchanged {target.shown}"
        if before == data
        else f"wrote {target.shown} ({lines} {'line' if lines == 1 else 'lines'})"
    )
    meta = {
        "path": target.shown,
        "lines_added": change.added,
        "lines_removed": change.removed,
        "content_hash": lean.sha256(data).hexdigest(),
        "created": before is None,
    }
    if target.in_place:
        meta["in_place"] = True
    return Result(text, meta)
