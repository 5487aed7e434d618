"""The one form in which weather reaches the simulator: 10-minute records of five drivers.

A :class:`WeatherSeries` is checked when it is made, so whoever holds one need not check again: no
missing value, no value outside physical bounds, whole days. Its hash is that of its content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

DRIVERS = (
    "global_radiation_w_m2",
    "air_temperature_c",
    "vapour_pressure_pa",
    "wind_speed_m_s",
    "sky_temperature_c",
)
RECORD_SECONDS = 600
RECORDS_PER_DAY = 144
DAYS_PER_YEAR = 365

# Lowest and highest value accepted, inclusive. They are the bounds of repair rule v0 for the Cabauw
# channels (air 230-330 K, dew point 220-330 K, wind 0-70 m/s, shortwave to 1500 W/m2, longwave
# 100-600 W/m2), carried over to the drivers.
BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "global_radiation_w_m2": (0.0, 1500.0),
        "air_temperature_c": (-43.15, 56.85),
        "vapour_pressure_pa": (4.0, 17_700.0),
        "wind_speed_m_s": (0.0, 70.0),
        "sky_temperature_c": (-68.3, 47.7),
    }
)


class WeatherError(ValueError):
    """A weather file or series that must not be used; the message names the column and the time."""


@dataclass(frozen=True, eq=False)
class WeatherSeries:
    """Whole days of 10-minute weather, with the record that precedes them.

    Attributes:
        source: what a reader sees in tables and figures, e.g. "synthetic Cabauw-like year (seed
            3)".
        start: ISO local time (UTC+1 all year, no daylight saving) at which ``values[1]`` begins.
        values: float64 ``[1 + 144 * n_days, 5]``, columns in the order of :data:`DRIVERS`. Row 0 is
            the mean over the ten minutes before ``start``: the controller sees it at t = 0.
        provenance: where the numbers come from: seed or file hashes, repairs, shifts.

    Raises:
        WeatherError: wrong shape, a value that is missing or outside :data:`BOUNDS`, bad start
            time.
    """

    source: str
    start: str
    values: NDArray[np.float64]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze and check the content."""
        start = _parse_start(self.start)
        values = np.array(self.values, dtype=np.float64, order="C") + 0.0  # -0.0 becomes 0.0
        _check_shape(values)
        _check_values(values, start)
        values.setflags(write=False)
        object.__setattr__(self, "start", start.isoformat())
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor, because a read-only mapping cannot be pickled."""
        return type(self), (self.source, self.start, self.values, dict(self.provenance))

    @property
    def n_days(self) -> int:
        """Number of whole days, without the record before the start."""
        return (len(self.values) - 1) // RECORDS_PER_DAY

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of drivers, start, length and values as little-endian float64.

        It depends on the content alone: neither on the platform nor on ``source`` or
        ``provenance``.
        """
        head = "\n".join(["slowlab-weather-1", *DRIVERS, self.start, str(len(self.values)), ""])
        digest = hashlib.sha256(head.encode("ascii"))
        digest.update(self.values.astype("<f8").tobytes(order="C"))
        return digest.hexdigest()

    def column(self, driver: str) -> NDArray[np.float64]:
        """All records of one driver, ``[1 + 144 * n_days]``, named as in :data:`DRIVERS`."""
        if driver not in DRIVERS:
            raise KeyError(f"unknown driver {driver!r}; there are {', '.join(DRIVERS)}")
        return self.values[:, DRIVERS.index(driver)]

    def day_records(self, day: int) -> NDArray[np.float64]:
        """The 144 records of ``day`` (0 is the first) preceded by the one before it, ``[145, 5]``.

        Raises:
            IndexError: the series does not hold that day.
        """
        if not 0 <= day < self.n_days:
            raise IndexError(f"day {day} is outside 0..{self.n_days - 1} of {self.source}")
        first = day * RECORDS_PER_DAY
        return self.values[first : first + RECORDS_PER_DAY + 1]

    def frame(self) -> pd.DataFrame:
        """A table with one row a record, indexed by the local time at which the record begins."""
        import pandas as pd

        first = _parse_start(self.start) - timedelta(seconds=RECORD_SECONDS)
        times = pd.date_range(
            first, periods=len(self.values), freq=f"{RECORD_SECONDS}s", name="time"
        )
        return pd.DataFrame(self.values, index=times, columns=list(DRIVERS))


@dataclass(frozen=True, eq=False)
class WeatherYear(WeatherSeries):
    """A series of exactly 365 days from 1 January 00:00 local time; leap years end on 30 December.

    Raises:
        WeatherError: as for a series, or another length or start.
    """

    def __post_init__(self) -> None:
        """Check the start and the length on top of the content."""
        super().__post_init__()
        start = _parse_start(self.start)
        if (start.month, start.day) != (1, 1):
            raise WeatherError(f"a weather year starts on 1 January, not on {self.start}")
        if self.n_days != DAYS_PER_YEAR:
            last = start + timedelta(days=self.n_days)
            raise WeatherError(
                f"a weather year has {DAYS_PER_YEAR} days; this one has {self.n_days} and ends at "
                f"{last.isoformat()}"
            )

    @classmethod
    def from_series(cls, series: WeatherSeries) -> WeatherYear:
        """Take the first 365 days of ``series``, which must start on 1 January.

        Raises:
            WeatherError: another start, or fewer days than 365.
        """
        kept = series.values[: 1 + DAYS_PER_YEAR * RECORDS_PER_DAY]
        return cls(series.source, series.start, kept, series.provenance)


def record_time(start: str, row: int) -> str:
    """ISO local time at which row ``row`` of a series' values begins."""
    moment = _parse_start(start) + timedelta(seconds=(row - 1) * RECORD_SECONDS)
    return moment.isoformat()


def bounds_problem(driver: str, value: float) -> str | None:
    """Why ``value`` cannot be a record of ``driver``, or None if it can."""
    low, high = BOUNDS[driver]
    if not np.isfinite(value):
        return f"is missing ({value})"
    if not low <= value <= high:
        return f"= {value:g} is outside the physical bounds {low:g} .. {high:g}"
    return None


def _parse_start(start: str) -> datetime:
    try:
        moment = datetime.fromisoformat(start)
    except (TypeError, ValueError) as error:
        raise WeatherError(f"start {start!r} is not an ISO date and time") from error
    if moment.tzinfo is not None:
        raise WeatherError(
            f"start {start!r} carries a time zone; give local time (UTC+1) without one"
        )
    if (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        raise WeatherError(f"start {start!r} is not midnight; a series is made of whole local days")
    return moment


def _check_shape(values: NDArray[np.float64]) -> None:
    if values.ndim != 2 or values.shape[1] != len(DRIVERS):
        raise WeatherError(
            f"values have shape {values.shape}; expected [1 + 144 * days, {len(DRIVERS)}]"
        )
    whole_days, rest = divmod(len(values) - 1, RECORDS_PER_DAY)
    if whole_days < 1 or rest:
        raise WeatherError(
            f"{len(values)} records are not the record before the start and whole days of "
            f"{RECORDS_PER_DAY} (that is 1 + 144 * days)"
        )


def _check_values(values: NDArray[np.float64], start: datetime) -> None:
    low, high = (np.array([BOUNDS[driver][side] for driver in DRIVERS]) for side in (0, 1))
    with np.errstate(invalid="ignore"):
        bad = ~((values >= low) & (values <= high))
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    problem = bounds_problem(DRIVERS[column], float(values[row, column]))
    time = record_time(start.isoformat(), row)
    raise WeatherError(
        f"{DRIVERS[column]} at {time} {problem} ({int(bad.sum())} such values in all)"
    )
