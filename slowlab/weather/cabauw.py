"""Measured years from the KNMI observatory at Cabauw.

Source: KNMI Data Platform, gap-filled surface products ``cesar_surface_meteo_lc1_t10`` and
``cesar_surface_radiation_lc1_t10``, version 1.0, licence CC BY 4.0: one NetCDF file (HDF5 or
classic) a month and product, 10-minute means, times in UTC. The files are not part of this
package; see :mod:`slowlab.weather.download`.

A year needs its twelve months and the December before, because the clock here is UTC+1 and the
controller sees the record before midnight. Air temperature and dew point are labelled degC in some
files but hold kelvin; shortwave radiation is always taken from the radiation product, because the
copies in the other product disagree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.cabauw_files import (
    CHANNELS,
    METEO,
    RADIATION,
    VERSION,
    MonthFile,
    file_name,
    read_month_file,
)
from slowlab.weather.conversions import (
    ZERO_CELSIUS_K,
    saturation_pressure_pa,
    sky_temperature_c,
)
from slowlab.weather.download import Downloader, check_hashes, quiet
from slowlab.weather.repair import Repair, check_monthly_limit, repair_runs
from slowlab.weather.series import (
    DAYS_PER_YEAR,
    DRIVERS,
    RECORDS_PER_DAY,
    WeatherError,
    WeatherYear,
)

Array = NDArray[np.float64]

_UTC_OFFSET_RECORDS = 6
_GREATEST_HUMIDITY_DIFFERENCE_PCT = 10.0

# Values strictly between these are valid (wind may be 0); shortwave may be slightly negative.
VALID_RANGE: Mapping[str, tuple[float, float]] = {
    "TA002": (230.0, 330.0),
    "TD002": (220.0, 330.0),
    "F010": (-1e-12, 70.0),
    "SWD": (-10.0, 1500.0),
    "LWD": (100.0, 600.0),
}


@dataclass(frozen=True)
class _Channels:
    """Months joined: times ``[n]`` (UTC) and channels ``[n]`` in the units of the files."""

    times: NDArray[np.datetime64]
    values: dict[str, Array]


def months_needed(year: int) -> list[tuple[int, int]]:
    """Year and month of the thirteen months that a local year is made of."""
    return [(year - 1, 12), *((year, month) for month in range(1, 13))]


def files_needed(year: int) -> list[str]:
    """Names of the 26 files that a local year is made of."""
    months = months_needed(year)
    return [file_name(product, *month) for product in (METEO, RADIATION) for month in months]


def available_years(folder: str | Path) -> list[int]:
    """Years for which ``folder`` holds every file."""
    present = {path.name for path in Path(folder).glob("cesar_surface_*.nc")}
    years = {int(name[-9:-5]) for name in present if name[-9:-3].isdigit()}
    return sorted(year for year in years if present.issuperset(files_needed(year)))


def fetch_cabauw_years(
    downloader: Downloader, years: Iterable[int], report: Callable[[str], None] = quiet
) -> dict[str, str]:
    """Download what the given local years need and return file name -> SHA-256.

    Raises:
        DownloadError: a file could not be fetched; what is complete is kept for the next call.
    """
    hashes: dict[str, str] = {}
    for product in (METEO, RADIATION):
        months = sorted({month for year in years for month in months_needed(year)})
        names = [file_name(product, *month) for month in months]
        hashes |= downloader.fetch(product, VERSION, names, report)
    return hashes


def read_cabauw_year(folder: str | Path, year: int) -> WeatherYear:
    """Read one local year (UTC+1), repaired by rule v0; of a leap year the first 365 days.

    If the folder holds a manifest of the downloader, the files must have the recorded hashes.

    Args:
        folder: where the monthly files are.
        year: calendar year.

    Raises:
        WeatherError: a file is missing, changed, incomplete or mislabelled, or the year fails the
            repair rule; the message names the file, or the channel and the time (UTC).
    """
    folder = Path(folder)
    missing = [name for name in files_needed(year) if not (folder / name).is_file()]
    if missing:
        raise WeatherError(
            f"{len(missing)} files for {year} are missing, the first is {missing[0]}"
        )
    hashes = check_hashes(folder, files_needed(year))
    months = [_read_month(folder, *month) for month in months_needed(year)]
    joined = _join(months)
    repaired, repairs = _repair(joined)
    provenance: dict[str, Any] = {
        "files_sha256": hashes,
        "repair_rule": "v0",
        "repairs": [repair.as_dict() for repair in repairs],
        "licence": "CC BY 4.0, Royal Netherlands Meteorological Institute (KNMI)",
    }
    values = _local_year(_drivers(repaired), joined.times, year)
    return WeatherYear(
        f"KNMI Cabauw {year}, measured", f"{year}-01-01T00:00:00", values, provenance
    )


def _read_month(folder: Path, year: int, month: int) -> _Channels:
    meteo, radiation = (
        read_month_file(folder / file_name(product, year, month), product, year, month)
        for product in (METEO, RADIATION)
    )
    _check_humidity(meteo)
    values = {name: meteo.channels[name] for name in CHANNELS[METEO]}
    return _Channels(
        meteo.times, values | {name: radiation.channels[name] for name in CHANNELS[RADIATION]}
    )


def _check_humidity(meteo: MonthFile) -> None:
    """Compare the measured relative humidity, where there is one, with that of the dew point."""
    if meteo.relative_humidity_pct is None:
        return
    air, dew = meteo.channels["TA002"], meteo.channels["TD002"]
    usable = (
        valid_records("TA002", air)
        & valid_records("TD002", dew)
        & (meteo.relative_humidity_pct > 0)
    )
    if not usable.any():
        return
    ratio = saturation_pressure_pa(dew[usable] - ZERO_CELSIUS_K)
    humidity = 100.0 * ratio / saturation_pressure_pa(air[usable] - ZERO_CELSIUS_K)
    difference = float(np.abs(humidity - meteo.relative_humidity_pct[usable]).mean())
    if difference > _GREATEST_HUMIDITY_DIFFERENCE_PCT:
        raise WeatherError(
            f"{meteo.name}: RH002 differs by {difference:.1f} points on average from that of TA002 "
            "and TD002; are the channels what their names say?"
        )


def _join(months: list[_Channels]) -> _Channels:
    names = months[0].values
    return _Channels(
        np.concatenate([month.times for month in months]),
        {name: np.concatenate([month.values[name] for month in months]) for name in names},
    )


def valid_records(channel: str, values: Array) -> NDArray[np.bool_]:
    """Which records ``[n]`` of a channel, in the unit of the files, repair rule v0 accepts."""
    low, high = VALID_RANGE[channel]
    with np.errstate(invalid="ignore"):
        return (values > low) & (values < high)


def _repair(joined: _Channels) -> tuple[dict[str, Array], list[Repair]]:
    repaired, repairs = {}, []
    for channel, values in joined.values.items():
        valid = valid_records(channel, values)
        repaired[channel], changes = repair_runs(values, valid, joined.times, channel)
        repairs.extend(changes)
    check_monthly_limit(repairs)
    return repaired, repairs


def _drivers(channels: Mapping[str, Array]) -> Array:
    """Map the channels to the drivers, ``[n, 5]``."""
    columns = {
        "global_radiation_w_m2": np.maximum(channels["SWD"], 0.0),
        "air_temperature_c": channels["TA002"] - ZERO_CELSIUS_K,
        "vapour_pressure_pa": saturation_pressure_pa(channels["TD002"] - ZERO_CELSIUS_K),
        "wind_speed_m_s": channels["F010"],
        "sky_temperature_c": sky_temperature_c(channels["LWD"]),
    }
    return np.stack([columns[driver] for driver in DRIVERS], axis=1)


def _local_year(values: Array, times: NDArray[np.datetime64], year: int) -> Array:
    """Cut the local year, and the record before it, out of thirteen months in UTC."""
    utc_midnight = int(np.searchsorted(times, np.datetime64(f"{year}-01-01T00:00:00")))
    first = utc_midnight - _UTC_OFFSET_RECORDS - 1
    return values[first : first + 1 + DAYS_PER_YEAR * RECORDS_PER_DAY]
