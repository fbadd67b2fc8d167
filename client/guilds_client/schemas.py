"""Schemas as models are shown them: without what makes a model fill in keys that it has no value for.

What the original accepts, the lowered schema accepts. It checks no arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from guilds_client.arguments import encode_json
from guilds_wire.errors import clip

PROBLEM_MAX_CHARACTERS = 200
OMIT_LINE = "Optional. Omit this key when unused; do not pass an empty value."

_SAYS_TO_OMIT = re.compile(r"\bomit", re.IGNORECASE)

Schema = dict[str, Any]

_BRANCHES = ("anyOf", "oneOf", "allOf")
_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_OTHERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")


class SchemaError(ValueError):
    """A schema that can't be lowered; `str()` says why."""


def lower_schema(schema: Mapping[str, Any]) -> Schema:
    """A copy for a model. Raises SchemaError.

    `format` is gone from optional and nullable properties, `additionalProperties: false` and `$schema` are gone,
    and an optional string says that it is to be left out when it is unused.
    """
    root = _copy(schema)
    try:
        _Lowering(root).run()
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    return root


def drop_empty_optionals(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the arguments without `""` under keys that the schema declares and does not require."""
    return _without_empty(_copy(schema), _copy(schema), dict(args))


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises SchemaError for a schema by which no arguments can be checked: one that is no JSON Schema, that refers to
    what it does not hold, or that leads back to itself without end."""
    from jsonschema.exceptions import SchemaError as Invalid
    from jsonschema.validators import validator_for  # 0.1 s, and only a host with tools of its own needs it

    root = _copy(schema)
    try:
        validator_for(root).check_schema(root)
        _require_ends(root, root, set(), set())
    except Invalid as problem:
        raise SchemaError(clip(f"{problem.json_path}: {problem.message}", PROBLEM_MAX_CHARACTERS)) from None
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None


def _require_ends(root: Schema, schema: Any, around: set[int], done: set[int]) -> None:
    """Follow what a schema says of the same value. `around` are those on the way here, `done` those that end."""
    if not isinstance(schema, dict) or id(schema) in done:
        return
    if id(schema) in around:
        raise SchemaError("it refers back to itself without end")
    around.add(id(schema))
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if not reference.startswith("#"):
            raise SchemaError(f"it refers to {clip(reference, PROBLEM_MAX_CHARACTERS)}, which it does not hold")
        _require_ends(root, resolve(root, reference), around, done)
    for keyword in ("not", "if"):
        _require_ends(root, schema.get(keyword), around, done)
    below = list(_below(schema))
    for part in (part for part, is_same in below if is_same):
        _require_ends(root, part, around, done)
    around.remove(id(schema))
    done.add(id(schema))
    for part in (part for part, is_same in below if not is_same):
        _require_ends(root, part, set(), done)


def _copy(schema: Mapping[str, Any]) -> Schema:
    if not isinstance(schema, Mapping):
        raise SchemaError(f"it is a {type(schema).__name__}, not an object")
    try:
        copy = json.loads(encode_json(dict(schema)))
    except (TypeError, ValueError, RecursionError) as problem:
        raise SchemaError(f"it is no JSON: {problem}") from None
    kind = copy.get("type", "object")
    if kind != "object":
        raise SchemaError(f"its type is {kind!r}; a tool's arguments are an object")
    return dict(copy)


class _Lowering:
    """Lowers one schema in place."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._loose: set[int] = set()
        """Schemas (by identity) whose `format` goes: an optional or nullable property leads to them."""
        self._wider: set[int] = set()
        """Those that accept more than before."""

    def run(self) -> None:
        self._find_loose(self._root, frozenset())
        self._lower(self._root, frozenset())
        self._widen_choices(self._root)

    def _find_loose(self, schema: Any, required: frozenset[str]) -> None:
        if not isinstance(schema, dict):
            return
        if is_nullable(schema):
            self._loosen(schema)
        required |= required_keys(schema)
        for name, value in _properties(schema):
            if name not in required:
                self._loosen(value)
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            self._loosen(schema.get(keyword))
        for below, keeps_required in _below(schema):
            self._find_loose(below, required if keeps_required else frozenset())

    def _loosen(self, schema: Any) -> None:
        """Note a property's schema, and what says more of the same value: branches, items, what it refers to."""
        if not isinstance(schema, dict) or id(schema) in self._loose:
            return
        self._loose.add(id(schema))
        for keyword in (*_BRANCHES, *_ITEMS, "then", "else"):
            value = schema.get(keyword)
            for below in value if isinstance(value, list) else [value]:
                self._loosen(below)
        if isinstance(schema.get("$ref"), str):
            self._loosen(resolve(self._root, schema["$ref"]))

    def _lower(self, schema: Any, required: frozenset[str]) -> None:
        if not isinstance(schema, dict):
            return
        if schema.get("additionalProperties") is False:
            del schema["additionalProperties"]
            self._wider.add(id(schema))
        if id(schema) in self._loose and isinstance(schema.get("format"), str):
            del schema["format"]
            self._wider.add(id(schema))
        schema.pop("$schema", None)
        required |= required_keys(schema)
        for name, value in _properties(schema):
            if name not in required and isinstance(value, dict) and self._is_string(value):
                _say_to_omit(value)
        for below, keeps_required in _below(schema):
            self._lower(below, required if keeps_required else frozenset())

    def _widen_choices(self, schema: Any) -> None:
        """Turn `oneOf` into `anyOf` where a branch now accepts what only another did."""
        if not isinstance(schema, dict):
            return
        for below, _ in _below(schema):
            self._widen_choices(below)
        branches = _list(schema.get("oneOf"))
        if any(self._is_wider(branch, set()) for branch in branches) and not _are_apart(branches):
            _as_any_of(schema)

    def _is_wider(self, schema: Any, seen: set[int]) -> bool:
        """Whether a schema, or one that it is made of, accepts more than before."""
        if not isinstance(schema, dict) or id(schema) in seen:
            return False
        seen.add(id(schema))
        made_of = [below for below, _ in _below(schema)]
        if isinstance(schema.get("$ref"), str):
            made_of.append(resolve(self._root, schema["$ref"]))
        return id(schema) in self._wider or any(self._is_wider(below, seen) for below in made_of)

    def _is_string(self, schema: Schema, seen: frozenset[int] = frozenset()) -> bool:
        if id(schema) in seen:
            return False
        kinds = schema.get("type")
        if kinds is not None:
            return "string" in (kinds if isinstance(kinds, list) else [kinds])
        if isinstance(schema.get("enum"), list):
            return any(isinstance(value, str) for value in schema["enum"])
        seen |= {id(schema)}
        below = [branch for keyword in _BRANCHES for branch in _list(schema.get(keyword))]
        if isinstance(schema.get("$ref"), str):
            below.append(resolve(self._root, schema["$ref"]))
        return any(isinstance(branch, dict) and self._is_string(branch, seen) for branch in below)


def is_nullable(schema: Schema) -> bool:
    """Whether a schema says that null may stand there."""
    kinds = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or schema.get("nullable") is True:
        return True
    if None in _list(schema.get("enum")) or ("const" in schema and schema["const"] is None):
        return True
    branches = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]
    return any(isinstance(branch, dict) and is_nullable(branch) for branch in branches)


