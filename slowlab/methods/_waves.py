"""What methods share that plant all compartments at once, wait, and plant a second time.

Everything is taken from the public task: compartments, calendar, bounds and budgets. A wave never
asks for more than the budgets leave: each crop needs a start and a later read of its totals, and
the advance to the last day and the recommendation are kept free. So nothing is rejected, however
small a task is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slowlab.campaign.history import SeenCrop
from slowlab.methods import _field_work as work
from slowlab.methods._base import Campaign, Steps
from slowlab.methods._design import Box, tidy_policies
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.public_task import policy_bounds
from slowlab.tools.runs import completed_crops, margin_eur_m2
from slowlab.world.policy import (
    POLICY_FIELDS,
    Policy,
    PolicyBounds,
    encode,
    from_unit,
    parse_policy,
)

Choice = Callable[[list[SeenCrop]], Policy]
"""The recommendation, from the completed crops in an order that does not depend on compartments."""
NextWave = Callable[[list[SeenCrop]], Sequence[Policy]]
"""The second wave, from the completed crops of the first."""
_MOST_DRAWS = 1000


def two_waves(campaign: Campaign, first: Sequence[Policy], then: NextWave, choose: Choice) -> Steps:
    """Plant on day 0 and once more as soon as possible, then recommend.

    Args:
        campaign: the public view, on day 0.
        first: one policy for each compartment.
        then: policies of the second wave; not asked where the task leaves no room for one.
        choose: the recommendation.
    """
    yield from plant(campaign, first)
    if has_room(campaign, campaign.second_start_day):
        yield from work.advance_to(campaign, campaign.second_start_day)
        yield from work.read_totals(campaign)
        yield from plant(campaign, then(completed_crops(campaign.history.crops())))
    yield from finish(campaign, choose)


def two_drawn_waves(campaign: Campaign, policies: Sequence[Policy]) -> Steps:
    """Plant policies that were chosen before, in two waves, and recommend the best crop seen.

    Args:
        campaign: the public view, on day 0.
        policies: two for each compartment, or more, which are not used; the first is recommended
            where no crop could be read.
    """
    size = len(campaign.units)
    yield from two_waves(
        campaign,
        first=policies[:size],
        then=lambda crops: policies[size : 2 * size],
        choose=lambda crops: best_seen(crops, otherwise=policies[0]),
    )


def plant(campaign: Campaign, policies: Sequence[Policy]) -> Steps:
    """Plant policies in the empty compartments, as many as fit and can be read afterwards."""
    count = affordable_crops(campaign, advances=1)
    yield from work.plant(campaign, campaign.units, policies[:count])


def finish(campaign: Campaign, choose: Choice) -> Steps:
    """Go to the last day, read what has closed, and recommend."""
    yield from work.finish(campaign)
    yield from work.recommend(choose(completed_crops(campaign.history.crops())))


def has_room(campaign: Campaign, day: float) -> bool:
    """Whether a crop that is planted on a later day can be paid for and grow to its full length."""
    calendar = campaign.calendar
    in_time = day <= calendar["latest_start_day"]
    whole = day + calendar["crop_days"] <= calendar["campaign_days"]
    return in_time and whole and affordable_crops(campaign, advances=2) > 0


def affordable_crops(campaign: Campaign, *, advances: int) -> int:
    """How many crops can be started and read, with everything else that is still to come.

    Args:
        campaign: the public view.
        advances: advances that are still to come, with the last.
    """
    limits, told = campaign.task["budgets"], campaign.history.budget
    used = 0 if told is None else told["calls"]["used"]
    kept = max(limits["calls_kept_for_the_end"], work.CLOSING_CALLS)
    unread = sum(crop.totals is None for crop in campaign.history.crops())
    pairs = (limits["calls"] - kept - used - unread - advances) // 2
    return max(0, min(work.starts_left(campaign), pairs))


def best_seen(crops: Sequence[SeenCrop], otherwise: Policy) -> Policy:
    """The policy of the crop with the highest margin.

    Args:
        crops: completed crops; of equal margins, the first counts.
        otherwise: the answer where there are none.
    """
    return max(crops, key=margin_eur_m2).policy if crops else otherwise


def ranked(crops: Sequence[SeenCrop]) -> list[Policy]:
    """Each policy once, by its mean margin over planting days, best first.

    The mean of the crops of a day comes before the mean over days, as in the score.
    """
    means = {key: _mean_over_days(group) for key, group in _by_policy(crops).items()}
    return [Policy(**dict(key)) for key in sorted(means, key=lambda key: (-means[key], key))]


def most_planted(crops: Sequence[SeenCrop]) -> list[SeenCrop]:
    """Crops of the policies that were planted on the most different days."""
    days = {key: len({c.start_day for c in group}) for key, group in _by_policy(crops).items()}
    most = max(days.values(), default=0)
    return [crop for crop in crops if days[_key(crop.policy)] == most]


def random_policies(
    count: int, box: Box, bounds: PolicyBounds, rng: np.random.Generator
) -> list[Policy]:
    """Policies drawn evenly from the feasible part of a box.

    Args:
        count: how many.
        box: part of the unit cube.
        bounds: allowed range of each field.
        rng: draws them.
    """
    return [_random_policy(box, bounds, rng) for _ in range(count)]


def artifact_policy(artifacts: ArtifactFolder, name: str, task: Mapping[str, Any]) -> Policy:
    """The policy that an artifact holds.

    Raises:
        ArtifactError: the artifact cannot be used.
        PolicyError: its policy is not valid in this task.
    """
    return parse_policy(artifacts.load(name).content["policy"], policy_bounds(task))


def _random_policy(box: Box, bounds: PolicyBounds, rng: np.random.Generator) -> Policy:
    point = box.low
    for _ in range(_MOST_DRAWS):
        point = box.low + rng.random(len(POLICY_FIELDS)) * (box.high - box.low)
        if from_unit(point[None], POLICY_FIELDS, bounds).is_feasible()[0]:
            break
    return tidy_policies(point, bounds)[0]


def _by_policy(crops: Sequence[SeenCrop]) -> dict[tuple[tuple[str, float], ...], list[SeenCrop]]:
    groups: dict[tuple[tuple[str, float], ...], list[SeenCrop]] = {}
    for crop in crops:
        groups.setdefault(_key(crop.policy), []).append(crop)
    return groups


def _key(policy: Policy) -> tuple[tuple[str, float], ...]:
    """Names and values, in the order of the fields."""
    return tuple(zip(POLICY_FIELDS, encode([policy]).values[0].tolist(), strict=True))


def _mean_over_days(crops: Sequence[SeenCrop]) -> float:
    days = sorted({crop.start_day for crop in crops})
    return float(
        np.mean([np.mean([margin_eur_m2(c) for c in crops if c.start_day == day]) for day in days])
    )
