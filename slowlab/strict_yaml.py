"""YAML as configuration files need it: every key once, plain scalars, line numbers for messages.

The core schema of YAML 1.2 applies: ``true`` and ``false`` are the only booleans (``yes``, ``on``
and ``12:30`` stay text), ``3e-5`` is a number, and dates stay text. Repeated keys, anchors,
aliases, tags, ``.nan`` and ``.inf`` are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from slowlab.canonical import MAX_DEPTH

KeyPath = tuple[str | int, ...]


class YamlError(ValueError):
    """A YAML text that is refused.

    Attributes:
        line: line of the fault, from 1; None when it is not known.
        key: key path of the fault, as in ``policy.day_temperature_c``; empty when not known.
    """

    def __init__(self, message: str, line: int | None = None, key: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.key = key


@dataclass(frozen=True)
class YamlDocument:
    """The content of a YAML text.

    Attributes:
        data: dictionaries, lists, text, finite numbers, booleans and None.
        lines: line number, from 1, of every key path.
    """

    data: Any
    lines: dict[KeyPath, int]


def format_key(path: KeyPath) -> str:
    """Write a key path as text: ``("plantings", 0, "day")`` becomes ``plantings[0].day``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def parse_yaml(text: str) -> YamlDocument:
    """Read one YAML document.

    Args:
        text: the YAML text; line ends may be LF or CRLF.

    Raises:
        YamlError: the text is not YAML, or it breaks one of the rules of this module.
    """
    try:
        _refuse_indirection(yaml.scan(text, Loader=yaml.SafeLoader))
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(
            f"not valid YAML: {error.problem}", mark.line + 1 if mark else None
        ) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not valid YAML: {error}") from None
    lines: dict[KeyPath, int] = {}
    return YamlDocument(None if node is None else _build(node, (), lines), lines)


def _refuse_indirection(tokens: Iterable[yaml.Token]) -> None:
    """Refuse anchors, aliases and tags, and nesting too deep to recurse into, as soon as met."""
    depth = 0
    for token in tokens:
        line = token.start_mark.line + 1
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            raise YamlError("anchors, aliases and tags are not supported", line)
        if isinstance(
            token, yaml.BlockEndToken | yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken
        ):
            depth -= 1
        elif isinstance(token, _OPENING_TOKENS):
            depth += 1
            if depth > MAX_DEPTH:
                raise YamlError(f"nested deeper than {MAX_DEPTH} levels", line)


_OPENING_TOKENS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)


def _build(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> Any:
    """Turn a node into plain data and note the line of everything below it."""
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, index), lines) for index, item in enumerate(node.value)]
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise YamlError("a key must be plain text", line, format_key(path))
        key = key_node.value
        if key in mapping:
            raise YamlError("the key appears twice", line, format_key((*path, key)))
        lines[(*path, key)] = line
        mapping[key] = _build(value_node, (*path, key), lines)
    return mapping


_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def _scalar(node: yaml.ScalarNode, path: KeyPath) -> Any:
    """Resolve a scalar: quoted and block text stays text, plain text by the core schema."""
    text = node.value
    if node.style is not None:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NOT_FINITE.fullmatch(text) or (_FLOAT.fullmatch(text) and math.isinf(float(text))):
        raise YamlError("not a finite number", node.start_mark.line + 1, format_key(path))
    return float(text) if _FLOAT.fullmatch(text) else text