def required_keys(schema: Schema) -> frozenset[str]:
    """The keys that a schema requires, by itself and through `allOf`."""
    keys = frozenset(key for key in _list(schema.get("required")) if isinstance(key, str))
    return keys.union(*(required_keys(part) for part in _list(schema.get("allOf")) if isinstance(part, dict)))


def resolve(root: Schema, reference: str) -> Any:
    """What a reference within the schema points at (RFC 6901); None for one that is no pointer into it.

    Raises SchemaError when nothing is there.
    """
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            raise SchemaError(f"it refers to {reference}, which it does not hold")
    return found


def _properties(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The declared properties; those by pattern have names that nothing requires."""
    for name, value in _object(schema.get("properties")).items():
        yield name, value
    for pattern, value in _object(schema.get("patternProperties")).items():
        yield f"/{pattern}/", value


def _below(schema: Schema) -> Iterator[tuple[Any, bool]]:
    """The schemas right below one, and whether each speaks of the same object.

    Not those of `not` and `if`, nor of a `contains` whose matches are counted: when one of them accepts more, the
    whole accepts less.
    """
    for keyword in _BRANCHES:
        for branch in _list(schema.get(keyword)):
            yield branch, True
    for keyword in ("then", "else"):
        yield schema.get(keyword), True
    for value in _object(schema.get("dependentSchemas")).values():
        yield value, True
    for _, value in _properties(schema):
        yield value, False
    for keyword in (*_OTHERS, *_ITEMS):
        if keyword == "contains" and "maxContains" in schema:
            continue
        value = schema.get(keyword)
        for item in value if isinstance(value, list) else [value]:
            yield item, False
    for keyword in ("$defs", "definitions", "dependencies"):
        for value in _object(schema.get(keyword)).values():
            yield value, False


def _say_to_omit(schema: Schema) -> None:
    description = schema.get("description")
    if not isinstance(description, str) or not description:
        schema["description"] = OMIT_LINE
    elif not _SAYS_TO_OMIT.search(description):
        schema["description"] = f"{description}\n{OMIT_LINE}"


def _are_apart(branches: list[Any]) -> bool:
    """Whether no value can be of two branches, going by their types."""
    seen: set[str] = set()
    for branch in branches:
        kinds = branch.get("type") if isinstance(branch, dict) else None
        kinds = set(kinds) if isinstance(kinds, list) else {kinds}
        if None in kinds or seen & kinds or {"integer", "number"} <= seen | kinds:
            return False
        seen |= kinds
    return True


def _as_any_of(schema: Schema) -> None:
    """Let several branches accept a value: once they accept more, `oneOf` would refuse what fitted one alone."""
    branches = schema.pop("oneOf")
    if "anyOf" in schema:
        schema["allOf"] = [*_list(schema.get("allOf")), {"anyOf": branches}]
    else:
        schema["anyOf"] = branches


def _without_empty(root: Schema, schema: Schema, args: dict[str, Any]) -> dict[str, Any]:
    facets = list(_facets(root, schema, set()))
    required = frozenset[str]().union(*map(_ever_required, facets))
    kept = {}
    for name, value in args.items():
        declared = [facet["properties"][name] for facet in facets if name in _object(facet.get("properties"))]
        if declared and name not in required and value == "":
            continue
        kept[name] = _emptied(root, {"allOf": declared}, value)
    return kept


def _facets(root: Schema, schema: Any, seen: set[int]) -> Iterator[Schema]:
    """A schema and all that it says of the same value elsewhere, if only sometimes."""
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    if isinstance(schema.get("$ref"), str):
        yield from _facets(root, resolve(root, schema["$ref"]), seen)
    for below, is_same in _below(schema):
        if is_same:
            yield from _facets(root, below, seen)


def _ever_required(schema: Schema) -> frozenset[str]:
    """The keys that a schema requires, also those that only other keys make it require."""
    depending = _object(schema.get("dependentRequired")).values()
    return required_keys(schema).union(*(filter(_is_text, _list(keys)) for keys in depending))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _emptied(root: Schema, schema: Any, value: Any) -> Any:
    """A value without the empty optionals of the objects in it."""
    if isinstance(value, Mapping):
        return _without_empty(root, _object(schema), dict(value))
    if isinstance(value, (list, tuple)):
        items = [_items(facet) for facet in _facets(root, schema, set())]
        return [_emptied(root, {"allOf": [next(item) for item in items]}, each) for each in value]
    return value


def _items(schema: Schema) -> Iterator[Any]:
    """The schema of each item of an array, without end."""
    first, others = schema.get("prefixItems"), schema.get("items")
    if isinstance(others, list):  # as up to draft 2019-09
        first, others = others, schema.get("additionalItems")
    yield from _list(first)
    while True:
        yield others


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Schema:
    return value if isinstance(value, dict) else {}
