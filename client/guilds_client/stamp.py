"""The last steps of a result's path: well-formed text, the byte cap, and the trailer with the calls that remain."""

from __future__ import annotations

NO_OUTPUT = "(no output)"
TRUNCATED = "\n[truncated]"
LOW_BUDGET_CALLS = 8
LOW_BUDGET_LINE = "Write durable findings and finish with text. A batch costs one call each."


def trailer(remaining: int) -> str:
    """What stands below a result; it does not count against the cap."""
    line = f"remaining_tool_calls: {remaining}"
    return f"{LOW_BUDGET_LINE}\n{line}" if remaining <= LOW_BUDGET_CALLS else line


def capped(text: str, max_bytes: int) -> str:
    """The text itself, or as much of its start as fits with the line that says it was cut."""
    if len(text) <= max_bytes // 4 or len(encoded := text.encode()) <= max_bytes:
        return text
    return encoded[: max_bytes - len(TRUNCATED)].decode("utf-8", "ignore") + TRUNCATED


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined, and halves of them replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
