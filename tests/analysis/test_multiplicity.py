"""Holm and Benjamini-Hochberg: the libraries' values, and families with holes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from slowlab.analysis.multiplicity import (
    Adjustment,
    SizeRule,
    adjust,
    benjamini_hochberg,
    holm,
)

P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25)
NAMES = {Adjustment.HOLM: "holm", Adjustment.BENJAMINI_HOCHBERG: "fdr_bh"}


@pytest.mark.parametrize("size", [1, 2, 7, 17])
@pytest.mark.parametrize("adjustment", list(NAMES))
def test_statsmodels_agrees(adjustment: Adjustment, size: int) -> None:
    rng = np.random.default_rng(size)
    for p_values in (rng.random(size), rng.random(size) ** 4, np.round(rng.random(size), 1)):
        theirs = multipletests(p_values, method=NAMES[adjustment])[1]
        np.testing.assert_allclose(adjust(p_values, adjustment), theirs, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(P_VALUES)
def test_scipy_agrees(p_values) -> None:
    theirs = false_discovery_control(p_values)
    np.testing.assert_allclose(benjamini_hochberg(p_values), theirs, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(P_VALUES, st.randoms(use_true_random=False))
def test_order_is_kept_and_adjustment_only_raises(p_values, random) -> None:
    places = random.sample(range(len(p_values)), len(p_values))
    for adjustment in NAMES:
        adjusted = adjust(p_values, adjustment)
        shuffled = adjust([p_values[i] for i in places], adjustment)
        np.testing.assert_array_equal(shuffled, adjusted[places])
        assert (adjusted >= np.array(p_values)).all()
        assert (adjusted <= 1.0).all()


@pytest.mark.parametrize("adjustment", list(NAMES))
@pytest.mark.parametrize("hole", [None, np.nan])
def test_a_missing_test_leaves_the_others_alone(adjustment: Adjustment, hole) -> None:
    p_values = [0.01, hole, 0.03, 0.2]
    declared = adjust(p_values, adjustment)
    worst_case = adjust([0.01, 1.0, 0.03, 0.2], adjustment)
    assert np.isnan(declared[1])
    np.testing.assert_array_equal(declared[[0, 2, 3]], worst_case[[0, 2, 3]])
    available = adjust(p_values, adjustment, SizeRule.AVAILABLE)
    assert np.isnan(available[1])
    np.testing.assert_array_equal(available[[0, 2, 3]], adjust([0.01, 0.03, 0.2], adjustment))
    assert (available[[0, 2, 3]] <= declared[[0, 2, 3]]).all()


@pytest.mark.parametrize("adjustment", list(Adjustment))
def test_empty_and_wholly_missing_families(adjustment: Adjustment) -> None:
    assert adjust([], adjustment).shape == (0,)
    assert np.isnan(adjust([None, np.nan], adjustment)).all()


def test_all_significant() -> None:
    smallest = 1 / 100_001
    np.testing.assert_allclose(holm([smallest] * 7), 7 * smallest, rtol=1e-15)
    np.testing.assert_allclose(benjamini_hochberg([smallest] * 17), smallest, rtol=1e-15)


def test_raw_values_pass_through() -> None:
    np.testing.assert_array_equal(adjust([0.3, None], Adjustment.NONE), [0.3, np.nan])


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.inf])
def test_what_is_no_p_value_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.1, bad])
