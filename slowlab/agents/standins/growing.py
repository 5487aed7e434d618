"""What the sensible stand-ins know of growing: a standard policy, changes of it, the best crop."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from slowlab.agents.standins.answers import Policy
from slowlab.agents.standins.conversation import Conversation, number, objects

_STANDARD: Policy = {
    "day_temperature_c": 21.0,
    "night_temperature_c": 17.0,
    "co2_target_ppm": 800.0,
    "supplemental_light_hours": 11.0,
    "vent_temperature_offset_c": 3.5,
    "vent_rh_threshold_pct": 85.0,
}
"""A cautious textbook policy."""
_STEPS: Policy = {
    "day_temperature_c": 1.5,
    "night_temperature_c": 1.5,
    "co2_target_ppm": 150.0,
    "supplemental_light_hours": 3.0,
    "vent_temperature_offset_c": 1.0,
    "vent_rh_threshold_pct": 4.0,
}
"""How far a change goes, in each field's unit."""
_OPENING: tuple[Mapping[str, int], ...] = (
    {},
    {"day_temperature_c": -1, "night_temperature_c": -1},
    {"supplemental_light_hours": 1, "co2_target_ppm": 1},
    {"supplemental_light_hours": -1, "vent_temperature_offset_c": 1},
    {"day_temperature_c": 1, "vent_rh_threshold_pct": -1},
    {"co2_target_ppm": -1, "vent_rh_threshold_pct": 1},
)
"""Directions of the policies of a first planting, the standard one first."""
_USUAL_PRICE_RATIO = 13.0
"""Fruit price by the kg over electricity price by the kWh at which the standard lamp hours pay."""
_WORST = -1e9
"""In the place of a number that is missing."""


def lot(talk: Conversation, label: str, count: int) -> int:
    """A whole number from 0 to below count, drawn by the generation seed alone."""
    digest = hashlib.sha256(f"{talk.seed} {label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


def standard(talk: Conversation) -> Policy:
    """The standard policy, with more or fewer lamp hours as the public prices have it."""
    prices = talk.task.get("prices")
    told = prices if isinstance(prices, dict) else {}
    fruit = number(told.get("fruit_eur_per_kg_fresh"), _USUAL_PRICE_RATIO)
    ratio = fruit / max(number(told.get("electricity_eur_per_kwh"), 1.0), 1e-6)
    hours = _STANDARD["supplemental_light_hours"] * min(ratio / _USUAL_PRICE_RATIO, 1.4)
    return allowed(talk, {**_STANDARD, "supplemental_light_hours": hours})


def allowed(talk: Conversation, policy: Policy) -> Policy:
    """A policy rounded to tenths and moved into the bounds of the task."""
    told = talk.task.get("policy")
    fields = objects(told.get("fields") if isinstance(told, dict) else None)
    bounds = {str(row.get("name")): row for row in fields}
    near = {name: _inside(policy[name], bounds.get(name, {})) for name in _STANDARD}
    night, day = near["night_temperature_c"], near["day_temperature_c"]
    return {**near, "night_temperature_c": min(night, day)}


def changed(talk: Conversation, policy: Policy, directions: Mapping[str, float]) -> Policy:
    """A policy moved by so many steps in some fields."""
    moved = {name: policy[name] + directions.get(name, 0.0) * _STEPS[name] for name in _STEPS}
    return allowed(talk, moved)


def opening(talk: Conversation, unit: int) -> Policy:
    """The policy of a compartment's first crop: different ones around the standard.

    The seed decides how wide they lie and which compartment has which.
    """
    width = (3 + lot(talk, "width", 5)) / 4
    place = (unit + lot(talk, "place", len(talk.units))) % len(talk.units)
    turn = _OPENING[place % len(_OPENING)]
    return changed(talk, standard(talk), {name: width * sign for name, sign in turn.items()})


def neighbours(talk: Conversation, policy: Policy) -> list[Policy]:
    """A policy and what one step up or down in each field makes of it, each once."""
    steps = [{name: sign} for name in _STEPS for sign in (1, -1)]
    found: list[Policy] = []
    for candidate in [allowed(talk, policy), *(changed(talk, policy, step) for step in steps)]:
        if candidate not in found:
            found.append(candidate)
    return found


def best_crop(talk: Conversation) -> dict[str, Any] | None:
    """The crop that did best for its planting day, or None where no margin is known.

    Crops that grew to their full length come first. A crop is compared with the mean of those
    planted on its day, so that a good season is not taken for a good policy; where most days have a
    single crop, margins are compared as they are.
    """
    read = [c for c in talk.crops if c.get("margin_eur_m2") is not None and policy_of(c)]
    known = [crop for crop in read if crop.get("reason") == "completed"] or read
    if not known:
        return None
    alone = len(known) / len({_start(crop) for crop in known}) < 2
    return max(known, key=lambda crop: _margin(crop) - (0.0 if alone else _usual(crop, known)))


def best_policy(talk: Conversation) -> Policy:
    """The policy of the best crop; the standard one where no margin is known."""
    crop = best_crop(talk)
    return standard(talk) if crop is None else allowed(talk, policy_of(crop))


def policy_of(crop: Mapping[str, Any]) -> Policy:
    """The six numbers of a crop's policy; empty where one is missing."""
    given = crop.get("policy")
    told = given if isinstance(given, dict) else {}
    numbers = {name: number(told.get(name), _WORST) for name in _STANDARD}
    return {} if _WORST in numbers.values() else numbers


def most_promising(talk: Conversation) -> Policy | None:
    """The policy of the growing crop with the highest predicted margin, or None."""
    margins = {_name(result): _margin(result) for result in talk.results("typical_error_eur_m2")}
    crops = [crop for crop in talk.growing if _name(crop) in margins]
    if not crops:
        return None
    best = max(crops, key=lambda crop: margins[_name(crop)])
    return policy_of(best) or None


def ranked(talk: Conversation, candidates: Sequence[Policy]) -> list[Policy]:
    """Candidates in the order of the latest predicted margins; as given where there are none."""
    tables = talk.results("predictions")
    rows = objects(tables[-1]["predictions"]) if tables else []
    told = [(policy_of(row), _margin(row)) for row in rows]
    margins = [next((m for p, m in told if p == policy), _WORST) for policy in candidates]
    order = sorted(range(len(candidates)), key=lambda index: (-margins[index], index))
    return [candidates[index] for index in order]


def proposed(talk: Conversation, unit: int, otherwise: Policy) -> Policy:
    """A compartment's policy from the latest space-filling design in sight, or another one."""
    tables = talk.results("policies")
    rows = objects(tables[-1]["policies"]) if tables else []
    return rows[unit % len(rows)] if rows else otherwise


def _inside(value: float, bound: Mapping[str, Any]) -> float:
    low, high = number(bound.get("min"), value), number(bound.get("max"), value)
    return round(min(max(value, low), high), 1)


def _margin(crop: Mapping[str, Any]) -> float:
    return number(crop.get("margin_eur_m2"), _WORST)


def _usual(crop: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> float:
    alike = [_margin(other) for other in known if _start(other) == _start(crop)]
    return sum(alike) / len(alike)


def _start(crop: Mapping[str, Any]) -> float:
    return number(crop.get("start_day"), 0.0)


def _name(crop: Mapping[str, Any]) -> tuple[float, float]:
    """Compartment and number of a crop."""
    return number(crop.get("unit"), -1.0), number(crop.get("run_index"), -1.0)
