"""The validator of arguments, held against a full JSON Schema library."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_wire.errors import ToolError
from guilds_wire.schema import boolean, integer, object_schema, string, validate
from guilds_wire.tools import all_tools

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 700)
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.sampled_from(["", "a", "files", "content", "é\n", "in", "accept"])
    | st.lists(st.none(), max_size=1)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
)


@pytest.mark.parametrize("name", list(all_tools()))
@given(data=st.data())
def test_arguments_are_taken_exactly_when_json_schema_takes_them(name: str, data: st.DataObject) -> None:
    schema = all_tools()[name].parameters
    names = st.sampled_from([*schema["properties"], "other"])
    args = data.draw(st.dictionaries(names, VALUES))

    problems = list(jsonschema.Draft202012Validator(schema).iter_errors(args))

    assert _refused(schema, args) == bool(problems)


@pytest.mark.parametrize("tool", all_tools().values(), ids=lambda tool: tool.name)
def test_every_declared_schema_is_a_json_schema(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.parameters)


def test_defaults_are_filled_in_and_whole_floats_become_whole_numbers() -> None:
    schema = object_schema(n=integer("", 1, 9, 5), flag=boolean(""), s=string(""), m=integer("", 1))

    assert validate(schema, {"m": 2.0}) == {"n": 5, "flag": False, "m": 2}
    assert type(validate(schema, {"m": 2.0})["m"]) is int


def test_a_string_that_is_no_text_is_a_problem() -> None:
    with pytest.raises(ToolError) as caught:
        validate(object_schema(s=string("")), {"s": "a\ud83d"})

    assert "surrogate" in caught.value.message


def test_a_thousand_problems_are_told_in_a_bounded_list() -> None:
    with pytest.raises(ToolError) as caught:
        validate(object_schema(), {f"n{number}": 1 for number in range(1000)})

    assert caught.value.details is not None
    assert len(caught.value.details) == 50


def _refused(schema: dict[str, Any], args: dict[str, Any]) -> bool:
    try:
        validate(schema, args)
    except ToolError as error:
        return bool(error.details)
    return False
