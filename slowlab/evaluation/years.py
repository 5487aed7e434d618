"""What is simulated for a score: facility-years, crop by crop, without prices.

Prices act on nothing in a compartment, so a run is known by weather, policy, hidden parameters and
noise alone and is priced afterwards. Runs that agree in all of that are one run, whoever asked for
them: their key is a hash of everything that decides their bytes.

Source of the scoring run: SlowLab task contract v8, evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slowlab.canonical import canonical_sha256
from slowlab.world.contract import Contract
from slowlab.world.contract_rules import Planting
from slowlab.world.economics import CropStatement, FixedCosts, LedgerTotals, Prices, crop_statement
from slowlab.world.ledger import ledger_totals
from slowlab.world.policy import Policy
from slowlab.world.simulation import CropEnding
from slowlab.world.site import Site, YearDraw, YearLabel, evaluation_draws


@dataclass(frozen=True)
class LaneRun:
    """One compartment of a run.

    Attributes:
        compartment: its number, which is part of the noise key.
        planting_days: days on which a crop is planted, ascending; far enough apart to be idle.
        parameters: hidden parameters by GreenLight constant name.
    """

    compartment: int
    planting_days: tuple[int, ...]
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class YearRun:
    """One policy in one weather year, in one or more compartments.

    Attributes:
        weather: label of the year.
        policy: of every crop.
        noise_seed: seed of the sensor noise; None for exact, unrounded readings.
        days: length of the run from day 0.
        lanes: the compartments.
    """

    weather: YearLabel
    policy: Policy
    noise_seed: int | None
    days: int
    lanes: tuple[LaneRun, ...]

    @property
    def lane_days(self) -> int:
        """Compartment-days to be stepped."""
        return self.days * len(self.lanes)


@dataclass(frozen=True)
class CropOutcome:
    """What one crop used and gave, per m2 of floor, before prices.

    Attributes:
        compartment: number of the compartment.
        planted_day: day of the planting.
        ending: how the crop ended.
        active_ticks: age at its end, in control steps of 300 s.
        lit_pole_ticks: control steps with a lit canopy at the pole of photosynthesis.
        flows: in the order and units of ``LEDGER``.
    """

    compartment: int
    planted_day: int
    ending: CropEnding
    active_ticks: int
    lit_pole_ticks: int
    flows: tuple[float, ...]

    def totals(self, costs: FixedCosts) -> LedgerTotals:
        """The ledger of the crop; the dry harvest becomes fresh fruit."""
        return ledger_totals(self.flows, self.active_ticks, costs)

    def statement(self, prices: Prices, costs: FixedCosts) -> CropStatement:
        """The account of the crop in EUR/m2."""
        return crop_statement(self.totals(costs), prices, costs)


@dataclass(frozen=True)
class YearOutcome:
    """Result of a run: its crops, or why there are none.

    Attributes:
        crops: by compartment and planting day; empty where the run failed.
        failure: None, or which compartment could not be integrated and when. A failed run is
            missing data and has no score.
    """

    crops: tuple[CropOutcome, ...]
    failure: str | None = None


def scoring_run(contract: Contract, site: Site, year: YearLabel, policy: Policy) -> YearRun:
    """The run that scores a policy on a site in one year: all compartments, noise on.

    Args:
        contract: plantings, sensor noise, whether compartment differences are redrawn.
        site: the hidden site with its scoring and spare years.
        year: label of one of those.
        policy: checked policy.

    Raises:
        SiteError: the site has no such year.
    """
    rules = contract.evaluation
    draw = evaluation_draws(site, year)
    parameters = draw.parameters if rules.fresh_compartment_draws else site.parameters
    days = {c: item.day for item in rules.plantings for c in item.compartments}
    lanes = tuple(LaneRun(c, (days[c],), parameters[c]) for c in sorted(days))
    seed = draw.noise_seed if rules.sensor_noise else None
    return YearRun(year, policy, seed, contract.evaluation_days, lanes)


def facility_run(
    contract: Contract, weather: YearLabel, policy: Policy, parameters: Mapping[str, float]
) -> YearRun:
    """One crop of every planting, each in a compartment of its own, with exact readings."""
    days = sorted(item.day for item in contract.evaluation.plantings)
    lanes = tuple(LaneRun(number, (day,), parameters) for number, day in enumerate(days))
    return YearRun(weather, policy, None, contract.evaluation_days, lanes)


def screening_run(contract: Contract, draw: YearDraw, policy: Policy) -> YearRun:
    """A cheap stand-in for a scoring run, for searches: few lanes, exact readings.

    Plantings that leave time for the crop and the cleaning before the next one share a compartment.
    All compartments have the mean parameters of the year's compartments.
    """
    parameters = mean_parameters(draw.parameters)
    lanes = tuple(
        LaneRun(number, days, parameters) for number, days in enumerate(shared_lanes(contract))
    )
    return YearRun(draw.year, policy, None, contract.evaluation_days, lanes)


def single_crop_run(
    contract: Contract,
    weather: YearLabel,
    policy: Policy,
    parameters: Mapping[str, float],
    day: int,
) -> YearRun:
    """One crop in compartment 0, empty until ``day``, with exact readings."""
    lane = LaneRun(0, (day,), parameters)
    return YearRun(weather, policy, None, day + contract.calendar.crop_days, (lane,))


def shared_lanes(contract: Contract) -> tuple[tuple[int, ...], ...]:
    """The contract's planting days, packed into as few compartments as the calendar allows."""
    occupied = contract.calendar.crop_days + contract.calendar.cleanup_days
    lanes: list[list[int]] = []
    for day in sorted(item.day for item in contract.evaluation.plantings):
        free = next((lane for lane in lanes if day - lane[-1] >= occupied), None)
        if free is None:
            lanes.append([day])
        else:
            free.append(day)
    return tuple(map(tuple, lanes))


def mean_parameters(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of every parameter over compartments."""
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def run_key(run: YearRun, identity: Mapping[str, Any], weather_sha256: str) -> str:
    """SHA-256 of everything that decides the bytes of a run.

    Args:
        run: the run.
        identity: of the simulator, see :func:`simulator_identity`.
        weather_sha256: content hash of the run's year.
    """
    lanes = [
        {"compartment": c.compartment, "days": c.planting_days, "parameters": dict(c.parameters)}
        for c in run.lanes
    ]
    return canonical_sha256(
        {
            "simulator": dict(identity),
            "weather": weather_sha256,
            "policy": run.policy.model_dump(),
            "noise_seed": None if run.noise_seed is None else str(run.noise_seed),
            "days": run.days,
            "lanes": lanes,
        }
    )


def year_margin(
    outcome: YearOutcome, plantings: Sequence[Planting], prices: Prices, costs: FixedCosts
) -> float:
    """Year score: mean over the plantings of the mean margin of their crops, EUR/m2 per crop.

    Crops are assigned to a planting by their planting day.

    Raises:
        ValueError: the run failed; it has no score.
    """
    if outcome.failure is not None:
        raise ValueError(f"a failed run has no score: {outcome.failure}")
    means = []
    for item in plantings:
        crops = [crop for crop in outcome.crops if crop.planted_day == item.day]
        means.append(np.mean([crop.statement(prices, costs).margin for crop in crops]))
    return float(np.mean(means))
