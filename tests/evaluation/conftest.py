"""A small contract, sites of it, and a stand-in for the simulator that costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from slowlab.config import override
from slowlab.evaluation.runner import RunCounts
from slowlab.evaluation.years import CropOutcome, YearOutcome, YearRun
from slowlab.world.contract import Contract, load_contract
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.policy import encode, to_unit
from slowlab.world.sensors import load_sensors
from slowlab.world.simulation import CropEnding
from slowlab.world.simulator import Simulator
from slowlab.world.site import Site
from slowlab.world.site_distribution import load_sites
from slowlab.world.weather_source import WeatherSource

SHORT = {
    "calendar.crop_days": 2,
    "calendar.cleanup_days": 1,
    "evaluation.plantings.1.day": 3,
}


@pytest.fixture(scope="session")
def contract() -> Contract:
    """Contract v8 with crops of two days, planted on days 0 and 3."""
    return override(load_contract(), SHORT)


@pytest.fixture(scope="session")
def sensors():
    return load_sensors()


@pytest.fixture(scope="session")
def simulator(contract, sensors) -> Simulator:
    """The small contract's simulator, compiled once per test run."""
    return Simulator.build(contract, sensors)


@pytest.fixture(scope="session")
def sites() -> list[Site]:
    """Rehearsal sites 0 to 5."""
    return draw_sites("rehearsal", 6)


@pytest.fixture(scope="session")
def development() -> list[Site]:
    """Development sites 0 to 5."""
    return draw_sites("development", 6)


def draw_sites(partition: str, count: int) -> list[Site]:
    partitions, distribution = load_partitions(), load_sites()
    return [
        draw_partition_site(
            partitions, partition, number, distribution, source="synthetic", compartments=4
        )
        for number in range(count)
    ]


@dataclass
class FakeRunner:
    """Answers as a runner does, from a formula: harvest falls with the distance from an optimum.

    Attributes:
        contract, sensors: as of a runner.
        optimum: best point of the box for a run.
        failing: runs that fail.
        asked: every run that was asked for.
    """

    contract: Contract
    sensors: object
    optimum: Callable[[YearRun], np.ndarray] = lambda run: np.full(6, 0.3)
    failing: Callable[[YearRun], bool] = lambda run: False
    source: WeatherSource = field(default_factory=WeatherSource)
    asked: list[YearRun] = field(default_factory=list)
    counts: RunCounts = field(default_factory=RunCounts)
    simulator: object = None

    def run(self, runs: Sequence[YearRun]) -> list[YearOutcome]:
        self.asked += runs
        return [self._outcome(run) for run in runs]

    def _outcome(self, run: YearRun) -> YearOutcome:
        if self.failing(run):
            return YearOutcome((), "compartment 0: integration failed in tick 7")
        point = to_unit(encode([run.policy]), self.contract.policy)[0]
        distance = float(((point - self.optimum(run)) ** 2).sum())
        light = run.policy.supplemental_light_hours
        flows = (100.0, 5.0 * light, 10.0, max(3.0 - 0.5 * distance, 0.0), 300.0)
        ticks = self.contract.calendar.crop_ticks
        return YearOutcome(
            tuple(
                CropOutcome(lane.compartment, day, CropEnding.COMPLETED, ticks, 0, flows)
                for lane in run.lanes
                for day in lane.planting_days
            )
        )


@pytest.fixture
def fake_runner(contract, sensors, simulator) -> FakeRunner:
    return FakeRunner(contract, sensors, simulator=simulator)
