"""The reader that is the local optimiser's own last step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from slowlab.methods._local_bo import best_tried
from slowlab.readers._base import Reader
from slowlab.readers._registry import register
from slowlab.readers.packets import Packet
from slowlab.tools.season_kernel import SeasonKernel
from slowlab.world.policy import Policy


@register("gp")
class GpReader(Reader):
    """Recommend the completed policy with the highest posterior score, else the fallback.

    The kernel is the frozen one. On a packet of the local optimiser this gives its own
    recommendation, exactly.

    Source: SlowLab, reader experiment (GP Reader).
    """

    uses_artifacts: ClassVar[tuple[str, ...]] = ("kernel",)
    identity_sources: ClassVar[tuple[str, ...]] = ("prior_bo", "prior_bo_two_wave")

    @classmethod
    def repeats_last_step_of(cls, method: str, settings: Mapping[str, Any]) -> bool:
        """Only where the optimiser uses the frozen kernel too."""
        return method in cls.identity_sources and settings.get("kernel", "frozen") == "frozen"

    def recommend(self, packet: Packet) -> Policy:
        """The best policy of those that were grown to the end."""
        kernel = SeasonKernel.from_artifact(self.artifacts.load("kernel"))
        return best_tried(kernel, packet.task, packet.seen_crops(), packet.fallback)
