"""What tests of simulations share: a task with short crops, plain weather, a failing stepper."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from slowlab.config import override
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.stepper import DayResult, Stepper
from slowlab.weather import DRIVERS, RECORDS_PER_DAY, WeatherSeries, WeatherYear
from slowlab.world.contract import DEFAULT_CONTRACT, Contract, load_contract
from slowlab.world.sensors import load_sensors
from slowlab.world.simulator import Simulator

CROP_DAYS, SECOND_PLANTING, YEAR_DAYS = 4, 6, 10
SHORT_CALENDAR = {
    "calendar.crop_days": CROP_DAYS,
    "calendar.cleanup_days": 1,
    "calendar.campaign_days": 12,
    "calendar.latest_start_day": SECOND_PLANTING,
    "evaluation.plantings.1.day": SECOND_PLANTING,
}
SHORT_CONTRACT_FILE = f"""\
extends: {DEFAULT_CONTRACT}
id: short
draft: true
calendar:
  crop_days: {CROP_DAYS}
  cleanup_days: 1
  campaign_days: 12
  latest_start_day: {SECOND_PLANTING}
evaluation:
  plantings:
    - {{day: 0, compartments: [0, 1]}}
    - {{day: {SECOND_PLANTING}, compartments: [2, 3]}}
"""


def short_contract() -> Contract:
    """Contract v8 with crops of four days and a scoring run of ten."""
    return override(load_contract(), SHORT_CALENDAR)


@functools.cache
def short_simulator() -> Simulator:
    """Compiled once per test run."""
    return Simulator.build(short_contract(), load_sensors())


def plain_weather(days: int, *, mean_c: float = 6.0, peak: float = 350.0) -> WeatherSeries:
    """Days with sun from 8 to 18 h and a warm afternoon, each a little warmer than the last."""
    time = (np.arange(1 + days * RECORDS_PER_DAY) - 1) / 6.0
    hour = time % 24
    sun = np.maximum(0.0, peak * np.sin((hour - 8.0) / 10.0 * np.pi)) * (hour >= 8) * (hour < 18)
    air = mean_c + 3.0 * np.sin((hour - 9.0) / 12.0 * np.pi) + 0.01 * time / 24
    vapour = 0.8 * 610.78 * np.exp(17.27 * air / (air + 238.3))
    columns = {
        "global_radiation_w_m2": sun,
        "air_temperature_c": air,
        "vapour_pressure_pa": vapour,
        "wind_speed_m_s": np.full_like(air, 3.0),
        "sky_temperature_c": air - 10.0,
    }
    values = np.stack([columns[name] for name in DRIVERS], axis=1)
    return WeatherSeries("plain test weather", "2001-01-01T00:00:00", values)


def plain_year() -> WeatherYear:
    """A whole year of the same."""
    return WeatherYear.from_series(plain_weather(365))


def write_weather(path: Path, series: WeatherSeries) -> Path:
    """Write a series in the format of a user's table, CSV or Parquet by the suffix."""
    table = series.frame().iloc[1:].reset_index()
    if path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    return path


class FailingStepper:
    """A stepper that loses its first lane in a tick of its own choice."""

    def __init__(self, stepper: Stepper, failing_tick: int) -> None:
        self._stepper = stepper
        self._failing_tick = failing_tick

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stepper, name)

    def advance_day(self, batch: Any, *arguments: Any, **keywords: Any) -> DayResult:
        fails = batch.state.tick[0] == self._failing_tick // TICKS_PER_DAY * TICKS_PER_DAY
        result = self._stepper.advance_day(batch, *arguments, **keywords)
        if not fails or batch.state.failed_tick[0] >= 0:
            return result
        lost = np.arange(batch.lanes) == 0

        def put(name: str) -> np.ndarray:
            return np.where(lost, self._failing_tick, getattr(result.batch.state, name))

        state = result.batch.state._replace(tick=put("tick"), failed_tick=put("failed_tick"))
        return result._replace(batch=result.batch._replace(state=state))
