"""Numbers as they stand in replies, by one rule.

A day is the double nearest to n/288 (:mod:`slowlab.campaign.clock`); times of raw records are whole
seconds. Every other number that is not a count is rounded to six decimals, to the nearest and half
to even, and is never -0.0. A mean is the exact sum, rounded once, divided by the count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

DECIMALS = 6
"""Decimals of every number in a reply that is neither a time nor a count."""


def public_number(value: float) -> float:
    """A number as it stands in a reply: six decimals, half to even, never -0.0."""
    return round(float(value), DECIMALS) + 0.0


def daily_row(day: int, values: Sequence[float]) -> dict[str, Any]:
    """Count, mean, lowest and highest of one day's readings, of which there is at least one.

    Args:
        day: number of the day, from 0.
        values: rounded readings, in the channel's unit.
    """
    mean = math.fsum(values) / len(values)
    return {
        "day": day,
        "n": len(values),
        "mean": public_number(mean),
        "min": min(values),
        "max": max(values),
    }
