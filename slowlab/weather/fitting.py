"""Estimation of the generator's daily correlations from a measured year.

Needed only when the generator is fitted anew. Daily series are made normal by ranks after their
season is removed; products of the scores then give correlations as a mixture of a winter and a
summer matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowlab.weather.constants import LATENT_NAMES, winter_share
from slowlab.weather.conversions import dew_point_c, longwave_w_m2
from slowlab.weather.series import DAYS_PER_YEAR, DRIVERS, WeatherYear
from slowlab.weather.statistics import daily_means, seasonal_residuals
from slowlab.weather.within_day import sky_emissivity

Array = NDArray[np.float64]


def latent_correlations(
    year: WeatherYear, clear_w_m2: Array, lag_correction: Sequence[float]
) -> tuple[Array, Array]:
    """Mean products of the scores on the same day and at a lag of one day.

    Args:
        year: the measured year.
        clear_w_m2: daily mean clear-sky radiation, ``[365]``.
        lag_correction: added to the lag correlation of each variable with itself.

    Returns:
        Two arrays ``[2, 5, 5]``, for winter and summer; not yet correlations of a possible process.
    """
    scores = np.stack([normal_scores(x) for x in daily_variables(year, clear_w_m2)], axis=1)
    share = winter_share(np.arange(DAYS_PER_YEAR, dtype=np.float64))
    today = season_products(scores, scores, share)
    lag = season_products(np.roll(scores, -1, axis=0), scores, share)
    return today, lag + np.diag(lag_correction)


def feasible(today: Array, lag: Array) -> tuple[Array, Array]:
    """The nearest pair of matrices that a process can have."""
    off = ~np.eye(len(LATENT_NAMES), dtype=bool)
    today = np.stack([nearest_correlation(matrix) for matrix in today])
    while (stable := shrink_until_stable(today, lag)) is None:
        today[:, off] *= 0.98
    return today, stable


def daily_variables(sel: WeatherYear, clear_w_m2: Array) -> list[Array]:
    """Daily series of the five variables in the order of their names, on scales near normal."""
    radiation, temperature, vapour, wind, _ = (daily_means(sel, name) for name in DRIVERS)
    depression = temperature - dew_point_c(vapour)
    air, sky = sel.column("air_temperature_c")[1:], sel.column("sky_temperature_c")[1:]
    dew = dew_point_c(sel.column("vapour_pressure_pa")[1:])
    bare = sky_emissivity(air, dew, np.zeros_like(air))
    cloud = (longwave_w_m2(sky) / longwave_w_m2(air) - bare) / (1.0 - bare)
    daily_cloud = cloud.reshape(DAYS_PER_YEAR, -1).mean(axis=1)
    return [radiation / clear_w_m2, temperature, np.sqrt(depression), np.sqrt(wind), daily_cloud]


def normal_scores(series: Array) -> Array:
    """Deseasonalise mean and spread, then replace values by the normal quantiles of their ranks."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    residuals = seasonal_residuals(series)
    size = np.abs(residuals)
    spread = np.maximum(size - seasonal_residuals(size), 0.25 * size.mean())
    ranks = rankdata(residuals / spread)
    return ndtri((ranks - 0.5) / len(ranks))


def season_products(later: Array, today: Array, share: Array) -> Array:
    """Mean products as a mixture of a winter and a summer matrix, by least squares, [2, 5, 5]."""
    products = later[:, :, None] * today[:, None, :]
    design = np.stack([share, 1.0 - share], axis=1)
    flat = np.linalg.lstsq(design, products.reshape(len(share), -1), rcond=None)[0]
    return flat.reshape(2, len(LATENT_NAMES), len(LATENT_NAMES))


def nearest_correlation(matrix: Array, least: float = 0.05) -> Array:
    """Symmetric, unit diagonal, eigenvalues not below ``least``."""
    matrix = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(matrix, 1.0)
    values, vectors = np.linalg.eigh(matrix)
    fixed = (vectors * np.maximum(values, least)) @ vectors.T
    scale = np.sqrt(np.diag(fixed))
    return fixed / np.outer(scale, scale)


def shrink_until_stable(today: Array, lag: Array) -> Array | None:
    """Draw cross-lag correlations to those of a separable process until the noise is positive.

    Returns None if that does not help.

    A separable process has sqrt(f_i f_j) r_ij between variable i and variable j of the day before,
    with f the lag correlations of the variables with themselves.
    """
    shares = np.linspace(0.0, 1.0, 41)
    own = np.sqrt(np.clip(np.diagonal(lag, axis1=1, axis2=2), 0.0, 0.95))
    separable = own[:, :, None] * own[:, None, :] * today
    for kept in np.linspace(1.0, 0.0, 51):
        mixed = kept * lag + (1.0 - kept) * separable
        if min(least_noise(today, mixed, share) for share in shares) > 0.02:
            return mixed
    return None


def least_noise(today: Array, lag: Array, share: float) -> float:
    """Smallest eigenvalue of the noise covariance at a winter share."""
    now = share * today[0] + (1 - share) * today[1]
    later = share * lag[0] + (1 - share) * lag[1]
    return float(np.linalg.eigvalsh(now - later @ np.linalg.solve(now, later.T))[0])


def diurnal_wind(sel: WeatherYear) -> dict[str, list[float]]:
    """Mean ratio of each local hour to the daily mean, mid-winter and mid-summer."""
    hourly = sel.column("wind_speed_m_s")[1:].reshape(DAYS_PER_YEAR, 24, -1).mean(axis=2)
    share = winter_share(np.arange(DAYS_PER_YEAR, dtype=np.float64))
    design = np.stack([share, 1.0 - share], axis=1)
    tables = np.linalg.lstsq(design, hourly, rcond=None)[0]
    tables /= tables.mean(axis=1, keepdims=True)
    return {"diurnal_winter": tables[0], "diurnal_summer": tables[1]}
