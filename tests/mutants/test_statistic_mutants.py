"""Planted faults in statistics: checks against whole numbers, SciPy and the paper see each."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import bootstrap, ttest_1samp

from slowlab.analysis import bca, equivalence, measures, multiplicity, signflip, stability
from slowlab.analysis.measures import best_at_k, dominance
from slowlab.analysis.published import Version, primary_tests, secondary_tests
from slowlab.analysis.rehearsal_scramble import ScoreGrid, scramble_labels
from slowlab.analysis.samples import Sample
from slowlab.analysis.stability import variance_components
from tests.analysis.test_rehearsal import less

Patch = pytest.MonkeyPatch
Check = Callable[[], None]
COUNTS = np.array([7, -9, 1, -8, -4, 0, -1, -2, -9, -9])


def check_flips() -> None:
    signs = np.array(list(itertools.product([-1, 1], repeat=len(COUNTS))))
    expected = np.mean(np.abs(signs @ COUNTS) >= abs(COUNTS.sum()))
    assert signflip.sign_flip_test(COUNTS / 3, 1).p == expected


def check_interval() -> None:
    values = np.resize([1.0, 1, 2, 3, 3, -1, 4, 1, -2, 13], 20)
    rng = np.random.default_rng([3, 0xBCA])
    theirs = bootstrap((np.sort(values),), np.mean, n_resamples=10_000, rng=rng, vectorized=True)
    ours = bca.bca_interval(values, 3)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=2e-9)


def check_families() -> None:
    primary, joint = primary_tests(Version.CORRECTED), secondary_tests(Version.CORRECTED)
    found = multiplicity.holm([test.p_sign_flip for test in primary.values()])
    np.testing.assert_allclose(found, [test.p_adjusted for test in primary.values()], rtol=1e-12)
    found = multiplicity.benjamini_hochberg([test.p_sign_flip for test in joint.values()])
    np.testing.assert_allclose(found, [test.p_bh_joint17 for test in joint.values()], rtol=1e-12)


def check_equivalence() -> None:
    values = np.random.default_rng(1).normal(1.1, 3.0, 20)
    found = equivalence.equivalence_test(values, 2.0)
    below = ttest_1samp(values, 2.0, alternative="less").pvalue
    above = ttest_1samp(values, -2.0, alternative="greater").pvalue
    assert found.p_equivalent == pytest.approx(max(below, above), rel=1e-7)


def check_measures() -> None:
    scores = np.array([[1.0, 4.0, 4.0, 9.0]])
    subsets = [max(pair) for pair in itertools.combinations(scores[0], 2)]
    assert best_at_k(scores, 2)[0] == pytest.approx(np.mean(subsets))
    assert dominance(np.array([[32.2], [30.2]]), 2.0).overall.tolist() == [0.5, 0.5]
    found = variance_components([[1.0, 3.0], [5.0, 9.0], [8.0, 10.0]])
    assert (found.repeat, found.site) == pytest.approx((4.0, (26.0 - 4.0) / 2.0))


def check_labels() -> None:
    """Labels are dealt on each site by itself, so that sites do not change signs together."""
    cells = (("a", "full"), ("b", "full"))
    grid = ScoreGrid(tuple(range(30)), cells, np.tile([0.0, 1.0], (30, 1)))
    found = scramble_labels(grid, [less("t.b", cells[1], cells[0])], 1, 200)["t.b"]
    assert set(found.ravel()) == {-1.0, 1.0}
    assert np.abs(found.mean(axis=1)).max() < 0.8
    assert abs(found.mean()) < 0.1


def ties_are_lost(patch: Patch) -> None:
    patch.setattr(signflip, "slack", lambda n: 0)


def half_of_the_patterns(patch: Patch) -> None:
    native = signflip._all_totals
    patch.setattr(signflip, "_all_totals", lambda sizes: native(sizes)[: 2 ** (len(sizes) - 2)])


def ties_lie_above(patch: Patch) -> None:
    """The original's fault."""

    def strict(sample: Sample, totals: np.ndarray) -> float:
        return float((totals < sample.total).mean())

    patch.setattr(bca, "_share_below", strict)


def acceleration_of_the_other_sign(patch: Patch) -> None:
    native = bca.acceleration
    patch.setattr(bca, "acceleration", lambda sample: -native(sample))


def no_correction(patch: Patch) -> None:
    plain = np.array([0.025, 0.975])
    patch.setattr(bca, "_tail_shares", lambda *_: (plain, None))


def steps_may_fall(patch: Patch) -> None:
    def holm(p: np.ndarray, size: int) -> np.ndarray:
        order = np.argsort(p)
        return multiplicity._restore(p[order] * (size - np.arange(len(p))), order)

    patch.setitem(multiplicity._RULES, multiplicity.Adjustment.HOLM, holm)


def false_discoveries_by_holm(patch: Patch) -> None:
    rules = multiplicity._RULES
    patch.setitem(rules, multiplicity.Adjustment.BENJAMINI_HOCHBERG, multiplicity._holm)


def normal_tails(patch: Patch) -> None:
    from scipy.special import ndtr

    patch.setattr(equivalence, "_tail", lambda n, statistic: float(ndtr(statistic)))


def best_of_draws_with_replacement(patch: Patch) -> None:
    def weights(values: np.ndarray, k: int) -> np.ndarray:
        ranks = np.argsort(np.argsort(values)) + 1
        return (ranks**k - (ranks - 1) ** k) / len(values) ** k

    patch.setattr(measures, "_rank_weights", weights)


def ties_by_the_last_bit(patch: Patch) -> None:
    patch.setattr(measures, "DECIMALS", 16)


def means_of_the_largest(patch: Patch) -> None:
    patch.setattr(stability, "exact_mean", lambda values: float(np.max(values)))


def one_deal_for_all_sites(patch: Patch) -> None:
    from slowlab.analysis import rehearsal_scramble as scramble

    def dealt(means: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return means[:, generator.permutation(means.shape[1])]

    patch.setattr(scramble, "_dealt", dealt)


MUTANTS: list[tuple[Callable[[Patch], None], Check]] = [
    (ties_are_lost, check_flips),
    (half_of_the_patterns, check_flips),
    (ties_lie_above, check_interval),
    (acceleration_of_the_other_sign, check_interval),
    (no_correction, check_interval),
    (steps_may_fall, check_families),
    (false_discoveries_by_holm, check_families),
    (normal_tails, check_equivalence),
    (best_of_draws_with_replacement, check_measures),
    (ties_by_the_last_bit, check_measures),
    (means_of_the_largest, check_measures),
    (one_deal_for_all_sites, check_labels),
]


@pytest.mark.parametrize(("fault", "check"), MUTANTS)
def test_each_fault_is_seen(fault, check, monkeypatch) -> None:
    check()
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check()
