"""Simulate one crop, or one facility-year as in scoring, under one policy.

All compartments run in one batch from the first day of the weather series. A compartment stands
empty under the standby rules until its crop is planted, so the crop of a facility-year and a
single crop planted on the same day are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import Ending, LaneParameters, Phase
from slowlab.greenlight.stepper import CollapseRule, lane_parameters
from slowlab.weather.series import WeatherSeries, WeatherYear
from slowlab.world.compiled import default_parameters, policy_lanes
from slowlab.world.contract_rules import Planting
from slowlab.world.economics import CropStatement, LedgerTotals, Prices, crop_statement
from slowlab.world.ledger import CropEnding, ledger_totals
from slowlab.world.policy import Policy
from slowlab.world.simulation_table import LaneHistory, RunContext, join_trace, lane_table
from slowlab.world.simulator import Simulator

Progress = Callable[[int, int], None]
"""Called after every day with the days done and the days to do."""


class SimulationError(ValueError):
    """A run that cannot be made; the message names what is wrong."""


@dataclass(frozen=True)
class RunOptions:
    """What may differ between runs of one policy in one weather.

    Attributes:
        parameters: hidden parameters by GreenLight constant name, numbers or arrays
            [compartments]; the others have their defaults.
        noise_seed: seed of the sensor noise; None for exact, unrounded readings.
        collapse: ``floor`` or ``stop``; None for the contract's rule.
        prices: None for the contract's prices.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    noise_seed: int | None = None
    collapse: CollapseRule | None = None
    prices: Prices | None = None


@dataclass(frozen=True)
class CropRecord:
    """One crop and its account, per m2 of floor.

    Attributes:
        compartment: number of the compartment.
        planted_day: day of the planting, from 0.
        ended_day: day (with fraction) on which the crop ended.
        ending: how.
        lit_pole_ticks: control steps with a lit canopy at the pole of photosynthesis.
        totals: ledger at the end minus ledger at the planting.
        statement: the account in EUR/m2.
    """

    compartment: int
    planted_day: int
    ended_day: float
    ending: CropEnding
    lit_pole_ticks: int
    totals: LedgerTotals
    statement: CropStatement


@dataclass(frozen=True, eq=False)
class Simulation:
    """Result of a run.

    Attributes:
        mode: ``crop`` or ``year``.
        crops: one for each planted compartment.
        standby: use of the empty compartments, in the order of ``crops``.
        table: one row for each compartment and control step, see ``simulation_table.COLUMNS``.
        notes: what a reader must know, e.g. that the weather was too short.
        plantings: the plan.
        days: days that were simulated.
        policy, weather, options, simulator: the inputs.
    """

    mode: Literal["crop", "year"]
    crops: tuple[CropRecord, ...]
    standby: tuple[LedgerTotals, ...]
    table: pd.DataFrame
    notes: tuple[str, ...]
    plantings: tuple[Planting, ...]
    days: int
    policy: Policy
    weather: WeatherSeries
    options: RunOptions
    simulator: Simulator

    @property
    def mean_margin(self) -> float:
        """Mean over the plantings of the mean margin of their crops, EUR/m2 per crop."""
        margins = {crop.compartment: crop.statement.margin for crop in self.crops}
        means = [np.mean([margins[c] for c in item.compartments]) for item in self.plantings]
        return float(np.mean(means))


def simulate_crop(
    simulator: Simulator,
    policy: Policy,
    weather: WeatherSeries,
    *,
    start_day: int = 0,
    options: RunOptions | None = None,
    on_day: Progress | None = None,
) -> Simulation:
    """Simulate one crop in compartment 0, empty until the planting.

    A series that ends before the crop does cuts the crop there; the ending and a note say so.

    Args:
        simulator: rules and compiled step.
        policy: checked policy.
        weather: series whose first day is day 0.
        start_day: day of the planting.
        options: parameters, noise, collapse rule, prices.
        on_day: progress.

    Raises:
        SimulationError: a planting day that the contract or the weather does not allow.
        LaneParameterError: an unknown hidden parameter or one outside its bounds.
    """
    latest = min(simulator.contract.calendar.latest_start_day, weather.n_days - 1)
    if not 0 <= start_day <= latest:
        raise SimulationError(
            f"start day {start_day}: the contract allows 0 to "
            f"{simulator.contract.calendar.latest_start_day}, and the weather has days 0 to "
            f"{weather.n_days - 1}"
        )
    plantings = (Planting(day=start_day, compartments=(0,)),)
    run = _Run(simulator, policy, weather, plantings, options or RunOptions())
    return run.result("crop", on_day)


