"""Figures that describe a weather year, as far as crops and calibration care.

All are computed from 10-minute records as a station's monthly overview would be: daily means and
sums first, then months. "Residuals" are daily values minus mean, annual and half-annual
harmonics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.conversions import dew_point_c, longwave_w_m2, saturation_pressure_pa
from slowlab.weather.series import DAYS_PER_YEAR, RECORD_SECONDS, RECORDS_PER_DAY, WeatherYear

Array = NDArray[np.float64]

MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MONTH_OF_DAY = np.repeat(np.arange(12), MONTH_LENGTHS)
# Months (0 = January) and drivers of the diurnal cycles and duration curves; share of the hours of
# a year in which a duration curve is exceeded, percent.
CURVE_MONTHS = (0, 6)
CURVE_DRIVERS = ("air_temperature_c", "global_radiation_w_m2")
EXCEEDED_PCT = np.array(
    [
        0.1,
        0.5,
        1,
        2,
        3,
        5,
        7.5,
        10,
        15,
        20,
        25,
        30,
        35,
        40,
        45,
        50,
        60,
        70,
        80,
        90,
        95,
        98,
        99,
        99.9,
    ]
)
TEMPERATURE_LAGS = (1, 2, 3, 7)
RADIATION_LAGS = (1, 2, 3)
_WINTER, _SUMMER = (11, 0, 1), (5, 6, 7)
_MJ_PER_W_DAY = RECORD_SECONDS * RECORDS_PER_DAY / 1e6


@dataclass(frozen=True)
class YearStatistics:
    """Description of one year.

    Attributes:
        monthly: ``[12]`` for each name, e.g. ``air_temperature_mean_c``.
        residuals: standard deviations, autocorrelations and correlations of daily residuals.
        annual: annual means, and the sum of radiation [MJ/m2].
    """

    monthly: dict[str, Array]
    residuals: dict[str, Array]
    annual: dict[str, float]


def describe_year(year: WeatherYear) -> YearStatistics:
    """Compute all figures of one year."""
    days = {name: records.reshape(DAYS_PER_YEAR, -1) for name, records in _quantities(year).items()}
    return YearStatistics(_monthly(days), _residuals(days), annual_levels(year))


def annual_levels(year: WeatherYear) -> dict[str, float]:
    """Annual means, and the sum of global radiation [MJ/m2]."""
    mean = {name: float(records.mean()) for name, records in _quantities(year).items()}
    return {
        "air_temperature_mean_c": mean["temperature"],
        "dew_point_mean_c": mean["dew_point"],
        "wind_10m_mean_m_s": mean["wind"],
        "global_radiation_sum_mj_m2": mean["radiation"] * _MJ_PER_W_DAY * DAYS_PER_YEAR,
        "longwave_mean_w_m2": mean["longwave"],
    }


def daily_means(year: WeatherYear, driver: str) -> Array:
    """Daily means of a driver, ``[n_days]``."""
    return year.column(driver)[1:].reshape(-1, RECORDS_PER_DAY).mean(axis=1)


def hourly_means(year: WeatherYear, driver: str) -> Array:
    """Hourly means of a driver, ``[n_days, 24]``."""
    return _hourly(year.column(driver)[1:].reshape(-1, RECORDS_PER_DAY))


def diurnal_cycles(year: WeatherYear, driver: str) -> Array:
    """Mean of each local hour in the months of :data:`CURVE_MONTHS`, ``[2, 24]``."""
    hourly = hourly_means(year, driver)
    return np.stack([hourly[month == MONTH_OF_DAY].mean(axis=0) for month in CURVE_MONTHS])


def duration_curve(year: WeatherYear, driver: str) -> Array:
    """Hourly values exceeded in :data:`EXCEEDED_PCT` percent of the year, ``[24]``."""
    return np.quantile(hourly_means(year, driver).ravel(), 1.0 - EXCEEDED_PCT / 100.0)


def autocorrelation(series: Array, lag: int) -> float:
    """Correlation between a series and itself ``lag`` steps later."""
    return float(np.corrcoef(series[:-lag], series[lag:])[0, 1])


def seasonal_residuals(daily: Array, harmonics: int = 2) -> Array:
    """Daily values ``[n]`` minus mean and the first ``harmonics`` of the year (least squares)."""
    angle = 2 * np.pi * np.arange(len(daily)) / DAYS_PER_YEAR
    waves = [f(k * angle) for k in range(1, harmonics + 1) for f in (np.cos, np.sin)]
    design = np.stack([np.ones_like(angle), *waves], axis=1)
    return daily - design @ np.linalg.lstsq(design, daily, rcond=None)[0]


def by_month(daily: Array, statistic: object = np.mean) -> Array:
    """A statistic of the daily values of each month, ``[12]``."""
    return np.array([statistic(daily[month == MONTH_OF_DAY]) for month in range(12)])


def _quantities(year: WeatherYear) -> dict[str, Array]:
    radiation, temperature, vapour, wind, sky = year.values[1:].T
    return {
        "radiation": radiation,
        "temperature": temperature,
        "vapour": vapour,
        "wind": wind,
        "sky": sky,
        "humidity": 100.0 * vapour / saturation_pressure_pa(temperature),
        "dew_point": dew_point_c(vapour),
        "longwave": longwave_w_m2(sky),
    }


def _hourly(days: Array) -> Array:
    return days.reshape(len(days), 24, -1).mean(axis=2)


def _monthly(days: dict[str, Array]) -> dict[str, Array]:
    mean = {name: records.mean(axis=1) for name, records in days.items()}
    energy = mean["radiation"] * _MJ_PER_W_DAY
    hourly = _hourly(days["temperature"])
    wind = _hourly(days["wind"])
    spread = [wind[month == MONTH_OF_DAY].std() for month in range(12)]
    return {
        "air_temperature_mean_c": by_month(mean["temperature"]),
        "daily_mean_temperature_sd_c": by_month(mean["temperature"], np.std),
        "mean_diurnal_range_c": by_month(hourly.max(axis=1) - hourly.min(axis=1)),
        "global_radiation_mean_mj_m2_day": by_month(energy),
        "global_radiation_sd_mj_m2_day": by_month(energy, np.std),
        "global_radiation_p10": by_month(energy, lambda x: np.quantile(x, 0.1)),
        "global_radiation_p90": by_month(energy, lambda x: np.quantile(x, 0.9)),
        "wind_mean_m_s": by_month(mean["wind"]),
        "wind_sd_m_s": np.array(spread),
        "relative_humidity_mean_pct": by_month(mean["humidity"]),
        "vapour_pressure_mean_pa": by_month(mean["vapour"]),
        "dew_point_mean_c": by_month(mean["dew_point"]),
        "sky_minus_air_temperature_c": by_month(mean["sky"] - mean["temperature"]),
    }


def _residuals(days: dict[str, Array]) -> dict[str, Array]:
    temperature = seasonal_residuals(days["temperature"].mean(axis=1))
    radiation = seasonal_residuals(days["radiation"].mean(axis=1) * _MJ_PER_W_DAY)
    wind = seasonal_residuals(days["wind"].mean(axis=1))
    return {
        "temperature_sd_c": np.array([temperature.std()]),
        "temperature_autocorrelation": _lags(temperature, TEMPERATURE_LAGS),
        "radiation_sd_mj_m2_day": np.array([radiation.std()]),
        "radiation_autocorrelation": _lags(radiation, RADIATION_LAGS),
        "wind_autocorrelation": _lags(wind, RADIATION_LAGS),
        "corr_temperature_radiation_winter_djf": _season(temperature, radiation, _WINTER),
        "corr_temperature_radiation_summer_jja": _season(temperature, radiation, _SUMMER),
    }


def _lags(series: Array, lags: tuple[int, ...]) -> Array:
    return np.array([autocorrelation(series, lag) for lag in lags])


def _season(one: Array, other: Array, months: tuple[int, ...]) -> Array:
    chosen = np.isin(MONTH_OF_DAY, months)
    return np.array([np.corrcoef(one[chosen], other[chosen])[0, 1]])
