"""What the process predictor looks at: a crop's readings by name, taken from a history.

The same functions make the training examples from histories of finished campaigns and the inputs of
a prediction in a running one, so there is no second path that could disagree. Readings come from
:class:`slowlab.campaign.history.History`, in which raw and daily reads are one.

Source: SlowLab, process predictor, inputs. Ours: daily reads count as readings, and the zero point
of a meter may be read at any time after planting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.campaign.history import DailyRow, History, SeenCrop
from slowlab.tools.errors import ToolError, ToolReason
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, encode, to_unit

METERS: Mapping[str, str] = {
    "harvest": "cumulative_harvest_fresh_equivalent",
    "heat": "heating_energy",
    "light": "lighting_energy",
    "co2": "co2_dosed",
}
"""Channel of each running total, by the name of the total."""
TOTALS = tuple(METERS)
CANOPY_CHANNEL = "canopy_lai_proxy"
CHANNELS = (*METERS.values(), CANOPY_CHANNEL)
"""All channels that a prediction can use."""
FEATURE_SETS: Mapping[str, tuple[str, ...]] = {
    "policy_only": (),
    "harvest_lai": ("harvest",),
    "all": TOTALS,
}
"""Totals that each set of inputs reads; every set but the first reads the canopy too."""

_YEAR_DAYS = 365.0
_SECONDS_PER_DAY = 86_400
_ZERO_POINT_DAYS = 1.0 / 24.0
_TOGETHER_DAYS = 1.0
_EPSILON_DAYS = 1e-6
_SCALED = tuple(f"policy_{name}" for name in POLICY_FIELDS)
_SEASON = ("season_sin", "season_cos")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CropReadings:
    """What was read of a growing crop, up to the latest reading of its harvest.

    Attributes:
        age_days: time between planting and that reading, d.
        canopy: leaf area index as the camera estimates it, m2/m2; a mean over the last day read.
        so_far: increase since planting of every meter that was read: ``harvest`` and ``co2`` in
            kg/m2, ``heat`` and ``light`` in kWh/m2.
    """

    age_days: float
    canopy: float
    so_far: Mapping[str, float]

    @property
    def feature_set(self) -> str:
        """The largest set of inputs for which there are readings."""
        return "all" if all(name in self.so_far for name in TOTALS) else "harvest_lai"


class UnitSeries:
    """All daily rows of one compartment that a prediction can use, by channel.

    Args:
        history: what was seen.
        unit: compartment.
    """

    def __init__(self, history: History, unit: int) -> None:
        step = history.task["calendar"]["step_seconds"]
        self.step_days = step / _SECONDS_PER_DAY
        self.steps_per_day = round(1.0 / self.step_days)
        self._rows = {name: history.daily(unit, name) for name in CHANNELS}
        self._raw = {name: history.raw(unit, name) for name in CHANNELS}
        self._zero_points: dict[tuple[str, float], float | None] = {}

    def rows(self, channel: str, before_day: float | None) -> list[DailyRow]:
        """Rows of the days that begin before a day, oldest first."""
        rows = self._rows[channel]
        if before_day is None:
            return rows
        return rows[: bisect_left(rows, before_day, key=lambda row: row.day)]

    def latest(self, channel: str, before_day: float | None) -> DailyRow | None:
        """The last row; the one before it where the last holds less than half of its day."""
        rows = self.rows(channel, before_day)
        half = self.steps_per_day / 2
        if len(rows) > 1 and rows[-1].n < half <= rows[-2].n and rows[-1].day == rows[-2].day + 1:
            return rows[-2]
        return rows[-1] if rows else None

    def time_of(self, channel: str, row: DailyRow) -> float:
        """When the last reading of a row was taken, d.

        Raw readings have their own times. A daily row begins with its day, so that its count tells
        when it ends; that is exact for meters, which have no gaps.
        """
        seconds = [
            time_s for time_s, _ in self._raw[channel] if time_s // _SECONDS_PER_DAY == row.day
        ]
        if len(seconds) == row.n:
            return max(seconds) / _SECONDS_PER_DAY
        return row.day + (row.n - 1) * self.step_days

    def zero_point(self, channel: str, start_day: float) -> float | None:
        """A meter at planting: from the day that begins with it, or from the hour before it."""
        place = (channel, start_day)
        if place not in self._zero_points:
            self._zero_points[place] = self._zero_point(channel, start_day)
        return self._zero_points[place]

    def _zero_point(self, channel: str, start_day: float) -> float | None:
        near = [row for row in self._rows[channel] if start_day - 2.0 < row.day <= start_day]
        for row in near:
            if row.day == start_day and row.n == self.steps_per_day:
                return row.min
        for time_s, value in reversed(self._raw[channel]):
            if _is_zero_point(start_day - time_s / _SECONDS_PER_DAY):
                return value
        for row in reversed(near):
            if _is_zero_point(start_day - self.time_of(channel, row)):
                return row.max
        return None


def _is_zero_point(lead_days: float) -> bool:
    """Whether a reading so long before planting tells where a meter stood then."""
    return -_EPSILON_DAYS <= lead_days <= _ZERO_POINT_DAYS + _EPSILON_DAYS


def crop_readings(
    series: UnitSeries, start_day: float, before_day: float | None = None
) -> CropReadings:
    """Readings of a crop that grows since a day.

    Args:
        series: rows of its compartment.
        start_day: day of planting.
        before_day: only days that begin before this one count; None for all that was read.

    Raises:
        ToolError: harvest or canopy, or the zero point of the harvest, was not read.
    """
    harvest = _increase(series, "harvest", start_day, before_day)
    canopy = series.latest(CANOPY_CHANNEL, before_day)
    if harvest is None or canopy is None:
        raise ToolError(ToolReason.NO_READINGS, _NEEDED)
    so_far, time = {"harvest": harvest[0]}, harvest[1]
    if abs(canopy.day - int(time)) > _TOGETHER_DAYS:
        raise ToolError(
            ToolReason.NO_READINGS, "harvest and canopy must be read within one day of each other"
        )
    for name in TOTALS[1:]:
        found = _increase(series, name, start_day, before_day)
        if found is not None and abs(found[1] - time) <= _TOGETHER_DAYS:
            so_far[name] = found[0]
    return CropReadings(time - start_day, canopy.mean, so_far)


_NEEDED = (
    "a prediction needs records of cumulative_harvest_fresh_equivalent and canopy_lai_proxy of the "
    "growing crop, and for a crop planted after day 0 the meter at planting: from the hour before "
    "it, or the whole day that begins with it"
)


def _increase(
    series: UnitSeries, name: str, start_day: float, before_day: float | None
) -> tuple[float, float] | None:
    """What a meter has gained since planting and when it was read, or None."""
    channel = METERS[name]
    row = series.latest(channel, before_day)
    if row is None or row.day + _EPSILON_DAYS < int(start_day):
        return None
    time = series.time_of(channel, row)
    zero = 0.0 if start_day == 0.0 else series.zero_point(channel, start_day)
    if zero is None or time <= start_day:
        return None
    return row.max - zero, time


def input_names(feature_set: str) -> tuple[str, ...]:
    """Names of the inputs of a set, in the order of :func:`input_matrix`."""
    names = (*_SCALED, *_SEASON)
    if feature_set == "policy_only":
        return names
    rates = tuple(f"{name}_per_day" for name in FEATURE_SETS[feature_set])
    return (*names, "age", "canopy", *rates)


def input_matrix(
    feature_set: str,
    bounds: PolicyBounds,
    crop_days: float,
    policies: Sequence[Policy],
    start_days: Sequence[float],
    readings: Sequence[CropReadings],
    fields: Sequence[str] = POLICY_FIELDS,
) -> Array:
    """Inputs of n crops, ``[n, len(input_names)]``.

    Policies are scaled to 0..1 between the bounds, by name; the season is the sine and cosine of
    the planting day; the age is a fraction of a crop's length; meters are increases per day.

    Args:
        feature_set: name of the set, see :data:`FEATURE_SETS`.
        bounds: allowed range of every field.
        crop_days: length of a crop, d.
        policies: one for each crop.
        start_days: their planting days.
        readings: what was read of each; ignored by ``policy_only``.
        fields: order of the policy columns, as the fitted numbers expect it.

    Raises:
        FieldsError: other field names.
        KeyError: a set that needs a meter which was not read.
    """
    angle = 2.0 * np.pi * np.asarray(start_days, np.float64) / _YEAR_DAYS
    columns = [to_unit(encode(policies, fields), bounds), np.sin(angle), np.cos(angle)]
    if feature_set != "policy_only":
        age = np.array([item.age_days for item in readings])
        columns += [age / crop_days, np.array([item.canopy for item in readings])]
        for name in FEATURE_SETS[feature_set]:
            columns.append(np.array([item.so_far[name] for item in readings]) / age)
    return np.column_stack(columns)


def seen_crop(history: History, unit: int, run_index: int) -> SeenCrop:
    """A crop by compartment and number.

    Raises:
        ToolError: there is no such crop.
    """
    for crop in history.crops():
        if (crop.unit, crop.run_index) == (unit, run_index):
            return crop
    raise ToolError(ToolReason.NO_SUCH_CROP, "no crop with that unit and run_index was started")
