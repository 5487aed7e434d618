"""How much repeats of the same campaign differ, and where the spread of scores comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from slowlab.analysis.measures import best_at_k
from slowlab.analysis.samples import Array, Reason, exact_mean

_FEW_REPEATS = 3


@dataclass(frozen=True)
class Stability:
    """Spread between repeats within sites, averaged over sites. None where it is missing.

    Attributes:
        sites: sites with two repeats or more, which alone count.
        fewest_repeats: smallest number of repeats among them; 0 without any.
        few_repeats: some site has two repeats only. Then deviation and range say the same, and the
            mean deviation is about 0.80 of the true one; read ``pooled_sd``.
        mean_sd: mean of the within-site standard deviations (n - 1 degrees of freedom).
        pooled_sd: root of the within-site variance pooled over sites, unbiased for the variance.
        mean_range: mean of the within-site ranges, highest less lowest.
        mean_cv: mean of deviation over absolute mean, over ``cv_sites``.
        cv_sites: sites whose absolute mean exceeds the floor.
        mean_sd_over_best: mean of deviation over absolute Best@k, k all repeats, over
            ``best_sites``.
        best_sites: sites whose absolute best exceeds the floor.
    """

    sites: int
    fewest_repeats: int
    few_repeats: bool
    mean_sd: float | None
    pooled_sd: float | None
    mean_range: float | None
    mean_cv: float | None
    cv_sites: int
    mean_sd_over_best: float | None
    best_sites: int


def stability(scores: ArrayLike, floor: float) -> Stability:
    """Measure the spread between repeats.

    Args:
        scores: ``[site, repeat]`` scores; NaN where missing.
        floor: a mean or best score counts as near 0 up to this absolute value, in the unit of the
            scores, at least 0; ratios leave such sites out and say how many are left.

    Raises:
        ValueError: the floor is negative or the table is not two-dimensional.
    """
    if not floor >= 0.0:
        raise ValueError("the floor must not be negative")
    rows = [row for row in _known_rows(scores) if len(row) > 1]
    deviations = np.array([_deviation(row) for row in rows])
    means = np.array([exact_mean(row) for row in rows])
    best = np.array([best_at_k(row[None, :], len(row))[0] for row in rows])
    cvs, shares = _ratios(deviations, means, floor), _ratios(deviations, best, floor)
    fewest = min(map(len, rows), default=0)
    freedom = sum(len(row) - 1 for row in rows)
    squares = math.fsum(d**2 * (len(row) - 1) for d, row in zip(deviations, rows, strict=True))
    return Stability(
        sites=len(rows),
        fewest_repeats=fewest,
        few_repeats=0 < fewest < _FEW_REPEATS,
        mean_sd=_mean(deviations),
        pooled_sd=math.sqrt(squares / freedom) if freedom else None,
        mean_range=_mean(np.array([row.max() - row.min() for row in rows])),
        mean_cv=_mean(cvs),
        cv_sites=len(cvs),
        mean_sd_over_best=_mean(shares),
        best_sites=len(shares),
    )


@dataclass(frozen=True)
class VarianceComponents:
    """Variance between sites and between repeats of a site.

    Attributes:
        sites: sites with a score.
        scores: scores in all.
        mean: mean of all scores; None without any.
        site: variance between sites, at least 0; None if undefined.
        repeat: variance between repeats within a site; None if undefined.
        truncated: the estimate of ``site`` was negative and is given as 0.
        reason: why there is none, if there is none.
    """

    sites: int
    scores: int
    mean: float | None
    site: float | None
    repeat: float | None
    truncated: bool = False
    reason: Reason | None = None

    @property
    def site_share(self) -> float | None:
        """Share of the total variance that lies between sites; None if undefined or 0/0."""
        if self.site is None or self.repeat is None or self.site + self.repeat == 0.0:
            return None
        return self.site / (self.site + self.repeat)

    def sd_with_repeats(self, repeats: int) -> float | None:
        """Standard deviation between sites of a mean over so many repeats; None if undefined."""
        if repeats < 1:
            raise ValueError("at least one repeat")
        if self.site is None or self.repeat is None:
            return None
        return math.sqrt(self.site + self.repeat / repeats)


def variance_components(scores: ArrayLike) -> VarianceComponents:
    """Analysis-of-variance estimates of a random effect of the site; repeats may be unequal.

    With s sites, n_i repeats at site i and N in all, the within mean square estimates the variance
    of a repeat, and the between mean square exceeds it by n0 times that of a site, where
    n0 = (N - sum n_i^2 / N) / (s - 1) (Searle, Casella and McCulloch 1992, section 3.6).

    Args:
        scores: ``[site, repeat]`` scores or differences; NaN where missing.

    Returns:
        The components; ``EMPTY`` without a score, ``TOO_FEW`` below two sites or without a site
        with two repeats.

    Raises:
        ValueError: the table is not two-dimensional.
    """
    rows = [row for row in _known_rows(scores) if len(row)]
    count = sum(map(len, rows))
    if not rows:
        return VarianceComponents(0, 0, None, None, None, reason=Reason.EMPTY)
    mean = exact_mean(np.concatenate(rows))
    if len(rows) < 2 or count == len(rows):
        return VarianceComponents(len(rows), count, mean, None, None, reason=Reason.TOO_FEW)
    centres = [exact_mean(row) for row in rows]
    within = math.fsum(
        float((value - centre) ** 2)
        for row, centre in zip(rows, centres, strict=True)
        for value in row
    ) / (count - len(rows))
    between = math.fsum(
        len(row) * (centre - mean) ** 2 for row, centre in zip(rows, centres, strict=True)
    ) / (len(rows) - 1)
    typical = (count - sum(len(row) ** 2 for row in rows) / count) / (len(rows) - 1)
    site = (between - within) / typical
    return VarianceComponents(len(rows), count, mean, max(site, 0.0), within, truncated=site < 0.0)


def _known_rows(scores: ArrayLike) -> list[Array]:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected two dimensions, got {table.ndim}")
    return [row[np.isfinite(row)] for row in table]


def _deviation(row: Array) -> float:
    centre = exact_mean(row)
    return math.sqrt(math.fsum((row - centre) ** 2) / (len(row) - 1))


def _ratios(deviations: Array, sizes: Array, floor: float) -> Array:
    usable = np.abs(sizes) > floor
    return deviations[usable] / np.abs(sizes[usable])


def _mean(values: Array) -> float | None:
    return exact_mean(values) if len(values) else None
