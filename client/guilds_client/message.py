"""ToolMessage: what one call leaves, for the conversation and for the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """`content` is what is stored and what the model reads; `metadata` is for the record alone.

    `seq` is the call's step in the run. `metadata` holds tool_name, duration_ms, output_filter (its name or None),
    truncated, original_bytes, stored_bytes, error (None or what was wrong), and what the helper records.
    """

    seq: int
    tool_name: str
    content: str
    metadata: dict[str, Any]
