"""Stand-ins that keep to the form and waste what they have: time-blind, verbose, over budget."""

from __future__ import annotations

import json

from slowlab.agents.standins import season
from slowlab.agents.standins.answers import (
    Answer,
    act,
    following,
    only_recommends,
    plain,
    recommendation,
    use,
    with_notes,
)
from slowlab.agents.standins.conversation import Conversation, number
from slowlab.agents.standins.grower import grower_decision
from slowlab.agents.standins.growing import opening, standard

_TINY_DAYS = 0.25
_REASON_CHARACTERS, _NOTES_CHARACTERS = 390, 1_950


def time_blind(talk: Conversation) -> Answer:
    """Plants, then lets time pass in tiny steps until the calls are gone; never asks for the day.

    It recommends the standard policy when it is made to.
    """
    if only_recommends(talk):
        return plain(recommendation(talk, standard(talk)))
    if talk.stage == "design":
        return plain(following([*_plant_all(talk), {"type": "design_complete"}], talk))
    action = talk.said.get("action")
    before = number(action.get("day"), 0.0) if isinstance(action, dict) else 0.0
    return plain(act("advance", "A little later.", day=before + _TINY_DAYS))


def verbose(talk: Conversation) -> Answer:
    """What the grower does, with the longest reasons and notes, in a fence, with prose around."""
    reason = _filled("I have weighed this step with great care", _REASON_CHARACTERS)
    notes = _filled("Everything so far went as one would expect it to", _NOTES_CHARACTERS)
    decision = with_notes(talk, {**grower_decision(talk), "reason": reason}, notes)
    body = json.dumps(decision, indent=2)
    before = "Let me think this through. Heat and light cost money, and fruit earns it.\n\n"
    return Answer(f"{before}```json\n{body}\n```\n\nThis is my considered answer.", decision)


def over_budget(talk: Conversation) -> Answer:
    """Uses tools and reads raw records until every budget is gone, and then asks for more."""
    if only_recommends(talk):
        return plain(season.recommend_best(talk))
    if talk.stage == "design":
        return plain(following([*_plant_all(talk), {"type": "design_complete"}], talk))
    if talk.left("tool_calls") > 0:
        return plain(use("runs"))
    if talk.day < season.month(talk):
        return plain(act("advance", day=season.month(talk)))
    unit = int(talk.left("calls")) % len(talk.units)
    channel = {"variable": "air_temperature_c"} if talk.reads_records else {}
    return plain(act("observe", "More.", unit=unit, **channel))


def _plant_all(talk: Conversation) -> list[season.Step]:
    return season.plant(talk.idle, [opening(talk, unit) for unit in talk.units])


def _filled(sentence: str, length: int) -> str:
    """A sentence again and again, to an exact length."""
    return (f"{sentence}. " * length)[:length]
