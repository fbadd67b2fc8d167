"""Exploration: how much of a run went into looking before it changed anything."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from guilds_client.message import ToolMessage

EDITS = frozenset({"file_edit", "file_write"})


@dataclass(frozen=True, slots=True)
class Exploration:
    """`calls_before_first_edit` is None until a file_edit or file_write succeeded.

    `read_bytes_unedited` are the bytes that file_read returned from files which the run never edited.
    """

    calls_before_first_edit: int | None
    read_bytes_unedited: int


def explore(messages: Iterable[ToolMessage], home: str) -> Exploration:
    """The figures of a run so far, from its messages in order."""
    first_edit: int | None = None
    edited: set[str] = set()
    reads: list[tuple[str, int]] = []
    directory = home
    for position, message in enumerate(messages):
        recorded = message.metadata
        if recorded["error"] is not None:
            continue
        # What a helper records is relative to the directory that the run was in.
        path = posixpath.normpath(posixpath.join(directory, recorded.get("path") or "."))
        if message.tool_name == "shell":
            directory = recorded.get("cwd") or directory
        elif message.tool_name in EDITS:
            first_edit = position if first_edit is None else first_edit
            edited.add(path)
        elif message.tool_name == "file_read" and "content_hash" in recorded:
            reads.append((path, recorded["original_bytes"]))
    return Exploration(first_edit, sum(size for path, size in reads if path not in edited))
