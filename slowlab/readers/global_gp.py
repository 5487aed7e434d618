"""The reader that fits a process to the packet's own crops and looks over the whole range."""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np
from pydantic import Field

from slowlab.campaign.history import SeenCrop
from slowlab.canonical import canonical_bytes
from slowlab.config import ConfigModel
from slowlab.readers._base import Reader
from slowlab.readers._registry import register
from slowlab.readers.best_observed import BestObserved
from slowlab.readers.packets import Packet
from slowlab.tools.outcome_model import RESTARTS, fit_outcome_model
from slowlab.tools.public_task import policy_bounds
from slowlab.tools.runs import completed_crops, margin_eur_m2
from slowlab.tools.space_filling import sobol_policies
from slowlab.world.policy import Policy

DOMAIN = "slowlab-global-gp-reader-1"


class GlobalGpSettings(ConfigModel):
    """Settings of the reader."""

    pool: int = Field(default=512, ge=1, le=65536, description="Sobol policies looked at.")
    fewest_crops: int = Field(
        default=3, ge=2, description="Completed crops needed; with fewer the best crop counts."
    )


@register("global_gp")
class GlobalGp(Reader):
    """Recommend the highest expected score over a Sobol pool and the completed policies.

    The process is the one of the public tool ``fit_outcome_model``. Pool and starts of the fit are
    drawn from the crops themselves, so that equal evidence gives an equal answer.
    """

    Settings: ClassVar[type[ConfigModel]] = GlobalGpSettings

    def recommend(self, packet: Packet) -> Policy:
        """The best policy under the fitted process."""
        settings = GlobalGpSettings.model_validate(self.settings.model_dump())
        crops = completed_crops(packet.seen_crops())
        if len(crops) < settings.fewest_crops:
            return BestObserved(ConfigModel(), self.artifacts).recommend(packet)
        rng, bounds = _generator(crops), policy_bounds(packet.task)
        model = fit_outcome_model(
            bounds,
            [crop.policy for crop in crops],
            [crop.start_day for crop in crops],
            [margin_eur_m2(crop) for crop in crops],
            rng,
            RESTARTS,
        )
        tried = list(dict.fromkeys(crop.policy for crop in crops))
        candidates = [*tried, *sobol_policies(bounds, settings.pool, rng)]
        mean, _ = model.scored(candidates, packet.scoring_days)
        return candidates[int(np.argmax(mean))]


def _generator(crops: list[SeenCrop]) -> np.random.Generator:
    """Random numbers that depend on the crops and not on where they stood."""
    rows = [[c.policy.model_dump(), c.start_day, margin_eur_m2(c)] for c in crops]
    digest = hashlib.sha256(canonical_bytes([DOMAIN, rows])).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
