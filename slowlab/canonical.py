"""One way to write JSON for hashing, and one strict way to read JSON that comes from outside.

Writing: sorted keys, no spaces, UTF-8, finite numbers only. Equal values give equal bytes, whatever
the order in which a mapping was filled.

Reading (:func:`loads_strict`): everything that Python's own reader lets through silently is
refused, by one rule and with one error type: repeated keys, ``NaN`` and ``Infinity``, numbers that
overflow to infinity (``1e999``), overlong numbers, deep nesting (checked before any recursion),
lone surrogates, a byte-order mark, text that is not UTF-8, and text above a size limit.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_DEPTH = 64
"""Deepest nesting of lists and objects that is written or read."""


class CanonicalError(ValueError):
    """A value that has no canonical JSON form; the message names where it sits."""


class JsonFault(StrEnum):
    """Why a text was refused by :func:`loads_strict`."""

    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    BYTE_ORDER_MARK = "byte_order_mark"
    LONE_SURROGATE = "lone_surrogate"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NOT_FINITE = "not_finite"
    NUMBER_TOO_LONG = "number_too_long"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    SYNTAX = "syntax"


class StrictJsonError(ValueError):
    """A text that is not acceptable JSON.

    The message never repeats the text itself, so that it may be shown to whoever sent it.

    Attributes:
        kind: the rule that was broken.
        position: index of the offending character (of the byte, for ``not_utf8``), from 0.
        detail: the rule in words.
    """

    def __init__(self, kind: JsonFault, position: int, detail: str) -> None:
        super().__init__(f"{kind.value} at position {position}: {detail}")
        self.kind = kind
        self.position = position
        self.detail = detail

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor, so that the error crosses process boundaries."""
        return type(self), (self.kind, self.position, self.detail)


@dataclass(frozen=True)
class JsonLimits:
    """Limits of :func:`loads_strict`.

    Attributes:
        max_bytes: largest text, in bytes of UTF-8.
        max_depth: deepest nesting; the outermost list or object is depth 1.
        max_number_chars: longest number, in characters.
    """

    max_bytes: int = 1_048_576
    max_depth: int = MAX_DEPTH
    max_number_chars: int = 4_000


DEFAULT_LIMITS = JsonLimits()


def canonical_json(value: Any) -> str:
    """Write a value as canonical JSON text.

    Args:
        value: dictionaries with text keys, lists, tuples, text, finite numbers, booleans and None.

    Raises:
        CanonicalError: another type, a key that is not text, a number that is not finite, nesting
            beyond :data:`MAX_DEPTH`, or a lone surrogate.
    """
    _check_canonical(value, "$", 1)
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def canonical_bytes(value: Any) -> bytes:
    """Write a value as canonical JSON in UTF-8; raises as :func:`canonical_json` does."""
    return canonical_json(value).encode("utf-8")


