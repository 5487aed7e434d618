"""An optimiser that knows nothing beforehand and looks everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from slowlab.campaign.history import SeenCrop
from slowlab.config import ConfigModel
from slowlab.methods import _field_work as work
from slowlab.methods._acquisition import best_mean, choose_batch
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import sobol_policies, whole_box, without
from slowlab.methods._local_bo import (
    believe_running,
    candidates_worth_a_score,
    fit,
    observations,
)
from slowlab.methods._registry import register
from slowlab.methods._waves import affordable_crops
from slowlab.tools.public_task import policy_bounds, scoring_days
from slowlab.world.policy import Policy


class GlobalBoSettings(ConfigModel):
    """Settings of the global optimiser."""

    pool_size: int = Field(default=256, ge=1, le=4096, description="Candidates of the campaign.")


@register("global_bo")
class GlobalBo(Method):
    """Space-filling start, then expected improvement over one pool of candidates.

    All compartments are planted at once. The Gaussian process is fitted anew to the campaign's own
    crops. The recommendation is the policy with the highest posterior mean among the pool and the
    policies grown to the end, so it may be one that was never tried.

    Source: SlowLab, plain optimiser (two-wave form). Here its hyperparameters have weak priors.
    """

    Settings: ClassVar = GlobalBoSettings
    settings: GlobalBoSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Run the campaign; see :class:`GlobalBo`."""
        task, bounds = campaign.task, campaign.bounds
        rounds = work.planting_rounds(campaign, {0.0: campaign.units})
        start = sobol_policies(sum(len(r.units) for r in rounds), whole_box(), bounds, rng)
        pool = sobol_policies(self.settings.pool_size, whole_box(), bounds, rng)
        for number, planting in enumerate(rounds):
            if not (yield from work.advance_to(campaign, planting.day)):
                break
            yield from work.read_totals(campaign)
            crops, count = campaign.history.crops(), len(planting.units)
            chosen = choose_anywhere(task, crops, pool, count, planting.day)
            policies = [*chosen, *without(start, [*chosen, *(crop.policy for crop in crops)])]
            affordable = affordable_crops(campaign, advances=len(rounds) - number)
            yield from work.plant(campaign, planting.units, policies[:affordable])
        yield from work.finish(campaign)
        best = best_anywhere(task, campaign.history.crops(), pool, otherwise=start[0])
        yield from work.recommend(best)


def choose_anywhere(
    task: Mapping[str, Any],
    crops: Sequence[SeenCrop],
    pool: Sequence[Policy],
    count: int,
    planting_day: float,
) -> list[Policy]:
    """Choose untried policies of a pool to plant; none if no crop was completed yet."""
    seen = observations(crops)
    if not len(seen):
        return []
    posterior = believe_running(fit(None, policy_bounds(task), seen), crops, seen)
    untried = without(pool, [crop.policy for crop in crops])
    worthy = candidates_worth_a_score(crops)
    return choose_batch(posterior, untried, worthy, count, planting_day, scoring_days(task))


def best_anywhere(
    task: Mapping[str, Any], crops: Sequence[SeenCrop], pool: Sequence[Policy], otherwise: Policy
) -> Policy:
    """The highest posterior mean among the pool and the policies grown to the end.

    Args:
        task: the public task.
        crops: all crops seen.
        pool: candidates.
        otherwise: what is recommended where no crop was completed.
    """
    seen = observations(crops)
    if not len(seen):
        return otherwise
    posterior = fit(None, policy_bounds(task), seen)
    return best_mean(posterior, [*pool, *seen.policies], scoring_days(task))[0]
