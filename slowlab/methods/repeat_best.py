"""Repeat the best: spend the second wave on finding out which good crop was luck."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowlab.campaign.history import SeenCrop
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._registry import register
from slowlab.methods._waves import most_planted, ranked, two_waves
from slowlab.methods.local_random_search import LocalSearchSettings, centre_and_neighbours
from slowlab.world.policy import Policy


@register("repeat_best")
class RepeatBest(Method):
    """Plant a centre and neighbours, then the best two again, and recommend the best mean.

    The second wave grows in another season, so only policies that were planted on equally many
    days are compared.
    """

    Settings = LocalSearchSettings
    uses_artifacts = ("fixed_reference", "radius")
    settings: LocalSearchSettings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """The best policy of the first wave takes half of the second, the next best the rest."""
        size = len(campaign.units)
        tried = centre_and_neighbours(size, self.settings, self.artifacts, campaign, rng)
        yield from two_waves(
            campaign,
            first=tried,
            then=lambda crops: best_two_again(crops, size, otherwise=tried[0]),
            choose=lambda crops: best_mean_margin(crops, otherwise=tried[0]),
        )


def best_two_again(crops: Sequence[SeenCrop], size: int, otherwise: Policy) -> list[Policy]:
    """A wave of the best and the second best policy, ``size`` altogether.

    Args:
        crops: completed crops.
        size: number of compartments; an odd one goes to the best.
        otherwise: what is planted where no crop has completed.
    """
    order = ranked(crops) or [otherwise]
    half = (size + 1) // 2
    return [order[0]] * half + [order[min(1, len(order) - 1)]] * (size - half)


def best_mean_margin(crops: Sequence[SeenCrop], otherwise: Policy) -> Policy:
    """The policy with the highest mean margin among those planted on the most days."""
    return next(iter(ranked(most_planted(crops))), otherwise)
