"""Adjustment of p-values for the number of tests in a family.

A test without a p-value (a method that failed, a degenerate sample) stays without one and leaves
the others alone. Whether it still counts in the family's size is a rule declared beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from slowlab.analysis.samples import Array


class Adjustment(StrEnum):
    """Kind of adjustment.

    Attributes:
        HOLM: step-down Bonferroni (Holm 1979): family-wise error rate.
        BENJAMINI_HOCHBERG: step-up (Benjamini and Hochberg 1995): false discovery rate.
        NONE: raw p-values.
    """

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini_hochberg"
    NONE = "none"


class SizeRule(StrEnum):
    """Which tests count in a family's size.

    Attributes:
        DECLARED: all that were declared, also those without a p-value (conservative).
        AVAILABLE: those with a p-value.
    """

    DECLARED = "declared"
    AVAILABLE = "available"


def adjust(
    p_values: Sequence[float | None] | Array,
    adjustment: Adjustment,
    size_rule: SizeRule = SizeRule.DECLARED,
) -> Array:
    """Adjust the p-values of one family.

    Args:
        p_values: ``[m]`` p-values; None or NaN where a test has none.
        adjustment: the kind of adjustment.
        size_rule: whether tests without a p-value count.

    Returns:
        ``[m]`` adjusted p-values, at most 1, in the order given; NaN exactly where there was no
        p-value. An empty family gives an empty array.

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    raw = _as_array(p_values)
    known = ~np.isnan(raw)
    size = len(raw) if size_rule is SizeRule.DECLARED else int(known.sum())
    adjusted = np.full(len(raw), np.nan)
    adjusted[known] = _RULES[adjustment](raw[known], size)
    return adjusted


def holm(p_values: Sequence[float | None] | Array) -> Array:
    """Holm's adjustment with the declared family size; see :func:`adjust`."""
    return adjust(p_values, Adjustment.HOLM)


def benjamini_hochberg(p_values: Sequence[float | None] | Array) -> Array:
    """Benjamini and Hochberg's adjustment, declared family size; see :func:`adjust`."""
    return adjust(p_values, Adjustment.BENJAMINI_HOCHBERG)


def _holm(p: Array, size: int) -> Array:
    order = np.argsort(p, kind="stable")
    factors = size - np.arange(len(p))
    return _restore(np.maximum.accumulate(p[order] * factors), order)


def _benjamini_hochberg(p: Array, size: int) -> Array:
    order = np.argsort(p, kind="stable")
    factors = size / (1.0 + np.arange(len(p)))
    stepped = np.minimum.accumulate((p[order] * factors)[::-1])[::-1]
    return _restore(stepped, order)


def _none(p: Array, size: int) -> Array:
    del size
    return p


_RULES = {
    Adjustment.HOLM: _holm,
    Adjustment.BENJAMINI_HOCHBERG: _benjamini_hochberg,
    Adjustment.NONE: _none,
}


def _restore(sorted_values: Array, order: np.ndarray) -> Array:
    """Values capped at 1 and put back into the order in which the tests were given."""
    restored = np.empty_like(sorted_values)
    restored[order] = np.minimum(sorted_values, 1.0)
    return restored


def _as_array(p_values: Sequence[float | None] | Array) -> Array:
    values = [np.nan if p is None else float(p) for p in p_values]
    array = np.array(values, dtype=np.float64)
    if ((array < 0.0) | (array > 1.0)).any():
        raise ValueError("p-values lie between 0 and 1")
    return array
