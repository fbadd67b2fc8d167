"""The subset of JSON Schema in which tools declare their arguments: builders, and a validator.

The validator reports every problem at once and fills in defaults. A general JSON Schema library costs more to
import than the interpreter to start; tests hold this one against `jsonschema` on generated arguments.
"""

from __future__ import annotations

from guilds_wire.errors import ToolError, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

PROBLEMS_MOST = 50
"""How many problems are told of one call; a hostile argument object could have a million."""

_TYPES = {
    "string": ("a string", (str,)),
    "integer": ("a whole number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "object": ("an object", (dict,)),
}


def object_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these properties and no others. A property is required when it is named so."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def string(description: str, **limits: Any) -> Schema:
    """A string; `limits` are JSON Schema's own words (minLength, enum, default)."""
    return {"type": "string", "description": description, **limits}


def integer(description: str, least: int, most: int | None = None, default: int | None = None) -> Schema:
    """A whole number from `least` to `most`."""
    schema: Schema = {"type": "integer", "description": description, "minimum": least}
    if most is not None:
        schema["maximum"] = most
    if default is not None:
        schema["default"] = default
    return schema


def boolean(description: str, default: bool = False) -> Schema:
    """true or false."""
    return {"type": "boolean", "description": description, "default": default}


def any_object(description: str) -> Schema:
    """Any JSON object."""
    return {"type": "object", "description": description}


def validate(schema: Schema, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments with defaults filled in. Raises ToolError(`invalid_arguments`) that lists every problem."""
    properties: dict[str, Schema] = schema["properties"]
    problems = [
        {"path": f"$.{name}", "problem": f"`{name}` is required"} for name in schema["required"] if name not in args
    ]
    checked = {name: value["default"] for name, value in properties.items() if "default" in value}
    for name, value in args.items():
        if len(problems) >= PROBLEMS_MOST:
            break
        if name not in properties:
            problems.append({"path": f"$.{quoted(name)}", "problem": _unknown(name, list(properties))})
        elif problem := _problem(properties[name], value):
            problems.append({"path": f"$.{name}", "problem": f"`{name}` {problem}"})
        else:
            checked[name] = int(value) if properties[name]["type"] == "integer" else value
    if problems:
        raise invalid_arguments(problems)
    return checked


def invalid_arguments(problems: list[dict[str, str]]) -> ToolError:
    """The error for arguments that can't be taken, from `{"path", "problem"}` entries."""
    told = "; ".join(problem["problem"] for problem in problems)
    return ToolError("invalid_arguments", f"{told}. Nothing was done.", details=problems)


def invalid_argument(name: str, problem: str) -> ToolError:
    """The error for one argument, found by the tool itself."""
    return invalid_arguments([{"path": f"$.{name}", "problem": f"`{name}` {problem}"}])


def _problem(schema: Schema, value: Any) -> str | None:
    """What is wrong with a value, or None."""
    name, types = _TYPES[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return f"is {_shown(value)}, not {name}"
    if isinstance(value, float) and not value.is_integer():
        return f"is {value}, not a whole number"
    if isinstance(value, str):
        return _string_problem(schema, value)
    if schema["type"] == "integer":
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if value < least:
            return f"is {_shown(value)}; it is at least {least}"
        if value > most:
            return f"is {_shown(value)}; it is at most {most}"
    return None


def _string_problem(schema: Schema, value: str) -> str | None:
    if len(value) < schema.get("minLength", 0):
        return "is empty"
    if value not in schema.get("enum", (value,)):
        return f"is {quoted(value)}; it is one of {', '.join(schema['enum'])}"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as problem:
        return f"holds half of a surrogate pair at character {problem.start} and can't be encoded as UTF-8"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"the string {quoted(repr(value))}"
    names = {dict: "an object", list: "an array", type(None): "null", True: "true", False: "false"}
    if isinstance(value, bool):
        return names[value]
    return names.get(type(value)) or quoted(repr(value) if isinstance(value, float) else _digits(value))


def _digits(value: int) -> str:
    return str(value) if abs(value) < 10**100 else "a number of over 100 digits"


def _unknown(name: str, known: list[str]) -> str:
    import difflib  # only a call that fails pays for it

    near = difflib.get_close_matches(name[:80], known, 1)
    hint = f"; did you mean `{near[0]}`?" if near else f"; there are: {', '.join(known)}"
    return f"`{quoted(name)}` is no argument of this tool{hint}"
