"""Two waves of evenly spread policies: coverage instead of chance, and no model."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from slowlab.config import ConfigModel
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import sobol_policies, whole_box
from slowlab.methods._registry import register
from slowlab.methods._waves import artifact_policy, two_drawn_waves


class TwoWaveSobolSettings(ConfigModel):
    """Settings of the space-filling search."""

    anchor: bool = Field(
        default=False, description="Whether the fixed reference takes the place of the first point."
    )


@register("two_wave_sobol")
class TwoWaveSobol(Method):
    """Plant the points of one scrambled Sobol set in two waves; recommend the best crop seen."""

    Settings = TwoWaveSobolSettings
    uses_artifacts = ("fixed_reference",)
    settings: TwoWaveSobolSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Two points for each compartment; a night warmer than its day is lowered to the day."""
        points = sobol_policies(2 * len(campaign.units), whole_box(), campaign.bounds, rng)
        if self.settings.anchor:
            points[0] = artifact_policy(self.artifacts, "fixed_reference", campaign.task)
        yield from two_drawn_waves(campaign, points)
