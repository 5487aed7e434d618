"""Small stand-ins for the monthly NetCDF files of the Cabauw observatory."""

import calendar

import numpy as np
import xarray as xr

from slowlab.weather.cabauw import months_needed
from slowlab.weather.cabauw_files import METEO, RADIATION, file_name
from slowlab.weather.conversions import saturation_pressure_pa


def month_dataset(product, year, month):
    """A month as the observatory writes it: float32 hours, kelvin labelled degC."""
    n_days = calendar.monthrange(year, month)[1]
    hours = np.arange(n_days * 144) / 6.0
    begin = hours.astype(np.float32)
    bounds = np.stack([hours, hours + 1 / 6.0], axis=1).astype(np.float32)
    since = f"hours since {year:04d}-{month:02d}-01 00:00:00 0:00"
    return xr.Dataset(
        {
            "time_bnds": (("time", "nv"), bounds),
            "valid_dates": (("days",), np.ones(n_days, dtype=np.int32)),
            **_channels(product, hours),
        },
        coords={"time": ("time", begin, {"units": since})},
    )


def _channels(product, hours):
    day = np.cos(2 * np.pi * (hours % 24 - 12) / 24)
    if product == RADIATION:
        return {
            "SWD": channel(600.0 * day, "W m-2"),
            "LWD": channel(320.0 - 10 * day, "W m-2"),
        }
    air, dew = 283.15 + 5 * day, np.full_like(hours, 278.15)
    humidity = 100 * saturation_pressure_pa(dew - 273.15) / saturation_pressure_pa(air - 273.15)
    return {
        "TA002": channel(air, "degC"),
        "TD002": channel(dew, "degC"),
        "RH002": channel(humidity, "%"),
        "F010": channel(4.0 + 0 * day, "m s-1"),
        "SWD": channel(-5000.0 + 0 * day, "W m-2"),
    }


def channel(values, unit):
    clipped = np.maximum(values, -5.0) if unit == "W m-2" and values.max() > 0 else values
    return ("time", clipped.astype(np.float32), {"units": unit, "_FillValue": np.float32(-9999.0)})


def write_month(data, path, engine="h5netcdf"):
    """Write as HDF5 or as classic NetCDF (engine scipy)."""
    plain = ("time", "time_bnds")
    encoding = {name: {"_FillValue": None} for name in plain if name in data.variables}
    data.to_netcdf(path, engine=engine, encoding=encoding)


def write_year(folder, year, engine="h5netcdf"):
    """All files of a local year."""
    for product in (METEO, RADIATION):
        for when in months_needed(year):
            write_month(month_dataset(product, *when), folder / file_name(product, *when), engine)
