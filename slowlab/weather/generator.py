"""Synthetic Cabauw-like weather years, each a pure function of an integer seed.

The default source of weather: it needs no network and gives any number of years. Daily weather
(:mod:`slowlab.weather.daily`) is refined to ten minutes (:mod:`slowlab.weather.within_day`).
Values are rounded to fixed decimals, far finer than any instrument, so that last-digit
differences of mathematical libraries do not reach the content hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import GeneratorConstants, default_constants
from slowlab.weather.daily import draw_days
from slowlab.weather.series import (
    DAYS_PER_YEAR,
    DRIVERS,
    RECORDS_PER_DAY,
    WeatherYear,
)
from slowlab.weather.statistics import annual_levels
from slowlab.weather.within_day import refine_days

NOMINAL_START = "2001-01-01T00:00:00"
DECIMALS = {
    "global_radiation_w_m2": 2,
    "air_temperature_c": 3,
    "vapour_pressure_pa": 2,
    "wind_speed_m_s": 3,
    "sky_temperature_c": 3,
}
# Days before and after the year: the heat stores settle, and no path ends inside the year.
_DAYS_BEFORE, _DAYS_AFTER = 20, 3
_MOST_DRAWS = 200


def generate_year(
    seed: int, constants: GeneratorConstants | None = None, *, label: str | None = None
) -> WeatherYear:
    """Generate one synthetic year.

    Args:
        seed: any non-negative integer below 2**63; the same seed gives the same year everywhere.
        constants: fitted constants; the packaged ones by default.
        label: name of the year in its source line, e.g. "development-003"; the seed by default.

    Raises:
        ValueError: the seed is not such an integer.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ValueError(f"seed {seed!r} is not an integer from 0 to 2**63 - 1")
    constants = constants or default_constants()
    name = label if label is not None else f"seed {seed}"
    for draw in range(_MOST_DRAWS):
        values = _draw_records(f"slowlab-weather|{constants.version}|{seed}|{draw}", constants)
        provenance = {"generator": constants.version, "seed": seed, "draw": draw, "synthetic": True}
        source = f"synthetic Cabauw-like year ({name})"
        year = WeatherYear(source, NOMINAL_START, values, provenance | {"label": name})
        if _is_ordinary(year, constants):
            return year
    raise RuntimeError(f"no ordinary year in {_MOST_DRAWS} draws of seed {seed}")


def _draw_records(seed_text: str, constants: GeneratorConstants) -> NDArray[np.float64]:
    """Rounded records of a year and the one before it, ``[52561, 5]``."""
    days = np.arange(-_DAYS_BEFORE, DAYS_PER_YEAR + _DAYS_AFTER, dtype=np.float64)
    records = refine_days(draw_days(days, constants, seed_text), constants, seed_text)
    first = _DAYS_BEFORE * RECORDS_PER_DAY - 1
    year = records[first : first + 1 + DAYS_PER_YEAR * RECORDS_PER_DAY]
    rounded = [np.round(year[:, at], DECIMALS[name]) for at, name in enumerate(DRIVERS)]
    return np.stack(rounded, axis=1)


def _is_ordinary(year: WeatherYear, constants: GeneratorConstants) -> bool:
    """Whether every annual level lies within the limits of the constants."""
    levels = annual_levels(year)
    return all(low <= levels[name] <= high for name, (low, high) in constants.annual_limits.items())
