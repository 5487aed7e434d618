"""Exact sums: samples as whole multiples of 1e-9, in one order.

Resampling statistics compare sums with sums. In floating point two sums of the same numbers differ
in the last bit with the order of addition and with the machine, so that ties are broken at random.
Here every value becomes an integer number of units of 1e-9: integer sums are exact, hence equal on
every platform and in every order, and a perturbation of 1e-15 disappears.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Units = NDArray[np.int64]

DECIMALS = 9
"""Decimals that count: values and results are rounded to 1e-9 of their unit."""

UNITS_PER_ONE = 10**DECIMALS
_LARGEST_TOTAL = 2**60  # twice this still fits in 64 bits


class Reason(StrEnum):
    """Why a statistic is undefined or degenerate."""

    EMPTY = "empty"
    TOO_FEW = "too_few"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    ALL_EQUAL = "all_equal"
    SHARE_AT_BOUND = "share_at_bound"
    ACCELERATION_UNBOUNDED = "acceleration_unbounded"


@dataclass(frozen=True)
class Sample:
    """A sample in exact units.

    Attributes:
        units: ``[n]`` values in 1e-9 of their unit, ascending.
        total: their exact sum.
        mean: the correctly rounded mean in the unit of the values.
    """

    units: Units
    total: int
    mean: float

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.units)

    @property
    def all_equal(self) -> bool:
        """Whether no two values differ by 1e-9 or more."""
        return bool(self.units[0] == self.units[-1])

    @property
    def values(self) -> Array:
        """``[n]`` the rounded values in their own unit, ascending."""
        return self.units / UNITS_PER_ONE

    @property
    def sd(self) -> float:
        """Standard deviation with n - 1 degrees of freedom; needs two values."""
        return math.sqrt(math.fsum(self.deviations**2) / (self.n - 1))

    @property
    def deviations(self) -> Array:
        """``[n]`` deviations from the mean, ascending; exact up to one rounding each."""
        return (self.n * self.units - self.total) / (self.n * UNITS_PER_ONE)


def sample_fault(values: ArrayLike) -> Reason | None:
    """Why values cannot be made a :class:`Sample`; None if they can.

    Args:
        values: ``[n]`` numbers.

    Returns:
        ``EMPTY``, ``NOT_FINITE`` (a NaN or an infinity: missing values are excluded and counted
        before, never here) or ``OUT_OF_RANGE`` (n times the largest value above 1.15e9).
    """
    array = _vector(values)
    if array.size == 0:
        return Reason.EMPTY
    if not np.isfinite(array).all():
        return Reason.NOT_FINITE
    if float(np.abs(array).max()) * UNITS_PER_ONE * array.size > _LARGEST_TOTAL:
        return Reason.OUT_OF_RANGE
    return None


def exact_sample(values: ArrayLike) -> Sample:
    """Round values to 1e-9, sort them and add them exactly.

    Args:
        values: ``[n]`` numbers, n at least 1.

    Raises:
        ValueError: :func:`sample_fault` names a fault.
    """
    fault = sample_fault(values)
    if fault is not None:
        raise ValueError(f"no sample: {fault.value}")
    units = np.sort(np.rint(_vector(values) * UNITS_PER_ONE).astype(np.int64))
    total = int(units.sum())
    return Sample(units=units, total=total, mean=total / (len(units) * UNITS_PER_ONE))


def exact_mean(values: ArrayLike) -> float:
    """The mean of finite values, correctly rounded, whatever their order.

    Args:
        values: ``[n]`` finite numbers, n at least 1.
    """
    array = _vector(values)
    return math.fsum(array) / array.size


def round_result(value: float) -> float:
    """A result rounded to 1e-9, with no negative zero."""
    return round(float(value), DECIMALS) + 0.0


def round_p(p: float) -> float:
    """A computed p-value to nine significant digits, where platforms agree."""
    return float(f"{p:.9g}")


def _vector(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one dimension, got {array.ndim}")
    return array
