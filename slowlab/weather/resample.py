"""From regular records of any accepted step to whole days of 10-minute records.

Shorter steps are averaged. Longer steps are interpolated linearly between the middles of the
intervals; radiation is then scaled inside each interval so that its energy is kept, and vapour
pressure is held at or below saturation where the interval itself was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.conversions import saturation_pressure_pa
from slowlab.weather.series import (
    BOUNDS,
    DRIVERS,
    RECORD_SECONDS,
    RECORDS_PER_DAY,
    WeatherError,
    WeatherSeries,
    bounds_problem,
)

ACCEPTED_STEPS_S = (60, 120, 300, 600, 1200, 1800, 3600)
_DAY_S = 86_400
_RADIATION, _TEMPERATURE, _VAPOUR = 0, 1, 2

Times = NDArray[np.datetime64]
Values = NDArray[np.float64]


def series_from_records(
    times: Times,
    values: Values,
    source: str,
    provenance: Mapping[str, Any] | None = None,
    *,
    cyclic: bool = False,
) -> WeatherSeries:
    """Check a regular table of records and turn it into a series.

    Args:
        times: ``[n]`` datetime64, local time (UTC+1) at which each record's interval begins.
        values: ``[n, 5]`` interval means in the order of :data:`DRIVERS`.
        source: human-readable source.
        provenance: origin of the numbers; what was assumed here is added.
        cyclic: the table is a typical year that repeats: its end precedes its start.

    Returns:
        A series from the first local midnight to the end of the table.

    Raises:
        WeatherError: irregular time grid, missing or impossible value, or a partial last day.
    """
    times = np.asarray(times).astype("datetime64[s]")
    step_s = check_grid(times)
    check_records(times, values)
    notes = dict(provenance or {}) | {"input_step_s": step_s}
    if step_s > RECORD_SECONDS:
        times, values = _refine(times, values, step_s, cyclic)
        notes["interpolation"] = "linear between interval middles; radiation keeps interval energy"
    elif step_s < RECORD_SECONDS:
        times, values = _average(times, values, step_s)
    return _whole_days(times, values, source, notes, cyclic)


def check_grid(times: Times) -> int:
    """Return the step [s] of a regular time axis.

    Raises:
        WeatherError: fewer than two records, a time that is missing, repeated or out of order, a
            gap, or a step that is not accepted; the message names the time stamps.
    """
    if len(times) < 2:
        raise WeatherError(f"{len(times)} records are too few for a weather series")
    if np.isnat(times).any():
        raise WeatherError(f"time of record {int(np.argmax(np.isnat(times))) + 1} is missing")
    steps = np.diff(times).astype("timedelta64[s]").astype(np.int64)
    found, counts = np.unique(steps, return_counts=True)
    step_s = int(found[np.argmax(counts)])
    odd = np.flatnonzero(steps != step_s)
    if len(odd):
        raise WeatherError(_grid_problem(times, steps, step_s, int(odd[0])))
    if step_s not in ACCEPTED_STEPS_S:
        accepted = ", ".join(str(step) for step in ACCEPTED_STEPS_S)
        raise WeatherError(f"step of {step_s} s from {times[0]}; accepted steps [s]: {accepted}")
    if _second_of_day(times[0]) % step_s:
        raise WeatherError(f"first time {times[0]} is not a multiple of the step of {step_s} s")
    return step_s


def check_records(times: Times, values: Values) -> None:
    """Refuse values that are missing or outside the physical bounds, naming the first one.

    Raises:
        WeatherError: with column, time and value; or when a column cannot be in the expected unit.
    """
    for column, driver in enumerate(DRIVERS):
        for row in np.flatnonzero(_suspects(driver, values[:, column]))[:1]:
            problem = bounds_problem(driver, float(values[row, column]))
            raise WeatherError(f"{driver} at {times[row]} {problem}")
    _check_units(times, values)


def _check_units(times: Times, values: Values) -> None:
    """Catch what passes the bounds record by record but never happens over days."""
    span = f"from {times[0]} to {times[-1]}"
    if values[:, _VAPOUR].max() < 50.0:
        raise WeatherError(f"vapour_pressure_pa stays below 50 Pa {span}: is it in hPa or kPa?")
    days = (times[-1] - times[0]).astype("timedelta64[s]").astype(np.int64) / _DAY_S
    if days >= 3.0 and values[:, _RADIATION].max() <= 0.0:
        raise WeatherError(f"global_radiation_w_m2 is zero {span}: nothing would grow")


def _suspects(driver: str, column: Values) -> NDArray[np.bool_]:
    low, high = BOUNDS[driver]
    with np.errstate(invalid="ignore"):
        return ~((column >= low) & (column <= high))


def _grid_problem(times: Times, steps: NDArray[np.int64], step_s: int, at: int) -> str:
    here, after, step = times[at], times[at + 1], int(steps[at])
    if step == 0:
        return f"time {here} appears twice (is the clock UTC+1 without daylight saving?)"
    if step < 0:
        return f"time goes back from {here} to {after}"
    if step % step_s == 0:
        first, last = here + np.timedelta64(step_s, "s"), after - np.timedelta64(step_s, "s")
        return f"{step // step_s - 1} records are missing: {first} to {last} (step {step_s} s)"
    return f"step changes from {step_s} s to {step} s at {here}"


def _second_of_day(time: np.datetime64) -> int:
    return int((time - time.astype("datetime64[D]")).astype("timedelta64[s]").astype(np.int64))


def _average(times: Times, values: Values, step_s: int) -> tuple[Times, Values]:
    """Means over each ten minutes; incomplete blocks at either end are left out."""
    per_record = RECORD_SECONDS // step_s
    skipped = (-_second_of_day(times[0]) // step_s) % per_record
    n_records = (len(times) - skipped) // per_record
    if n_records < 1:
        raise WeatherError(f"no complete ten minutes from {times[0]}")
    kept = values[skipped : skipped + n_records * per_record]
    means = kept.reshape(n_records, per_record, len(DRIVERS)).mean(axis=1)
    return times[skipped::per_record][:n_records], means


def _refine(times: Times, values: Values, step_s: int, cyclic: bool) -> tuple[Times, Values]:
    """Ten-minute records between the middles of longer intervals."""
    per_interval = step_s // RECORD_SECONDS
    n_records = len(times) * per_interval
    at = (np.arange(n_records) + 0.5) / per_interval - 0.5  # in intervals, 0 = middle of the first
    period = float(len(times)) if cyclic else None
    middles = np.arange(len(times), dtype=np.float64)
    fine = np.stack([np.interp(at, middles, column, period=period) for column in values.T], axis=1)
    fine[:, _RADIATION] = keep_interval_energy(fine[:, _RADIATION], values[:, _RADIATION])
    ceiling = saturation_pressure_pa(fine[:, _TEMPERATURE])
    was_above = values[:, _VAPOUR] > saturation_pressure_pa(values[:, _TEMPERATURE])
    capped = np.minimum(fine[:, _VAPOUR], ceiling)
    fine[:, _VAPOUR] = np.where(np.repeat(was_above, per_interval), fine[:, _VAPOUR], capped)
    steps = np.arange(n_records) * np.timedelta64(RECORD_SECONDS, "s")
    return times[0] + steps, fine


def keep_interval_energy(fine: Values, interval_means: Values) -> Values:
    """Scale non-negative ``fine`` ``[n * k]`` so that each block of k has its mean in ``[n]``."""
    blocks = fine.reshape(len(interval_means), -1)
    means = blocks.mean(axis=1)
    scale = np.divide(interval_means, means, out=np.zeros_like(means), where=means > 0.0)
    return (blocks * scale[:, None]).ravel()


def _whole_days(
    times: Times, values: Values, source: str, notes: dict[str, Any], cyclic: bool
) -> WeatherSeries:
    """Cut at the first midnight and put the record before it in front."""
    to_midnight = (-_second_of_day(times[0]) % _DAY_S) // RECORD_SECONDS
    body = values[to_midnight:]
    rest = len(body) % RECORDS_PER_DAY
    if rest or len(body) == 0:
        end = times[-1] + np.timedelta64(RECORD_SECONDS, "s")
        raise WeatherError(
            f"the records end at {end}, not at the end of a local day (00:00, UTC+1)"
        )
    if to_midnight:
        before = values[to_midnight - 1]
    else:
        before = values[-1] if cyclic else values[0]
        origin = "last record (typical year)" if cyclic else "copy of the first record"
        notes["record_before_start"] = origin
    start = str(times[to_midnight].astype("datetime64[s]"))
    return WeatherSeries(source, start, np.vstack([before, body]), notes)
