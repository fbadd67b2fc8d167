"""The light parts of json and hashlib, held against the full modules."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_wire import lean

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    assert lean.dumps(value) == json.dumps(value, separators=(",", ":"))


@given(JSON, st.sampled_from([None, 1]))
def test_what_json_writes_is_read(value: Any, indent: int | None) -> None:
    assert lean.loads(f" \n{json.dumps(value, indent=indent)}\t\r") == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsnN \\u\n', max_size=30))
def test_what_json_refuses_is_refused(text: str) -> None:
    assert _value(lean.loads, text) == _value(_strict, text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", " ", "1 2", "[" * 100_000])
def test_what_is_no_strict_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        lean.loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, b"x", {1, 2}])
def test_what_is_no_json_value_is_not_written(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        lean.dumps(value)


@pytest.mark.parametrize("size", [0, 1, lean.FAST_SHA256_FROM_BYTES])
def test_the_hash_is_sha256(size: int) -> None:
    data = b"x" * size

    assert lean.sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: float("not " + name))


def _value(read: Any, text: str) -> Any:
    try:
        return repr(read(text))
    except ValueError:
        return "refused"
