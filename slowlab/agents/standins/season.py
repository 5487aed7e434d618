"""The steps of a campaign that the sensible stand-ins share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slowlab.agents.standins.answers import Policy, act, recommendation, use, with_notes
from slowlab.agents.standins.conversation import Conversation, number
from slowlab.agents.standins.growing import best_crop, best_policy, neighbours, ranked

Step = dict[str, Any]
_HARVEST, _CANOPY = "cumulative_harvest_fresh_equivalent", "canopy_lai_proxy"
_PARTS_OF_A_CROP = 6
"""A stand-in's month is this part of a crop."""
_MOST_MONTHS = 120


def month(talk: Conversation) -> int:
    """Days between two looks at the crops."""
    crop = number(talk.calendar.get("crop_days"), talk.last_day)
    return max(1, round(crop / _PARTS_OF_A_CROP))


def monthly(talk: Conversation) -> list[float]:
    """Days of looking: every month after a planting, but none just before the next one."""
    days: list[float] = []
    for begin, end in ((0.0, talk.second_start_day), (talk.second_start_day, talk.last_day)):
        months = range(1, min(int((end - begin) / month(talk) + 0.5), _MOST_MONTHS))
        days += [begin + count * month(talk) for count in months]
    return days


def read_totals(talk: Conversation) -> list[Step]:
    """Read what has closed."""
    return [
        act("observe", "Read the totals.", unit=crop.get("unit"), run_index=crop.get("run_index"))
        for crop in talk.unread
    ]


def look(talk: Conversation, crops: Sequence[dict[str, Any]]) -> list[Step]:
    """Read harvest and canopy of crops, day by day, and have their outcome predicted."""
    steps = []
    for crop in crops if talk.reads_records else ():
        if number(crop.get("start_day"), talk.day) + month(talk) > talk.day:
            continue
        unit, index = crop.get("unit"), crop.get("run_index")
        for variable in (_HARVEST, _CANOPY):
            fields = {"unit": unit, "run_index": index, "variable": variable}
            steps.append(act("observe", "How is it growing?", resolution="daily", **fields))
        steps.append(use("predict_crop_outcome", unit=unit, run_index=index))
    return steps


def started_today(talk: Conversation) -> bool:
    """Whether a crop was planted today."""
    return any(crop.get("start_day") == talk.day for crop in talk.crops)


def plant(units: Sequence[int], policies: Sequence[Policy]) -> list[Step]:
    """Plant one policy in each compartment; the number of the compartment picks it."""
    return [
        act("start", "Try this policy.", unit=unit, policy=policies[unit % len(policies)])
        for unit in units
    ]


def wait(talk: Conversation, stops: Sequence[float]) -> Step:
    """Go to the next of some days, or to the end, and say what counts so far."""
    later = [day for day in stops if talk.day < day < talk.last_day]
    step = act("advance", "Nothing more to do today.", day=min(later, default=talk.last_day))
    return with_notes(talk, {**step, "incumbent": best_policy(talk)}, _notes(talk))


def model_steps(policies: Sequence[Policy]) -> list[Step]:
    """Fit the outcomes so far and predict those of some policies."""
    return [use("fit_outcome_model"), use("predict", "Compare these.", policies=list(policies))]


def closing(talk: Conversation) -> list[Step]:
    """The last day: totals, a model of them, and the recommendation that it favours."""
    candidates = neighbours(talk, best_policy(talk))
    best = ranked(talk, candidates)[0]
    final = act("recommend", "Best by the fitted outcomes.", policy=best)
    return [*read_totals(talk), *model_steps(candidates), final]


def recommend_best(talk: Conversation) -> Step:
    """The policy of the best crop so far, in the form that the stage asks for."""
    return recommendation(talk, best_policy(talk), "The best that is known so far.")


def _notes(talk: Conversation) -> str:
    crop = best_crop(talk)
    best = "none has closed" if crop is None else f"{crop.get('margin_eur_m2')} EUR/m2"
    return f"Day {talk.day:g}: {len(talk.crops)} crops planted, best margin so far: {best}."
