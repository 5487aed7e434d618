"""The prior-informed local optimiser, with all compartments planted at once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from slowlab.methods import _field_work as work
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._local_bo import (
    ARTIFACTS,
    LocalBoSettings,
    best_tried,
    design_points,
    local_knowledge,
)
from slowlab.methods._registry import register
from slowlab.methods.prior_bo import play_local_rounds


@register("prior_bo_two_wave")
class PriorBoTwoWave(Method):
    """As the staggered optimiser, with more crops and without a use for records.

    All compartments are planted on day 0 with the anchor and design points around it, and again as
    soon as they are clean with policies chosen by expected improvement.
    """

    Settings: ClassVar = LocalBoSettings
    uses_artifacts: ClassVar = ARTIFACTS
    settings: LocalBoSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Run the campaign; see :class:`PriorBoTwoWave`."""
        rounds = work.planting_rounds(campaign, {0.0: campaign.units})
        known = local_knowledge(self.settings, self.artifacts, campaign.task, rng)
        design = design_points(known, sum(len(r.units) for r in rounds), campaign.task, rng)
        yield from play_local_rounds(campaign, known, rounds, design, rng)
        crops = campaign.history.crops()
        yield from work.recommend(best_tried(known.kernel, campaign.task, crops, known.centre))
