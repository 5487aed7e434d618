"""Ten-minute records inside generated days.

* Radiation: clear-sky radiation times a fluctuating index whose energy-weighted daily mean is
  that of the day.
* Temperature: a path through the daily means, plus the response of two heat stores (less than
  an hour and some hours) to net radiation, weaker in wind, plus red noise.
* Dew point: a path through the daily means plus red noise that shares part of the temperature's,
  never above the air temperature: the excess falls as dew.
* Wind: a path through the daily means times the mean diurnal cycle times log-normal red noise of
  mean one.
* Longwave: clear-sky emissivity of Prata (1996, Q. J. R. Meteorol. Soc. 122, 1127-1151) raised by a
  cloud index that moves against the clear-sky index, by day and by night.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import GeneratorConstants, winter_share
from slowlab.weather.conversions import (
    ZERO_CELSIUS_K,
    longwave_w_m2,
    saturation_pressure_pa,
    sky_temperature_c,
)
from slowlab.weather.daily import DailyWeather, sigmoid
from slowlab.weather.series import DRIVERS, RECORDS_PER_DAY
from slowlab.weather.solar import clear_sky_w_m2, cosine_zenith, extraterrestrial_normal_w_m2
from slowlab.weather.streams import (
    NormalStream,
    exponential_filter,
    mean_preserving_path,
    red_noise,
)

Array = NDArray[np.float64]

_RECORDS_PER_HOUR = 6
_SUBSTEPS = 5
_BISECTIONS = 45


def refine_days(daily: DailyWeather, constants: GeneratorConstants, seed_text: str) -> Array:
    """Ten-minute records of the five drivers, ``[144 n, 5]``, for ``n`` days of daily weather."""
    activity = _activity(len(daily.day), constants, NormalStream(f"{seed_text}|clear-sky"))
    radiation = _radiation(daily, activity, constants)
    cloud = _cloud(daily, activity, constants)
    wind = _wind(daily, constants, NormalStream(f"{seed_text}|wind"))
    emissivity = sky_emissivity(_path(daily.temperature_c), _path(daily.dew_point_c), cloud)
    noise = _air_noise(len(daily.day), constants, NormalStream(f"{seed_text}|air"))
    temperature = _temperature(daily, radiation, emissivity, noise, constants)
    dew_point = _dew_point(daily, temperature, noise, constants, seed_text)
    sky = _sky(daily, temperature, dew_point, cloud)
    columns = {
        "global_radiation_w_m2": radiation,
        "air_temperature_c": temperature,
        "vapour_pressure_pa": saturation_pressure_pa(dew_point),
        "wind_speed_m_s": wind,
        "sky_temperature_c": sky,
    }
    return np.stack([columns[driver] for driver in DRIVERS], axis=1)


def clear_sky_records(days: Array, constants: GeneratorConstants) -> Array:
    """Mean clear-sky radiation [W/m2] of each ten minutes at Cabauw, ``[n, 144]``."""
    moments = (np.arange(RECORDS_PER_DAY * _SUBSTEPS) + 0.5) * 24.0 / (RECORDS_PER_DAY * _SUBSTEPS)
    turbidity = constants.within_day["linke_turbidity"]
    share = winter_share(days)[:, None]
    linke = share * turbidity["winter"] + (1.0 - share) * turbidity["summer"]
    cosine = cosine_zenith(days[:, None], moments)
    normal = extraterrestrial_normal_w_m2(days)[:, None]
    fine = clear_sky_w_m2(cosine, normal, linke)
    return fine.reshape(len(days), RECORDS_PER_DAY, _SUBSTEPS).mean(axis=2)


def _path(daily: Array) -> Array:
    return mean_preserving_path(daily, RECORDS_PER_DAY)


def _daily_means(records: Array) -> Array:
    return records.reshape(-1, RECORDS_PER_DAY).mean(axis=1)


def _without_daily_means(records: Array) -> Array:
    return records - _path(_daily_means(records))


def _activity(n_days: int, constants: GeneratorConstants, stream: NormalStream) -> Array:
    """Unit-variance sky variability with a slow and a fast part; positive is sunnier."""
    setting = constants.within_day["sky"]
    n_records = n_days * RECORDS_PER_DAY
    slow = red_noise(stream, n_records, setting["slow_hours"] * _RECORDS_PER_HOUR)
    fast = red_noise(stream, n_records, setting["fast_hours"] * _RECORDS_PER_HOUR)
    return np.sqrt(1.0 - setting["fast_share"]) * slow + np.sqrt(setting["fast_share"]) * fast


def _radiation(daily: DailyWeather, activity: Array, constants: GeneratorConstants) -> Array:
    setting = constants.within_day["sky"]
    clear = clear_sky_records(daily.day, constants)
    amplitude = np.interp(
        daily.clear_sky_index, setting["amplitude_at_index"], setting["amplitude_logit"]
    )
    swing = amplitude[:, None] * activity.reshape(len(daily.day), RECORDS_PER_DAY)
    weight = clear / clear.sum(axis=1, keepdims=True)
    limits = (setting["least_index"], setting["greatest_index"])
    level = _solve_level(swing, weight, daily.clear_sky_index, limits)
    return (_index(level[:, None] + swing, limits) * clear).ravel()


def _index(logit: Array, limits: tuple[float, float]) -> Array:
    return limits[0] + (limits[1] - limits[0]) * sigmoid(logit)


def _solve_level(swing: Array, weight: Array, wanted: Array, limits: tuple[float, float]) -> Array:
    """The level of each day at which the weighted mean index is ``wanted``, by bisection."""
    low, high = np.full(len(wanted), -15.0), np.full(len(wanted), 15.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        too_low = (weight * _index(middle[:, None] + swing, limits)).sum(axis=1) < wanted
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return 0.5 * (low + high)


def _cloud(daily: DailyWeather, activity: Array, constants: GeneratorConstants) -> Array:
    setting = constants.within_day["cloud"]
    logit = _path(daily.cloud_logit) - setting["coupling"] * activity
    return setting["greatest"] * sigmoid(logit)


def _wind(daily: DailyWeather, constants: GeneratorConstants, stream: NormalStream) -> Array:
    setting = constants.within_day["wind"]
    n_records = len(daily.day) * RECORDS_PER_DAY
    slow = red_noise(stream, n_records, setting["slow_hours"] * _RECORDS_PER_HOUR)
    fast = red_noise(stream, n_records, setting["fast_hours"] * _RECORDS_PER_HOUR)
    level = np.maximum(_path(daily.wind_m_s), setting["least_m_s"])
    steadiness = 1.0 + level / setting["noise_halving_m_s"]
    noise = (setting["slow_sd"] * slow + setting["fast_sd"] * fast) / steadiness
    variance = (setting["slow_sd"] ** 2 + setting["fast_sd"] ** 2) / steadiness**2
    ratio = _diurnal_wind(daily.day, setting) * np.exp(noise - 0.5 * variance)
    return level * ratio


def _diurnal_wind(days: Array, setting: dict) -> Array:
    """Ratio to the daily mean, from hourly tables for mid-winter and mid-summer."""
    hours = (np.arange(RECORDS_PER_DAY) + 0.5) / _RECORDS_PER_HOUR
    middles = np.arange(24) + 0.5
    season = [
        np.interp(hours, middles, setting[f"diurnal_{name}"], period=24.0)
        for name in ("winter", "summer")
    ]
    share = winter_share(days)[:, None]
    return (share * season[0] + (1.0 - share) * season[1]).ravel()


def sky_emissivity(temperature: Array, dew_point: Array, cloud: Array) -> Array:
    """Emissivity of the sky for air temperature, dew point [degC] and cloud index."""
    kelvin = temperature + ZERO_CELSIUS_K
    water_cm = 46.5 * saturation_pressure_pa(dew_point) / 100.0 / kelvin
    clear = 1.0 - (1.0 + water_cm) * np.exp(-np.sqrt(1.2 + 3.0 * water_cm))
    return clear + (1.0 - clear) * cloud


def _air_noise(n_days: int, constants: GeneratorConstants, stream: NormalStream) -> Array:
    """Red noise of temperature with unit variance, without the fast part."""
    memory = constants.within_day["air"]["noise_hours"] * _RECORDS_PER_HOUR
    return red_noise(stream, n_days * RECORDS_PER_DAY, memory)


def _temperature(
    daily: DailyWeather,
    radiation: Array,
    emissivity: Array,
    noise: Array,
    constants: GeneratorConstants,
) -> Array:
    setting = constants.within_day["air"]
    path = _path(daily.temperature_c)
    net = setting["absorbed"] * radiation - longwave_w_m2(path) * (1.0 - emissivity)
    stores = sum(
        gain * exponential_filter(net, hours * _RECORDS_PER_HOUR)
        for gain, hours in zip(setting["store_k_per_w_m2"], setting["store_hours"], strict=True)
    )
    calm = 1.0 / (1.0 + np.repeat(daily.wind_m_s, RECORDS_PER_DAY) / setting["wind_halving_m_s"])
    gain = np.repeat(constants.on_days("diurnal_gain", daily.day), RECORDS_PER_DAY)
    swing = gain * (_path(_daily_means(calm)) * stores + setting["noise_sd_k"] * noise)
    return path + _without_daily_means(swing)


def _dew_point(
    daily: DailyWeather,
    temperature: Array,
    noise: Array,
    constants: GeneratorConstants,
    seed_text: str,
) -> Array:
    setting = constants.within_day["dew_point"]
    memory = constants.within_day["air"]["noise_hours"] * _RECORDS_PER_HOUR
    own = red_noise(NormalStream(f"{seed_text}|dew-point"), len(noise), memory)
    swing = setting["shared_noise_k"] * noise + setting["own_noise_k"] * own
    dew_point = _path(daily.dew_point_c) + _without_daily_means(swing)
    depression = _softly_positive(temperature - dew_point, setting["dew_fall_width_k"])
    return temperature - setting["least_depression_k"] - depression


def _softly_positive(x: Array, width: float) -> Array:
    """Positive, and equal to ``x`` where that is far above zero."""
    return width * (np.maximum(x / width, 0.0) + np.log1p(np.exp(-np.abs(x / width))))


def _sky(daily: DailyWeather, temperature: Array, dew_point: Array, cloud: Array) -> Array:
    """Sky temperature [degC]; the sky follows only part of the swing of the air near the ground."""
    aloft = 0.5 * (_path(daily.temperature_c) + temperature)
    emissivity = sky_emissivity(aloft, dew_point, cloud)
    return np.minimum(sky_temperature_c(emissivity * longwave_w_m2(aloft)), temperature)
