"""Local random search: random policies near one that is known to be sound."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from slowlab.config import ConfigModel
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import box_around, whole_box
from slowlab.methods._registry import register
from slowlab.methods._waves import artifact_policy, random_policies, two_drawn_waves
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world.policy import Policy


class LocalSearchSettings(ConfigModel):
    """Settings of searches in a box around one policy."""

    anchor: bool = Field(
        default=True,
        description="Whether the fixed reference is the centre; otherwise a random policy is.",
    )
    radius: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Half-width in widths of the allowed range; null: that of the artifact.",
    )


@register("local_random_search")
class LocalRandomSearch(Method):
    """Plant the centre and random policies around it, and recommend the best crop seen."""

    Settings = LocalSearchSettings
    uses_artifacts = ("fixed_reference", "radius")
    settings: LocalSearchSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Draw both waves evenly from the feasible policies of the box."""
        count = 2 * len(campaign.units)
        tried = centre_and_neighbours(count, self.settings, self.artifacts, campaign, rng)
        yield from two_drawn_waves(campaign, tried)


def centre_and_neighbours(
    count: int,
    settings: LocalSearchSettings,
    artifacts: ArtifactFolder,
    campaign: Campaign,
    rng: np.random.Generator,
) -> list[Policy]:
    """A centre and random policies of the box around it, ``count`` altogether.

    Raises:
        ArtifactError: an artifact is needed and cannot be used.
    """
    if settings.anchor:
        centre = artifact_policy(artifacts, "fixed_reference", campaign.task)
    else:
        (centre,) = random_policies(1, whole_box(), campaign.bounds, rng)
    radius = settings.radius
    if radius is None:
        radius = float(artifacts.load("radius").content["radius"])
    box = box_around(centre, radius, campaign.bounds)
    return [centre, *random_policies(count - 1, box, campaign.bounds, rng)]
