"""The reader that also counts crops whose end was not seen, by the process predictor."""

from __future__ import annotations

from typing import ClassVar

from slowlab.campaign.history import History
from slowlab.readers._base import Reader
from slowlab.readers._registry import register
from slowlab.readers.packets import Packet, PacketCrop, plant, read_days
from slowlab.tools.artifacts import Artifact
from slowlab.tools.errors import ToolError
from slowlab.tools.predictor import predict_crop
from slowlab.tools.runs import COMPLETED
from slowlab.world.policy import POLICY_FIELDS, Policy

SAFETY_STOP = "safety_stop"


@register("predictor")
class PredictorReader(Reader):
    """Recommend the policy with the highest final margin, seen or predicted, else the fallback.

    A crop that was completed or stopped for safety counts with the margin that was read. Any other
    crop (growing, stopped by hand, ended by the deadline, or never asked about) counts with the
    margin that its readings let expect; without enough readings it does not count.
    """

    uses_artifacts: ClassVar[tuple[str, ...]] = ("predictor",)

    def recommend(self, packet: Packet) -> Policy:
        """The policy of the crop with the best end."""
        artifact = self.artifacts.load("predictor")
        found = [(crop, final_margin_eur_m2(packet, crop, artifact)) for crop in packet.crops]
        known = [(crop, margin) for crop, margin in found if margin is not None]
        known.sort(key=lambda item: (-item[1], *_content(item[0])))
        return known[0][0].policy if known else packet.fallback


def final_margin_eur_m2(packet: Packet, crop: PacketCrop, artifact: Artifact) -> float | None:
    """Margin of a crop at its regular end, as read or as predicted; None where neither is known."""
    if crop.reason in (COMPLETED, SAFETY_STOP) and crop.margin_eur_m2 is not None:
        return crop.margin_eur_m2
    history = growing_history(packet, crop)
    try:
        return predict_crop(history, crop.unit, crop.run_index, artifact).margin_eur_m2
    except ToolError:
        return None


def growing_history(packet: Packet, crop: PacketCrop) -> History:
    """What was read of a compartment up to the end of one of its crops, which still grows in it."""
    history, end_day = History(packet.task), _end_day(packet, crop)
    for other in packet.crops:
        if other.unit == crop.unit and other.run_index <= crop.run_index:
            plant(history, other)
    for series in packet.readings:
        days = [row for row in series.days if end_day is None or row.day + 1 <= end_day]
        if series.unit == crop.unit and days:
            read_days(history, series.unit, series.variable, tuple(days), packet.day)
    return history


def _end_day(packet: Packet, crop: PacketCrop) -> float | None:
    """When a crop ended at the latest; None while it grows."""
    if crop.end_day is not None:
        return crop.end_day
    later = [
        other.start_day
        for other in packet.crops
        if other.unit == crop.unit and other.run_index > crop.run_index
    ]
    full = crop.start_day + packet.task["calendar"]["crop_days"]
    return None if crop.state == "growing" else min([full, *later])


def _content(crop: PacketCrop) -> tuple[float, ...]:
    """What a crop is, without where it stood."""
    return (crop.start_day, *(getattr(crop.policy, name) for name in POLICY_FIELDS))
