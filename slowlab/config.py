"""Configuration files: strict reading, errors a person can act on, identities for hashing.

Every configuration file is YAML and has one pydantic model, derived from :class:`ConfigModel`. The
same models make the JSON schemas and the table of keys (:mod:`slowlab.config_docs`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from slowlab.canonical import canonical_sha256, text_sha256
from slowlab.schema_text import allowed_keys, describe_allowed
from slowlab.strict_yaml import KeyPath, YamlDocument, YamlError, format_key, parse_yaml

CONFIG_ROOT = Path(__file__).resolve().parent.parent / "config"
"""The folder of the configuration files that come with SlowLab."""


class ConfigModel(BaseModel):
    """Base of all configuration models: frozen, no unknown keys, no silent conversions.

    Text is never read as a number nor a boolean as an integer, and numbers must be finite.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )


@dataclass(frozen=True)
class ConfigProblem:
    """One fault in a configuration file.

    Attributes:
        key: key path, as in ``policy.day_temperature_c.max``; empty for the file as a whole.
        message: what is wrong and what is allowed.
        line: line in the file, from 1, or None.
    """

    key: str
    message: str
    line: int | None = None

    def sentence(self, source: str) -> str:
        """The problem with its place: file, line and key path, as far as they are known."""
        place = source if self.line is None else f"{source}:{self.line}"
        return ": ".join(part for part in (place, self.key, self.message) if part)


