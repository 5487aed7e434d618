"""Weather years: 10-minute records of the five outdoor drivers, from several sources."""

from slowlab.weather.reading import read_weather, read_weather_year
from slowlab.weather.sel import level_shift, read_sel
from slowlab.weather.series import (
    BOUNDS,
    DRIVERS,
    RECORD_SECONDS,
    RECORDS_PER_DAY,
    WeatherError,
    WeatherSeries,
    WeatherYear,
)
from slowlab.weather.tables import bleiswijk_winter

__all__ = [
    "BOUNDS",
    "DRIVERS",
    "RECORDS_PER_DAY",
    "RECORD_SECONDS",
    "WeatherError",
    "WeatherSeries",
    "WeatherYear",
    "bleiswijk_winter",
    "level_shift",
    "read_sel",
    "read_weather",
    "read_weather_year",
]
