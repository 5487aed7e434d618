"""Money: from what a crop used and yielded to its margin, line by line.

Everything is per square metre of floor. Source of the formula and of all default numbers: SlowLab
task contract v8, economics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from pydantic import Field

from slowlab.config import ConfigModel

FLUX_TOLERANCE = 1e-10
"""A total may be this much below zero before it counts as an error (rounding of integrals)."""


class Prices(ConfigModel):
    """The four public prices of a site."""

    fruit_eur_per_kg_fresh: float = Field(ge=0, description="Fruit price, EUR/kg fresh.")
    electricity_eur_per_kwh: float = Field(ge=0, description="Price of lamp electricity, EUR/kWh.")
    delivered_heat_eur_per_kwh: float = Field(
        ge=0, description="Price of heat delivered to the pipes, EUR/kWh."
    )
    co2_eur_per_kg: float = Field(ge=0, description="Price of dosed CO2, EUR/kg.")


class FixedCosts(ConfigModel):
    """Costs that are the same on every site."""

    harvest_handling_eur_per_kg: float = Field(ge=0, description="Handling of fruit, EUR/kg fresh.")
    planting_eur_per_m2: float = Field(ge=0, description="Charged at the start of a crop, EUR/m2.")
    cleanup_eur_per_m2: float = Field(ge=0, description="Charged at the close of a crop, EUR/m2.")
    background_service_eur_per_m2_day: float = Field(
        ge=0, description="Charged per active day, EUR/m2/day."
    )
    fruit_dry_matter_fraction: float = Field(
        gt=0, le=1, description="Dry matter in fresh fruit, as a fraction."
    )


class Economics(ConfigModel):
    """Prices and costs of a contract."""

    default_prices: Prices = Field(description="Prices where no site says otherwise.")
    fixed_costs: FixedCosts = Field(description="Costs that are the same on every site.")
    dry_matter_sensitivity: tuple[float, ...] = Field(
        description="Dry-matter fractions for which margins are recomputed without simulation."
    )


class LedgerError(ValueError):
    """Resource totals that cannot be right; the message names the total."""


@dataclass(frozen=True)
class LedgerTotals:
    """What one crop, or a span of time in one compartment, used and yielded, per m2 of floor.

    Attributes:
        harvest_kg_m2: harvested fruit, kg fresh equivalent/m2.
        heat_kwh_m2: heat delivered to the pipes, kWh/m2.
        light_kwh_m2: lamp electricity, kWh/m2.
        co2_kg_m2: dosed CO2, kg/m2.
        transpiration_kg_m2: canopy transpiration, kg/m2; reported, not priced.
        active_days: days with a crop.

    Raises:
        LedgerError: a total that is not finite or below zero by more than :data:`FLUX_TOLERANCE`.
    """

    harvest_kg_m2: float
    heat_kwh_m2: float
    light_kwh_m2: float
    co2_kg_m2: float
    transpiration_kg_m2: float
    active_days: float

    def __post_init__(self) -> None:
        """Check every total."""
        for item in fields(self):
            value = getattr(self, item.name)
            if not math.isfinite(value):
                raise LedgerError(f"{item.name} is not finite")
            if value < -FLUX_TOLERANCE:
                raise LedgerError(f"{item.name} is negative: {value:.6g}")

    def since(self, earlier: LedgerTotals) -> LedgerTotals:
        """Totals booked after an earlier reading of the same running ledger.

        Raises:
            LedgerError: a total that went down.
        """
        now, before = asdict(self), asdict(earlier)
        return LedgerTotals(**{name: now[name] - before[name] for name in now})

    def plus(self, other: LedgerTotals) -> LedgerTotals:
        """Totals of two spans together."""
        mine, theirs = asdict(self), asdict(other)
        return LedgerTotals(**{name: mine[name] + theirs[name] for name in mine})


ZERO_TOTALS = LedgerTotals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""A ledger in which nothing is booked yet."""


@dataclass(frozen=True)
class CropStatement:
    """The account of one closed crop, in EUR/m2 of floor; costs are positive numbers.

    Attributes:
        fruit: sale of the harvest.
        handling: handling of the harvest.
        heat: delivered heat.
        light: lamp electricity.
        co2: dosed CO2.
        service: background service over the active days.
        planting: planting fee.
        cleanup: cleaning fee.
    """

    fruit: float
    handling: float
    heat: float
    light: float
    co2: float
    service: float
    planting: float
    cleanup: float

    @property
    def costs(self) -> float:
        """Sum of all costs, EUR/m2."""
        usage = (self.handling, self.heat, self.light, self.co2, self.service)
        return math.fsum((*usage, self.planting, self.cleanup))

    @property
    def margin(self) -> float:
        """Fruit sales minus all costs, EUR/m2."""
        return self.fruit - self.costs


def crop_statement(totals: LedgerTotals, prices: Prices, costs: FixedCosts) -> CropStatement:
    """Account for one closed crop.

    Args:
        totals: ledger at close minus ledger at planting. Heat of cleaning and idling is not in it.
        prices: the site's prices.
        costs: the contract's fixed costs.

    Returns:
        Every line in EUR/m2. The planting and the cleaning fee are always charged.
    """
    return CropStatement(
        fruit=prices.fruit_eur_per_kg_fresh * totals.harvest_kg_m2,
        handling=costs.harvest_handling_eur_per_kg * totals.harvest_kg_m2,
        heat=prices.delivered_heat_eur_per_kwh * totals.heat_kwh_m2,
        light=prices.electricity_eur_per_kwh * totals.light_kwh_m2,
        co2=prices.co2_eur_per_kg * totals.co2_kg_m2,
        service=costs.background_service_eur_per_m2_day * totals.active_days,
        planting=costs.planting_eur_per_m2,
        cleanup=costs.cleanup_eur_per_m2,
    )


def margin_at_dry_matter(
    statement: CropStatement, dry_matter_fraction: float, costs: FixedCosts
) -> float:
    """The margin a crop would have had with another dry-matter fraction of fruit, EUR/m2.

    The simulated harvest is dry matter; fresh weight, and with it sales and handling, is inversely
    proportional to the fraction. Nothing is simulated again.

    Args:
        statement: account made with ``costs.fruit_dry_matter_fraction``.
        dry_matter_fraction: the other fraction, above 0 and at most 1.
        costs: the costs with which the account was made.

    Raises:
        ValueError: the fraction is not in (0, 1].
    """
    if not 0 < dry_matter_fraction <= 1:
        raise ValueError(
            f"a dry-matter fraction is above 0 and at most 1, not {dry_matter_fraction}"
        )
    extra = costs.fruit_dry_matter_fraction / dry_matter_fraction - 1.0
    return statement.margin + extra * (statement.fruit - statement.handling)


def standby_cost(totals: Iterable[LedgerTotals], prices: Prices) -> float:
    """Cost of heat, light and CO2 booked while compartments were empty, EUR/m2 of one compartment.

    It belongs to the campaign, never to a crop.
    """
    return math.fsum(
        prices.delivered_heat_eur_per_kwh * item.heat_kwh_m2
        + prices.electricity_eur_per_kwh * item.light_kwh_m2
        + prices.co2_eur_per_kg * item.co2_kg_m2
        for item in totals
    )
