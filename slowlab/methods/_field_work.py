"""What the optimisers do in a campaign: wait, read, ask the predictor, plant, within the budgets.

Each piece is a generator that yields actions or tool calls and returns what it found. None sends an
action that would be rejected for want of budget: what the closing advance and the recommendation
need is kept, whether or not the task keeps it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowlab.campaign.errors import Reply
from slowlab.campaign.history import SeenCrop
from slowlab.campaign.session import ToolCall
from slowlab.methods._base import Campaign
from slowlab.world.contract_rules import SECONDS_PER_DAY
from slowlab.world.policy import Policy

type Work[T] = Generator[Mapping[str, Any] | ToolCall, Reply, T]
"""A piece of work that returns a ``T``."""

CLOSING_CALLS = 2
CLOSING_DECISIONS = 1
PREDICTOR_CHANNELS = (
    "cumulative_harvest_fresh_equivalent",
    "canopy_lai_proxy",
    "heating_energy",
    "lighting_energy",
    "co2_dosed",
)
"""Channels that are read for a running crop before its outcome is predicted."""


@dataclass(frozen=True)
class PlantingRound:
    """When some compartments are planted.

    Attributes:
        day: the day.
        units: numbers of the compartments.
    """

    day: float
    units: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """Predicted margin of a running crop.

    Attributes:
        margin_eur_m2: the prediction.
        error_sd_eur_m2: its typical error.
    """

    margin_eur_m2: float
    error_sd_eur_m2: float


CropName = tuple[int, int]
"""Compartment and crop number."""
Estimates = dict[CropName, Estimate]
"""Predicted margins of running crops."""


def planting_rounds(
    campaign: Campaign, groups: Mapping[float, Sequence[int]]
) -> tuple[PlantingRound, ...]:
    """All days on which groups of compartments can be planted, each as soon as it is clean again.

    Args:
        campaign: gives the calendar.
        groups: compartments by the day of their first planting.

    Returns:
        Rounds in order of time; groups planted on one day are one round.
    """
    latest, turn = campaign.calendar["latest_start_day"], campaign.second_start_day
    days: dict[float, list[int]] = {}
    for first in sorted(groups):
        count = int((latest - first) // turn) + 1 if first <= latest else 0
        for number in range(count):
            days.setdefault(first + number * turn, []).extend(groups[first])
    return tuple(PlantingRound(day, tuple(sorted(days[day]))) for day in sorted(days))


def half_crop_day(campaign: Campaign) -> float:
    """The last control step up to half a crop, in days."""
    return on_a_step(campaign, campaign.calendar["crop_days"] / 2)


def on_a_step(campaign: Campaign, day: float) -> float:
    """The last control step up to a day, in days; actions are taken at control steps only."""
    steps_a_day = SECONDS_PER_DAY // campaign.calendar["step_seconds"]
    return math.floor(day * steps_a_day) / steps_a_day


def advance_to(campaign: Campaign, day: float) -> Work[bool]:
    """Let time pass; whether the day was reached."""
    last = campaign.calendar["campaign_days"]
    if campaign.history.day >= day:
        return True
    if day < last and _free_calls(campaign) < 1:
        return False
    reply = yield {"action": "advance", "day": day}
    return reply.ok


def read_totals(campaign: Campaign) -> Work[None]:
    """Read the totals of every crop that has closed and was not read yet."""
    for crop in campaign.history.crops():
        if crop.closed and crop.totals is None and _free_calls(campaign) >= 1:
            yield {"action": "observe", "unit": crop.unit, "run_index": crop.run_index}


def plant(campaign: Campaign, units: Sequence[int], policies: Sequence[Policy]) -> Work[None]:
    """Plant policies in idle compartments, one each, as long as either lasts."""
    idle = [unit for unit in units if is_idle(campaign, unit)]
    for unit, policy in zip(idle, policies, strict=False):
        if starts_left(campaign) >= 1:
            yield {"action": "start", "unit": unit, "policy": policy.model_dump()}


def predict_running(campaign: Campaign, rounds_left: Sequence[PlantingRound]) -> Work[Estimates]:
    """Read the records of running crops and have their outcomes predicted.

    Nothing is read where records are not released, or where the calls would be missing later.

    Args:
        campaign: the campaign.
        rounds_left: this round of planting and those to come.

    Returns:
        The crops that could be predicted.
    """
    running = [crop for crop in campaign.history.crops() if not crop.closed]
    found: dict[CropName, Estimate] = {}
    if not campaign.reads_records:
        return found
    for crop in running:
        if _free_calls(campaign) - len(PREDICTOR_CHANNELS) < _calls_to_come(running, rounds_left):
            break
        yield from _read_records(crop)
        arguments = {"unit": crop.unit, "run_index": crop.run_index}
        reply = yield ToolCall("predict_crop_outcome", arguments)
        if reply.ok and reply.result is not None:
            found[crop.unit, crop.run_index] = Estimate(
                float(reply.result["margin_eur_m2"]), float(reply.result["typical_error_eur_m2"])
            )
    return found


def finish(campaign: Campaign) -> Work[None]:
    """Go to the last day and read what has closed."""
    yield from advance_to(campaign, campaign.calendar["campaign_days"])
    yield from read_totals(campaign)


def recommend(policy: Policy) -> Work[None]:
    """Give the final recommendation."""
    yield {"action": "recommend", "policy": policy.model_dump()}


def is_idle(campaign: Campaign, unit: int) -> bool:
    """Whether a compartment can be planted, as far as is known."""
    history = campaign.history
    growing = any(crop.unit == unit and not crop.closed for crop in history.crops())
    phases = {status["unit"]: status["phase"] for status in history.statuses()}
    return not growing and phases.get(unit, "idle") == "idle"


def starts_left(campaign: Campaign) -> int:
    """How many crops the budgets still allow."""
    limits = campaign.task["budgets"]
    decisions = limits["decision_calls"] - _used(campaign, "decisions")
    kept = max(limits["decision_calls_kept_for_the_end"], CLOSING_DECISIONS)
    starts = limits["starts"] - _used(campaign, "starts")
    return min(starts, decisions - kept, _free_calls(campaign))


def _read_records(crop: SeenCrop) -> Work[None]:
    """Read the daily rows of one crop, from the day before, for the meters' zero point."""
    for channel in PREDICTOR_CHANNELS:
        yield {
            "action": "observe",
            "unit": crop.unit,
            "run_index": crop.run_index,
            "variable": channel,
            "start_day": max(0.0, crop.start_day - 1.0),
            "resolution": "daily",
        }


def _calls_to_come(running: Sequence[SeenCrop], rounds_left: Sequence[PlantingRound]) -> int:
    """Calls that planting, waiting and reading totals will need until the last day.

    The last advance is among them: it is taken from what is kept for the end only if nothing else
    is left.
    """
    starts = sum(len(item.units) for item in rounds_left)
    return len(running) + 2 * starts + len(rounds_left)


def _free_calls(campaign: Campaign) -> int:
    """Calls that are left beside those kept for the end."""
    limits = campaign.task["budgets"]
    kept = max(limits["calls_kept_for_the_end"], CLOSING_CALLS)
    return limits["calls"] - kept - _used(campaign, "calls")


def _used(campaign: Campaign, what: str) -> int:
    budget = campaign.history.budget
    return 0 if budget is None else budget[what]["used"]
