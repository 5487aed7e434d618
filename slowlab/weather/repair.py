"""Repair rule v0: short gaps of a channel are interpolated and logged, longer ones refuse the year.

A run of at most six invalid 10-minute records (one hour) is replaced by the straight line between
its valid neighbours. A longer run, or one that touches an end of the series, is refused, and so
is a month with more than twelve repaired records over all channels. Pure functions; nothing is
read or written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.series import WeatherError

MAX_RUN_RECORDS = 6
MAX_REPAIRS_PER_MONTH = 12


@dataclass(frozen=True)
class Repair:
    """One replaced record: channel, local or file time, value found and value put in its place."""

    channel: str
    time: str
    found: float | None
    replaced_by: float

    def as_dict(self) -> dict[str, Any]:
        """The repair as plain values for a provenance record."""
        return asdict(self)


def repair_runs(
    values: NDArray[np.float64],
    valid: NDArray[np.bool_],
    times: NDArray[np.datetime64],
    channel: str,
    max_run_records: int = MAX_RUN_RECORDS,
) -> tuple[NDArray[np.float64], list[Repair]]:
    """Interpolate the invalid runs of one channel.

    Args:
        values: ``[n]`` records of the channel in its own unit.
        valid: ``[n]`` False where a record must be replaced.
        times: ``[n]`` begin of each record.
        channel: name for the log and for errors.
        max_run_records: longest run that may be replaced.

    Returns:
        The repaired copy and the list of repairs in order of time.

    Raises:
        WeatherError: a run is too long or touches an end of the series.
    """
    repaired, repairs = values.copy(), []
    for first, last in invalid_runs(valid):
        _check_run(first, last, times, channel, max_run_records)
        left, right = float(values[first - 1]), float(values[last + 1])
        for row in range(first, last + 1):
            weight = (row - first + 1) / (last - first + 2)
            repaired[row] = left + weight * (right - left)
            found = float(values[row]) if np.isfinite(values[row]) else None
            repairs.append(Repair(channel, str(times[row]), found, float(repaired[row])))
    return repaired, repairs


def invalid_runs(valid: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last row, both inclusive, of each unbroken run of False."""
    edges = np.diff(np.concatenate([[False], ~valid, [False]]).astype(np.int8))
    firsts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(first), int(end) - 1) for first, end in zip(firsts, ends, strict=True)]


def check_monthly_limit(repairs: Iterable[Repair], limit: int = MAX_REPAIRS_PER_MONTH) -> None:
    """Refuse a month with more than ``limit`` repaired records over all channels.

    Raises:
        WeatherError: naming the month and the number of repairs.
    """
    months = Counter(repair.time[:7] for repair in repairs)
    for month in sorted(months):
        if months[month] > limit:
            count = months[month]
            raise WeatherError(f"{month} needs {count} repairs; at most {limit} are allowed")


def _check_run(
    first: int, last: int, times: NDArray[np.datetime64], channel: str, limit: int
) -> None:
    length = last - first + 1
    span = f"{channel}: {length} invalid records from {times[first]} to {times[last]}"
    if first == 0 or last == len(times) - 1:
        raise WeatherError(f"{span} touch an end of the series")
    if length > limit:
        raise WeatherError(f"{span}; at most {limit} in a row may be repaired")
