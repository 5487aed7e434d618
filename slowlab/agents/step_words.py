"""Actions, tool calls and what came of them, in a few words.

For tables and pages that people read. Compartments are called C1, C2, ... as in the figures. Model
text is never part of these words but for a policy's numbers; whatever cannot be understood is said
to be so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slowlab.campaign.budget import ActionKind
from slowlab.world.policy import POLICY_FIELDS

_CHANNELS = {
    "air_temperature_c": "air temperature",
    "relative_humidity_pct": "humidity",
    "co2_ppm": "CO2",
    "canopy_lai_proxy": "canopy",
    "cumulative_harvest_fresh_equivalent": "harvest",
    "heating_energy": "heat",
    "lighting_energy": "light",
    "co2_dosed": "dosed CO2",
}

UNREADABLE = "something that is no action"
_MINUS = "\N{MINUS SIGN}"
_MOST_NUMBERS = 6
_NAME = re.compile(r"[a-z_]{1,40}")


def policy_words(policy: Any) -> str:
    """A policy in the order of its fields; empty for what is no policy."""
    if not isinstance(policy, Mapping) or not all(_is_number(policy.get(n)) for n in POLICY_FIELDS):
        return ""
    day, night, co2, light, vent, humidity = (policy[name] for name in POLICY_FIELDS)
    return (
        f"{day:g}/{night:g} \N{DEGREE SIGN}C, {co2:g} ppm CO2, {light:g} h light, "
        f"vents +{vent:g} K, {humidity:g} % RH"
    )


def unit_words(unit: Any) -> str:
    """A compartment as in the figures."""
    return f"C{unit + 1}" if _is_count(unit) else "an unknown compartment"


def channel_words(variable: Any) -> str:
    """A channel by its short name."""
    known = isinstance(variable, str) and variable in _CHANNELS
    return _CHANNELS[variable] if known else "an unknown channel"


def action_words(action: Mapping[str, Any] | None) -> str:
    """What a campaign action asks for."""
    if action is None or action.get("action") not in list(ActionKind):
        return UNREADABLE
    unit = unit_words(action.get("unit"))
    makers: dict[ActionKind, Callable[[], str]] = {
        ActionKind.START: lambda: _joined(f"plant {unit}", policy_words(action.get("policy"))),
        ActionKind.STOP: lambda: f"stop {unit}",
        ActionKind.ADVANCE: lambda: f"wait until day {day_words(action.get('day'))}",
        ActionKind.OBSERVE: lambda: f"read {unit}{_window_words(action)}",
        ActionKind.RECOMMEND: lambda: _joined("recommend", policy_words(action.get("policy"))),
    }
    return makers[ActionKind(action["action"])]()


def tool_words(name: Any, arguments: Any) -> str:
    """What a tool call asks for."""
    given = arguments if isinstance(arguments, Mapping) else {}
    parts = []
    for key in sorted(given, key=lambda name: (name != "unit", str(name))):
        value = given[key]
        if key == "unit":
            parts.append(unit_words(value))
        elif key == "run_index" and _is_count(value):
            parts.append(f"crop {value}")
        elif key == "variable":
            parts.append(channel_words(value))
        elif _is_number(value):
            parts.append(f"{str(key).replace('_', ' ')} {day_words(value)}")
        elif isinstance(value, list):
            parts.append(f"{len(value)} {key}")
    known = isinstance(name, str) and _NAME.fullmatch(name)
    shown = name if known else "an unknown tool"
    return f"use {shown}" + (f" ({', '.join(parts)})" if parts else "")


def action_outcome(action: Mapping[str, Any] | None, reply: Mapping[str, Any]) -> str:
    """What came of a campaign action."""
    if not reply["ok"]:
        return refusal_words(reply)
    result, kind = reply["result"], (action or {}).get("action")
    if kind == ActionKind.START:
        return f"crop {result['run_index']} planted"
    if kind == ActionKind.STOP:
        return f"crop {result['run_index']} ended"
    if kind == ActionKind.ADVANCE:
        return f"day {day_words(result['day'])}"
    if kind == ActionKind.OBSERVE:
        return _observed_words(result)
    return "taken"


def tool_outcome(name: Any, reply: Mapping[str, Any]) -> str:
    """What a tool answered."""
    if not reply["ok"]:
        return refusal_words(reply)
    result = reply["result"]
    if name == "predict_crop_outcome":
        margin, error = result["margin_eur_m2"], result["typical_error_eur_m2"]
        return f"margin {number_words(margin)} \N{PLUS-MINUS SIGN} {number_words(error)} EUR/m2"
    if name == "predict":
        margins = [row["margin_eur_m2"] for row in result["predictions"]]
        return f"margin {_listed(margins)} EUR/m2"
    if name == "fit_outcome_model":
        error = number_words(result["leave_one_out_rmse_eur_m2"])
        crops = result["completed_crops"]
        return f"fitted to {crops} crops, error {error} EUR/m2"
    counted = {"runs": "crops", "days": "days", "policies": "policies"}
    for key, word in counted.items():
        if isinstance(result.get(key), list):
            return f"{len(result[key])} {word}"
    return "answered"


def refusal_words(reply: Mapping[str, Any]) -> str:
    """Why something was refused, by the name of the rule."""
    error = reply["error"]
    what = "refused" if error["kind"] == "invalid_action" else error["kind"].replace("_", " ")
    return f"{what}: {error['reason'].replace('_', ' ')}"


def number_words(value: Any) -> str:
    """A number with four significant digits at most and a true minus sign."""
    return f"{value:.4g}".replace("-", _MINUS) if _is_number(value) else "?"


def day_words(value: Any) -> str:
    """A day or a count with six significant digits at most."""
    return f"{value:g}".replace("-", _MINUS) if _is_number(value) else "?"


def _window_words(action: Mapping[str, Any]) -> str:
    """What a read asks for beside the state."""
    if action.get("variable") is None:
        crop = action.get("run_index")
        return f", crop {crop}" if _is_count(crop) else ""
    channel = channel_words(action["variable"])
    ends = [action.get("start_day"), action.get("end_day")]
    span = ""
    if any(end is not None for end in ends):
        first, last = (day_words(end) if end is not None else "" for end in ends)
        span = f", days {first} to {last}".rstrip()
    return f": {channel}{span}, {'daily' if action.get('resolution') == 'daily' else 'raw'}"


def _observed_words(result: Mapping[str, Any]) -> str:
    """Records and totals that a read returned; the state where it returned neither."""
    parts, records, crop = [], result.get("records"), result.get("crop")
    if records:
        kind = "daily rows" if records["resolution"] == "daily" else "records"
        parts.append(f"{len(records['rows'])} {kind}")
    if crop and crop["state"] == "closed":
        ended = crop["reason"].replace("_", " ")
        margin = number_words(crop["margin_eur_m2"])
        parts.append(f"crop {crop['run_index']} {ended}, margin {margin} EUR/m2")
    return "; ".join(parts) or str(result["status"]["phase"])


def _listed(values: list[Any]) -> str:
    shown = ", ".join(number_words(value) for value in values[:_MOST_NUMBERS])
    return shown + (", ..." if len(values) > _MOST_NUMBERS else "")


def _joined(before: str, after: str) -> str:
    return f"{before}: {after}" if after else before


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
