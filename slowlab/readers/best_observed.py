"""The reader that takes the best crop as it was."""

from __future__ import annotations

from typing import ClassVar

from slowlab.readers._base import Reader
from slowlab.readers._registry import register
from slowlab.readers.packets import Packet
from slowlab.tools.runs import completed_crops, margin_eur_m2
from slowlab.world.policy import Policy


@register("best_observed")
class BestObserved(Reader):
    """Recommend the policy of the completed crop with the highest margin, else the fallback.

    Of crops with the same margin the one that was planted first counts.
    """

    identity_sources: ClassVar[tuple[str, ...]] = (
        "random_search",
        "local_random_search",
        "two_wave_sobol",
    )

    def recommend(self, packet: Packet) -> Policy:
        """The policy of the best crop."""
        crops = completed_crops(packet.seen_crops())
        return max(crops, key=margin_eur_m2).policy if crops else packet.fallback
