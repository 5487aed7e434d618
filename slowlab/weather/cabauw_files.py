"""One monthly NetCDF file of the Cabauw surface products: reading and checks.

Checks: full 10-minute grid of the month, time coordinate at the beginning of each interval, bounds
contiguous to one second (they are float32 hours), daily validity flags all 1, units as expected.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.series import RECORD_SECONDS, RECORDS_PER_DAY, WeatherError

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

METEO = "cesar_surface_meteo_lc1_t10"
RADIATION = "cesar_surface_radiation_lc1_t10"
VERSION = "v1.0"
CHANNELS = {METEO: ("TA002", "TD002", "F010"), RADIATION: ("SWD", "LWD")}
HUMIDITY = "RH002"
UNITS = {
    "TA002": {"K", "kelvin", "degC", "degrees_Celsius"},
    "TD002": {"K", "kelvin", "degC", "degrees_Celsius"},
    "F010": {"m s-1", "m/s", "m s**-1", "ms-1"},
    "SWD": {"W m-2", "W/m2", "W m**-2", "Wm-2"},
    "LWD": {"W m-2", "W/m2", "W m**-2", "Wm-2"},
}
_TIME_UNITS = re.compile(r"hours since (\d{4})-(\d{1,2})-(\d{1,2})\b")
_TOLERANCE_S = 1.0


@dataclass(frozen=True)
class MonthFile:
    """Content of one file: name, times ``[n]`` (UTC, interval begins) and channels ``[n]``.

    Fill values are NaN. Relative humidity is read where the file has it, for checks only.
    """

    name: str
    times: NDArray[np.datetime64]
    channels: dict[str, Array]
    relative_humidity_pct: Array | None


def file_name(product: str, year: int, month: int) -> str:
    """Name of the file of a product and month."""
    return f"{product}_{VERSION}_{year:04d}{month:02d}.nc"


def read_month_file(path: Path, product: str, year: int, month: int) -> MonthFile:
    """Read and check one file.

    Raises:
        WeatherError: not NetCDF, or a check fails; the message names file and reason.
    """
    data = _open(path)
    n_records = calendar.monthrange(year, month)[1] * RECORDS_PER_DAY
    _check_time(data, path, year, month, n_records)
    _check_bounds(data, path, n_records)
    _check_valid_dates(data, path, n_records // RECORDS_PER_DAY)
    channels = {name: _channel(data, path, name, n_records) for name in CHANNELS[product]}
    humidity = None
    if product == METEO and HUMIDITY in data:
        humidity = _without_fill(data[HUMIDITY])
    first = np.datetime64(f"{year:04d}-{month:02d}-01T00:00:00", "s")
    times = first + np.arange(n_records) * np.timedelta64(RECORD_SECONDS, "s")
    return MonthFile(path.name, times, channels, humidity)


def _open(path: Path) -> xr.Dataset:
    import xarray as xr

    with path.open("rb") as stream:
        magic = stream.read(4)
    plain = {"decode_times": False, "mask_and_scale": False}
    try:
        if magic == b"\x89HDF":
            return xr.load_dataset(path, engine="h5netcdf", **plain)
        if magic[:3] == b"CDF":
            return xr.load_dataset(path, engine="scipy", mmap=False, **plain)
    except Exception as error:
        raise WeatherError(f"{path.name} cannot be read as NetCDF: {error}") from error
    raise WeatherError(f"{path.name} is not a NetCDF file (it begins with {magic!r})")


def _check_time(data: xr.Dataset, path: Path, year: int, month: int, n_records: int) -> None:
    if "time" not in data:
        raise WeatherError(f"{path.name}: variable time is missing")
    units = str(data["time"].attrs.get("units", ""))
    found = _TIME_UNITS.match(units)
    if found is None or tuple(map(int, found.groups())) != (year, month, 1):
        expected = f"hours since {year:04d}-{month:02d}-01"
        raise WeatherError(f"{path.name}: unit of time is {units!r}, not {expected!r}")
    seconds = np.asarray(data["time"].values, dtype=np.float64) * 3600.0
    wanted = np.arange(n_records) * float(RECORD_SECONDS)
    if len(seconds) != n_records:
        raise WeatherError(
            f"{path.name}: {len(seconds)} records; the full grid of the month has {n_records}"
        )
    off = np.abs(seconds - wanted) > _TOLERANCE_S
    if off.any() or np.isnan(seconds).any():
        row = int(np.argmax(off | np.isnan(seconds)))
        raise WeatherError(
            f"{path.name}: record {row} is at {seconds[row]:.1f} s of the month, not at the "
            f"beginning of its interval, {wanted[row]:.0f} s"
        )


def _check_bounds(data: xr.Dataset, path: Path, n_records: int) -> None:
    if "time_bnds" not in data:
        raise WeatherError(f"{path.name}: variable time_bnds is missing")
    bounds = np.asarray(data["time_bnds"].values, dtype=np.float64) * 3600.0
    if bounds.shape != (n_records, 2):
        raise WeatherError(f"{path.name}: time_bnds has shape {bounds.shape}, not ({n_records}, 2)")
    begins = np.arange(n_records) * float(RECORD_SECONDS)
    wanted = np.stack([begins, begins + RECORD_SECONDS], axis=1)
    off = ~(np.abs(bounds - wanted) <= _TOLERANCE_S)
    if off.any():
        row = int(np.argwhere(off)[0][0])
        raise WeatherError(
            f"{path.name}: bounds of record {row} are {bounds[row]} s, not {wanted[row]} s"
        )


def _check_valid_dates(data: xr.Dataset, path: Path, n_days: int) -> None:
    if "valid_dates" not in data:
        raise WeatherError(f"{path.name}: variable valid_dates is missing")
    flags = np.asarray(data["valid_dates"].values).ravel()
    if len(flags) < n_days:
        raise WeatherError(f"{path.name}: {len(flags)} validity flags for {n_days} days")
    bad = np.flatnonzero(flags[:n_days] != 1)
    if len(bad):
        raise WeatherError(f"{path.name}: day {bad[0] + 1} is not flagged as valid")


def _channel(data: xr.Dataset, path: Path, name: str, n_records: int) -> Array:
    if name not in data:
        raise WeatherError(f"{path.name}: channel {name} is missing")
    unit = str(data[name].attrs.get("units", "")).strip()
    if unit not in UNITS[name]:
        raise WeatherError(
            f"{path.name}: unit of {name} is {unit!r}, not {sorted(UNITS[name])[0]!r}"
        )
    values = _without_fill(data[name])
    if values.shape != (n_records,):
        raise WeatherError(f"{path.name}: {name} has shape {values.shape}, not ({n_records},)")
    return values


def _without_fill(variable: xr.DataArray) -> Array:
    """Values as float64 with fill and missing values replaced by NaN."""
    values = np.asarray(variable.values).astype(np.float64)
    for attribute in ("_FillValue", "missing_value"):
        if attribute in variable.attrs:
            fill = np.asarray(variable.attrs[attribute], dtype=np.float64).ravel()
            values[np.isin(values, fill)] = np.nan
    return values
