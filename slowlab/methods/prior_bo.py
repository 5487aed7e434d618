"""The prior-informed local optimiser, with staggered planting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from slowlab.methods import _field_work as work
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import without
from slowlab.methods._field_work import PlantingRound
from slowlab.methods._local_bo import (
    ARTIFACTS,
    Knowledge,
    LocalBoSettings,
    best_tried,
    choose_next,
    design_points,
    local_knowledge,
)
from slowlab.methods._registry import register
from slowlab.methods._waves import affordable_crops
from slowlab.world.policy import Policy


class PriorBoSettings(LocalBoSettings):
    """Settings of the staggered local optimiser."""

    second_wave_day: float | None = Field(
        default=None,
        ge=0,
        description="Day on which the second half is first planted; null for half a crop.",
    )


@register("prior_bo")
class PriorBo(Method):
    """Start at the anchor, look nearby, recommend the best policy that was grown to the end.

    Half of the compartments are planted on day 0: the anchor and design points around it. The other
    half follows after half a crop. Where records can be read, the margins of running crops are
    predicted from them and enter with their typical errors, and the policies are chosen by expected
    improvement; else they are the next design points. Each compartment is planted again as soon as
    it is clean, with policies chosen by expected improvement.

    Source: SlowLab, prior-informed local optimiser. Unlike there, the error of a prediction counts
    as noise, running crops are predicted at later decisions too, the box does not change its size
    (it never could), and every site, repeat and method has random numbers of its own.
    """

    Settings: ClassVar = PriorBoSettings
    uses_artifacts: ClassVar = ARTIFACTS
    settings: PriorBoSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Run the campaign; see :class:`PriorBo`."""
        rounds = staggered_rounds(campaign, self.settings.second_wave_day)
        known = local_knowledge(self.settings, self.artifacts, campaign.task, rng)
        design = design_points(known, sum(len(r.units) for r in rounds), campaign.task, rng)
        yield from play_local_rounds(campaign, known, rounds, design, rng)
        crops = campaign.history.crops()
        yield from work.recommend(best_tried(known.kernel, campaign.task, crops, known.centre))


def staggered_rounds(
    campaign: Campaign, second_wave_day: float | None = None
) -> tuple[PlantingRound, ...]:
    """Rounds of planting in which the halves of the compartments take turns."""
    units, half = campaign.units, len(campaign.units) // 2
    later = work.half_crop_day(campaign)
    if second_wave_day is not None:
        later = work.on_a_step(campaign, second_wave_day)
    if later == 0 or half == 0:
        return work.planting_rounds(campaign, {0.0: units})
    return work.planting_rounds(campaign, {0.0: units[:half], later: units[half:]})


def play_local_rounds(
    campaign: Campaign,
    known: Knowledge,
    rounds: tuple[PlantingRound, ...],
    design: Sequence[Policy],
    rng: np.random.Generator,
) -> Steps:
    """Plant every round, go to the last day and read all totals.

    A round takes the next design points as long as nothing has been learnt from any crop.

    Args:
        campaign: the campaign.
        known: what is known beforehand.
        rounds: when to plant what.
        design: policies to begin with, the first one first.
        rng: a stream for each round is drawn from it at once, so that two feedback conditions
            differ only by what they have learnt.
    """
    streams = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=len(rounds))]
    for number, (planting, stream) in enumerate(zip(rounds, streams, strict=True)):
        if not (yield from work.advance_to(campaign, planting.day)):
            break
        yield from work.read_totals(campaign)
        estimates = yield from work.predict_running(campaign, rounds[number:])
        crops, count = campaign.history.crops(), len(planting.units)
        chosen = choose_next(known, campaign.task, crops, estimates, count, planting.day, stream)
        tried = [crop.policy for crop in crops]
        policies = [*chosen, *without(design, [*tried, *chosen])]
        affordable = affordable_crops(campaign, advances=len(rounds) - number)
        yield from work.plant(campaign, planting.units, policies[:affordable])
    yield from work.finish(campaign)
