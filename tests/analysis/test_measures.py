"""Anchored scores, k attempts, dominance, stability, variance components."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway

from slowlab.analysis.measure_tables import anchored_table, repeat_table
from slowlab.analysis.measures import (
    AnchorFault,
    anchored_scores,
    average_at_k,
    best_at_k,
    dominance,
    mid_anchored_scores,
    self_selected_at_k,
    worst_at_k,
)
from slowlab.analysis.paired import make_cell
from slowlab.analysis.samples import Reason
from slowlab.analysis.stability import stability, variance_components

NAN = np.nan
REFERENCE = np.array([24.0, 27.0, 30.0, 18.0])
BASELINE = np.array([28.0, 29.0, 30.3, NAN])
ORACLE = np.array([32.0, 33.0, 30.5, 24.0])


def test_anchors_score_zero_half_and_one_exactly() -> None:
    for scores, value in ((REFERENCE, 0.0), (ORACLE, 1.0)):
        found = anchored_scores(scores, REFERENCE, ORACLE, 1.0)
        np.testing.assert_array_equal(found.values, [value, value, NAN, value])
        assert found.faults == (None, None, AnchorFault.NO_HEADROOM, None)
    for scores, value in ((REFERENCE, 0.0), (BASELINE, 0.5), (ORACLE, 1.0)):
        found = mid_anchored_scores(scores, REFERENCE, BASELINE, ORACLE, 1.0)
        np.testing.assert_array_equal(found.values, [value, value, NAN, NAN])
        assert found.faults[2:] == (AnchorFault.NO_HEADROOM, AnchorFault.MISSING)


def test_scores_outside_the_anchors_are_signed_and_clipped() -> None:
    found = anchored_scores([20.0, 36.0, 30.0, NAN], REFERENCE, ORACLE, 1.0)
    np.testing.assert_array_equal(found.values, [-0.5, 1.5, NAN, NAN])
    np.testing.assert_array_equal(found.clipped, [0.0, 1.0, NAN, NAN])
    assert found.faults[3] is AnchorFault.MISSING
    mid = mid_anchored_scores([22.0, 35.0, 0.0, 0.0], REFERENCE, BASELINE, ORACLE, 1.0)
    np.testing.assert_array_equal(mid.values, [-0.25, 1.25, NAN, NAN])
    np.testing.assert_array_equal(mid.clipped, [0.0, 1.0, NAN, NAN])


def test_headroom_of_exactly_the_error_or_below_zero_is_none() -> None:
    found = anchored_scores([1.0, 1.0], [0.0, 5.0], [2.0, 3.0], 2.0)
    assert found.faults == (AnchorFault.NO_HEADROOM,) * 2
    assert anchored_scores([], [], [], 1.0).values.shape == (0,)


def test_bad_anchors_are_refused() -> None:
    with pytest.raises(ValueError, match="error"):
        anchored_scores([1.0], [0.0], [2.0], -1.0)
    with pytest.raises(ValueError, match="each site"):
        anchored_scores([1.0, 2.0], [0.0], [2.0], 1.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=6),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_estimators_over_subsets_equal_enumeration(row, k, random) -> None:
    scores = np.array([row], dtype=float)
    shuffled = np.array([random.sample(row, len(row))], dtype=float)
    subsets = list(itertools.combinations(row, k))
    rules = {best_at_k: max, worst_at_k: min}
    for estimator, choose in rules.items():
        found = estimator(scores, k)[0]
        if not subsets:
            assert np.isnan(found)
            continue
        assert found == pytest.approx(np.mean([choose(s) for s in subsets]), abs=1e-12)
        assert estimator(shuffled, k)[0] == pytest.approx(found, abs=1e-12)
    if subsets:
        mean = average_at_k(scores)[0]
        assert mean == pytest.approx(np.mean([np.mean(s) for s in subsets]), abs=1e-12)
        assert worst_at_k(scores, k)[0] - 1e-12 <= mean <= best_at_k(scores, k)[0] + 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 6),
)
def test_self_selection_equals_enumeration_with_random_ties(pairs, k) -> None:
    scores, seen = (np.array([column], dtype=float) for column in zip(*pairs, strict=True))
    expected = []
    for subset in itertools.combinations(pairs, k):
        top = max(value for _, value in subset)
        expected.append(np.mean([score for score, value in subset if value == top]))
    found = self_selected_at_k(scores, seen, k)[0]
    assert np.isnan(found) if not expected else found == pytest.approx(np.mean(expected), abs=1e-12)


def test_self_selection_ranges_from_best_to_worst() -> None:
    scores = np.array([[1.0, 2.0, 5.0], [4.0, NAN, 6.0]])
    np.testing.assert_array_equal(self_selected_at_k(scores, scores, 2), best_at_k(scores, 2))
    np.testing.assert_array_equal(self_selected_at_k(scores, -scores, 2), worst_at_k(scores, 2))
    blind = self_selected_at_k(scores, np.full((2, 3), NAN), 2)
    np.testing.assert_allclose(blind, average_at_k(scores))
    half_blind = self_selected_at_k([[1.0, 9.0]], [[0.0, NAN]], 2)
    np.testing.assert_array_equal(half_blind, [1.0])


def test_missing_attempts_are_left_out() -> None:
    scores = [[1.0, NAN, 3.0], [NAN, NAN, 2.0], [NAN, NAN, NAN]]
    np.testing.assert_array_equal(average_at_k(scores), [2.0, 2.0, NAN])
    np.testing.assert_array_equal(best_at_k(scores, 2), [3.0, NAN, NAN])
    for k in (0, -1):
        with pytest.raises(ValueError, match="k must"):
            best_at_k(scores, k)
    with pytest.raises(ValueError, match="seen value"):
        self_selected_at_k(scores, [[1.0]], 1)
    with pytest.raises(ValueError, match="dimensions"):
        average_at_k([1.0, 2.0])


def test_dominance_counts_wins_and_half_ties_on_common_sites() -> None:
    table = np.array([[5.0, 5.0, 5.0, NAN], [4.9, 3.0, 7.0, 1.0], [NAN] * 4])
    found = dominance(table, tie_band=0.2)
    assert found.pairwise[0, 1] == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.pairwise[0, 1] + found.pairwise[1, 0] == pytest.approx(1.0)
    assert found.sites.tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(np.isnan(found.pairwise), found.sites == 0)
    np.testing.assert_array_equal(found.overall, [0.5, 0.5, NAN])
    with pytest.raises(ValueError, match="band"):
        dominance(table, -1.0)


def test_a_difference_of_exactly_the_band_is_a_tie_whatever_the_last_bit_says() -> None:
    """32.2 less 30.2 is a little more than 2 in floating point, 2.3 less 0.3 a little less."""
    table = np.array([[32.2, 2.3], [30.2, 0.3]])
    assert 32.2 - 30.2 > 2.0
    np.testing.assert_array_equal(dominance(table, 2.0).overall, [0.5, 0.5])
    np.testing.assert_array_equal(dominance(table, 1.9).overall, [1.0, 0.0])


def test_stability_of_three_repeats() -> None:
    scores = np.array([[1.0, 2.0, 3.0], [10.0, 10.0, 16.0]])
    found = stability(scores, floor=0.0)
    deviations = scores.std(axis=1, ddof=1)
    assert (found.sites, found.fewest_repeats, found.few_repeats) == (2, 3, False)
    assert found.mean_sd == pytest.approx(deviations.mean())
    assert found.pooled_sd == pytest.approx(np.sqrt((deviations**2).mean()))
    assert found.mean_range == 4.0
    assert found.mean_cv == pytest.approx((deviations / scores.mean(axis=1)).mean())
    assert found.mean_sd_over_best == pytest.approx((deviations / scores.max(axis=1)).mean())


def test_two_repeats_are_flagged_and_means_near_zero_left_out() -> None:
    scores = [[0.4, -0.4], [10.0, 12.0], [3.0, NAN]]
    found = stability(scores, floor=1.0)
    assert (found.sites, found.few_repeats, found.cv_sites, found.best_sites) == (2, True, 1, 1)
    assert found.mean_range == pytest.approx(np.sqrt(2) * found.mean_sd)
    assert found.mean_cv == pytest.approx(np.sqrt(2) / 11)
    nothing = stability([[1.0, NAN]], floor=1.0)
    assert nothing.sites == 0
    assert nothing.mean_sd is nothing.pooled_sd is nothing.mean_cv is None
    with pytest.raises(ValueError, match="floor"):
        stability(scores, -1.0)


def test_variance_components_by_hand() -> None:
    scores = np.array([[1.0, 3.0], [5.0, 9.0], [8.0, 10.0]])
    found = variance_components(scores)
    within = (2 + 8 + 2) / 3
    between = 2 * np.var([2.0, 7.0, 9.0], ddof=1)
    assert found.repeat == pytest.approx(within)
    assert found.site == pytest.approx((between - within) / 2)
    assert found.site_share == pytest.approx(found.site / (found.site + within))
    assert found.sd_with_repeats(2) == pytest.approx(np.std([2.0, 7.0, 9.0], ddof=1))


@pytest.mark.parametrize("unequal", [False, True])
def test_variance_components_are_those_of_the_analysis_of_variance(unequal) -> None:
    """SciPy's F is the ratio of mean squares, which the components give back."""
    rng = np.random.default_rng(5)
    scores = 30 + 5 * rng.normal(size=(12, 4)) + 3 * rng.normal(size=(12, 1))
    if unequal:
        scores[0, 1:] = scores[3, 2:] = scores[7, 3] = NAN
    rows = [row[np.isfinite(row)] for row in scores]
    found = variance_components(scores)
    counts = np.array([len(row) for row in rows])
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(rows) - 1)
    ratio = (found.repeat + typical * found.site) / found.repeat
    assert not found.truncated
    assert ratio == pytest.approx(f_oneway(*rows).statistic, rel=1e-12)
    within = sum(((row - row.mean()) ** 2).sum() for row in rows) / (counts - 1).sum()
    assert found.repeat == pytest.approx(within, rel=1e-12)


