"""Crops' endings and ledgers: named totals per m2 of floor, the harvest as fresh fruit.

Source: SlowLab task contract v8, economics (fresh weight = dry matter / dry-matter fraction).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import LEDGER
from slowlab.world.economics import FixedCosts, LedgerTotals


class CropEnding(StrEnum):
    """How a crop ended."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    TEMPERATURE_SAFETY = "temperature_safety"
    COLLAPSED = "collapsed"
    DEADLINE = "deadline"
    WEATHER_END = "weather_end"
    NUMERICAL_FAILURE = "numerical_failure"


def ledger_totals(flows: Sequence[float], active_ticks: int, costs: FixedCosts) -> LedgerTotals:
    """Ledger of one crop, or of a span of time in one compartment.

    Args:
        flows: five totals in the order and units of ``LEDGER`` (kWh/m2, kg/m2; harvest dry).
        active_ticks: control steps with a crop.
        costs: says how much dry matter fresh fruit holds.

    Raises:
        LedgerError: a total that is not finite or is negative.
    """
    named = dict(zip(LEDGER, map(float, flows), strict=True))
    harvest = named.pop("harvest_dry_kg_m2") / costs.fruit_dry_matter_fraction
    return LedgerTotals(
        harvest_kg_m2=harvest, active_days=int(active_ticks) / TICKS_PER_DAY, **named
    )
