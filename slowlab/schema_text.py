"""Reading a JSON schema aloud: what is allowed at a key path, in words.

Used by the error messages of configuration files and by the generated table of keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slowlab.strict_yaml import KeyPath

Schema = dict[str, Any]


def resolve(schema: Schema, root: Schema) -> Schema:
    """Follow references into the definitions of a schema."""
    while "$ref" in schema:
        target = root["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def options(schema: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a schema, resolved; a plain schema is its only alternative."""
    schema = resolve(schema, root)
    members = schema.get("anyOf") or schema.get("oneOf")
    if not members:
        return [schema]
    return [option for member in members for option in options(member, root)]


def at_path(root: Schema, path: KeyPath) -> list[Schema]:
    """All schemas that may apply at a key path; empty when the path is unknown."""
    found = options(root, root)
    for part in path:
        found = [
            option
            for schema in found
            for child in _child(schema, part)
            for option in options(child, root)
        ]
    return found


def allowed_keys(root: Schema, path: KeyPath) -> tuple[str, ...]:
    """The named keys that an object at a key path may have."""
    names = [name for schema in at_path(root, path) for name in schema.get("properties", {})]
    return tuple(dict.fromkeys(names))


def describe_allowed(root: Schema, path: KeyPath) -> str:
    """What may stand at a key path, in words, such as ``a number from 0 to 100``."""
    texts = [describe(schema, root) for schema in at_path(root, path)]
    return " or ".join(dict.fromkeys(texts)) or "nothing: the key is unknown"


def describe(schema: Schema, root: Schema) -> str:
    """What a resolved schema allows, in words."""
    if "const" in schema:
        return _show(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(_show(item) for item in schema['enum'])}"
    kind = schema.get("type", "any value")
    if kind in {"number", "integer"}:
        noun = "a number" if kind == "number" else "a whole number"
        return f"{noun}{_range_text(schema)}"
    if kind == "array":
        return _array_text(schema, root)
    names = {
        "string": f"text matching {schema['pattern']}" if "pattern" in schema else "text",
        "boolean": "true or false",
        "null": "null",
        "object": "a group of keys",
    }
    return names.get(kind, str(kind))


def _child(schema: Schema, part: str | int) -> Iterator[Schema]:
    """Schemas of a member of an object or list."""
    if isinstance(part, int):
        prefix = schema.get("prefixItems", [])
        if part < len(prefix):
            yield prefix[part]
        elif isinstance(schema.get("items"), dict):
            yield schema["items"]
    elif part in schema.get("properties", {}):
        yield schema["properties"][part]
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def _range_text(schema: Schema) -> str:
    """The bounds of a number, in words."""
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {_show(low)} to {_show(high)}"
    lower = f"of at least {_show(low)}" if low is not None else ""
    lower = f"above {_show(above)}" if above is not None else lower
    upper = f"of at most {_show(high)}" if high is not None else ""
    upper = f"below {_show(below)}" if below is not None else upper
    text = " and ".join(part for part in (lower, upper) if part)
    return f" {text}" if text else ""


def _array_text(schema: Schema, root: Schema) -> str:
    """A list and what it holds, in words."""
    items = schema.get("items")
    held = describe(options(items, root)[0], root) if isinstance(items, dict) else "values"
    low, high = schema.get("minItems"), schema.get("maxItems")
    if low is not None and low == high:
        return f"a list of exactly {low}: {held}"
    return f"a list{f' of at least {low}' if low else ''}: {held}"


def _show(value: Any) -> str:
    """A schema value without quotes or a useless decimal point."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