def test_variance_components_recover_what_was_planted() -> None:
    rng = np.random.default_rng(0)
    scores = 30 + 5 * rng.normal(size=(800, 1)) + 3 * rng.normal(size=(800, 3))
    scores[rng.random(scores.shape) < 0.2] = NAN
    found = variance_components(scores)
    assert found.site == pytest.approx(25.0, rel=0.1)
    assert found.repeat == pytest.approx(9.0, rel=0.1)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.empty((0, 2)), Reason.EMPTY),
        ([[NAN, NAN]], Reason.EMPTY),
        ([[1.0, 2.0]], Reason.TOO_FEW),
        ([[1.0, NAN], [2.0, NAN]], Reason.TOO_FEW),
    ],
)
def test_variance_components_without_enough_data(scores, reason) -> None:
    found = variance_components(scores)
    assert (found.site, found.repeat, found.reason) == (None, None, reason)
    assert found.site_share is found.sd_with_repeats(2) is None


def test_negative_site_variance_is_reported_as_zero() -> None:
    found = variance_components([[0.0, 10.0], [10.0, 0.0]])
    assert (found.site, found.truncated) == (0.0, True)
    assert variance_components([[1.0, 1.0], [1.0, 1.0]]).site_share is None
    with pytest.raises(ValueError, match="repeat"):
        found.sd_with_repeats(0)