class ConfigError(ValueError):
    """A configuration that cannot be used. The message lists every problem, one a line.

    Attributes:
        source: the file, or another name of where the data came from.
        problems: the faults found.
    """

    def __init__(self, source: str, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__("\n".join(problem.sentence(source) for problem in problems))
        self.source = source
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor, so that the error crosses process boundaries."""
        return type(self), (self.source, self.problems)


def load_config[ModelT: ConfigModel](path: str | Path, model: type[ModelT]) -> ModelT:
    """Read and check one configuration file.

    A file may start from another one with ``extends: other.yaml`` (a path beside it): groups of
    keys are merged, everything else is replaced, and ``remove: [group.key, ...]`` drops keys first.

    Args:
        path: a YAML file.
        model: the model it must fit.

    Raises:
        ConfigError: the file is missing, is not UTF-8, is not acceptable YAML or does not fit the
            model. The message names the file, the line, the key path and what is allowed.
    """
    document = _read_document(Path(path), ())
    return validate_config(document.data, model, str(path), document.lines)


def validate_config[ModelT: ConfigModel](
    data: Any,
    model: type[ModelT],
    source: str = "configuration",
    lines: Mapping[KeyPath, int] | None = None,
) -> ModelT:
    """Check plain data (as read from YAML or JSON) against a model.

    Args:
        data: dictionaries, lists, text, numbers, booleans and None.
        model: the model it must fit.
        source: name used in messages.
        lines: line numbers of key paths, if the data came from a file.

    Raises:
        ConfigError: the data does not fit.
    """
    try:
        # Through JSON: a list may stand for a tuple and text for an enum, and nothing else may.
        return model.model_validate_json(json.dumps(data))
    except ValidationError as error:
        schema = model.model_json_schema()
        found = error.errors(include_url=False, include_context=True)
        problems = tuple(_problem(item, data, schema, lines or {}) for item in found)
        raise ConfigError(source, problems) from None


def override[ModelT: ConfigModel](config: ModelT, changes: Mapping[str, Any]) -> ModelT:
    """A copy of a configuration with some keys changed, checked like a file.

    Args:
        config: the configuration to start from.
        changes: new values by key path; parts are joined by dots and numbers index lists, as in
            ``{"policy.day_temperature_c.max": 28.0, "evaluation.plantings.1.day": 120}``.

    Raises:
        ConfigError: a path that the configuration does not have, or a result that does not fit.
    """
    data = config.model_dump(mode="json")
    for key, value in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in key.split("."))
        try:
            target = data
            for part in parents:
                target = target[part]
            target[last]  # the key must exist: an override never invents one
            target[last] = value
        except (KeyError, IndexError, TypeError):
            problem = ConfigProblem(key, "there is no such key to override")
            raise ConfigError("override", (problem,)) from None
    return validate_config(data, type(config), "override")


def config_sha256(config: BaseModel) -> str:
    """SHA-256 of a configuration's canonical JSON: comments, order and line ends do not count."""
    return canonical_sha256(config.model_dump(mode="json"))


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a text file in which CRLF counts as LF; every other byte counts."""
    return text_sha256(Path(path).read_bytes())


def _read_document(path: Path, seen: tuple[Path, ...]) -> YamlDocument:
    """Read a file and what it extends. Line numbers are those of the outermost file."""
    path = path.resolve() if seen else path
    source = str(path)
    try:
        document = parse_yaml(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(source, (ConfigProblem("", error.strerror or str(error)),)) from None
    except UnicodeDecodeError as error:
        problem = ConfigProblem("", f"not valid UTF-8 at byte {error.start}")
        raise ConfigError(source, (problem,)) from None
    except YamlError as error:
        problem = ConfigProblem(error.key, str(error), error.line)
        raise ConfigError(source, (problem,)) from None
    if not isinstance(document.data, dict) or "extends" not in document.data:
        return document
    seen = (*seen, path.resolve())
    changes = dict(document.data)
    base_name, removed = changes.pop("extends"), changes.pop("remove", [])
    try:
        base_path = path.parent / base_name
        if base_path.resolve() in seen:
            raise ValueError("the files extend each other in a circle")
        data = _without(_read_document(base_path, seen).data, removed)
    except (TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        line = document.lines.get(("extends",))
        raise ConfigError(source, (ConfigProblem("extends", str(error), line),)) from None
    return YamlDocument(_merged(data, changes), document.lines)


def _without(data: Any, removed: Any) -> Any:
    """Plain data without the keys that a file removes, each of which must exist."""
    if not isinstance(removed, list):
        raise ValueError("`remove` must be a list of key paths")
    for key in removed:
        *parents, last = str(key).split(".")
        group = data
        for part in parents:
            group = group.get(part) if isinstance(group, dict) else None
        if not isinstance(group, dict) or last not in group:
            raise ValueError(f"there is no key {key} to remove")
        del group[last]
    return data


def _merged(base: Any, changes: Any) -> Any:
    """Changes laid over a base: groups of keys are merged, everything else is replaced."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    common = {key: _merged(base[key], value) for key, value in changes.items() if key in base}
    return {**base, **changes, **common}


def _problem(
    item: Any, data: Any, schema: dict[str, Any], lines: Mapping[KeyPath, int]
) -> ConfigProblem:
    """Turn one pydantic error into a sentence that says what is allowed."""
    path = _path_in_data(item["loc"], data)
    key, line = format_key(path), _line_of(path, lines)
    if item["type"] == "missing":
        message = f"is missing; expected {describe_allowed(schema, path)}"
    elif item["type"] == "extra_forbidden":
        message = _unknown_key(str(path[-1]), allowed_keys(schema, path[:-1]))
    elif item["type"] in {"value_error", "assertion_error"}:
        message = str(item["ctx"]["error"])
    else:
        message = f"expected {describe_allowed(schema, path)}; got {_short(item['input'])}"
    return ConfigProblem(key, message, line)


def _path_in_data(loc: tuple[str | int, ...], data: Any) -> KeyPath:
    """The part of a pydantic location that exists in the data, plus a missing last key.

    Locations also hold the names of union members, which no file contains.
    """
    path: list[str | int] = []
    for index, part in enumerate(loc):
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            data = data[part]
            path.append(part)
        elif index == len(loc) - 1 and isinstance(data, dict):
            path.append(part)
    return tuple(path)


def _line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Line of a key, or of the nearest key above it."""
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def _unknown_key(key: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown key; {hint}allowed keys: {', '.join(known) or 'none'}"


def _short(value: Any) -> str:
    """A value as it may appear in a message, cut to 80 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
