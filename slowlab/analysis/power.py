"""Power of the two-sided paired t-test, from the noncentral t distribution.

Planning figures: they say what a design can show, for a standard deviation of site differences
known beforehand. Repeats within a site lower only the part of that deviation that lies within.
"""

from __future__ import annotations

import math

from scipy.special import nctdtr, stdtrit

POWER = 0.8
_MOST_SITES = 1_000_000


def paired_t_power(difference: float, sd: float, n: int, alpha: float) -> float:
    """Probability of finding a true mean difference.

    Args:
        difference: true mean difference, in any unit.
        sd: standard deviation of the site differences in the same unit, above 0.
        n: number of sites, at least 2.
        alpha: two-sided level of the test, between 0 and 1.

    Raises:
        ValueError: an argument is out of range or not finite.
    """
    _check(sd, n, alpha)
    if not math.isfinite(difference):
        raise ValueError("the difference must be finite")
    return _power(abs(difference) * math.sqrt(n) / sd, n, alpha)


def minimum_detectable_difference(sd: float, n: int, alpha: float, power: float = POWER) -> float:
    """Smallest true mean difference that is found with the given power.

    Args:
        sd: standard deviation of the site differences, above 0.
        n: number of sites, at least 2.
        alpha: two-sided level of the test.
        power: power asked for, above alpha and below 1.

    Returns:
        The difference in the unit of ``sd``.

    Raises:
        ValueError: an argument is out of range.
    """
    from scipy.optimize import brentq

    _check(sd, n, alpha)
    _check_power(power, alpha)
    top = 1.0
    while _power(top, n, alpha) < power:
        top *= 2.0
    noncentrality = brentq(lambda x: _power(x, n, alpha) - power, 0.0, top, xtol=1e-12)
    return noncentrality * sd / math.sqrt(n)


def sites_needed(difference: float, sd: float, alpha: float, power: float = POWER) -> int:
    """Smallest number of sites at which a true mean difference is found with the given power.

    Args:
        difference: true mean difference, not 0.
        sd: standard deviation of the site differences in the same unit, above 0.
        alpha: two-sided level of the test.
        power: power asked for, above alpha and below 1.

    Raises:
        ValueError: an argument is out of range, or more than a million sites would be needed.
    """
    _check(sd, 2, alpha)
    _check_power(power, alpha)
    low, high = 1, 2  # `low` is too few throughout
    while paired_t_power(difference, sd, high, alpha) < power:
        low, high = high, 2 * high
        if low > _MOST_SITES:
            raise ValueError("more than a million sites would be needed")
    while high - low > 1:
        middle = (low + high) // 2
        if paired_t_power(difference, sd, middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _power(noncentrality: float, n: int, alpha: float) -> float:
    critical = stdtrit(n - 1, 1.0 - alpha / 2.0)
    below = float(nctdtr(n - 1, noncentrality, critical))
    wrong_side = float(nctdtr(n - 1, noncentrality, -critical))
    # SciPy 1.18 gives NaN for some wrong tails beyond a noncentrality of 4.9; all are below 1e-7.
    return 1.0 - below + (0.0 if math.isnan(wrong_side) else wrong_side)


def _check(sd: float, n: int, alpha: float) -> None:
    if not (sd > 0.0 and math.isfinite(sd)) or n < 2 or not 0.0 < alpha < 1.0:
        raise ValueError("needs a deviation above 0, two sites or more and 0 < alpha < 1")


def _check_power(power: float, alpha: float) -> None:
    if not alpha < power < 1.0:
        raise ValueError("the power must lie above alpha and below 1")