def canonical_sha256(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of a value."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def text_sha256(content: bytes) -> str:
    """SHA-256, in hexadecimal, of a text file's bytes with Windows line ends (CRLF) read as LF.

    A checkout that converts line ends keeps its hashes; every other changed byte changes the hash.
    """
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def loads_strict(text: str | bytes, limits: JsonLimits = DEFAULT_LIMITS) -> Any:
    """Read one JSON value, refusing whatever is ambiguous or unbounded.

    Args:
        text: the JSON text, or its UTF-8 bytes.
        limits: size, depth and length limits.

    Returns:
        Dictionaries, lists, text, ``int``, finite ``float``, booleans and None.

    Raises:
        StrictJsonError: the text breaks one of the rules in :class:`JsonFault`. A text with several
            faults is refused for the first one found.
    """
    decoded = _decode(text, limits)
    _scan(decoded, limits)
    try:
        return json.loads(decoded)
    except json.JSONDecodeError as error:
        detail = error.msg.partition(":")[0]  # what follows a colon repeats the text
        raise StrictJsonError(JsonFault.SYNTAX, error.pos, detail) from None


def _check_canonical(value: Any, where: str, depth: int) -> None:
    """Refuse what JSON cannot hold or what would not be unique."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int | float):
        if not _is_finite(value):
            raise CanonicalError(f"{where}: not a finite number in the range of a double")
    elif isinstance(value, str):
        if not _is_encodable(value):
            raise CanonicalError(f"{where}: text holds a lone surrogate")
    elif isinstance(value, dict | list | tuple):
        if depth > MAX_DEPTH:
            raise CanonicalError(f"{where}: nested deeper than {MAX_DEPTH} levels")
        for name, item in _children(value, where):
            _check_canonical(item, name, depth + 1)
    else:
        raise CanonicalError(f"{where}: {type(value).__name__} has no canonical JSON form")


def _children(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Name and value of each member of a list or mapping, with its keys checked."""
    if not isinstance(value, dict):
        yield from ((f"{where}[{index}]", item) for index, item in enumerate(value))
        return
    for key, item in value.items():
        if not isinstance(key, str) or not _is_encodable(key):
            raise CanonicalError(f"{where}: keys must be valid text, not {type(key).__name__}")
        yield f"{where}.{key}", item


def _is_finite(number: int | float) -> bool:
    """Whether a number is finite and, if an integer, within the range of a double."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _decode(text: str | bytes, limits: JsonLimits) -> str:
    """Check size and encoding and return the text."""
    if len(text) > limits.max_bytes:
        raise _too_large(limits)
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise StrictJsonError(JsonFault.NOT_UTF8, error.start, "not valid UTF-8") from None
    else:
        try:
            if len(text.encode("utf-8")) > limits.max_bytes:
                raise _too_large(limits)
        except UnicodeEncodeError as error:
            raise _lone_surrogate(error.start) from None
    if text.startswith("\ufeff"):
        raise StrictJsonError(JsonFault.BYTE_ORDER_MARK, 0, "a byte-order mark is not allowed")
    return text


def _too_large(limits: JsonLimits) -> StrictJsonError:
    detail = f"longer than {limits.max_bytes} bytes"
    return StrictJsonError(JsonFault.TOO_LARGE, limits.max_bytes, detail)


def _lone_surrogate(position: int) -> StrictJsonError:
    return StrictJsonError(JsonFault.LONE_SURROGATE, position, "half of a surrogate pair")


# Possessive, so that a string without an end costs one pass: it is taken to the end of the text.
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]++|\\.)*+"?)
      | (?P<open>[\[{])
      | (?P<close>[\]}])
      | (?P<constant>-?Infinity|NaN)
      | (?P<number>-?[0-9][0-9.eE+\-]*)""",
    re.VERBOSE | re.DOTALL,
)
_KEY_FOLLOWS = re.compile(r"[ \t\r\n]*:")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def _scan(text: str, limits: JsonLimits) -> None:
    """Check everything that concerns single tokens, nesting and keys, without recursion."""
    open_keys: list[set[str] | None] = []  # one entry per open list (None) or object (its keys)
    for token in _TOKEN.finditer(text):
        kind, start = token.lastgroup, token.start()
        if kind == "string":
            _check_escapes(token.group(), start)
            if open_keys and open_keys[-1] is not None and _KEY_FOLLOWS.match(text, token.end()):
                _check_key(token.group(), start, open_keys[-1])
        elif kind == "open":
            open_keys.append(set() if token.group() == "{" else None)
            if len(open_keys) > limits.max_depth:
                detail = f"nested deeper than {limits.max_depth} levels"
                raise StrictJsonError(JsonFault.TOO_DEEP, start, detail)
        elif kind == "close":
            if open_keys:  # a surplus bracket is a syntax error, found by the reader
                open_keys.pop()
        elif kind == "constant":
            raise StrictJsonError(JsonFault.NOT_FINITE, start, "NaN and Infinity are not numbers")
        else:
            _check_number(token.group(), start, limits)


def _check_key(literal: str, start: int, seen: set[str]) -> None:
    """Refuse a key that its object already holds, also when it is spelt with other escapes."""
    try:
        key = json.loads(literal)
    except json.JSONDecodeError:
        return  # the reader reports the syntax error
    if key in seen:
        raise StrictJsonError(JsonFault.DUPLICATE_KEY, start, "the object already has this key")
    seen.add(key)


def _check_number(literal: str, start: int, limits: JsonLimits) -> None:
    """Refuse numbers that are too long or beyond the range of a double."""
    if len(literal) > limits.max_number_chars:
        detail = f"a number of more than {limits.max_number_chars} characters"
        raise StrictJsonError(JsonFault.NUMBER_TOO_LONG, start, detail)
    try:
        value = float(literal)
    except ValueError:
        return  # the reader reports the syntax error
    if math.isinf(value):
        detail = "a number beyond the range of a double (about 1.8e308)"
        raise StrictJsonError(JsonFault.NUMBER_OUT_OF_RANGE, start, detail)


def _check_escapes(literal: str, start: int) -> None:
    """Refuse an escaped surrogate that is not half of a pair."""
    pending: re.Match[str] | None = None
    for escape in _ESCAPE.finditer(literal) if "\\u" in literal else ():
        code = int(escape.group(1), 16) if escape.group(1) else 0
        if pending is not None:
            if not 0xDC00 <= code <= 0xDFFF or escape.start() != pending.end():
                raise _lone_surrogate(start + pending.start())
            pending = None
        elif 0xDC00 <= code <= 0xDFFF:
            raise _lone_surrogate(start + escape.start())
        elif 0xD800 <= code <= 0xDBFF:
            pending = escape
    if pending is not None:
        raise _lone_surrogate(start + pending.start())
