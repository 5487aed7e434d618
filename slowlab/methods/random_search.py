"""Random search: the weakest method that experiments."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from slowlab.config import ConfigModel
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import whole_box
from slowlab.methods._registry import register
from slowlab.methods._waves import artifact_policy, random_policies, two_drawn_waves


class RandomSearchSettings(ConfigModel):
    """Settings of random search."""

    anchor: bool = Field(
        default=False, description="Whether the fixed reference takes the place of the first draw."
    )


@register("random_search")
class RandomSearch(Method):
    """Plant random policies in two waves and recommend the best crop seen."""

    Settings = RandomSearchSettings
    uses_artifacts = ("fixed_reference",)
    settings: RandomSearchSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Draw both waves evenly from all feasible policies."""
        drawn = random_policies(2 * len(campaign.units), whole_box(), campaign.bounds, rng)
        if self.settings.anchor:
            drawn[0] = artifact_policy(self.artifacts, "fixed_reference", campaign.task)
        yield from two_drawn_waves(campaign, drawn)
