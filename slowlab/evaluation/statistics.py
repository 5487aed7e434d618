"""Errors of paired differences over sites and weather years; pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class PairedDifference:
    """Mean of a difference that was measured on sites in a few years each, EUR/m2.

    Attributes:
        mean: mean over sites of the means over their years.
        median: median over sites.
        se_sites: standard error, sites as the units; it includes the two below.
        se_years: standard error with weather years as clusters, as years recur on many sites.
        evaluation_error: part of ``se_sites`` that more years on the same sites would remove.
        sd_sites: standard deviation over sites.
        above: share of sites on which the difference is above the smallest effect of interest.
        sites: number of sites.
    """

    mean: float
    median: float
    se_sites: float
    se_years: float
    evaluation_error: float
    sd_sites: float
    above: float
    sites: int


def paired_difference(
    values: ArrayLike, sites: ArrayLike, years: ArrayLike, smallest_effect: float
) -> PairedDifference:
    """Mean and errors of a difference.

    Args:
        values: one difference a site and year, ``[n]``.
        sites: the site of each, ``[n]``.
        years: the weather year of each, ``[n]``.
        smallest_effect: smallest difference that matters.

    Raises:
        ValueError: no value, or one that is not finite.
    """
    number, site, year = np.asarray(values, float), np.asarray(sites), np.asarray(years)
    if number.size == 0 or not np.isfinite(number).all():
        raise ValueError("differences must be finite, and at least one")
    groups = [number[site == one] for one in np.unique(site)]
    means = np.array([group.mean() for group in groups])
    within = [group.var(ddof=1) / len(group) for group in groups if len(group) > 1]
    count = len(means)
    sd = float(means.std(ddof=1)) if count > 1 else 0.0
    return PairedDifference(
        mean=float(means.mean()),
        median=float(np.median(means)),
        se_sites=sd / count**0.5,
        se_years=_clustered_error(number - means.mean(), year),
        evaluation_error=float(np.sqrt(np.mean(within) / count)) if within else 0.0,
        sd_sites=sd,
        above=float((means > smallest_effect).mean()),
        sites=count,
    )


def _clustered_error(residuals: NDArray[np.float64], clusters: NDArray) -> float:
    """Standard error of a mean whose residuals are related within clusters."""
    sums = np.array([residuals[clusters == one].sum() for one in np.unique(clusters)])
    count = len(sums)
    if count < 2:
        return 0.0
    return float(np.sqrt((sums**2).sum() * count / (count - 1)) / len(residuals))


def ratio_of_means(above: ArrayLike, below: ArrayLike) -> tuple[float, float]:
    """Ratio of two means over the same sites, and its jackknife standard error.

    Args:
        above: numerator of every site, ``[n]``.
        below: denominator of every site, ``[n]``.

    Returns:
        Both are NaN where the denominator's mean is zero; the error is 0 for a single site.
    """
    top, bottom = np.asarray(above, float), np.asarray(below, float)
    count = len(top)
    if bottom.sum() == 0:
        return float("nan"), float("nan")
    ratio = float(top.sum() / bottom.sum())
    if count < 2:
        return ratio, 0.0
    left_out = (top.sum() - top) / (bottom.sum() - bottom)
    error = np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    return ratio, float(error)