def simulate_year(
    simulator: Simulator,
    policy: Policy,
    weather: WeatherYear,
    *,
    options: RunOptions | None = None,
    on_day: Progress | None = None,
) -> Simulation:
    """Simulate a facility-year as in scoring, with the contract's plantings.

    Args:
        simulator: rules and compiled step.
        policy: checked policy.
        weather: a year.
        options: parameters, noise, collapse rule, prices.
        on_day: progress.

    Raises:
        LaneParameterError: an unknown hidden parameter or one outside its bounds.
    """
    plantings = simulator.contract.evaluation.plantings
    run = _Run(simulator, policy, weather, plantings, options or RunOptions())
    return run.result("year", on_day)


@dataclass(frozen=True)
class _Run:
    """A planned run; lanes are the planted compartments in ascending order."""

    simulator: Simulator
    policy: Policy
    weather: WeatherSeries
    plantings: tuple[Planting, ...]
    options: RunOptions

    @property
    def planting_days(self) -> dict[int, int]:
        """Planting day by compartment."""
        pairs = [(c, item.day) for item in self.plantings for c in item.compartments]
        return dict(sorted(pairs))

    @property
    def planned_days(self) -> int:
        """Days until the last crop has ended by itself."""
        calendar = self.simulator.contract.calendar
        last = max(self.planting_days.values()) + calendar.crop_days
        return min(last, calendar.campaign_days)

    @property
    def days(self) -> int:
        """Days for which there is weather."""
        return min(self.planned_days, self.weather.n_days)

    def result(self, mode: Literal["crop", "year"], on_day: Progress | None) -> Simulation:
        """Run and settle."""
        parameters = self._parameters()
        batch, trace = self._step(parameters, on_day)
        endings = self._endings(batch)
        used, outside = self._totals(batch)
        return Simulation(
            mode=mode,
            crops=self._crops(batch, endings, used),
            standby=outside,
            table=self._table(batch, trace, parameters),
            notes=self._notes(batch, endings),
            plantings=self.plantings,
            days=self.days,
            policy=self.policy,
            weather=self.weather,
            options=self.options,
            simulator=self.simulator,
        )

    def _parameters(self) -> LaneParameters:
        compartments = np.array(list(self.planting_days))
        contract, stepper, options = self.simulator.contract, self.simulator.stepper, self.options
        seed, count = options.noise_seed, len(compartments)
        return lane_parameters(
            default_parameters(contract) | dict(options.parameters),
            policy_lanes([self.policy] * count, stepper.settings.controller),
            noise_seeds=None if seed is None else np.full(count, seed, np.uint64),
            compartments=compartments,
            collapse_rule=options.collapse or contract.collapse.rule.value,
            dtype=np.dtype(stepper.precision),
        )

    def _step(
        self, parameters: LaneParameters, on_day: Progress | None
    ) -> tuple[LaneBatch, dict[str, NDArray]]:
        """All days; a crop that still stands at the end is taken out, unless its lane failed."""
        stepper, traces = self.simulator.stepper, []
        planting = np.array(list(self.planting_days.values()))
        batch = stepper.open(parameters)
        for day in range(self.days):
            sound = batch.state.failed_tick < 0
            if (sound & (planting == day)).any():
                batch = batch.plant(sound & (planting == day))
            records = np.repeat(self.weather.day_records(day)[:, :, None], len(planting), axis=2)
            batch, trace = stepper.advance_day(batch, parameters, records, trace="full")
            traces.append(trace)
            if on_day is not None:
                on_day(day + 1, self.days)
        growing = batch.state.phase == Phase.GROWING
        return (batch.stop(growing) if growing.any() else batch), join_trace(traces)

    def _endings(self, batch: LaneBatch) -> list[CropEnding]:
        endings = []
        for failed, ending in zip(batch.state.failed_tick, batch.state.ending, strict=True):
            if ending == Ending.NONE or (failed >= 0 and ending == Ending.STOPPED):
                endings.append(CropEnding.NUMERICAL_FAILURE)
            elif ending == Ending.STOPPED:
                endings.append(CropEnding.WEATHER_END)
            else:
                endings.append(CropEnding(Ending(int(ending)).name.lower()))
        return endings

    def _totals(
        self, batch: LaneBatch
    ) -> tuple[tuple[LedgerTotals, ...], tuple[LedgerTotals, ...]]:
        """Ledger of the crops and of everything else, by lane."""
        used = np.stack(list(batch.ended_crop().values()))
        planted = np.array(list(self.planting_days.values())) * TICKS_PER_DAY
        ended = np.maximum(batch.state.ending_tick, planted)
        crops = tuple(map(self._ledger, used.T, ended - planted))
        outside = (batch.totals - used).T
        return crops, tuple(map(self._ledger, outside, np.zeros(len(planted), np.int32)))

    def _ledger(self, flows: NDArray, active_ticks: int) -> LedgerTotals:
        return ledger_totals(flows, active_ticks, self.simulator.contract.economics.fixed_costs)

    def _crops(
        self, batch: LaneBatch, endings: list[CropEnding], used: tuple[LedgerTotals, ...]
    ) -> tuple[CropRecord, ...]:
        economics = self.simulator.contract.economics
        prices = self.options.prices or economics.default_prices
        return tuple(
            CropRecord(
                compartment=compartment,
                planted_day=day,
                ended_day=day + used[lane].active_days,
                ending=endings[lane],
                lit_pole_ticks=int(batch.state.lit_pole_ticks[lane]),
                totals=used[lane],
                statement=crop_statement(used[lane], prices, economics.fixed_costs),
            )
            for lane, (compartment, day) in enumerate(self.planting_days.items())
        )

    def _table(
        self, batch: LaneBatch, trace: dict[str, NDArray], parameters: LaneParameters
    ) -> pd.DataFrame:
        stepper, contract = self.simulator.stepper, self.simulator.contract
        context = RunContext(
            weather=self.weather,
            policy=self.policy,
            controller=stepper.settings.controller,
            staged=stepper.staged,
            dry_matter_fraction=contract.economics.fixed_costs.fruit_dry_matter_fraction,
        )
        frames = [
            lane_table(
                context,
                self._history(batch, lane),
                {name: values[..., lane] for name, values in trace.items()},
                {name: values[lane] for name, values in parameters.model.items()},
            )
            for lane in range(batch.lanes)
        ]
        return pd.concat(frames, ignore_index=True)

    def _history(self, batch: LaneBatch, lane: int) -> LaneHistory:
        compartment, day = list(self.planting_days.items())[lane]
        ended = int(batch.state.ending_tick[lane])
        return LaneHistory(
            compartment=compartment,
            planted_tick=day * TICKS_PER_DAY,
            ended_tick=ended,
            cleaned_tick=ended + self.simulator.contract.calendar.cleanup_ticks,
            steps=int(batch.state.tick[lane]),
        )

    def _notes(self, batch: LaneBatch, endings: list[CropEnding]) -> tuple[str, ...]:
        notes = []
        if CropEnding.WEATHER_END in endings:
            notes.append(
                f"The weather series ends after {self.weather.n_days} days: crops that still grew "
                f"were cut there, before their {self.simulator.contract.calendar.crop_days} days "
                "were over. Their accounts are those of a stop on that day."
            )
        for compartment, failed in zip(self.planting_days, batch.state.failed_tick, strict=True):
            if failed >= 0:
                notes.append(
                    f"Compartment {compartment}: the integration failed in tick {failed} (day "
                    f"{failed / TICKS_PER_DAY:.2f}); nothing after that is shown."
                )
        return tuple(notes)
