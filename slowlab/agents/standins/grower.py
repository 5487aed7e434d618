"""The sensible grower: a standard policy and changes of it, monthly looks, a fitted model."""

from __future__ import annotations

from slowlab.agents.standins import season
from slowlab.agents.standins.answers import Answer, act, following, only_recommends, plain
from slowlab.agents.standins.conversation import Conversation
from slowlab.agents.standins.growing import best_policy, neighbours, opening, ranked


def grower(talk: Conversation) -> Answer:
    """Four policies around a standard one, then changes of the best; recommends the best.

    Where records can be read, it looks at one compartment a month and has its outcome predicted.
    """
    return plain(grower_decision(talk))


def grower_decision(talk: Conversation) -> season.Step:
    """The same as a decision."""
    if only_recommends(talk):
        return season.recommend_best(talk)
    if talk.stage == "design":
        starts = [
            act("start", "Try the standard policy and others around it.", unit=unit, policy=policy)
            for unit in talk.idle
            for policy in [opening(talk, unit)]
        ]
        return starts[0] if starts else {"type": "design_complete"}
    return following(_agenda(talk), talk)


def _agenda(talk: Conversation) -> list[season.Step]:
    if talk.day >= talk.last_day:
        return season.closing(talk)
    steps = season.read_totals(talk)
    if talk.idle and talk.next_crop_fits():
        steps += _replant(talk)
    steps += season.look(talk, _crop_of_the_month(talk))
    return [*steps, season.wait(talk, [*season.monthly(talk), talk.second_start_day])]


def _replant(talk: Conversation) -> list[season.Step]:
    candidates = neighbours(talk, best_policy(talk))
    compare = [] if season.started_today(talk) else season.model_steps(candidates)
    return [*compare, *season.plant(talk.idle, ranked(talk, candidates))]


def _crop_of_the_month(talk: Conversation) -> list[dict]:
    growing = talk.growing
    return [growing[round(talk.day / season.month(talk)) % len(growing)]] if growing else []
