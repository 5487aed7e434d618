"""Verdicts against the SESOI, and power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct, t, ttest_1samp
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from slowlab.analysis.bca import Interval, IntervalKind
from slowlab.analysis.equivalence import Verdict, equivalence_test, read_interval
from slowlab.analysis.power import minimum_detectable_difference, paired_t_power, sites_needed
from slowlab.analysis.samples import Reason

SESOI = 2.0


def sample(mean: float, sd: float, n: int = 48) -> np.ndarray:
    values = np.random.default_rng(1).normal(size=n)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize(
    ("mean", "sd", "verdict"),
    [
        (-5.6, 5.07, Verdict.BEYOND),
        (4.3, 2.2, Verdict.BEYOND),
        (-0.3, 2.4, Verdict.EQUIVALENT),
        (0.0, 12.0, Verdict.UNDECIDED),
        (-2.0, 1.0, Verdict.UNDECIDED),
        (1.3, 3.8, Verdict.UNDECIDED),
    ],
)
def test_three_verdicts(mean: float, sd: float, verdict: Verdict) -> None:
    test = equivalence_test(sample(mean, sd), SESOI)
    assert test.verdict is verdict
    assert test.reason is None
    assert equivalence_test(-sample(mean, sd), SESOI).verdict is verdict


@pytest.mark.parametrize("mean", [-3.0, -1.2, 0.1, 1.9, 2.6])
def test_libraries_agree(mean: float) -> None:
    values = sample(mean, 3.0, 20)
    test = equivalence_test(values, SESOI)
    p_tost = DescrStatsW(values).ttost_mean(-SESOI, SESOI)[0]
    assert test.p_equivalent == pytest.approx(p_tost, rel=1e-7)
    above = ttest_1samp(values, SESOI, alternative="greater").pvalue
    below = ttest_1samp(values, -SESOI, alternative="less").pvalue
    assert test.p_beyond == pytest.approx(min(1.0, 2 * min(above, below)), rel=1e-7)
    bounds = t.interval(0.9, 19, values.mean(), values.std(ddof=1) / np.sqrt(20))
    assert (test.low, test.high) == pytest.approx(bounds, abs=2e-9)


@settings(max_examples=80, deadline=None)
@given(st.floats(-6, 6), st.floats(0.1, 10), st.integers(3, 60))
def test_verdicts_are_those_of_the_t_intervals(mean: float, sd: float, n: int) -> None:
    values = sample(mean, sd, n)
    test = equivalence_test(values, SESOI)
    error = values.std(ddof=1) / np.sqrt(n)
    wide = t.interval(0.95, n - 1, values.mean(), error)
    expected = Verdict.UNDECIDED
    if test.low > -SESOI and test.high < SESOI:
        expected = Verdict.EQUIVALENT
    elif wide[0] > SESOI or wide[1] < -SESOI:
        expected = Verdict.BEYOND
    assert test.verdict is expected


@pytest.mark.parametrize(
    ("values", "verdict", "reason"),
    [
        ([], Verdict.UNDEFINED, Reason.EMPTY),
        ([1.0], Verdict.UNDEFINED, Reason.TOO_FEW),
        ([1.0, 2.0], Verdict.UNDEFINED, Reason.TOO_FEW),
        ([1.0, np.nan, 1.0], Verdict.UNDEFINED, Reason.NOT_FINITE),
        ([0.0] * 48, Verdict.EQUIVALENT, Reason.ALL_EQUAL),
        ([2.0] * 5, Verdict.UNDECIDED, Reason.ALL_EQUAL),
        ([-1e4] * 35, Verdict.BEYOND, Reason.ALL_EQUAL),
    ],
)
def test_degenerate_samples_have_declared_outcomes(values, verdict, reason) -> None:
    test = equivalence_test(values, SESOI)
    assert (test.verdict, test.reason) == (verdict, reason)
    assert test.p_equivalent is test.p_beyond is None


@pytest.mark.parametrize("arguments", [(0.0, 0.05), (-1.0, 0.05), (np.nan, 0.05), (2.0, 0.5)])
def test_bad_settings_are_refused(arguments) -> None:
    with pytest.raises(ValueError, match="SESOI"):
        equivalence_test([1.0, 2.0, 3.0], arguments[0], alpha=arguments[1])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (2.1, 5.0, Verdict.BEYOND),
        (-6.9, -4.0, Verdict.BEYOND),
        (-1.9, 1.9, Verdict.EQUIVALENT),
        (-2.0, 1.0, Verdict.UNDECIDED),
        (0.5, 2.5, Verdict.UNDECIDED),
        (-9.0, 9.0, Verdict.UNDECIDED),
        (None, None, Verdict.UNDEFINED),
    ],
)
def test_reading_of_intervals(low, high, verdict) -> None:
    kind = IntervalKind.UNDEFINED if low is None else IntervalKind.BCA
    assert read_interval(Interval(48, None, low, high, 0.95, kind), SESOI) is verdict


@pytest.mark.parametrize("n", [2, 5, 16, 48, 106])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 7])
def test_power_is_that_of_the_noncentral_t(n: int, alpha: float) -> None:
    centre = 2.0 * np.sqrt(n) / 5.07
    critical = t.ppf(1 - alpha / 2, n - 1)
    scipys = nct.sf(critical, n - 1, centre) + nct.cdf(-critical, n - 1, centre)
    ours = paired_t_power(-2.0, 5.07, n, alpha)
    assert ours == pytest.approx(scipys, abs=1e-10)
    assert ours == pytest.approx(TTestPower().power(2 / 5.07, n, alpha), abs=1e-10)


def test_power_of_nothing_is_alpha_and_of_much_is_one() -> None:
    assert paired_t_power(0.0, 1.0, 48, 0.01) == pytest.approx(0.01, abs=1e-12)
    assert paired_t_power(1e5, 1.0, 5_000, 0.01) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 20), st.integers(2, 200), st.sampled_from([0.05, 0.01, 0.05 / 7]))
def test_the_detectable_difference_is_found_with_the_power_asked_for(sd, n, alpha) -> None:
    difference = minimum_detectable_difference(sd, n, alpha, 0.8)
    assert paired_t_power(difference, sd, n, alpha) == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize("sd", [0.5, 2.0, 5.07, 9.0])
def test_sites_needed_is_the_smallest_number(sd: float) -> None:
    n = sites_needed(2.0, sd, 0.05 / 7)
    assert paired_t_power(2.0, sd, n, 0.05 / 7) >= 0.8
    assert n == 2 or paired_t_power(2.0, sd, n - 1, 0.05 / 7) < 0.8


def test_impossible_designs_are_refused() -> None:
    with pytest.raises(ValueError, match="deviation"):
        paired_t_power(2.0, 0.0, 48, 0.05)
    with pytest.raises(ValueError, match="two sites"):
        paired_t_power(2.0, 1.0, 1, 0.05)
    with pytest.raises(ValueError, match="finite"):
        paired_t_power(np.nan, 1.0, 48, 0.05)
    with pytest.raises(ValueError, match="power"):
        minimum_detectable_difference(1.0, 48, 0.05, 0.01)
    with pytest.raises(ValueError, match="million"):
        sites_needed(0.0, 1.0, 0.05)
