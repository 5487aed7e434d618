"""A rehearsal errs as seldom as declared, finds what was planted, and notices when it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.analysis.bca import bca_interval
from slowlab.analysis.families import AnalysisSpec, CellRef, ContrastSpec, FamilySpec
from slowlab.analysis.multiplicity import Adjustment
from slowlab.analysis.paired import Cell, Differences, RepeatRule, contrast, make_cell
from slowlab.analysis.rehearsal import (
    LABELS,
    SIGNS,
    SIMULATED,
    RehearsalPlan,
    gates,
    planted_effects,
    rehearse,
    size_under_labels,
    size_under_signs,
)
from slowlab.analysis.rehearsal_coverage import coverage_of_intervals, share_with_interval
from slowlab.analysis.rehearsal_flips import many_sign_flips
from slowlab.analysis.rehearsal_intervals import many_bca_intervals
from slowlab.analysis.rehearsal_planting import plant, score_model, simulate_scores
from slowlab.analysis.rehearsal_scramble import (
    ScoreGrid,
    score_grid,
    scramble_labels,
    scramble_signs,
    sharing_groups,
)
from slowlab.analysis.signflip import sign_flip_test

METHODS = ("one", "two", "three", "four")
SITES = 40
PLAN = RehearsalPlan(
    rehearsals=400,
    flips=2_000,
    sites=SITES,
    largest_familywise_error=0.08,
    largest_power_shortfall=0.02,
)


def less(name: str, plus: tuple[str, str], minus: tuple[str, str]) -> ContrastSpec:
    first, second = (CellRef(method=key[0], feedback=key[1]) for key in (plus, minus))
    return ContrastSpec(name=name, plus=(first,), minus=(second,))


def family(tests: tuple[ContrastSpec, ...], adjustment: Adjustment) -> FamilySpec:
    return FamilySpec(name="primary", adjustment=adjustment, seed_offset=0, tests=tests)


def spec_of(tests: tuple[ContrastSpec, ...], adjustment: Adjustment = Adjustment.HOLM):
    return AnalysisSpec(
        base_seed=7, sesoi_eur_m2=2.0, flips=4_000, families=(family(tests, adjustment),)
    )


TESTS = (
    *(less(f"e1.{name}", (name, "full"), ("base", "full")) for name in METHODS),
    *(less(f"e2.{name}", (name, "full"), (name, "endpoint")) for name in ("base", "one")),
)
SPEC = spec_of(TESTS)


def study(effect: float = 0.0) -> dict[tuple[str, str], Cell]:
    """Cells in which every method but the baseline is better by ``effect``."""
    rng = np.random.default_rng(3)
    site = rng.normal(20.0, 6.0, (SITES, 1))
    return {
        (name, feedback): make_cell(
            f"{name}/{feedback}",
            range(SITES),
            site + effect * (name != "base") + rng.normal(0.0, 4.0, (SITES, 2)),
        )
        for name in ("base", *METHODS)
        for feedback in ("full", "endpoint")
    }


def differences_of(cells: dict, tests=TESTS) -> dict[str, Differences]:
    return {
        test.name: contrast(
            [cells[ref.key] for ref in test.plus], [cells[ref.key] for ref in test.minus]
        )
        for test in tests
    }


def grid_of(cells: dict) -> ScoreGrid:
    return score_grid(cells, RepeatRule.COMPLETE)


def independent_tests(count: int) -> tuple[tuple[ContrastSpec, ...], dict[str, Differences]]:
    """Tests that share no scores, with a large effect each."""
    tests = tuple(
        less(f"t.{place}", (f"a{place}", "full"), (f"b{place}", "full")) for place in range(count)
    )
    rng = np.random.default_rng(1)
    return tests, {
        test.name: Differences(tuple(range(SITES)), rng.normal(5.0, 3.0, SITES)) for test in tests
    }


def family_share(size: dict) -> float:
    return size["families"][0]["share"]


@pytest.mark.parametrize("sites", [1, 2, 5, 16, 17, 40])
def test_p_values_are_those_of_the_analysis_to_the_last_bit(sites: int) -> None:
    samples = np.round(np.random.default_rng(sites).normal(0.3, 1.0, (6, sites)), 1)
    for given_samples in (samples, samples / 3):
        alone = [sign_flip_test(sample, 11, flips=3_000).p for sample in given_samples]
        assert many_sign_flips(given_samples, 11, 3_000).tolist() == alone


def test_samples_that_differ_in_signs_only_are_compared_with_the_same_sums() -> None:
    sizes = np.abs(np.random.default_rng(2).normal(0.0, 1.0, SITES))
    signs = 2 * np.random.default_rng(4).integers(0, 2, (9, SITES)) - 1
    alone = [sign_flip_test(row * sizes, 5, flips=25_000).p for row in signs]
    assert many_sign_flips(signs * sizes, 5, 25_000).tolist() == alone


@pytest.mark.parametrize("sites", [3, 16, 40])
def test_intervals_are_those_of_the_analysis_to_the_last_bit(sites: int) -> None:
    samples = np.random.default_rng(sites).normal(0.3, 1.0, (6, sites))
    samples[1] = np.round(samples[1], 1)
    samples[2] = np.resize([1.0, 2.0, 3.0], sites) / 3
    samples[3] = 0.5
    alone = [bca_interval(sample, 11, level=0.9, resamples=2_000) for sample in samples]
    assert many_bca_intervals(samples, 11, 0.9, 2_000) == alone


def test_coverage_of_the_intervals_is_near_their_level() -> None:
    model = score_model(grid_of(study()), TESTS)
    spec = SPEC.model_copy(update={"resamples": 1_000})
    rows = coverage_of_intervals(spec, model, simulate_scores(model, SITES, 7, 600))
    assert [row["test"] for row in rows] == [test.name for test in TESTS]
    for row in rows:
        assert 0.90 < row["share"] < 0.98
        assert row["share"] + row["above"] + row["below"] == pytest.approx(1.0, abs=1e-8)
        width = 2 * 1.96 * model.sds[model.tests.index(row["test"])] / np.sqrt(SITES)
        assert row["mean_width"] == pytest.approx(width, rel=0.1)
    assert coverage_of_intervals(spec, model, simulate_scores(model, 2, 7, 5)) == []


def test_intervals_that_are_too_short_show_in_the_coverage(monkeypatch) -> None:
    def short(samples, seed, level, resamples):
        return many_bca_intervals(samples, seed, 0.8, resamples)

    model = score_model(grid_of(study()), TESTS)
    spec = SPEC.model_copy(update={"resamples": 500})
    monkeypatch.setattr("slowlab.analysis.rehearsal_coverage.many_bca_intervals", short)
    rows = coverage_of_intervals(spec, model, simulate_scores(model, SITES, 7, 300))
    assert all(row["high"] < 0.9 for row in rows)


@pytest.mark.parametrize(("value", "message"), [(np.nan, "finite"), (1e7, "too large")])
def test_differences_that_cannot_be_added_exactly_are_refused(value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        many_sign_flips(np.full((2, 20), value), 1, 100)


def test_size_is_near_the_level_for_independent_tests() -> None:
    tests, differences = independent_tests(5)
    size = size_under_signs(spec_of(tests), differences, 3_000)
    assert family_share(size) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 3_000))
    for share in size["families"][0]["tests"].values():
        assert share == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 3_000))


def test_a_gate_says_that_few_sites_cannot_miss_it() -> None:
    for sites, possible in ((7, False), (8, True)):
        few = {
            test.name: Differences(tuple(range(sites)), np.linspace(0.5, 3.0, sites))
            for test in TESTS
        }
        size = size_under_signs(SPEC, few, 300)
        gate, _ = gates(PLAN, SPEC, {SIGNS: size}, [])
        assert gate["can_be_missed"] is possible
        assert (gate["measured"] > 0.0) is possible


def test_effects_are_scrambled_away_both_ways() -> None:
    cells = study(effect=8.0)
    signs = size_under_signs(SPEC, differences_of(cells), 600)
    labels = size_under_labels(SPEC, grid_of(cells), 600, 2_000)
    assert family_share(signs) < 0.08
    assert family_share(labels) < 0.08


def test_unadjusted_tests_are_caught_by_the_gate() -> None:
    tests, differences = independent_tests(5)
    size = size_under_signs(spec_of(tests, Adjustment.NONE), differences, 1_000)
    assert family_share(size) == pytest.approx(1 - 0.95**5, abs=0.06)
    gate, _ = gates(replace(PLAN, largest_familywise_error=0.06), SPEC, {SIGNS: size}, [])
    assert not gate["holds"]


def test_one_sided_tests_are_caught_by_the_gate(monkeypatch) -> None:
    def one_sided(samples, seed, flips):
        return many_sign_flips(samples, seed, flips) / 2

    monkeypatch.setattr("slowlab.analysis.rehearsal.many_sign_flips", one_sided)
    size = size_under_signs(SPEC, differences_of(study()), 1_000)
    gate, _ = gates(replace(PLAN, largest_familywise_error=0.06), SPEC, {SIGNS: size}, [])
    assert not gate["holds"]


def test_planted_effects_are_found_at_the_stated_power() -> None:
    model = score_model(grid_of(study()), TESTS)
    scores = simulate_scores(model, SITES, 7, 1_000)
    rows = planted_effects(SPEC, model, scores, 2_000)
    for row in rows:
        error = np.sqrt(row["stated"] * (1.0 - row["stated"]) / 1_000)
        assert row["found_first_step"] == pytest.approx(row["stated"], abs=4 * error + 0.01)
        assert row["found"] >= row["found_first_step"]
    assert {row["stated"] > 0.5 for row in rows} == {True, False}


def test_effects_at_the_bound_are_seldom_called_equivalent_or_beyond() -> None:
    model = score_model(grid_of(study()), TESTS)
    rows = planted_effects(SPEC, model, simulate_scores(model, SITES, 7, 500), 500)
    bound = [row for row in rows if row["effect"] == SPEC.sesoi_eur_m2]
    assert len(bound) == len(TESTS)
    assert all(row["equivalent"] < 0.09 and row["beyond"] < 0.07 for row in bound)


def test_planted_effects_are_exactly_what_was_asked_for() -> None:
    model = score_model(grid_of(study()), TESTS)
    scores = simulate_scores(model, SITES, 7, 3)
    effects = np.arange(len(TESTS), dtype=float)
    shifted, still = (plant(model, scores, effects * on) for on in (1, 0))
    for name, effect in zip(model.tests, effects, strict=True):
        assert shifted[name] - still[name] == pytest.approx(effect)
        assert still[name].std() == pytest.approx(model.sds[model.tests.index(name)], rel=0.3)


def test_tests_that_follow_from_others_cannot_have_effects_of_their_own() -> None:
    follows = less("e1.follows", ("one", "full"), ("two", "full"))
    model = score_model(grid_of(study()), (*TESTS, follows))
    with pytest.raises(ValueError, match="freely"):
        model.shifts(np.ones(len(TESTS) + 1))


def planted_row(effect: float, stated: float, hits: int) -> dict:
    return {"effect": effect, "stated": stated, "hits": hits, "rehearsals": 1_000}


def test_the_power_gate_is_about_planted_effects_only() -> None:
    rows = [planted_row(0.0, 0.9, 0), planted_row(2.0, 0.8, 700)]
    (gate,) = gates(PLAN, SPEC, {}, rows)
    assert gate["measured"] == pytest.approx(0.8 - share_with_interval(700, 1_000, 0.95)["high"])
    assert not gate["holds"]


def test_the_power_gate_takes_chance_for_chance() -> None:
    by_chance = [planted_row(2.0, 0.5, 455) for _ in range(50)]
    (gate,) = gates(PLAN, SPEC, {}, by_chance)
    assert gate["measured"] == pytest.approx(0.0, abs=0.001)


def test_a_test_that_misses_effects_is_caught_by_the_gate(monkeypatch) -> None:
    def timid(samples, seed, flips):
        return np.minimum(1.0, 2 * many_sign_flips(samples, seed, flips))

    model = score_model(grid_of(study()), TESTS)
    scores = simulate_scores(model, SITES, 7, 1_000)
    (sound,) = gates(PLAN, SPEC, {}, planted_effects(SPEC, model, scores, 2_000))
    monkeypatch.setattr("slowlab.analysis.rehearsal.many_sign_flips", timid)
    (missed,) = gates(PLAN, SPEC, {}, planted_effects(SPEC, model, scores, 2_000))
    assert (sound["holds"], missed["holds"]) == (True, False)


def test_tests_without_spread_are_scrambled_but_not_planted() -> None:
    cells = study()
    cells["one", "endpoint"] = make_cell("same", range(SITES), cells["one", "full"].scores)
    small = replace(PLAN, rehearsals=100, flips=200)
    found = rehearse(SPEC, differences_of(cells), grid_of(cells), small)
    assert "e2.one" not in {row["test"] for row in found["planted"]}
    assert found["size"][SIGNS]["families"][0]["tests"]["e2.one"] == 0.0


def test_tests_that_share_scores_are_negated_together() -> None:
    apart = less("e1.apart", ("five", "full"), ("six", "full"))
    tests = (*TESTS, apart)
    groups = sharing_groups(tests)
    assert len({groups[test.name] for test in TESTS}) == 1
    assert groups["e1.apart"] != groups["e1.one"]
    values = {test.name: Differences(tuple(range(30)), np.ones(30)) for test in tests}
    stack = scramble_signs(tests, values, 1, 20)
    assert (stack["e1.one"] == stack["e2.base"]).all()
    assert 0.3 < (stack["e1.one"] == stack["e1.apart"]).mean() < 0.7


def test_tests_computed_elsewhere_are_negated_with_all_others() -> None:
    groups = sharing_groups((*TESTS, ContrastSpec(name="reader.gp")))
    assert len(set(groups.values())) == 1


def test_a_tests_own_sites_are_kept() -> None:
    values = {
        "e1.one": Differences((0, 2, 3), np.array([1.0, 2.0, 3.0])),
        "e1.two": Differences((2, 3, 9), np.array([5.0, 6.0, 7.0])),
    }
    stack = scramble_signs(TESTS[:2], values, 1, 50)
    assert (np.abs(stack["e1.one"]) == [1.0, 2.0, 3.0]).all()
    assert (np.sign(stack["e1.one"][:, 1:]) == np.sign(stack["e1.two"][:, :2])).all()


@settings(max_examples=20, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=8))
def test_dealt_scores_stay_on_their_site_and_missing_ones_in_their_cell(gaps) -> None:
    means = np.arange(32.0).reshape(8, 4) ** 2
    for site, cell in gaps:
        means[site, cell] = np.nan
    cells = tuple((name, "full") for name in "abcd")
    grid = ScoreGrid(tuple(range(8)), cells, means)
    tests = tuple(less(f"t.{name}", (name, "full"), ("a", "full")) for name in "bcd")
    stack = scramble_labels(grid, tests, 1, 5)
    for place, test in enumerate(tests, start=1):
        rows = np.flatnonzero(np.isfinite(means[:, [0, place]]).all(axis=1))
        possible = [
            {x - y for i, x in enumerate(means[row]) for j, y in enumerate(means[row]) if i != j}
            for row in rows
        ]
        assert stack[test.name].shape == (5, len(rows))
        for rehearsal in stack[test.name]:
            assert all(value in known for value, known in zip(rehearsal, possible, strict=True))


def test_the_same_rehearsal_twice_and_a_longer_one_begins_alike() -> None:
    cells = study()
    differences, grid = differences_of(cells), grid_of(cells)
    small = replace(PLAN, rehearsals=100, flips=200)
    first = rehearse(SPEC, differences, grid, small)
    assert first == rehearse(SPEC, differences, grid, small)
    assert list(first["size"]) == [SIGNS, LABELS, SIMULATED]
    short, long = (scramble_signs(TESTS, differences, 7, count) for count in (5, 9))
    assert all((long[name][:5] == short[name]).all() for name in short)


def test_a_family_without_differences_cannot_be_rehearsed() -> None:
    cells = {key: cell for key, cell in study().items() if key[0] == "base"}
    with pytest.raises(ValueError, match="primary has no differences"):
        rehearse(spec_of(TESTS[:4]), {}, grid_of(cells), PLAN)


def test_too_few_complete_sites_cannot_be_simulated_from() -> None:
    cells = {key: make_cell("few", range(2), cell.scores[:2]) for key, cell in study().items()}
    with pytest.raises(ValueError, match="3 sites"):
        score_model(grid_of(cells), TESTS)


def test_a_share_has_its_exact_interval() -> None:
    shown = share_with_interval(5, 100, 0.95)
    assert (shown["share"], shown["low"], shown["high"]) == pytest.approx(
        (0.05, 0.0164319, 0.1128349), abs=1e-6
    )
    assert share_with_interval(0, 10, 0.95)["low"] == 0.0
    assert share_with_interval(10, 10, 0.95)["high"] == 1.0
