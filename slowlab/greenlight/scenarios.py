"""Windows of a year on which the stepper is compared with reference solutions.

All seasons, young and mature crops, mild and extreme policies, and the empty house.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax
import numpy as np

from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import PolicyLanes, lamp_off_tick
from slowlab.greenlight.day import StepperSettings
from slowlab.greenlight.lanes import LaneParameters
from slowlab.greenlight.stepper import Stepper, lane_parameters

# Policies as (day, night, CO2, light hours, vent offset, RH): the two of the published golden
# checks, the corner of the box where the optimum lies, and a hot, humid-averse one.
_POLICIES = {
    "a": (22.0, 18.0, 800.0, 12.0, 4.0, 85.0),
    "g": (21.0, 17.0, 800.0, 12.0, 3.0, 85.0),
    "corner": (18.0, 15.0, 1130.0, 16.0, 6.0, 90.0),
    "hot": (25.0, 21.0, 1000.0, 8.0, 2.0, 72.0),
}


class DailyWeather(Protocol):
    """Anything that gives a day's records [145, 5] in the order of ``WEATHER``."""

    def day_records(self, day: int) -> np.ndarray:
        """The record before the day and its 144 ten-minute records."""


class Scenario(NamedTuple):
    """A window of a year: policy, planting day (None: empty house) and first day compared."""

    name: str
    policy: str
    planted_day: int | None
    first_day: int


OPEN_LOOP = (
    Scenario("winter, young crop", "a", 0, 5),
    Scenario("spring, mature crop", "g", 0, 80),
    Scenario("late spring, hot policy", "hot", 0, 120),
    Scenario("summer, corner policy", "corner", 0, 150),
    Scenario("late summer, young crop", "a", 182, 195),
    Scenario("autumn, corner policy", "corner", 182, 270),
    Scenario("winter, mature crop", "a", 182, 335),
    Scenario("winter, crop-free", "g", None, 0),
    Scenario("summer, crop-free", "g", None, 150),
)
CLOSED_LOOP = (
    Scenario("winter to spring", "a", 0, 20),
    Scenario("spring to summer", "g", 0, 110),
    Scenario("spring to summer, corner policy", "corner", 0, 110),
    Scenario("summer to autumn", "a", 182, 200),
    Scenario("autumn to winter, corner policy", "corner", 182, 290),
)


def scenario_parameters(scenarios: tuple[Scenario, ...], precision: str) -> LaneParameters:
    """Default site, exact readings, one lane per scenario."""
    table = np.array([_POLICIES[s.policy] for s in scenarios])
    settings = StepperSettings().controller
    policy = PolicyLanes(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        np.array([lamp_off_tick(hours, settings) for hours in table[:, 3]]),
        table[:, 4],
        table[:, 5],
    )
    lanes = np.zeros(len(scenarios), np.int64)
    return lane_parameters(
        {}, policy, noise_seeds=None, compartments=lanes, dtype=np.dtype(precision)
    )


def scenario_starts(
    stepper: Stepper, scenarios: tuple[Scenario, ...], weather: DailyWeather
) -> LaneBatch:
    """The lanes at the first day of their windows, grown there by the production stepper."""
    parameters = scenario_parameters(scenarios, stepper.precision)
    batch = stepper.open(parameters)
    planted = np.array([-1 if s.planted_day is None else s.planted_day for s in scenarios])
    first = np.array([s.first_day for s in scenarios])
    waiting: dict[int, LaneBatch] = {}
    for day in range(int(first.max()) + 1):
        if np.any(planted == day):
            batch = batch.plant(planted == day)
        waiting |= {int(i): batch.take(np.array([i])) for i in np.flatnonzero(first == day)}
        records = weather.day_records(day)
        batch = stepper.advance_day(
            batch, parameters, np.repeat(records[:, :, None], len(scenarios), axis=2)
        ).batch
    return jax.tree.map(
        lambda *parts: np.concatenate(parts, axis=-1),
        *(waiting[i] for i in range(len(scenarios))),
    )


def window_weather(
    scenarios: tuple[Scenario, ...], weather: DailyWeather, days: int
) -> list[np.ndarray]:
    """Per day of the windows, the records of every scenario, [145, 5, lanes]."""
    return [
        np.stack([weather.day_records(s.first_day + d) for s in scenarios], axis=2)
        for d in range(days)
    ]


def as_precision(batch: LaneBatch, precision: str) -> LaneBatch:
    """The same lanes with states of another precision."""
    state = batch.state._replace(
        states=np.asarray(batch.state.states, precision),
        held=np.asarray(batch.state.held, precision),
    )
    return batch._replace(state=state)
