"""A call's arguments as a model sent them: one JSON object, as text or already parsed. Nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from guilds_client.tool import ToolFailedError
from guilds_wire.errors import clip

ECHO_MAX_CHARACTERS = 800
PROBLEMS_MOST = 20
PROBLEM_MAX_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Arguments:
    """One JSON object: `values` parsed, `text` as it was sent (the digits of its numbers are kept)."""

    values: dict[str, Any]
    text: bytes


class ArgumentsError(ValueError):
    """It is not one JSON object; `str()` says what it is."""


def parse_arguments(sent: object, parameters: Mapping[str, Any]) -> Arguments:
    """The arguments for a tool with these `parameters`. Raises ArgumentsError.

    An empty text stands for no arguments where none is required.
    """
    if isinstance(sent, Mapping):
        return _from_object(dict(sent))
    if isinstance(sent, (bytes, bytearray)):
        sent = sent.decode("utf-8", "surrogateescape")
    if not isinstance(sent, str):
        raise ArgumentsError(f"they are {_kind(sent)}, not a JSON object")
    if not sent.strip():
        if parameters.get("required"):
            raise ArgumentsError("they are empty")
        return Arguments({}, b"{}")
    value = _parse(sent)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        raise ArgumentsError("they are encoded twice: a JSON string that holds JSON; send the object itself")
    if not isinstance(value, dict):
        raise ArgumentsError(f"they are {_kind(value)}, not a JSON object")
    try:
        return Arguments(value, sent.encode())
    except UnicodeEncodeError:  # half of a surrogate pair as a character: as an escape it is JSON
        return Arguments(value, json.dumps(value).encode())


def check_arguments(parameters: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check a host's arguments by their JSON Schema. Raises ToolFailedError that lists the problems."""
    from jsonschema.validators import validator_for  # 0.1 s, and only a host with tools of its own needs it
    from referencing import Registry

    validator = validator_for(parameters)(dict(parameters), registry=Registry())  # an empty registry fetches nothing
    problems = [
        clip(f"{problem.json_path}: {problem.message}", PROBLEM_MAX_CHARACTERS)
        for problem in islice(validator.iter_errors(dict(values)), PROBLEMS_MOST)
    ]
    if problems:
        raise ToolFailedError(f"{'; '.join(problems)}. Nothing was done.")


def _from_object(value: dict[str, Any]) -> Arguments:
    try:
        return Arguments(value, encode_json(value))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ArgumentsError(f"they are no JSON object: {problem}") from None


def encode_json(value: Any) -> bytes:
    """A value as JSON. Raises TypeError or ValueError for what JSON can't say."""
    try:
        return orjson.dumps(value)
    except TypeError:  # whole numbers of over 64 bits, half of a surrogate pair: JSON has them and orjson has not
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            raise ArgumentsError(f"something follows the JSON value at character {problem.pos}") from None
        raise ArgumentsError(f"they are no JSON: {problem}") from None
    except RecursionError:
        raise ArgumentsError("they are nested too deeply") from None
    except ValueError as problem:  # NaN, or a number of over 4,300 digits
        raise ArgumentsError(f"they are no JSON: {problem}") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    names |= {int: "a number", float: "a number", tuple: "an array"}
    return names.get(type(value), f"a {type(value).__name__}")
