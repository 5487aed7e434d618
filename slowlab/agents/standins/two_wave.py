"""Two synchronous waves of space-filling policies, chosen from totals alone."""

from __future__ import annotations

from slowlab.agents.standins import season
from slowlab.agents.standins.answers import Answer, act, following, only_recommends, plain, use
from slowlab.agents.standins.conversation import Conversation
from slowlab.agents.standins.growing import best_policy, opening, proposed

_KEPT = ("co2_target_ppm", "supplemental_light_hours")
"""Fields that the second wave keeps from the best crop of the first."""


def two_wave(talk: Conversation) -> Answer:
    """Plant evenly spread policies twice, and recommend that of the best crop.

    Where records can be read, it has the outcome of every crop predicted once, in the middle of its
    growth; no decision depends on that.
    """
    if only_recommends(talk):
        return plain(season.recommend_best(talk))
    if talk.stage == "design":
        agenda = [*_wave(talk), {"type": "design_complete"}]
        return plain(following(agenda, talk))
    return plain(following(_agenda(talk), talk))


def _agenda(talk: Conversation) -> list[season.Step]:
    steps = season.read_totals(talk)
    if talk.day >= talk.last_day:
        return [*steps, act("recommend", "The best crop's policy.", policy=best_policy(talk))]
    if talk.day in (0.0, talk.second_start_day) and talk.next_crop_fits():
        steps += _wave(talk)
    middle = round(talk.second_start_day / 2)
    if talk.day in (middle, talk.second_start_day + middle):
        steps += season.look(talk, talk.growing)
    stops = (middle, talk.second_start_day, talk.second_start_day + middle)
    return [*steps, season.wait(talk, stops)]


def _wave(talk: Conversation) -> list[season.Step]:
    """Ask for evenly spread policies, and plant them."""
    arguments = {"n": len(talk.units)}
    if talk.crops:
        arguments["fixed"] = {name: best_policy(talk)[name] for name in _KEPT}
    ask = [] if season.started_today(talk) else [use("space_filling_candidates", **arguments)]
    policies = [proposed(talk, unit, opening(talk, unit)) for unit in talk.units]
    return [*ask, *season.plant(talk.idle, policies)]