def test_tables_hold_the_measures() -> None:
    cells = [
        make_cell("b/full", [0, 1], [[28.0, 30.0], [27.0, 29.0]]),
        make_cell("a/full", [0, 1, 2], [[24.0], [27.0], [NAN]]),
    ]
    table = repeat_table(cells, k=2, floor=1.0).set_index("cell")
    assert list(table.index) == ["a/full", "b/full"]
    assert table.loc["b/full", ["average_at_k", "best_at_k", "worst_at_k"]].tolist() == [
        28.5,
        29.5,
        27.5,
    ]
    assert table.loc["b/full", "few_repeats"] == "yes"
    assert table.loc["a/full", ["sites", "sites_with_k", "repeated_sites"]].tolist() == [2, 0, 0]
    assert np.isnan(table.loc["a/full", "best_at_k"])
    anchors = [dict(enumerate(column[:2])) for column in (REFERENCE, BASELINE, ORACLE)]
    scores = anchored_table(cells, *anchors, evaluation_error=1.0).set_index(["cell", "site"])
    assert scores.loc[("a/full", 0), "anchored"] == 0.0
    assert scores.loc[("b/full", 0), "mid_anchored"] == pytest.approx(0.625)
    assert scores.loc[("a/full", 2), "fault"] == "missing"
    assert np.isnan(scores.loc[("a/full", 2), "anchored"])
