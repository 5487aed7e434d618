"""Weather from EnergyPlus weather files (EPW): a year of 8,760 hourly rows.

Columns used: dry bulb, dew point, horizontal infrared radiation, global horizontal radiation and
wind speed (EnergyPlus Auxiliary Programs, "EnergyPlus Weather File Data Dictionary"). Row
``hour`` is the mean of the hour that ends there, in the local standard time of the file. A file
may join months of different years; years are then ignored and the series gets the nominal year
2001.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.conversions import saturation_pressure_pa, sky_temperature_c
from slowlab.weather.resample import series_from_records
from slowlab.weather.series import WeatherError, WeatherYear
from slowlab.weather.tables import file_provenance

HOURS_PER_YEAR = 8760
NOMINAL_YEAR = 2001
_HEADER_LINES = 8
_MONTH, _DAY, _HOUR = 1, 2, 3
# Column, name in the data dictionary, value that means "missing" (that value and above).
_FIELDS = {
    "dry_bulb_c": (6, "dry bulb temperature", 99.9),
    "dew_point_c": (7, "dew point temperature", 99.9),
    "infrared_w_m2": (12, "horizontal infrared radiation", 9999.0),
    "global_w_m2": (13, "global horizontal radiation", 9999.0),
    "wind_m_s": (21, "wind speed", 999.0),
}


def read_epw(path: str | Path, source: str | None = None) -> WeatherYear:
    """Read an EPW file as 10-minute records, closed on itself as a typical year.

    Temperatures, wind and vapour pressure are interpolated linearly between the middles of the
    hours; radiation also, keeping the energy of each hour. The clock stays the file's local
    standard time; its offset from UTC is in the provenance. Of a leap year the first 365 days are
    read.

    Args:
        path: the file.
        source: shown in tables and figures; place and origin from the file's first line by default.

    Raises:
        WeatherError: not an EPW file, hours missing, repeated or out of order, or a missing
            value; the message names column, month, day and hour.
    """
    path = Path(path)
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="latin-1"))))
    if not rows or not rows[0] or rows[0][0].strip().upper() != "LOCATION" or len(rows[0]) < 10:
        raise WeatherError(f"{path.name}: the first line is not an EPW LOCATION line")
    records = [row for row in rows[_HEADER_LINES:] if row]
    year = _check_calendar(records, path)
    values = _driver_values(records[:HOURS_PER_YEAR], path)
    first = np.datetime64(f"{year}-01-01T00:00:00", "s")
    times = first + np.arange(HOURS_PER_YEAR) * np.timedelta64(3600, "s")
    location = rows[0]
    series = series_from_records(
        times, values, source or _source_name(location), _provenance(location, path), cyclic=True
    )
    return WeatherYear.from_series(series)


def _source_name(location: list[str]) -> str:
    place, country, origin = location[1].strip(), location[3].strip(), location[4].strip()
    return f"EPW {place} {country} ({origin})"


def _provenance(location: list[str], path: Path) -> dict[str, Any]:
    names = ("latitude_deg", "longitude_deg", "utc_offset_h", "elevation_m")
    try:
        place = {name: float(text) for name, text in zip(names, location[6:10], strict=True)}
    except ValueError as error:
        raise WeatherError(
            f"{path.name}: LOCATION line holds no numbers for {', '.join(names)}"
        ) from error
    return file_provenance(path) | place


def _check_calendar(records: list[list[str]], path: Path) -> int:
    """Compare the rows with the calendar, hour by hour, and return the year to use."""
    columns_needed = 1 + max(column for column, _, _ in _FIELDS.values())
    leap = len(records) == HOURS_PER_YEAR + 24
    nominal = np.datetime64("2004-01-01T00" if leap else f"{NOMINAL_YEAR}-01-01T00")
    for at, row in enumerate(records):
        if len(row) < columns_needed:
            raise WeatherError(f"{path.name}: data row {at + 1} has {len(row)} columns")
        expected = _calendar(nominal + np.timedelta64(at, "h"))
        if at < HOURS_PER_YEAR and _stamp(row) != expected:
            raise WeatherError(
                f"{path.name}: expected {_text(expected)}, found {_text(_stamp(row))}"
            )
    if len(records) < HOURS_PER_YEAR:
        last = _text(_stamp(records[-1])) if records else "its header"
        raise WeatherError(
            f"{path.name}: {len(records)} hourly rows, ends after {last}; "
            f"a year has {HOURS_PER_YEAR}"
        )
    years = {row[0].strip() for row in records[:HOURS_PER_YEAR]}
    return int(years.pop()) if len(years) == 1 else NOMINAL_YEAR


def _calendar(hour_begin: np.datetime64) -> tuple[int, int, int]:
    moment = hour_begin.astype(object)
    return moment.month, moment.day, moment.hour + 1


def _stamp(row: list[str]) -> tuple[int, int, int]:
    try:
        return int(row[_MONTH]), int(row[_DAY]), int(row[_HOUR])
    except ValueError:
        return -1, -1, -1


def _text(stamp: tuple[int, int, int]) -> str:
    return f"month {stamp[0]} day {stamp[1]} hour {stamp[2]}"


def _driver_values(records: list[list[str]], path: Path) -> NDArray[np.float64]:
    fields = {name: _field(records, name, path) for name in _FIELDS}
    columns = [
        fields["global_w_m2"],
        fields["dry_bulb_c"],
        saturation_pressure_pa(fields["dew_point_c"]),
        fields["wind_m_s"],
        sky_temperature_c(fields["infrared_w_m2"]),
    ]
    return np.stack(columns, axis=1)


def _field(records: list[list[str]], name: str, path: Path) -> NDArray[np.float64]:
    column, title, missing_from = _FIELDS[name]
    values = np.empty(len(records))
    for at, row in enumerate(records):
        try:
            values[at] = float(row[column])
        except ValueError:
            values[at] = np.nan
        if not values[at] < missing_from:
            raise WeatherError(
                f"{path.name}: {title} at {_text(_stamp(row))} is missing ({row[column]!r})"
            )
    return values
