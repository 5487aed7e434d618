"""BCa intervals: SciPy's where there are no surprises, declared outcomes where there are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from slowlab.analysis import bca
from slowlab.analysis.bca import Interval, IntervalKind, bca_interval
from slowlab.analysis.samples import Reason, exact_sample

TENTHS = np.array([1, 1, 2, 3, 3, -1, 4, 1, -2, 3, 2, 2, -3, 1, 5, 3]) / 10


def scipy_interval(values: np.ndarray, seed: int, resamples: int = 10_000) -> tuple[float, float]:
    result = bootstrap(
        (np.sort(values),),
        np.mean,
        vectorized=True,
        method="BCa",
        n_resamples=resamples,
        rng=np.random.default_rng([seed, 0xBCA]),
    )
    return tuple(result.confidence_interval)


@pytest.mark.parametrize("n", [5, 16, 48, 120])
@pytest.mark.parametrize("skewed", [False, True])
def test_scipy_agrees(n: int, skewed: bool) -> None:
    rng = np.random.default_rng(n)
    values = rng.exponential(3.0, n) if skewed else rng.normal(-4.0, 5.0, n)
    ours = bca_interval(values, 20261004)
    assert ours.kind is IntervalKind.BCA
    assert (ours.low, ours.high) == pytest.approx(scipy_interval(values, 20261004), abs=2e-9)
    assert ours.mean == pytest.approx(values.mean(), abs=1e-9)


def test_scipy_counts_ties_alike_where_sums_are_exact() -> None:
    values = np.array([1.0, 1, 2, 3, 3, -1, 4, 1, -2, 3, 2, 2, -3, 1, 5, 3])
    ours = bca_interval(values, 3)
    assert (ours.low, ours.high) == pytest.approx(scipy_interval(values, 3), abs=2e-9)


@pytest.mark.parametrize("n", [16, 48])
def test_ties_do_not_depend_on_order_or_rounding(n: int) -> None:
    values = np.resize(TENTHS, n)
    first = bca_interval(values, 5)
    assert first.kind is IntervalKind.BCA
    rng = np.random.default_rng(0)
    for _ in range(10):
        other = rng.permutation(values)
        other[rng.integers(n)] += rng.choice([-1e-15, 1e-15])
        assert bca_interval(other, 5) == first


@pytest.mark.parametrize("parts", [3, 7, 12])
def test_ties_of_fractions_do_not_depend_on_order_or_rounding(parts: int) -> None:
    """Means over three years have no last decimal: their ties are lost in floating point."""
    rng = np.random.default_rng(parts)
    counts = rng.integers(-20, 21, 48)
    first = bca_interval(counts / parts, 5)
    for _ in range(5):
        other = rng.permutation(counts) / parts + rng.choice([-1e-15, 0.0, 1e-15], 48)
        assert bca_interval(other, 5) == first
    whole = bca_interval(counts.astype(float), 5)
    scaled = (first.low * parts, first.high * parts)
    assert scaled == pytest.approx((whole.low, whole.high), abs=2e-8)


def test_a_value_on_a_rounding_edge_moves_the_interval_by_no_more_than_the_edge() -> None:
    values = TENTHS + 5e-10
    below, above = bca_interval(values - 1e-15, 5), bca_interval(values + 1e-15, 5)
    mixed = values.copy()
    mixed[::2] -= 1e-15
    mixed[1::2] += 1e-15
    for other in (above, bca_interval(mixed, 5)):
        assert (other.low, other.high) == pytest.approx((below.low, below.high), abs=1.01e-9)


def test_resampled_means_equal_to_the_estimate_count_half() -> None:
    values = np.array([-1.0, 0.0, 1.0] * 4)
    sample = exact_sample(values)
    totals = bca._resampled_totals(sample, 1, 10_000)
    share = bca._share_below(sample, totals)
    assert share == pytest.approx(0.5, abs=0.02)
    assert share > (totals < 0).mean() + 0.05


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([], IntervalKind.UNDEFINED, Reason.EMPTY),
        ([3.0], IntervalKind.UNDEFINED, Reason.TOO_FEW),
        ([3.0, 3.0], IntervalKind.UNDEFINED, Reason.TOO_FEW),
        ([1.0, np.nan, 2.0, 3.0], IntervalKind.UNDEFINED, Reason.NOT_FINITE),
        ([1.0, -np.inf, 2.0, 3.0], IntervalKind.UNDEFINED, Reason.NOT_FINITE),
        ([1e300] * 4, IntervalKind.UNDEFINED, Reason.OUT_OF_RANGE),
        ([0.0] * 48, IntervalKind.POINT, Reason.ALL_EQUAL),
        ([1e4] * 35, IntervalKind.POINT, Reason.ALL_EQUAL),
        ([0.1 + 0.2, 0.3, 0.3], IntervalKind.POINT, Reason.ALL_EQUAL),
        ([0.0] * 47 + [1.0], IntervalKind.BCA, None),
        ([1e4] * 34 + [-3.0], IntervalKind.BCA, None),
    ],
)
def test_degenerate_samples_have_declared_outcomes(values, kind, reason) -> None:
    interval = bca_interval(values, 1)
    assert (interval.kind, interval.reason) == (kind, reason)
    numbers = [x for x in dataclasses.astuple(interval) if isinstance(x, float)]
    assert np.isfinite(numbers).all()
    if kind is IntervalKind.UNDEFINED:
        assert interval.low is interval.high is None
    else:
        assert interval.low <= interval.mean <= interval.high
    if kind is IntervalKind.POINT:
        assert interval.low == interval.mean == interval.high == pytest.approx(values[0])


def test_all_resamples_on_one_side_give_the_percentile_interval() -> None:
    # One resample cannot lie on both sides of the estimate.
    values = [0.0, 1.0, 5.0, 20.0]
    interval = bca_interval(values, 1, resamples=1)
    assert interval.kind is IntervalKind.PERCENTILE
    assert interval.reason is Reason.SHARE_AT_BOUND
    assert interval.low == interval.high


def test_an_unbounded_acceleration_gives_the_percentile_interval() -> None:
    values = [0.0] * 200 + [1.0]
    interval = bca_interval(values, 1, level=1 - 1e-13)
    assert interval.kind is IntervalKind.PERCENTILE
    assert interval.reason is Reason.ACCELERATION_UNBOUNDED


@pytest.mark.parametrize("arguments", [{"level": 1.0}, {"level": 0.0}, {"resamples": 0}])
def test_bad_settings_are_refused(arguments: dict) -> None:
    with pytest.raises(ValueError, match="level"):
        bca_interval([1.0, 2.0, 3.0], 1, **arguments)


def test_coverage_is_near_nominal() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(1.0, 2.0, size=(600, 30))
    found = [bca_interval(row, seed, resamples=1_000) for seed, row in enumerate(table)]
    covered = np.mean([i.low <= 1.0 <= i.high for i in found])
    assert 0.91 < covered < 0.97


VALUES = st.lists(st.integers(-400, 400), min_size=3, max_size=30)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.integers(-10_000, 10_000), st.randoms(use_true_random=False))
def test_shifting_and_shuffling(values, shift, random) -> None:
    plain = bca_interval([v / 10 for v in values], 4, resamples=400)
    moved = [(v + shift) / 10 for v in random.sample(values, len(values))]
    other = bca_interval(moved, 4, resamples=400)
    assert other.kind is plain.kind
    for name in ("mean", "low", "high"):
        expected = getattr(plain, name) + shift / 10
        assert getattr(other, name) == pytest.approx(expected, abs=3e-9)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.sampled_from([0.5, 3.0, 10.0]))
def test_scaling(values, factor) -> None:
    plain = bca_interval([float(v) for v in values], 4, resamples=400)
    other = bca_interval([v * factor for v in values], 4, resamples=400)
    assert (other.low, other.high) == pytest.approx(
        (plain.low * factor, plain.high * factor), abs=2e-8, rel=1e-9
    )


@settings(max_examples=30, deadline=None)
@given(VALUES)
def test_bounds_are_ordered_and_within_the_data(values) -> None:
    interval: Interval = bca_interval([float(v) for v in values], 8, resamples=200)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
