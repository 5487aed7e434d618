"""Staggered plantings: later crops are chosen from what earlier ones show while they grow."""

from __future__ import annotations

from slowlab.agents.standins import season
from slowlab.agents.standins.answers import Answer, following, only_recommends, plain
from slowlab.agents.standins.conversation import Conversation
from slowlab.agents.standins.growing import (
    Policy,
    best_policy,
    changed,
    most_promising,
    opening,
)

_AT_ONCE = 2
"""Compartments that are planted on day 0; each further one waits a month longer."""


def staggered(talk: Conversation) -> Answer:
    """Two crops on day 0, the others after two months, three months, and so on.

    Before each planting it reads what grows, where records can be read, and plants a change of what
    is predicted to end best.
    """
    if only_recommends(talk):
        return plain(season.recommend_best(talk))
    if talk.stage == "design":
        agenda = [*_due(talk), {"type": "design_complete"}]
        return plain(following(agenda, talk))
    return plain(following(_agenda(talk), talk))


def _agenda(talk: Conversation) -> list[season.Step]:
    if talk.day >= talk.last_day:
        return season.closing(talk)
    steps = season.read_totals(talk)
    plants = _due(talk) if talk.next_crop_fits() else []
    late = talk.second_start_day + 3 * season.month(talk)
    if (plants and not season.started_today(talk)) or talk.day == late:
        steps += season.look(talk, talk.growing)
    stops = [*_first_days(talk), talk.second_start_day, late - season.month(talk), late]
    return [*steps, *plants, season.wait(talk, stops)]


def _first_days(talk: Conversation) -> list[float]:
    """Day of each compartment's first crop."""
    return [0.0 if unit < _AT_ONCE else season.month(talk) * unit for unit in talk.units]


def _due(talk: Conversation) -> list[season.Step]:
    """Plant the empty compartments whose time has come."""
    days = _first_days(talk)
    units = [unit for unit in talk.idle if talk.day >= days[unit]]
    return season.plant(units, [_next_policy(talk, unit) for unit in talk.units])


def _next_policy(talk: Conversation, unit: int) -> Policy:
    """A change of the best so far, or an opening policy where nothing is known."""
    promising = most_promising(talk)
    if promising is None and all(crop.get("margin_eur_m2") is None for crop in talk.crops):
        return opening(talk, unit)
    base = best_policy(talk) if promising is None else promising
    up, down = _TURNS[unit % len(_TURNS)]
    return changed(talk, base, {up: 1, down: -1})


_TURNS = (
    ("supplemental_light_hours", "day_temperature_c"),
    ("co2_target_ppm", "night_temperature_c"),
    ("vent_temperature_offset_c", "vent_rh_threshold_pct"),
    ("supplemental_light_hours", "vent_temperature_offset_c"),
)
"""What each compartment's next crop has more of, and less of."""
