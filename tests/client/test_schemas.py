"""What a model is shown of a schema: looser than the original, never stricter, and nothing of it lost."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from guilds_client import SchemaError, drop_empty_optionals, lower_schema
from guilds_client.schemas import OMIT_LINE

NAMES = st.sampled_from("abc")
FORMATS = {"format": st.sampled_from(["date", "email", "ipv4"])}
REFERENCES = st.sampled_from(["#/$defs/a", "#/$defs/b"]).map(lambda reference: {"$ref": reference})
PLAIN = st.one_of(
    st.fixed_dictionaries({"type": st.just("string")}, optional={**FORMATS, "description": st.just("A date.")}),
    st.fixed_dictionaries({"type": st.just(["string", "null"])}, optional=FORMATS),
    st.fixed_dictionaries({"type": st.sampled_from(["integer", "boolean", "null"])}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["x", None, 1]), min_size=1, max_size=2)}),
    REFERENCES,
)


def objects(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, schemas, max_size=3)},
        optional={
            "required": st.lists(NAMES, unique=True, max_size=3),
            "additionalProperties": st.one_of(st.just(False), schemas),
            "patternProperties": st.dictionaries(st.just("^c"), schemas, max_size=1),
            "allOf": st.lists(schemas, min_size=1, max_size=2),
            "not": schemas,
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    PLAIN,
    lambda schemas: st.one_of(
        objects(schemas),
        st.fixed_dictionaries({"type": st.just("array"), "items": schemas}),
        *(st.fixed_dictionaries({word: st.lists(schemas, min_size=1, max_size=3)}) for word in ("anyOf", "oneOf")),
    ),
    max_leaves=8,
)
ROOTS = st.builds(
    lambda root, one, other: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": {"a": one, "b": other},
    },
    objects(SCHEMAS),
    objects(PLAIN.filter(lambda schema: "$ref" not in schema)),
    PLAIN.filter(lambda schema: "$ref" not in schema),
)
SCALARS = st.sampled_from(["", "x", "2024-01-01", "a@b", 1, True, None])
VALUES = st.recursive(
    SCALARS,
    lambda values: st.one_of(st.dictionaries(NAMES, values, max_size=3), st.lists(values, max_size=2)),
    max_leaves=6,
)


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema, format_checker=FormatChecker()).is_valid(value)


def lost(before: Any, after: Any, at: str = "$") -> list[str]:
    """What `after` does not have of `before`, but for what lowering takes away."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key, value in before.items():
            kept = after.get("anyOf") if key == "oneOf" and key not in after else after.get(key)
            gone = (
                key == "$schema"
                or (key == "format" and isinstance(value, str))
                or (key, value) == ("additionalProperties", False)
            )
            if key not in after and kept is None and not gone:
                found.append(f"{at}.{key}")
            elif kept is not None and not gone:
                found += lost(value, kept, f"{at}.{key}")
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            one
            for number, (old, new) in enumerate(zip(before, after, strict=True))
            for one in lost(old, new, f"{at}[{number}]")
        ]
    if isinstance(before, str) and isinstance(after, str) and after.startswith(before):
        return []
    return [] if before == after else [at]


@given(ROOTS, st.dictionaries(NAMES, VALUES, max_size=3))
def test_what_the_original_accepts_the_lowered_schema_accepts(schema: dict[str, Any], value: Any) -> None:
    lowered = lower_schema(schema)

    assert accepts(lowered, value) or not accepts(schema, value)


@given(ROOTS)
def test_nothing_is_lost_but_what_is_named(schema: dict[str, Any]) -> None:
    assert lost(schema, lower_schema(schema)) == []


@given(ROOTS)
def test_lowering_twice_is_lowering_once_and_the_input_is_left_alone(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)

    lowered = lower_schema(schema)

    assert lower_schema(lowered) == lowered
    assert schema == before


