"""The members of a JSON object as the texts they stand as, against the full `json` module."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_wire import lean

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_each_member_is_found_with_its_own_text(value: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    found = lean.members(f" \n{text}\r\n")

    assert list(found) == list(value)
    assert {name: json.loads(part) for name, part in found.items()} == value
    assert all(part in text and part == part.strip() for part in found.values())


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"b":{"a":1,"a":1}}', '{"b":[[{"":1,"":1}]]}', '{"\\u0061":1,"a":1}']
)
def test_a_name_that_comes_twice_is_refused_at_any_depth(text: str) -> None:
    with pytest.raises(ValueError, match="comes twice"):
        lean.members(text)


def test_a_text_nested_deeper_than_python_goes_is_refused_not_fatal() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        lean.members('{"a":' + '{"a":' * 100_000 + "1" + "}" * 100_001)
