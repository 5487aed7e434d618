"""Run facility-years in full lanes of the compiled stepper.

All lanes of a batch go from day 0 to the last day in step. A lane's bytes do not depend on its
company, so neither do the outcomes depend on how runs are grouped or ordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.evaluation.years import CropOutcome, LaneRun, YearOutcome, YearRun
from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.day import RECORDS_PER_DAY
from slowlab.greenlight.lanes import Ending, LaneParameters, Phase
from slowlab.greenlight.stepper import lane_parameters
from slowlab.world.compiled import policy_lanes
from slowlab.world.economics import FLUX_TOLERANCE
from slowlab.world.simulation import CropEnding
from slowlab.world.simulator import Simulator
from slowlab.world.weather_source import WeatherSource

_NOT_PLANTED = -1


def simulator_identity(simulator: Simulator) -> dict[str, Any]:
    """What decides the bytes of a run beside the run itself: the build and the collapse rule."""
    rule = simulator.contract.collapse.rule.value
    return {**simulator.stepper.build, "collapse_rule": rule}


def lane_chunks(runs: Iterable[YearRun], width: int) -> Iterator[list[YearRun]]:
    """Cut runs into batches of at most ``width`` lanes that can be stepped together.

    Runs of one batch have the same length and are either all noisy or all exact. Their order is
    kept within such a group.
    """
    groups: dict[tuple[int, bool], list[YearRun]] = {}
    for run in runs:
        groups.setdefault((run.days, run.noise_seed is not None), []).append(run)
    for group in groups.values():
        chunk: list[YearRun] = []
        for run in group:
            if chunk and sum(len(r.lanes) for r in chunk) + len(run.lanes) > width:
                yield chunk
                chunk = []
            chunk.append(run)
        yield chunk


def simulate_together(
    simulator: Simulator, source: WeatherSource, runs: Sequence[YearRun]
) -> list[YearOutcome]:
    """Step runs of one length together and return their outcomes in order.

    Args:
        simulator: rules and compiled step.
        source: of the weather years.
        runs: of the same length, all noisy or all exact; any number of lanes.

    Raises:
        ValueError: the runs do not fit together, or a lane is planted while it is not idle.
        WeatherError: a year that does not exist.
        LaneParameterError: hidden parameters out of bounds.
    """
    if len({(run.days, run.noise_seed is not None) for run in runs}) != 1:
        raise ValueError("runs that are stepped together have one length and one kind of readings")
    return _Together(simulator, source, tuple(runs)).outcomes()


@dataclass(frozen=True)
class _Together:
    """Runs in one batch; lanes in the order of the runs and of their compartments."""

    simulator: Simulator
    source: WeatherSource
    runs: tuple[YearRun, ...]

    @property
    def lanes(self) -> list[tuple[YearRun, LaneRun]]:
        return [(run, lane) for run in self.runs for lane in run.lanes]

    def outcomes(self) -> list[YearOutcome]:
        """Step all days and account for every crop."""
        stepper, parameters = self.simulator.stepper, self._parameters()
        days = self.runs[0].days
        planting = _planting_mask(self.lanes, days)
        weather = _GatheredWeather.load(
            self.source, [run.weather for run, _ in self.lanes], stepper.precision
        )
        book = _CropBook.open(len(self.lanes))
        batch = stepper.open(parameters)
        for day in range(days):
            if planting[day].any():
                batch = book.plant(batch, planting[day], day)
            batch, _ = stepper.advance_day(batch, parameters, weather.day(day), trace="none")
        book.close(batch, np.ones(batch.lanes, dtype=bool))
        return list(self._collect(batch, book))

    def _parameters(self) -> LaneParameters:
        """Parameters of all lanes, [lanes]."""
        contract, stepper, lanes = self.simulator.contract, self.simulator.stepper, self.lanes
        names = lanes[0][1].parameters
        seeds = [run.noise_seed for run, _ in lanes]
        return lane_parameters(
            {name: np.array([lane.parameters[name] for _, lane in lanes]) for name in names},
            policy_lanes([run.policy for run, _ in lanes], stepper.settings.controller),
            noise_seeds=None if seeds[0] is None else np.array(seeds, dtype=np.uint64),
            compartments=np.array([lane.compartment for _, lane in lanes]),
            collapse_rule=contract.collapse.rule.value,
            dtype=np.dtype(stepper.precision),
        )

    def _collect(self, batch: LaneBatch, book: _CropBook) -> Iterator[YearOutcome]:
        """Outcomes of the runs from the accounts of their lanes."""
        first = 0
        for run in self.runs:
            crops = tuple(
                CropOutcome(compartment=lane.compartment, **crop)
                for number, lane in enumerate(run.lanes)
                for crop in book.crops[first + number]
            )
            failed = np.asarray(batch.state.failed_tick)[first : first + len(run.lanes)]
            failure = _failure(run, failed, crops)
            yield YearOutcome((), failure) if failure else YearOutcome(crops)
            first += len(run.lanes)


def _failure(
    run: YearRun, failed_ticks: NDArray[np.int32], crops: Sequence[CropOutcome]
) -> str | None:
    """Why a run is missing data, or None."""
    for lane, tick in zip(run.lanes, failed_ticks.tolist(), strict=True):
        if tick >= 0:
            return f"compartment {lane.compartment}: integration failed in tick {tick}"
    for crop in crops:
        if not all(flow >= -FLUX_TOLERANCE for flow in crop.flows):
            return f"compartment {crop.compartment}: impossible books"
    return None


@dataclass(frozen=True)
class _GatheredWeather:
    """Weather of all lanes: every distinct year once, ``[records, 5, years]``."""

    records: NDArray[np.floating]
    year_of_lane: NDArray[np.intp]

    @classmethod
    def load(cls, source: WeatherSource, labels: Sequence[Any], dtype: str) -> _GatheredWeather:
        """Load every distinct year once."""
        distinct = list(dict.fromkeys(labels))
        years = [source.year(label).values.astype(dtype) for label in distinct]
        return cls(np.stack(years, axis=-1), np.array([distinct.index(x) for x in labels]))

    def day(self, day: int) -> NDArray[np.floating]:
        """The record before a day and its 144 records, ``[145, 5, lanes]``."""
        first = day * RECORDS_PER_DAY
        return self.records[first : first + RECORDS_PER_DAY + 1][..., self.year_of_lane]


@dataclass(frozen=True)
class _CropBook:
    """Accounts of crops that have ended, by lane, and what stands now, arrays [lanes]."""

    crops: list[list[dict[str, Any]]]
    planted_day: NDArray[np.int32]
    poles_at_planting: NDArray[np.int32]

    @classmethod
    def open(cls, lanes: int) -> _CropBook:
        """Nothing planted yet."""
        return cls(
            [[] for _ in range(lanes)],
            np.full(lanes, _NOT_PLANTED, np.int32),
            np.zeros(lanes, np.int32),
        )

    def plant(self, batch: LaneBatch, where: NDArray[np.bool_], day: int) -> LaneBatch:
        """Account for the crop before, then plant; a failed lane stays as it is."""
        sound = where & (np.asarray(batch.state.failed_tick) < 0)
        self.close(batch, sound)
        self.planted_day[sound] = day
        self.poles_at_planting[sound] = np.asarray(batch.state.lit_pole_ticks)[sound]
        return batch.plant(sound)

    def close(self, batch: LaneBatch, where: NDArray[np.bool_]) -> None:
        """Write down the latest crop of the lanes ``where``, if they had one and it has ended."""
        state = batch.state
        ended = where & (self.planted_day != _NOT_PLANTED) & (state.phase != Phase.GROWING)
        for lane in np.flatnonzero(ended):
            planted = int(self.planted_day[lane])
            ending = Ending(int(state.ending[lane]))
            poles = int(state.lit_pole_ticks[lane] - self.poles_at_planting[lane])
            self.crops[lane].append(
                {
                    "planted_day": planted,
                    "ending": CropEnding(ending.name.lower()),
                    "active_ticks": int(state.ending_tick[lane]) - planted * TICKS_PER_DAY,
                    "lit_pole_ticks": poles,
                    "flows": tuple(float(x) for x in batch.latest_crop[:, lane]),
                }
            )


def _planting_mask(lanes: Sequence[tuple[YearRun, LaneRun]], days: int) -> NDArray[np.bool_]:
    """Which lanes are planted on which day, ``[days, lanes]``."""
    mask = np.zeros((days, len(lanes)), dtype=bool)
    for number, (_, lane) in enumerate(lanes):
        mask[list(lane.planting_days), number] = True
    return mask