def of(*, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


DATE = {"type": "string", "format": "date", "description": "Omit it for today."}


@pytest.mark.parametrize(
    "nullable",
    [
        {"type": ["string", "null"], "format": "date"},
        {"type": "string", "nullable": True, "format": "date"},
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "format": "date"},
        {"oneOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        {"enum": ["2024-01-01", None], "format": "date"},
    ],
)
def test_a_format_goes_from_a_required_property_that_may_be_null(nullable: dict[str, Any]) -> None:
    lowered = lower_schema(of(required=("day",), day=nullable))

    assert "date'" not in str(lowered).replace("2024-01-01", "")


def test_a_format_stays_on_a_required_property_that_may_not_be_null() -> None:
    assert lower_schema(of(required=("day",), day=DATE))["properties"]["day"] == DATE


@pytest.mark.parametrize(
    "schema",
    [
        of(day=DATE),
        of(days={"type": "array", "items": DATE}),
        of(required=("trip",), trip=of(day=DATE)),
        of(required=("trips",), trips={"type": "array", "items": of(day=DATE)}),
        of(day={"$ref": "#/$defs/day"}) | {"$defs": {"day": DATE}},
        of() | {"allOf": [of(day=DATE)]},
        of() | {"patternProperties": {"^day": DATE}},
        of(required=("days",), days={"type": "object", "additionalProperties": DATE}),
        of(trip={"anyOf": [of(day=DATE), {"type": "integer"}]}),
    ],
    ids=[
        "plain",
        "items",
        "nested",
        "nested in items",
        "referred to",
        "allOf",
        "by pattern",
        "by any name",
        "in a branch",
    ],
)
def test_a_format_goes_wherever_an_optional_property_is(schema: dict[str, Any]) -> None:
    assert "format" not in str(lower_schema(schema))


def test_a_property_that_is_called_format_stays() -> None:
    schema = of(
        required=("format", "additionalProperties"), format={"type": "string"}, additionalProperties={"type": "string"}
    )

    assert lower_schema(schema) == schema


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        (None, OMIT_LINE),
        ("A name.", f"A name.\n{OMIT_LINE}"),
        ("A name. Omit it for all.", "A name. Omit it for all."),
    ],
)
def test_an_optional_string_says_that_it_may_be_left_out(description: str | None, shown: str) -> None:
    name = {"type": "string"} if description is None else {"type": "string", "description": description}

    assert lower_schema(of(name=name))["properties"]["name"]["description"] == shown


def test_a_required_string_and_an_optional_number_say_nothing_of_it() -> None:
    schema = of(required=("name",), name={"type": "string"}, count={"type": "integer"})

    assert lower_schema(schema) == schema


def test_a_choice_of_closed_objects_still_takes_each_of_them() -> None:
    closed = [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]
    schema = of(shape={"oneOf": closed}) | {
        "$defs": {
            "one": of(required=("a",), a={"type": "integer"}) | {"additionalProperties": False},
            "two": of(required=("a", "b"), a={"type": "integer"}, b={"type": "integer"})
            | {"additionalProperties": False},
        }
    }

    lowered = lower_schema(schema)

    assert accepts(schema, {"shape": {"a": 1, "b": 2}})
    assert accepts(lowered, {"shape": {"a": 1, "b": 2}})
    assert lowered["properties"]["shape"]["anyOf"] == closed


def test_a_schema_that_refers_to_itself_is_lowered() -> None:
    schema = of(child={"$ref": "#"}, day=DATE)

    assert lower_schema(schema)["properties"]["child"] == {"$ref": "#"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ([], "it is a list"),
        ({"type": "array"}, "its type is 'array'"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}, "it refers to #/\\$defs/gone"),
        ({"type": "object", "properties": {"a": {1, 2}}}, "it is no JSON"),
    ],
)
def test_a_schema_that_can_not_be_lowered_is_refused_with_the_reason(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        lower_schema(schema)


def test_an_empty_string_is_dropped_where_it_is_optional_and_sent_where_it_is_required() -> None:
    schema = of(required=("a",), a={"type": "string"}, b={"type": "string"}, c=of(d={"type": "string"}))
    args = {"a": "", "b": "", "c": {"d": "", "other": ""}, "unknown": ""}

    assert drop_empty_optionals(schema, args) == {"a": "", "c": {"other": ""}, "unknown": ""}
    assert args["b"] == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/row"},
        {"type": "object", "allOf": [{"$ref": "#/$defs/row"}]},
        {"anyOf": [{"$ref": "#/$defs/row"}, {"type": "null"}]},
    ],
)
def test_an_empty_string_is_dropped_whatever_leads_to_its_schema(schema: dict[str, Any]) -> None:
    row = of(required=("a",), a={"type": "string"}, b={"type": "string"})
    root = of(row=schema) | {"$defs": {"row": row}}

    assert drop_empty_optionals(root, {"row": {"a": "", "b": ""}}) == {"row": {"a": ""}}
    assert drop_empty_optionals({**schema, "$defs": {"row": row}}, {"a": "", "b": ""}) == {"a": ""}


@pytest.mark.parametrize("more", [{"dependentRequired": {"k": ["x"]}}, {"if": {}, "then": {"required": ["x"]}}])
def test_an_empty_string_that_other_keys_require_is_sent(more: dict[str, Any]) -> None:
    schema = of(k={"type": "string"}, x={"type": "string"}) | more

    assert drop_empty_optionals(schema, {"k": "c", "x": ""}) == {"k": "c", "x": ""}


@pytest.mark.parametrize(
    "keywords",
    [
        {"items": of(a={"type": "string"})},
        {"prefixItems": [{}, of(a={"type": "string"})]},
        {"items": [{}, of(a={"type": "string"})]},
        {"prefixItems": [{}], "items": {"$ref": "#/$defs/item"}},
    ],
)
def test_an_empty_string_is_dropped_in_the_items_of_an_array(keywords: dict[str, Any]) -> None:
    schema = of(rows={"type": "array", **keywords}) | {"$defs": {"item": of(a={"type": "string"})}}

    assert drop_empty_optionals(schema, {"rows": ["", {"a": ""}, 1]}) == {"rows": ["", {}, 1]}
