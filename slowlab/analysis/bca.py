"""Bias-corrected and accelerated (BCa) bootstrap intervals of a mean.

Efron (1987), "Better bootstrap confidence intervals", JASA 82, 171-185, with one change: resampled
means equal to the estimate count half as below it and half as above it. Counting strictly smaller
ones makes the interval depend on how ties are rounded. Sums are exact, so that ties are ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from slowlab.analysis.samples import (
    UNITS_PER_ONE,
    Array,
    Reason,
    Sample,
    Units,
    exact_sample,
    round_result,
    sample_fault,
)

RESAMPLES = 10_000
LEVEL = 0.95
STREAM = 0xBCA
"""Second word of the generator's seed, which keeps it apart from the sign flips'."""

_FEWEST = 3


class IntervalKind(StrEnum):
    """What an interval is.

    Attributes:
        BCA: the bootstrap interval.
        PERCENTILE: the plain percentile interval, where the correction is not finite.
        POINT: both bounds are the common value of a sample without spread.
        UNDEFINED: there is none.
    """

    BCA = "bca"
    PERCENTILE = "percentile"
    POINT = "point"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a mean.

    Attributes:
        n: number of values given.
        mean: the estimate; None if a value is faulty or there is none.
        low: lower bound; None if undefined.
        high: upper bound; None if undefined.
        level: confidence level, as 0.95.
        kind: how the bounds were made.
        reason: why it is not a BCa interval, if it is not.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    level: float
    kind: IntervalKind
    reason: Reason | None = None


def bca_interval(
    values: ArrayLike, seed: int, *, level: float = LEVEL, resamples: int = RESAMPLES
) -> Interval:
    """BCa interval of the mean, from resamples of ``default_rng([seed, 0xBCA])``.

    Values are rounded to 1e-9 and sorted before resampling, so that the interval does not depend
    on their order. Bounds are linearly interpolated quantiles of the resampled means, rounded to
    1e-9.

    Args:
        values: ``[n]`` one value per site, none missing.
        seed: seed of this interval.
        level: confidence level, between 0 and 1.
        resamples: number of bootstrap samples.

    Returns:
        The interval. Declared outcomes: ``UNDEFINED`` with ``EMPTY``, ``NOT_FINITE``,
        ``OUT_OF_RANGE`` or (below three values) ``TOO_FEW``; ``POINT`` with ``ALL_EQUAL``;
        ``PERCENTILE`` with ``SHARE_AT_BOUND`` (every resampled mean lies on one side of the
        estimate) or ``ACCELERATION_UNBOUNDED``.

    Raises:
        ValueError: the level is not between 0 and 1, or there are no resamples.
    """
    if not 0.0 < level < 1.0 or resamples < 1:
        raise ValueError("the level must lie between 0 and 1, with at least one resample")
    n = int(np.size(values))
    fault = sample_fault(values) or (Reason.TOO_FEW if n < _FEWEST else None)
    if fault is not None:
        mean = None if fault is not Reason.TOO_FEW else round_result(exact_sample(values).mean)
        return Interval(n, mean, None, None, level, IntervalKind.UNDEFINED, fault)
    sample = exact_sample(values)
    if sample.all_equal:
        return interval_from_totals(sample, np.empty(0, dtype=np.int64), level)
    return interval_from_totals(sample, _resampled_totals(sample, seed, resamples), level)


def interval_from_totals(sample: Sample, totals: Units, level: float) -> Interval:
    """The interval of a sample of three values or more from its resamples.

    Args:
        sample: the sample.
        totals: ``[resamples]`` exact totals of its resamples; not used where all values are equal.
        level: confidence level.
    """
    n, mean = sample.n, round_result(sample.mean)
    if sample.all_equal:
        return Interval(n, mean, mean, mean, level, IntervalKind.POINT, Reason.ALL_EQUAL)
    tails, reason = _tail_shares(sample, totals, level)
    low, high = np.quantile(totals / (n * UNITS_PER_ONE), tails)
    kind = IntervalKind.BCA if reason is None else IntervalKind.PERCENTILE
    return Interval(n, mean, round_result(low), round_result(high), level, kind, reason)


def acceleration(sample: Sample) -> float:
    """Acceleration from the jackknife: sum(D^3) / (6 (sum D^2)^1.5).

    D, the mean of the jackknife means less each of them, is proportional to the deviation of the
    value left out, and the factor cancels.
    """
    deviations = sample.deviations
    return math.fsum(deviations**3) / (6.0 * math.fsum(deviations**2) ** 1.5)


def _resampled_totals(sample: Sample, seed: int, resamples: int) -> Units:
    """``[resamples]`` exact totals of samples drawn with replacement."""
    generator = np.random.default_rng([seed, STREAM])
    drawn = generator.integers(0, sample.n, size=(resamples, sample.n))
    return sample.units[drawn].sum(axis=1)


def _tail_shares(sample: Sample, totals: Units, level: float) -> tuple[Array, Reason | None]:
    """Shares at which the bounds are read off, and why they are the plain ones, if they are."""
    plain = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    share = _share_below(sample, totals)
    if share in (0.0, 1.0):
        return plain, Reason.SHARE_AT_BOUND
    bias = ndtri(share)
    shifted = bias + ndtri(plain)
    scale = 1.0 - acceleration(sample) * shifted
    if (scale <= 0.0).any():
        return plain, Reason.ACCELERATION_UNBOUNDED
    return ndtr(bias + shifted / scale), None


def _share_below(sample: Sample, totals: Units) -> float:
    """Share of resampled means below the estimate; those within 1e-9 of it count half."""
    excess = totals - sample.total
    tied = np.abs(excess) <= sample.n
    below = (excess < 0) & ~tied
    return (2 * int(below.sum()) + int(tied.sum())) / (2 * len(totals))
