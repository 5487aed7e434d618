"""How a record of a transcript and what came again differ, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slowlab.canonical import canonical_json

_BEFORE, _AFTER = 20, 40
_LONGEST_VALUE = 60
_MISSING = object()


def payload_difference(recorded: Any, now: Any) -> str:
    """The first place at which two payloads differ, and how many more there are.

    Returns:
        Empty where they are equal.
    """
    places = list(_differing(recorded, now, ""))
    if not places:
        return ""
    place, old, new = places[0]
    more = f" (and {len(places) - 1} more places)" if len(places) > 1 else ""
    if isinstance(old, str) and isinstance(new, str):
        return f"{place}: {text_difference(old, new)}{more}"
    return f"{place}: recorded {_short(old)}, now {_short(new)}{more}"


def call_difference(recorded: Mapping[str, Any], now: Mapping[str, Any], texts: Mapping) -> str:
    """How two calls differ; where their texts were first recorded makes no difference.

    Args:
        recorded: the recorded call.
        now: the call that came again.
        texts: texts by name, of both calls.

    Returns:
        Empty where they are equal.
    """
    old, new = ({k: v for k, v in call.items() if k != "texts"} for call in (recorded, now))
    messages = _message_difference(old.pop("messages"), new.pop("messages"), texts)
    for name in ("response_schema_sha256", "functions_sha256"):
        old[name], new[name] = texts.get(old[name]), texts.get(new[name])
    return "; ".join(part for part in (messages, payload_difference(old, new)) if part)


def text_difference(recorded: str, now: str) -> str:
    """The first character at which two texts differ, with what stands around it."""
    pairs = enumerate(zip(recorded, now, strict=False))
    equal = min(len(recorded), len(now))
    place = next((index for index, (old, new) in pairs if old != new), equal)
    old, new = (text[max(0, place - _BEFORE) : place + _AFTER] for text in (recorded, now))
    return f"at character {place}: recorded {old!r}, now {new!r}"


def _message_difference(old: list[Any], new: list[Any], texts: Mapping[str, str]) -> str:
    """The first message that differs."""
    for number, (recorded, now) in enumerate(zip(old, new, strict=False)):
        if recorded != now:
            where = f"message {number} ({recorded['role']})"
            if recorded["role"] != now["role"]:
                return f"{where} comes from {now['role']}"
            then = texts.get(recorded["sha256"])
            if then is None:
                return f"{where}: its text is not recorded"
            return f"{where} {text_difference(then, texts[now['sha256']])}"
    if len(old) != len(new):
        return f"{len(old)} messages are recorded, now there are {len(new)}"
    return ""


def _differing(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Key path and both values of every difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inside = f"{place}.{key}" if place else key
            yield from _differing(old.get(key, _MISSING), new.get(key, _MISSING), inside)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differing(one, other, f"{place}[{index}]")
    elif type(old) is not type(new) or old != new:
        yield place or "everything", old, new


def _short(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = canonical_json(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
