"""The table of an agent's own crops, and the crops from which something can be learnt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from slowlab.campaign.history import History, SeenCrop, Totals
from slowlab.world.policy import POLICY_FIELDS

COMPLETED = "completed"
"""How a crop ends that has grown to its full length."""


def crop_table(history: History) -> list[dict[str, Any]]:
    """One row for each crop, by compartment and number.

    Source: SlowLab, analysis tools (``runs``).

    Returns:
        Policy, start and end day, state, how it ended, released totals per m2 and margin in EUR/m2.
        What is not known is None: totals are known once they were read.
    """
    return [crop_row(crop) for crop in history.crops()]


def crop_row(crop: SeenCrop) -> dict[str, Any]:
    """One crop as plain data."""
    totals = dict.fromkeys(Totals.__dataclass_fields__)
    return {
        "unit": crop.unit,
        "run_index": crop.run_index,
        "policy": crop.policy.model_dump(),
        "start_day": crop.start_day,
        "state": "closed" if crop.closed else "growing",
        "reason": crop.reason,
        "end_day": crop.end_day,
        **(totals if crop.totals is None else asdict(crop.totals)),
    }


def completed_crops(crops: Iterable[SeenCrop]) -> list[SeenCrop]:
    """Crops that grew to their full length and whose totals were read.

    Returns:
        By start day, policy and margin: the order of compartments has no effect.
    """
    known = [crop for crop in crops if crop.reason == COMPLETED and crop.totals is not None]
    return sorted(known, key=_content_order)


def _content_order(crop: SeenCrop) -> tuple[float, ...]:
    """What a crop is, without where it stood."""
    policy = (getattr(crop.policy, name) for name in POLICY_FIELDS)
    return (crop.start_day, *policy, margin_eur_m2(crop))


def margin_eur_m2(crop: SeenCrop) -> float:
    """Margin of a crop whose totals were read, EUR/m2.

    Raises:
        ValueError: its totals are not known.
    """
    if crop.totals is None:
        raise ValueError("the totals of this crop were not read")
    return crop.totals.margin_eur_m2
