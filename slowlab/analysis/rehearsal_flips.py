"""Sign-flip p-values of many samples at once, equal to those of the analysis to the last bit.

A rehearsal asks for thousands of tests of the same seed and number of sites, which share their
random patterns. Totals under all patterns are then one matrix product; whole multiples of 1e-9
below 2**53 are exact in it, in any order of addition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.samples import UNITS_PER_ONE, Array, Units
from slowlab.analysis.signflip import EXACT_UP_TO, flip_patterns, slack

_LARGEST_TOTAL = 2**53
_STRIPE = 2_000
"""Patterns in one matrix product, which keeps its result in the cache."""

Patterns = NDArray[np.int8]


def many_sign_flips(samples: Array, seed: int, flips: int) -> Array:
    """Two-sided p-values; see :func:`slowlab.analysis.signflip.sign_flip_test`.

    Args:
        samples: ``[k, n]`` differences of k samples of the same test, all finite.
        seed: seed of the test.
        flips: random sign patterns; all patterns are used for few differences.

    Returns:
        ``[k]`` p-values; NaN for samples without differences.

    Raises:
        ValueError: a difference is not finite or too large to be added exactly.
    """
    count, n = samples.shape
    if not n or not count:
        return np.full(count, np.nan)
    units = _units(samples)
    thresholds = np.abs(units.sum(axis=1)) - slack(n)
    sizes = np.sort(np.abs(units), axis=1)
    hits, total = np.zeros(count, dtype=np.int64), 0
    common = bool((sizes == sizes[0]).all())
    for patterns in _patterns(seed, n, flips):
        total += len(patterns)
        hits += _hits(patterns, sizes[:1] if common else sizes, thresholds)
    if n <= EXACT_UP_TO:  # half of all patterns: the other half are their negatives
        return 2 * hits / (2 * total)
    return (1 + hits) / (1 + total)


def _units(samples: Array) -> Units:
    if not np.isfinite(samples).all():
        raise ValueError("a rehearsed difference is not finite")
    if np.abs(samples).max() * UNITS_PER_ONE * samples.shape[1] >= _LARGEST_TOTAL:
        raise ValueError("a rehearsed difference is too large to be added exactly")
    return np.rint(samples * UNITS_PER_ONE).astype(np.int64)


def _patterns(seed: int, n: int, flips: int) -> Iterator[Patterns]:
    """The patterns of a test: random ones, or for few differences one of each mirrored pair."""
    if n > EXACT_UP_TO:
        yield from flip_patterns(seed, n, flips)
        return
    numbers = np.arange(2 ** (n - 1))[:, None]
    yield ((numbers >> np.arange(n)) & 1).astype(np.int8)


def _hits(patterns: Patterns, sizes: Units, thresholds: Units) -> NDArray[np.int64]:
    """``[k]`` numbers of patterns under which the absolute total reaches the threshold."""
    if len(sizes) == 1:
        totals = np.sort(np.abs(2 * (patterns @ sizes[0]) - sizes[0].sum()))
        return len(totals) - np.searchsorted(totals, thresholds)
    hits = np.zeros(len(sizes), dtype=np.int64)
    columns = sizes.T.astype(np.float64)
    for start in range(0, len(patterns), _STRIPE):
        signs = 2.0 * patterns[start : start + _STRIPE] - 1.0
        hits += (np.abs(signs @ columns) >= thresholds).sum(axis=0)
    return hits
