"""Scripts that fail in one known way each, to be served in the place of a stand-in.

Like all stand-ins they are scripted programs, not language models.
"""

from __future__ import annotations

from typing import Any

from slowlab.agents.standins import season
from slowlab.agents.standins.answers import Answer, Script, act, plain, recommendation
from slowlab.agents.standins.conversation import Conversation
from slowlab.agents.standins.growing import allowed, standard

Policy = dict[str, float]
_TOO_HOT_C = 26.0
"""A crop with this day temperature is stopped for safety on the made-up facility."""


def _plain_season(talk: Conversation, policy: Policy, units: int, step_days: float) -> Answer:
    """Plant some compartments on day 0, let time pass, recommend the standard policy."""
    if talk.stage not in ("design", "season") or talk.day >= talk.last_day:
        final = talk.stage in ("design", "season")
        return plain(_last(talk) if final else recommendation(talk, standard(talk)))
    planted = {crop.get("unit") for crop in talk.crops}
    missing = [unit for unit in talk.units[:units] if unit not in planted]
    if missing:
        return plain(act("start", unit=missing[0], policy=policy))
    if talk.stage == "design":
        return plain({"type": "design_complete"})
    return plain(act("advance", day=min(talk.day + step_days, talk.last_day)))


def _last(talk: Conversation) -> dict[str, Any]:
    return act("recommend", policy=standard(talk))


def leaves_empty(talk: Conversation) -> Answer:
    """Plants one compartment and goes to the last day."""
    return _plain_season(talk, standard(talk), 1, talk.last_day)


def cooks(talk: Conversation) -> Answer:
    """Plants all compartments but the last far too hot, reads what came of it, and waits."""
    if talk.stage == "season" and talk.unread:
        return plain(season.read_totals(talk)[0])
    hot = allowed(talk, {**standard(talk), "day_temperature_c": _TOO_HOT_C})
    most_planted = len(talk.crops) >= len(talk.units) - 1
    return _plain_season(talk, standard(talk) if most_planted else hot, len(talk.units), 100.0)


def plants_on_top(talk: Conversation) -> Answer:
    """Asks three times in four for what the rules forbid, each time for something else."""
    turn = int(talk.left("model_calls"))
    if talk.stage == "season" and turn % 4 and talk.day < talk.last_day:
        occupied = act("start", unit=turn % len(talk.units), policy=standard(talk))
        return plain((act("stop", unit=99), occupied, act("advance", day=talk.day - 1))[turn % 3])
    return _plain_season(talk, standard(talk), len(talk.units), 30.0)


def plants_on_top_for_ever(talk: Conversation) -> Answer:
    """Asks for the same that the rules forbid, again and again."""
    if talk.stage == "season":
        return plain(act("start", unit=0, policy=standard(talk)))
    return _plain_season(talk, standard(talk), len(talk.units), 30.0)


PLANTED: dict[str, Script] = {
    "leaves_empty": leaves_empty,
    "cooks": cooks,
    "plants_on_top": plants_on_top,
    "plants_on_top_for_ever": plants_on_top_for_ever,
}
