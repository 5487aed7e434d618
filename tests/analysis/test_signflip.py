"""The sign-flip test: exact where it can be, indifferent to order, sign and rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from slowlab.analysis.samples import Reason
from slowlab.analysis.signflip import FlipKind, sign_flip_test

TENTHS = [0.1, 0.1, 0.2, 0.3, 0.3, -0.1, 0.4, 0.1, -0.2, 0.3, 0.2, 0.2, -0.3, 0.1, 0.5, 0.3]


def test_exact_enumeration_equals_brute_force() -> None:
    values = np.array([1.2, -0.3, 0.8, 2.1, -1.4, 0.0, 0.9])
    signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))
    means = np.abs((signs * values).mean(axis=1))
    expected = np.mean(means >= abs(values.mean()) - 1e-12)
    assert sign_flip_test(values, 1).p == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("n", [3, 8, 12])
def test_scipy_agrees_on_all_patterns(n: int) -> None:
    values = np.random.default_rng(n).normal(0.4, 1.0, n)
    theirs = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    ours = sign_flip_test(values, 1)
    assert ours.kind is FlipKind.EXACT
    assert ours.flips == 2**n - 1
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), st.sampled_from([1, 3, 7, 12]))
def test_ties_of_fractions_are_ties(counts, parts) -> None:
    """Means over three years have no last decimal; whole numbers give the truth."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(counts))))
    expected = np.mean(np.abs(signs @ np.array(counts)) >= abs(sum(counts)))
    assert sign_flip_test([count / parts for count in counts], 1).p == expected


@pytest.mark.parametrize("parts", [3, 7, 12])
def test_ties_of_fractions_are_ties_where_patterns_are_drawn(parts: int) -> None:
    counts = np.random.default_rng(4).integers(-9, 10, 48)
    whole = sign_flip_test(counts.astype(float), 3, flips=20_000)
    assert sign_flip_test(counts / parts, 3, flips=20_000) == whole


def test_random_patterns_approach_the_exact_value() -> None:
    values = np.random.default_rng(5).normal(0.5, 1.0, 16)
    exact = sign_flip_test(values, 1)
    drawn = sign_flip_test(values, 1, exact_up_to=0)
    assert (exact.kind, drawn.kind) == (FlipKind.EXACT, FlipKind.MONTE_CARLO)
    assert drawn.flips == 100_000
    assert drawn.p == pytest.approx(exact.p, abs=4 * np.sqrt(exact.p / drawn.flips))


def test_smallest_attainable_p_is_the_published_one() -> None:
    assert sign_flip_test(np.linspace(5.0, 6.0, 48), 20261004).p == 9.99990000099999e-06


def test_flips_are_drawn_in_blocks_of_the_named_generator() -> None:
    values = np.random.default_rng(2).normal(0.3, 1.0, 30).round(3)
    sizes = np.sort(np.rint(np.abs(values) * 1000).astype(np.int64))
    generator = np.random.default_rng([7, 0x5F1])
    hits = 0
    for block in (10_000, 10_000, 5_000):
        signs = 2 * generator.integers(0, 2, size=(block, 30), dtype=np.int8) - 1
        totals = (signs.astype(np.int64) * sizes).sum(axis=1)
        hits += int((np.abs(totals) >= abs(int(np.rint(values * 1000).sum()))).sum())
    assert sign_flip_test(values, 7, flips=25_000).hits == hits


@pytest.mark.parametrize("n", [16, 48])
def test_order_sign_and_rounding_change_nothing(n: int) -> None:
    values = np.resize(TENTHS, n)
    first = sign_flip_test(values, 3, flips=20_000)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.permutation(values) * rng.choice([-1, 1])
        other[0] += 1e-15
        assert sign_flip_test(other, 3, flips=20_000) == first


def test_the_seed_matters_only_where_patterns_are_drawn() -> None:
    many = np.random.default_rng(1).normal(0.3, 1.0, 48)
    assert sign_flip_test(many, 1).p != sign_flip_test(many, 2).p
    assert sign_flip_test(many[:10], 1).p == sign_flip_test(many[:10], 2).p


@pytest.mark.parametrize(
    ("values", "p", "reason"),
    [
        ([], None, Reason.EMPTY),
        ([1.0, np.nan, 2.0], None, Reason.NOT_FINITE),
        ([np.inf], None, Reason.NOT_FINITE),
        ([1e300] * 5, None, Reason.OUT_OF_RANGE),
        ([4.2], 1.0, None),
        ([1.0, 2.0], 0.5, None),
        ([0.0] * 48, 1.0, None),
        ([1e4] * 35, 1 / 100_001, None),
        ([1e4] * 34 + [-3.0], 1 / 100_001, None),
    ],
)
def test_degenerate_samples_have_declared_outcomes(values, p, reason) -> None:
    test = sign_flip_test(values, 1)
    assert test.n == len(values)
    assert test.reason is reason
    assert test.p == p
    assert (test.kind is FlipKind.UNDEFINED) == (reason is not None)


def test_a_test_needs_flips() -> None:
    with pytest.raises(ValueError, match="flip"):
        sign_flip_test([1.0], 1, flips=0)


@pytest.mark.parametrize("draw", ["normal", "heavy"])
def test_error_of_the_first_kind_is_near_nominal(draw: str) -> None:
    rng = np.random.default_rng(11)
    trials = 2_000
    table = rng.normal(size=(trials, 20)) if draw == "normal" else rng.standard_t(3, (trials, 20))
    p = np.array([sign_flip_test(row, seed, flips=499).p for seed, row in enumerate(table)])
    for alpha in (0.05, 0.1):
        spread = np.sqrt(alpha * (1 - alpha) / trials)
        assert abs((p <= alpha).mean() - alpha) < 3 * spread


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_p_is_a_probability_whatever_the_order_and_sign(values, random) -> None:
    p = sign_flip_test([v / 10 for v in values], 1).p
    shuffled = random.sample(values, len(values))
    assert 2.0 ** (1 - len(values)) <= p <= 1.0
    assert sign_flip_test([-v / 10 for v in shuffled], 9).p == p
