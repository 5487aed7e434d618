"""Is a difference too small to matter, large enough to matter, or neither shown?

The smallest effect size of interest (SESOI) splits the line into what matters and what does not.
Two one-sided t-tests (TOST; Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657-680) show that a
mean lies within it; a minimum-effect t-test shows that it lies beyond it; else nothing is decided.
An interval that includes zero is not evidence of no effect, and no verdict here says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from slowlab.analysis.bca import Interval
from slowlab.analysis.samples import Reason, exact_sample, round_p, round_result, sample_fault

ALPHA = 0.05
_FEWEST = 3


class Verdict(StrEnum):
    """What was shown about a mean difference.

    Attributes:
        BEYOND: it is larger than the SESOI, in the direction of the estimate.
        EQUIVALENT: it is smaller than the SESOI in both directions.
        UNDECIDED: neither.
        UNDEFINED: there was nothing to decide from.
    """

    BEYOND = "beyond"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class EquivalenceTest:
    """Outcome of the tests against the SESOI.

    Attributes:
        n: number of differences given.
        mean: their mean; None if a value is faulty or there is none.
        low: lower bound of the (1 - 2 alpha) t interval; None if undefined.
        high: its upper bound; None if undefined.
        p_equivalent: p-value of TOST; None where there is no spread or no verdict.
        p_beyond: two-sided p-value of the minimum-effect test; None likewise.
        verdict: equivalent if ``p_equivalent`` < alpha, beyond if ``p_beyond`` < alpha.
        reason: why it is undefined or degenerate, if it is.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    p_equivalent: float | None
    p_beyond: float | None
    verdict: Verdict
    reason: Reason | None = None


def equivalence_test(
    differences: ArrayLike, sesoi: float, *, alpha: float = ALPHA
) -> EquivalenceTest:
    """Test a mean difference against the SESOI, in three ways.

    Equivalent means that the (1 - 2 alpha) t interval lies within the SESOI, beyond that the
    (1 - alpha) interval lies outside it. Where all differences are equal, the common value is
    compared with the SESOI itself, without p-values.

    Args:
        differences: ``[n]`` one difference per site, none missing.
        sesoi: smallest effect size of interest, above 0, in the unit of the differences.
        alpha: level of either test, between 0 and 0.5.

    Returns:
        The outcome; undefined for fewer than three values and for faulty ones.

    Raises:
        ValueError: the SESOI or alpha is out of range.
    """
    if not (sesoi > 0.0 and math.isfinite(sesoi)) or not 0.0 < alpha < 0.5:
        raise ValueError("the SESOI must be above 0 and alpha between 0 and 0.5")
    n = int(np.size(differences))
    fault = sample_fault(differences) or (Reason.TOO_FEW if n < _FEWEST else None)
    if fault is not None:
        mean = None if fault is not Reason.TOO_FEW else round_result(exact_sample(differences).mean)
        return EquivalenceTest(n, mean, None, None, None, None, Verdict.UNDEFINED, fault)
    sample = exact_sample(differences)
    mean = round_result(sample.mean)
    if sample.all_equal:
        verdict = _reading(mean, mean, sesoi)
        return EquivalenceTest(n, mean, mean, mean, None, None, verdict, Reason.ALL_EQUAL)
    error = sample.sd / math.sqrt(n)
    inside = max(_tail(n, (sign * mean - sesoi) / error) for sign in (1, -1))
    outside = min(_tail(n, (sesoi - sign * mean) / error) for sign in (1, -1))
    p_equivalent, p_beyond = round_p(inside), round_p(min(1.0, 2.0 * outside))
    margin = float(stdtrit(n - 1, 1.0 - alpha)) * error
    verdict = Verdict.UNDECIDED
    if p_equivalent < alpha:
        verdict = Verdict.EQUIVALENT
    elif p_beyond < alpha:
        verdict = Verdict.BEYOND
    low, high = round_result(mean - margin), round_result(mean + margin)
    return EquivalenceTest(n, mean, low, high, p_equivalent, p_beyond, verdict)


def read_interval(interval: Interval, sesoi: float) -> Verdict:
    """Read an interval against the SESOI, whatever it was made with.

    Args:
        interval: a confidence interval of a mean difference.
        sesoi: smallest effect size of interest, above 0.

    Returns:
        ``BEYOND`` if it lies entirely outside the SESOI on one side, ``EQUIVALENT`` if entirely
        inside, ``UNDECIDED`` if it touches or crosses a bound.
    """
    if interval.low is None or interval.high is None:
        return Verdict.UNDEFINED
    return _reading(interval.low, interval.high, sesoi)


def _tail(n: int, statistic: float) -> float:
    """Probability that t with n - 1 degrees of freedom lies below the statistic."""
    return float(stdtr(n - 1, statistic))


def _reading(low: float, high: float, sesoi: float) -> Verdict:
    if low > sesoi or high < -sesoi:
        return Verdict.BEYOND
    if -sesoi < low and high < sesoi:
        return Verdict.EQUIVALENT
    return Verdict.UNDECIDED
