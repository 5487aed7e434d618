"""Daily weather of a generated year: five variables that move together.

Each day has five standard normal numbers (clear-sky index, temperature, dew-point depression,
wind, cloud). They follow a vector autoregression of order one whose correlations turn with the
season: sunny days are cold in winter and warm in summer. Monthly constants then give them their
units: the clear-sky index and the cloud index are logit-normal inside their limits, dew-point
depression and wind are normal in the square root, temperature is normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import LATENT_NAMES, GeneratorConstants, winter_share
from slowlab.weather.streams import NormalStream

Array = NDArray[np.float64]

CLEAR_SKY_LIMITS = (0.04, 1.04)
_LEAST_DEPRESSION_ROOT = 0.5
_LEAST_WIND_ROOT = 0.8


@dataclass(frozen=True)
class DailyWeather:
    """Consecutive days; every array is ``[n]``.

    Attributes:
        day: day of the year, 0 = 1 January; negative in the days before.
        clear_sky_index: daily radiation over that of a cloudless day.
        temperature_c: daily mean air temperature [degC].
        dew_point_c: daily mean dew point before the limit of saturation within the day [degC].
        wind_m_s: daily mean wind speed at 10 m [m/s].
        cloud_logit: logit of the daily cloud index of longwave radiation.
    """

    day: Array
    clear_sky_index: Array
    temperature_c: Array
    dew_point_c: Array
    wind_m_s: Array
    cloud_logit: Array


def draw_days(days: Array, constants: GeneratorConstants, seed_text: str) -> DailyWeather:
    """Draw the weather of consecutive ``days`` of the year, ``[n]``; a pure function."""
    latent = latent_days(days, constants, NormalStream(f"{seed_text}|daily"))
    year = float(NormalStream(f"{seed_text}|year").draw(1)[0])
    z = dict(zip(LATENT_NAMES, latent.T, strict=True))

    def scaled(name: str, variable: str, scale: str = "sd") -> Array:
        centre = constants.on_days(f"{name}_mean", days)
        return centre + constants.on_days(f"{name}_{scale}", days) * z[variable]

    temperature = (
        constants.on_days("temperature_mean_c", days)
        + constants.on_days("temperature_sd_c", days) * z["temperature"]
        + constants.year_temperature_sd_k * year
    )
    root = np.maximum(scaled("depression_root", "dew_point_depression"), _LEAST_DEPRESSION_ROOT)
    low, high = CLEAR_SKY_LIMITS
    return DailyWeather(
        day=days,
        clear_sky_index=low + (high - low) * sigmoid(scaled("clear_sky_logit", "clear_sky")),
        temperature_c=temperature,
        dew_point_c=temperature - root**2,
        wind_m_s=np.maximum(scaled("wind_root", "wind"), _LEAST_WIND_ROOT) ** 2,
        cloud_logit=scaled("cloud_logit", "cloud"),
    )


def latent_days(days: Array, constants: GeneratorConstants, stream: NormalStream) -> Array:
    """The five standard normal variables of each day, ``[n, 5]``.

    With R(t) the correlation on day t and L(t) that between t + 1 and t, the recursion is
    z(t+1) = A z(t) + noise with A = L(t) R(t)^-1 and noise covariance R(t+1) - A R(t) A'.
    """
    share = winter_share(days)[:, None, None]
    now = share * constants.correlation[0] + (1.0 - share) * constants.correlation[1]
    lag = share * constants.lag_correlation[0] + (1.0 - share) * constants.lag_correlation[1]
    step = np.swapaxes(np.linalg.solve(now, np.swapaxes(lag, 1, 2)), 1, 2)
    explained = np.einsum("tij,tkj->tik", step[:-1], lag[:-1])
    root = np.linalg.cholesky(now[1:] - explained)
    shocks = stream.draw(len(days), len(LATENT_NAMES))
    z = np.empty_like(shocks)
    z[0] = np.einsum("ij,j->i", np.linalg.cholesky(now[0]), shocks[0])
    for t in range(1, len(days)):
        kept = np.einsum("ij,j->i", step[t - 1], z[t - 1])
        z[t] = kept + np.einsum("ij,j->i", root[t - 1], shocks[t])
    return z


def sigmoid(x: Array) -> Array:
    """Logistic function, evaluated by the sign of ``x`` so that it never overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)
