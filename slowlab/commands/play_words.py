"""What a person types in ``slowlab play``, turned into actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHORT_FIELDS = {
    "day": "day_temperature_c",
    "night": "night_temperature_c",
    "co2": "co2_target_ppm",
    "light": "supplemental_light_hours",
    "vent": "vent_temperature_offset_c",
    "rh": "vent_rh_threshold_pct",
}
"""Short names of the policy fields."""

SHORT_CHANNELS = {
    "air": "air_temperature_c",
    "humidity": "relative_humidity_pct",
    "co2": "co2_ppm",
    "canopy": "canopy_lai_proxy",
    "harvest": "cumulative_harvest_fresh_equivalent",
    "heat": "heating_energy",
    "light": "lighting_energy",
    "dosed": "co2_dosed",
}
"""Short names of the channels."""

HELP = """\
plant UNIT [FIELD=VALUE ...]   start a crop, e.g. plant 0 day=22 night=18
stop UNIT                      end a crop
advance DAY, advance +DAYS     let time pass, e.g. advance 30 or advance +7
read UNIT [CROP]               totals of a closed crop, the latest by default
read UNIT CHANNEL [FROM [TO]] [daily|raw]
                               records, by day if not raw: read 0 air 10 20
recommend [FIELD=VALUE ...]    on the last day: the policy for future crops
status                         compartments, last readings, budgets; is free
task                           the rules and the prices; is free
help                           this list
quit                           leave; with a journal, to be resumed

Fields: day, night (degC), co2 (ppm), light (h/day), vent (K), rh (%). Those
left out are as in the last policy, at first the fixed reference.
Channels: air, humidity, co2, canopy, harvest, heat, light, dosed."""


class UnclearError(ValueError):
    """Words that are no command; the message says what is expected."""


@dataclass(frozen=True)
class Told:
    """A command that is no action: ``status``, ``task``, ``help`` or ``quit``."""

    name: str


def understand(line: str, policy: Mapping[str, float], day: float) -> dict[str, Any] | Told | None:
    """Turn a line into an action.

    Args:
        line: what was typed.
        policy: the last policy, which fills in fields that are left out.
        day: today, for ``advance +DAYS``.

    Returns:
        An action, a command that is none, or None for an empty line.

    Raises:
        UnclearError: the line is no command.
    """
    words = line.split()
    if not words:
        return None
    name, rest = words[0].lower(), words[1:]
    if name in ("status", "task", "help", "quit"):
        if rest:
            raise UnclearError(f"{name} stands alone")
        return Told(name)
    if name == "plant":
        unit = _unit(rest[:1], "plant UNIT [FIELD=VALUE ...]")
        return {"action": "start", "unit": unit, "policy": _policy(rest[1:], policy)}
    if name == "stop" and len(rest) <= 1:
        return {"action": "stop", "unit": _unit(rest, "stop UNIT")}
    if name == "advance" and len(rest) == 1:
        start = day if rest[0].startswith("+") else 0.0
        return {"action": "advance", "day": start + _number(rest[0], "advance DAY")}
    if name == "read":
        return _read(rest)
    if name == "recommend":
        return {"action": "recommend", "policy": _policy(rest, policy)}
    raise UnclearError("that is no command; type help")


def _read(words: Sequence[str]) -> dict[str, Any]:
    """The action of a ``read``."""
    usage = "read UNIT [CROP], or read UNIT CHANNEL [FROM [TO]] [daily|raw]"
    action: dict[str, Any] = {"action": "observe", "unit": _unit(words[:1], usage)}
    rest = list(words[1:])
    if not rest:
        return action
    if rest[0].isdigit():
        if len(rest) > 1:
            raise UnclearError(usage)
        return action | {"run_index": int(rest[0])}
    channel = rest.pop(0)
    action["variable"] = SHORT_CHANNELS.get(channel, channel)
    action["resolution"] = rest.pop() if rest and rest[-1] in ("raw", "daily") else "daily"
    if len(rest) > 2:
        raise UnclearError(usage)
    names = ("start_day", "end_day")
    return action | {name: _number(word, usage) for name, word in zip(names, rest, strict=False)}


def _policy(words: Sequence[str], policy: Mapping[str, float]) -> dict[str, float]:
    changed = dict(policy)
    for word in words:
        name, equals, value = word.partition("=")
        field = SHORT_FIELDS.get(name, name)
        if not equals or field not in changed:
            raise UnclearError(f"a field is one of {', '.join(SHORT_FIELDS)}, as in day=22")
        changed[field] = _number(value, f"{name}=NUMBER")
    return changed


def _unit(words: Sequence[str], usage: str) -> int:
    if not words or not words[0].isdigit():
        raise UnclearError(f"expected: {usage}, with the number of a compartment")
    return int(words[0])


def _number(word: str, usage: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UnclearError(f"expected a number: {usage}") from None
