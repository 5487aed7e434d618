"""From rows of scores to site differences: averages, missing data, unequal repeats."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.analysis.paired import (
    Cell,
    Exclusion,
    MissingReason,
    RepeatRule,
    contrast,
    make_cell,
    paired_differences,
    site_means,
)
from slowlab.analysis.samples import exact_mean
from slowlab.analysis.scores import (
    COLUMNS,
    ScoreDesign,
    cells_from_scores,
    contrast_by_year,
    mean_over_years,
)
from slowlab.evaluation.score import SCORE_SCHEMA, ScoreStatus
from tests.analysis.score_tables import PLANTINGS, YEARS, rows_of, score_table

A, B = ("a", "full"), ("b", "full")
NAN = np.nan
DESIGN = ScoreDesign(years=3, plantings=2)


def test_repeats_are_averaged_within_the_site_first() -> None:
    first = make_cell("a", [1, 2], [[1.0, 3.0], [10.0, 20.0]])
    second = make_cell("b", [2, 1], [[5.0], [1.0]])
    found = paired_differences(first, second)
    assert found.sites == (1, 2)
    np.testing.assert_array_equal(found.values, [1.0, 10.0])
    assert found.repeats == (1, 1)
    assert found.excluded == ()


def test_complete_and_available_repeats() -> None:
    first = make_cell("a", [0, 1, 2], [[1.0, NAN], [NAN, NAN], [2.0, 4.0]])
    second = make_cell("b", [0, 1, 2], [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    complete = paired_differences(first, second)
    assert complete.sites == (2,)
    assert complete.exclusion_counts() == {"not_finite": 2}
    available = paired_differences(first, second, RepeatRule.AVAILABLE)
    assert available.sites == (0, 2)
    np.testing.assert_array_equal(available.values, [0.5, 3.0])
    assert available.repeats == (1, 2)
    assert available.excluded == (Exclusion(1, "a", MissingReason.NOT_FINITE),)


def test_a_site_counts_once_however_many_repeats_it_has() -> None:
    many = make_cell("many", [0, 1], [[1.0, 1.0, 1.0], [5.0, NAN, NAN]])
    none = make_cell("none", [0, 1], [[0.0], [0.0]])
    found = paired_differences(many, none, RepeatRule.AVAILABLE)
    assert exact_mean(found.values) == 3.0


def test_a_site_that_a_cell_does_not_hold_is_named() -> None:
    found = paired_differences(make_cell("a", [0, 1], [[1.0], [2.0]]), make_cell("b", [1], [[0.0]]))
    assert found.sites == (1,)
    assert found.excluded == (Exclusion(0, "b", MissingReason.NOT_RUN),)


def test_a_contrast_of_gains() -> None:
    cells = [
        make_cell(name, [0], [[v]]) for name, v in zip("abcd", (9.0, 5.0, 4.0, 3.0), strict=True)
    ]
    found = contrast([cells[0], cells[3]], [cells[1], cells[2]])
    np.testing.assert_array_equal(found.values, [(9.0 - 5.0) - (4.0 - 3.0)])


def test_no_sites_at_all() -> None:
    empty = make_cell("a", [], np.empty((0, 2)))
    found = paired_differences(empty, empty)
    assert found.sites == ()
    assert found.values.shape == (0,)


@pytest.mark.parametrize(
    ("sites", "scores", "missing"),
    [
        ((0, 0), [[1.0], [2.0]], ((None,), (None,))),
        ((0,), [[1.0], [2.0]], ((None,), (None,))),
        ((0,), [[NAN]], ((None,),)),
        ((0,), [[1.0]], ((MissingReason.NOT_RUN,),)),
        ((0,), [[1.0]], ((None, None),)),
    ],
)
def test_inconsistent_cells_are_refused(sites, scores, missing) -> None:
    with pytest.raises(ValueError, match="x: "):
        Cell("x", sites, np.array(scores), missing)


def test_means_do_not_depend_on_the_order_of_repeats() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(30, 10, (4, 7))
    first, _ = site_means(make_cell("a", range(4), scores))
    second, _ = site_means(make_cell("a", range(4), scores[:, rng.permutation(7)]))
    np.testing.assert_array_equal(first, second)


def test_scores_average_plantings_then_years() -> None:
    table = score_table({A: 5.0, B: 0.0}, noise=0.0)
    cells = cells_from_scores(table, DESIGN)
    assert list(cells) == [A, B]
    assert cells[A].name == "a/full"
    np.testing.assert_allclose(cells[A].scores, 35.0 + np.arange(6.0)[:, None] + [0.0, 0.0])
    shuffled = table.sample(frac=1.0, random_state=1)
    np.testing.assert_array_equal(cells_from_scores(shuffled, DESIGN)[A].scores, cells[A].scores)


def test_a_failed_site_is_left_out_and_counted_and_never_zero() -> None:
    table = score_table({A: 5.0, B: 0.0}, noise=0.0)
    table.loc[rows_of(table, method="a", site=2, repeat=1), "status"] = "campaign_failed"
    table.loc[rows_of(table, method="b", site=3, year="2007"), "status"] = "run_failed"
    table.loc[table["status"] != "scored", "margin_eur_m2"] = NAN
    table = table[~rows_of(table, method="b", site=4, repeat=0, year="2011", planting_day=182)]
    table = table[~rows_of(table, method="a", site=5, repeat=0)]
    cells = cells_from_scores(table, DESIGN)
    found = paired_differences(cells[A], cells[B])
    assert found.sites == (0, 1)
    np.testing.assert_array_equal(found.values, [5.0, 5.0])
    assert [(item.site, item.cell, item.reason) for item in found.excluded] == [
        (2, "a/full", MissingReason.CAMPAIGN_FAILED),
        (3, "b/full", MissingReason.RUN_FAILED),
        (4, "b/full", MissingReason.INCOMPLETE_EVALUATION),
        (5, "a/full", MissingReason.NOT_RUN),
    ]
    available = paired_differences(cells[A], cells[B], RepeatRule.AVAILABLE)
    assert available.sites == (0, 1, 2, 4, 5)
    np.testing.assert_array_equal(available.values, [5.0] * 5)


def test_planned_sites_repeats_and_cells_without_rows_are_not_run() -> None:
    table = score_table({A: 5.0}, sites=2)
    design = ScoreDesign(3, 2, sites=(0, 1, 2), repeats={A: 3, B: 1})
    cells = cells_from_scores(table, design)
    assert cells[A].missing[0] == (None, None, MissingReason.NOT_RUN)
    assert cells[A].missing[2] == (MissingReason.NOT_RUN,) * 3
    assert cells[B].missing == ((MissingReason.NOT_RUN,),) * 3


def test_more_than_planned_is_refused() -> None:
    table = score_table({A: 5.0})
    with pytest.raises(ValueError, match="more than 1 repeats"):
        cells_from_scores(table, ScoreDesign(3, 2, repeats={A: 1}))
    for design in (ScoreDesign(2, 2), ScoreDesign(3, 1)):
        with pytest.raises(ValueError, match="more years or plantings"):
            cells_from_scores(table, design)


def test_faulty_tables_are_refused() -> None:
    table = score_table({A: 5.0})
    with pytest.raises(ValueError, match="lacks status"):
        cells_from_scores(table.drop(columns="status"), DESIGN)
    with pytest.raises(ValueError, match="stands twice"):
        cells_from_scores(table.iloc[[0, 0]], DESIGN)
    with pytest.raises(ValueError, match="unknown status"):
        cells_from_scores(table.assign(status="fine"), DESIGN)
    with pytest.raises(ValueError, match="no finite margin"):
        cells_from_scores(table.assign(margin_eur_m2=NAN), DESIGN)


def test_years_recombine_to_the_overall_mean() -> None:
    table = score_table({A: 5.0, B: 0.0})
    shift = table["year"].map(dict(zip(YEARS, (0.0, 4.0, -7.0), strict=True)))
    table["margin_eur_m2"] += shift * (table["method"] == "a")
    by_year = contrast_by_year(table, [A], [B], DESIGN)
    assert list(by_year["year"]) == list(YEARS)
    cells = cells_from_scores(table, DESIGN)
    overall = exact_mean(paired_differences(cells[A], cells[B]).values)
    assert mean_over_years(by_year["mean"], by_year["n_sites"]) == pytest.approx(overall, abs=1e-12)


def test_names_are_those_of_the_evaluation() -> None:
    assert set(COLUMNS) <= set(SCORE_SCHEMA.columns)
    failures = {status.value for status in ScoreStatus} - {"scored"}
    assert failures <= {reason.value for reason in MissingReason}
    assert PLANTINGS == (0, 182)
