"""The Dutch SEL reference year, and the shift of a series to another climate level.

The SEL year (Breuer and Van de Braak 1989) joins selected real months of De Bilt into a typical
year for greenhouse studies. The file is not part of this package; this module only reads it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from slowlab.weather import conversions
from slowlab.weather.conversions import saturation_pressure_pa, sky_temperature_c
from slowlab.weather.resample import series_from_records
from slowlab.weather.series import DRIVERS, WeatherError, WeatherSeries, WeatherYear
from slowlab.weather.tables import file_provenance

SEL_COLUMNS = (
    "hour_of_year",
    "global_radiation_w_m2",
    "wind_m_s",
    "air_temperature_c",
    "sky_temperature_c",
    "relative_humidity_pct",
)
_START = "2001-01-01T00:00:00"
_HOURS = 8760


def read_sel(path: str | Path, *, utc: bool = True) -> WeatherYear:
    """Read the SEL year (hourly) as 10-minute records.

    Row ``h`` is the mean of the hour that ends at ``h``. The centroid of its radiation (11.7 h)
    is solar noon at De Bilt in UTC, so rows are read as UTC by default and moved to UTC+1; the
    year is closed on itself. Interpolation: linear, radiation keeping the energy of each hour.
    Relative humidity above 100 % is taken as 100 %.

    Args:
        path: CSV file with the columns of :data:`SEL_COLUMNS`.
        utc: False reads the rows as local time (UTC+1), unmoved.

    Raises:
        WeatherError: a column is missing, or not exactly 8,760 rows in order.
    """
    import pandas as pd

    path = Path(path)
    table = pd.read_csv(path)
    missing = [name for name in SEL_COLUMNS if name not in table.columns]
    if missing:
        raise WeatherError(f"{path.name}: column {', '.join(missing)} is missing")
    hours = table["hour_of_year"].to_numpy()
    if len(hours) != _HOURS or not np.array_equal(hours, np.arange(1, _HOURS + 1)):
        raise WeatherError(
            f"{path.name}: hour_of_year does not run from 1 to {_HOURS} ({len(hours)} rows)"
        )
    humidity = np.minimum(table["relative_humidity_pct"].to_numpy(dtype=np.float64), 100.0)
    drivers = {
        "global_radiation_w_m2": table["global_radiation_w_m2"],
        "air_temperature_c": table["air_temperature_c"],
        "vapour_pressure_pa": humidity / 100.0 * saturation_pressure_pa(table["air_temperature_c"]),
        "wind_speed_m_s": table["wind_m_s"],
        "sky_temperature_c": table["sky_temperature_c"],
    }
    values = np.stack([np.asarray(drivers[driver], dtype=np.float64) for driver in DRIVERS], axis=1)
    if utc:
        values = np.roll(values, 1, axis=0)
    times = np.datetime64(_START, "s") + np.arange(_HOURS) * np.timedelta64(3600, "s")
    notes = file_provenance(path) | {"rows_read_as": "UTC" if utc else "UTC+1"}
    series = series_from_records(times, values, "SEL reference year, De Bilt", notes, cyclic=True)
    return WeatherYear.from_series(series)


def level_shift[S: WeatherSeries](
    series: S,
    temperature_k: float = 1.4,
    radiation_factor: float = 1.16,
    wind_factor: float = 1.38,
    longwave_w_m2: float = 16.5,
) -> S:
    """Move a series to another climate level, keeping its relative humidity.

    The defaults bring the SEL year to the level of Cabauw in the years 2002-2015.

    Args:
        series: the series to shift; it is not changed.
        temperature_k: added to the air temperature [K].
        radiation_factor: multiplies global radiation.
        wind_factor: multiplies wind speed.
        longwave_w_m2: added to the downward longwave radiation [W/m2].

    Raises:
        WeatherError: a shifted value is outside the physical bounds.
    """
    radiation, temperature, vapour, wind, sky = series.values.T
    warmer = temperature + temperature_k
    humid = vapour * saturation_pressure_pa(warmer) / saturation_pressure_pa(temperature)
    warm_sky = sky_temperature_c(conversions.longwave_w_m2(sky) + longwave_w_m2)
    columns = [radiation * radiation_factor, warmer, humid, wind * wind_factor, warm_sky]
    shift = {
        "temperature_k": temperature_k,
        "radiation_factor": radiation_factor,
        "wind_factor": wind_factor,
        "longwave_w_m2": longwave_w_m2,
    }
    note = (
        f"shifted {temperature_k:+g} K, radiation x{radiation_factor:g}, wind x{wind_factor:g}, "
        f"longwave {longwave_w_m2:+g} W/m2"
    )
    return replace(
        series,
        source=f"{series.source}, {note}",
        values=np.stack(columns, axis=1),
        provenance=dict(series.provenance) | {"level_shift": shift},
    )
