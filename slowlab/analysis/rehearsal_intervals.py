"""BCa intervals of many samples at once, equal to those of the analysis to the last bit.

A rehearsal asks for thousands of intervals of the same seed and number of sites, which share their
resamples: each is told by how often it holds every place of the ordered sample. Totals are then one
matrix product; whole multiples of 1e-9 below 2**53 are exact in it, in any order of addition.
"""

from __future__ import annotations

import numpy as np

from slowlab.analysis.bca import STREAM, Interval, interval_from_totals
from slowlab.analysis.samples import Array, exact_sample

_LARGEST_TOTAL = 2**53
FEWEST_VALUES = 3
"""An interval needs as many."""


def many_bca_intervals(samples: Array, seed: int, level: float, resamples: int) -> list[Interval]:
    """Intervals of the mean; see :func:`slowlab.analysis.bca.bca_interval`.

    Args:
        samples: ``[k, n]`` differences of k samples of the same test, all finite.
        seed: seed of the test.
        level: confidence level.
        resamples: bootstrap samples of an interval.

    Raises:
        ValueError: fewer than three differences, or they are too large to be added exactly.
    """
    count, n = samples.shape
    if n < FEWEST_VALUES:
        raise ValueError(f"an interval needs {FEWEST_VALUES} differences")
    made = [exact_sample(sample) for sample in samples]
    units = np.array([sample.units for sample in made]).reshape(count, n)
    if np.abs(units).max(initial=0) * n >= _LARGEST_TOTAL:
        raise ValueError("a rehearsed difference is too large to be added exactly")
    totals = (_times_drawn(n, seed, resamples) @ units.T.astype(np.float64)).astype(np.int64)
    return [
        interval_from_totals(sample, column, level)
        for sample, column in zip(made, totals.T, strict=True)
    ]


def _times_drawn(n: int, seed: int, resamples: int) -> Array:
    """``[resamples, n]`` how often each resample holds each place of the ordered sample."""
    drawn = np.random.default_rng([seed, STREAM]).integers(0, n, size=(resamples, n))
    flat = (drawn + n * np.arange(resamples)[:, None]).ravel()
    return np.bincount(flat, minlength=resamples * n).reshape(resamples, n).astype(np.float64)
