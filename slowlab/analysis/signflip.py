"""The two-sided sign-flip test of a mean difference.

Under the null hypothesis that differences are symmetric about zero, every pattern of signs is
equally likely. The test compares the observed mean with the means under random (or all) patterns.
It depends on the absolute values only, which are taken in ascending order: the result is exactly
the same for permuted and for negated differences, on every platform.

Differences are rounded to 1e-9, so that sums that are equal may come out up to n units apart: twice
1/3 is not 2/3. Means within 1e-9 of the observed one therefore count as equal to it. The published
analysis allowed 1e-12 for sums in floating point; both agree unless a mean lies in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slowlab.analysis.samples import Reason, Units, exact_sample, sample_fault

FLIPS = 100_000
BLOCK = 10_000
EXACT_UP_TO = 16
STREAM = 0x5F1
"""Second word of the generator's seed, which keeps it apart from the bootstrap's."""


class FlipKind(StrEnum):
    """How the null distribution was made."""

    EXACT = "exact"
    MONTE_CARLO = "monte_carlo"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class SignFlipTest:
    """Outcome of a sign-flip test.

    Attributes:
        n: number of differences given.
        p: (1 + hits) / (1 + flips); None if undefined.
        hits: flips whose absolute mean reaches the observed one, the observed pattern left out.
        flips: patterns compared, the observed one left out.
        kind: all patterns, random patterns, or none.
        reason: why it is undefined, if it is.
    """

    n: int
    p: float | None
    hits: int
    flips: int
    kind: FlipKind
    reason: Reason | None = None


def sign_flip_test(
    differences: ArrayLike, seed: int, *, flips: int = FLIPS, exact_up_to: int = EXACT_UP_TO
) -> SignFlipTest:
    """Test whether differences are symmetric about zero.

    A flip is a hit when its absolute mean is at least the observed one less 1e-9. Up to
    ``exact_up_to`` differences all patterns are enumerated and the seed is not used; beyond, random
    patterns come from ``default_rng([seed, 0x5F1])`` in blocks of 10,000.

    Args:
        differences: ``[n]`` one difference per site, none missing.
        seed: seed of this test.
        flips: number of random patterns.
        exact_up_to: largest n that is enumerated.

    Returns:
        The test. It is undefined for no values, a value that is not finite or one out of range. A
        single difference has p = 1, as its sign cannot be surprising.

    Raises:
        ValueError: fewer than one flip is asked for.
    """
    if flips < 1:
        raise ValueError("at least one flip is needed")
    n = int(np.size(differences))
    fault = sample_fault(differences)
    if fault is not None:
        return SignFlipTest(n, None, 0, 0, FlipKind.UNDEFINED, fault)
    sample = exact_sample(differences)
    threshold = abs(sample.total) - slack(n)
    sizes = np.sort(np.abs(sample.units))
    if n <= exact_up_to:
        flips = 2**n - 1
        hits = int((np.abs(_all_totals(sizes)) >= threshold).sum()) - 1  # less the observed one
        kind = FlipKind.EXACT
    else:
        hits = _random_hits(sizes, threshold, seed, flips)
        kind = FlipKind.MONTE_CARLO
    return SignFlipTest(n, (1 + hits) / (1 + flips), hits, flips, kind)


def _all_totals(sizes: Units) -> Units:
    """``[2**n]`` totals under every pattern of signs."""
    totals = np.zeros(1, dtype=np.int64)
    for size in sizes:
        totals = np.concatenate([totals + size, totals - size])
    return totals


def flip_patterns(seed: int, n: int, flips: int) -> Iterator[NDArray[np.int8]]:
    """Random patterns of a test, in blocks: 1 where a difference is kept, 0 where it is flipped.

    Args:
        seed: seed of the test.
        n: number of differences, which stand in ascending order of absolute value.
        flips: number of patterns in all blocks.

    Yields:
        ``[block, n]`` patterns; a test with fewer flips sees the first of them.
    """
    generator = np.random.default_rng([seed, STREAM])
    for start in range(0, flips, BLOCK):
        shape = (min(BLOCK, flips - start), n)
        yield generator.integers(0, 2, size=shape, dtype=np.int8)


def slack(n: int) -> int:
    """By how many units a flipped total may miss the observed one and still be a hit.

    Each of the n values is rounded by at most half a unit, so two equal totals differ by n at most.
    """
    return n


def _random_hits(sizes: Units, threshold: int, seed: int, flips: int) -> int:
    """Number of random patterns whose absolute total reaches the threshold."""
    everything = int(sizes.sum())
    return sum(
        int((np.abs(2 * (kept @ sizes) - everything) >= threshold).sum())
        for kept in flip_patterns(seed, len(sizes), flips)
    )
