"""Declared families: what is tested, with which seed, and what the table says."""

from __future__ import annotations

import copy
import io

import numpy as np
import pandas as pd
import pytest

from slowlab.analysis.bca import bca_interval
from slowlab.analysis.families import parse_analysis
from slowlab.analysis.multiplicity import holm
from slowlab.analysis.paired import Differences, RepeatRule
from slowlab.analysis.power import minimum_detectable_difference
from slowlab.analysis.results import RESULT_SCHEMA, TestStatus, family_results
from slowlab.analysis.scores import ScoreDesign, cells_from_scores
from slowlab.analysis.signflip import sign_flip_test
from slowlab.config import ConfigError
from tests.analysis.score_tables import rows_of, score_table

DESIGN = ScoreDesign(3, 2)
EFFECTS = {
    ("agent", "full"): -6.0,
    ("agent", "endpoint"): -5.9,
    ("agent", "initial"): -8.0,
    ("prior_bo", "full"): 0.0,
    ("prior_bo", "endpoint"): 0.0,
    ("fixed_reference", "none"): -4.0,
}


def ref(method: str, feedback: str) -> dict:
    return {"method": method, "feedback": feedback}


STUDY = {
    "base_seed": 20261004,
    "sesoi_eur_m2": 2.0,
    "flips": 2_000,
    "resamples": 1_000,
    "families": [
        {
            "name": "primary",
            "adjustment": "holm",
            "seed_offset": 0,
            "tests": [
                {
                    "name": "E1_agent",
                    "plus": [ref("agent", "full")],
                    "minus": [ref("prior_bo", "full")],
                },
                {
                    "name": "E2_agent",
                    "plus": [ref("agent", "full")],
                    "minus": [ref("agent", "endpoint")],
                },
                {
                    "name": "E1_absent",
                    "plus": [ref("absent", "full")],
                    "minus": [ref("prior_bo", "full")],
                },
            ],
        },
        {
            "name": "secondary",
            "adjustment": "benjamini_hochberg",
            "seed_offset": 100,
            "tests": [
                {
                    "name": "gain_difference",
                    "plus": [ref("agent", "full"), ref("prior_bo", "endpoint")],
                    "minus": [ref("agent", "endpoint"), ref("prior_bo", "full")],
                },
                {"name": "reader_gain", "seed_offset": 300},
            ],
        },
        {"name": "none", "adjustment": "holm", "seed_offset": 500, "tests": []},
    ],
}


@pytest.fixture(scope="module")
def cells() -> dict:
    return cells_from_scores(score_table(EFFECTS, sites=20), DESIGN)


@pytest.fixture(scope="module")
def gains() -> dict[str, Differences]:
    return {"reader_gain": Differences(tuple(range(12)), np.zeros(12))}


@pytest.fixture(scope="module")
def results(cells, gains) -> tuple[pd.DataFrame, dict]:
    return family_results(parse_analysis(STUDY), cells, gains)


def test_one_row_for_each_declared_test_in_order(results) -> None:
    table, behind = results
    names = ["E1_agent", "E2_agent", "E1_absent", "gain_difference", "reader_gain"]
    assert list(table["test"]) == names == list(behind)
    assert list(table["family"]) == ["primary"] * 3 + ["secondary"] * 2
    assert list(table["family_size"]) == [3, 3, 3, 2, 2]
    assert list(table["seed"] - 20261004) == [0, 1, 2, 100, 300]


def test_values_are_those_of_the_functions(results) -> None:
    table, behind = results
    row = table.set_index("test").loc["E1_agent"]
    values = behind["E1_agent"].differences.values
    interval = bca_interval(values, 20261004, resamples=1_000)
    assert row["p"] == sign_flip_test(values, 20261004, flips=2_000).p
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == (
        interval.mean,
        interval.low,
        interval.high,
    )
    assert row["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)
    expected = minimum_detectable_difference(row["sd"], 20, 0.05 / 3)
    assert row["minimum_detectable"] == pytest.approx(expected, abs=1e-9)


def test_verdicts_and_adjustment(results) -> None:
    rows = results[0].set_index("test")
    primary = rows[rows["family"] == "primary"]
    np.testing.assert_array_equal(primary["p_adjusted"], holm(primary["p"].to_numpy()))
    assert rows.loc["E1_agent", ["significant", "verdict", "interval_reading"]].tolist() == [
        "yes",
        "beyond",
        "beyond",
    ]
    assert rows.loc["E2_agent", ["significant", "verdict", "interval_reading"]].tolist() == [
        "no",
        "equivalent",
        "equivalent",
    ]
    assert rows.loc["E2_agent", "p_equivalent_adjusted"] >= rows.loc["E2_agent", "p_equivalent"]


def test_a_test_without_data_keeps_its_place_and_harms_nobody(results, cells, gains) -> None:
    rows = results[0].set_index("test")
    absent = rows.loc["E1_absent"]
    assert absent["status"] == TestStatus.NO_DATA
    assert absent["verdict"] == absent["significant"] == absent["ci_kind"] == "undefined"
    assert absent[["estimate", "ci_low", "ci_high", "p", "p_adjusted", "sd"]].isna().all()
    assert rows.loc[["E1_agent", "E2_agent"], "p_adjusted"].notna().all()
    assert rows.loc["E1_agent", "p_adjusted"] == pytest.approx(3 * rows.loc["E1_agent", "p"])
    study = copy.deepcopy(STUDY)
    study["families"][0]["size_rule"] = "available"
    other = family_results(parse_analysis(study), cells, gains)[0].set_index("test")
    assert other.loc["E1_agent", "p_adjusted"] == pytest.approx(2 * rows.loc["E1_agent", "p"])


def test_identical_scores_are_degenerate_and_declared(results) -> None:
    reader = results[0].set_index("test").loc["reader_gain"]
    assert (reader["p"], reader["ci_low"], reader["ci_high"]) == (1.0, 0.0, 0.0)
    assert (reader["ci_kind"], reader["reason"], reader["verdict"]) == (
        "point",
        "all_equal",
        "equivalent",
    )
    assert np.isnan(reader["sd"])
    assert np.isnan(reader["minimum_detectable"])


def test_missing_sites_are_excluded_and_counted(gains) -> None:
    scores = score_table(EFFECTS, sites=20)
    scores.loc[rows_of(scores, method="agent", feedback="full", site=3), "status"] = "run_failed"
    scores = scores[~rows_of(scores, method="prior_bo", feedback="full", site=7, repeat=1)]
    cells = cells_from_scores(scores, DESIGN)
    rows = family_results(parse_analysis(STUDY), cells, gains)[0].set_index("test")
    assert rows.loc["E1_agent", ["n_sites", "n_excluded", "excluded"]].tolist() == [
        18,
        2,
        "not_run: 1, run_failed: 1",
    ]
    study = STUDY | {"repeat_rule": "available"}
    spec = parse_analysis(study)
    assert spec.repeat_rule is RepeatRule.AVAILABLE
    rows = family_results(spec, cells, gains)[0].set_index("test")
    assert rows.loc["E1_agent", ["n_sites", "excluded"]].tolist() == [19, "run_failed: 1"]


@pytest.mark.parametrize("sites", [1, 2])
def test_very_few_sites(sites: int, gains) -> None:
    cells = cells_from_scores(score_table(EFFECTS, sites=sites), DESIGN)
    rows = family_results(parse_analysis(STUDY), cells, gains)[0].set_index("test")
    assert rows.loc["E1_agent", ["status", "reason", "ci_kind"]].tolist() == [
        "tested",
        "too_few",
        "undefined",
    ]
    assert rows.loc["E1_agent", "p"] == 2.0 ** (1 - sites)
    assert np.isfinite(rows.loc["E1_agent", "estimate"])


def test_one_missing_value_in_a_family_costs_one_test(cells) -> None:
    """A NaN that reaches a test makes that test undefined, and no other one and no warning."""
    holed = {"reader_gain": Differences(tuple(range(12)), np.array([np.nan, *[1.0] * 11]))}
    sound = {"reader_gain": Differences(tuple(range(12)), np.linspace(0.5, 1.5, 12))}
    one, other = (
        family_results(parse_analysis(STUDY), cells, given_values)[0].set_index("test")
        for given_values in (holed, sound)
    )
    assert one.loc["reader_gain", ["status", "reason"]].tolist() == ["undefined", "not_finite"]
    assert one.loc["reader_gain", ["p", "p_adjusted", "estimate", "ci_low", "sd"]].isna().all()
    assert one.loc["reader_gain", "verdict"] == "undefined"
    columns = ["estimate", "ci_low", "ci_high", "p", "p_equivalent", "verdict"]
    kept = one.drop(index="reader_gain")[columns]
    pd.testing.assert_frame_equal(kept, other.drop(index="reader_gain")[columns])
    assert one.loc["gain_difference", "p_adjusted"] == min(1.0, 2 * one.loc["gain_difference", "p"])


def test_no_families_and_empty_families() -> None:
    for families in ([], STUDY["families"][2:]):
        table, behind = family_results(parse_analysis(STUDY | {"families": families}), {})
        assert list(table.columns) == list(RESULT_SCHEMA.columns)
        assert len(table) == len(behind) == 0


def test_same_inputs_same_bytes_through_parquet(results, cells, gains, tmp_path) -> None:
    again, _ = family_results(parse_analysis(STUDY), dict(reversed(cells.items())), gains)
    content = RESULT_SCHEMA.parquet(results[0])
    assert RESULT_SCHEMA.parquet(again) == content
    pd.testing.assert_frame_equal(RESULT_SCHEMA.read(io.BytesIO(content)), results[0])


def test_given_differences_must_be_declared(cells) -> None:
    values = Differences((0,), np.zeros(1))
    for name in ("E1_agent", "unheard_of"):
        with pytest.raises(ValueError, match=name):
            family_results(parse_analysis(STUDY), cells, {name: values})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(sesoi_eur_m2=0.0), "sesoi_eur_m2"),
        (lambda s: s.update(bonus=1), "bonus"),
        (lambda s: s["families"][0].update(adjustment="bonferroni"), "adjustment"),
        (lambda s: s["families"][1].update(name="primary"), "unique"),
        (lambda s: s["families"][1].update(seed_offset=2), "same seed"),
        (lambda s: s["families"][0]["tests"][0].update(name="E2_agent"), "unique"),
    ],
)
def test_faulty_declarations_are_refused(change, message) -> None:
    study = copy.deepcopy(STUDY)
    change(study)
    with pytest.raises(ConfigError, match=message):
        parse_analysis(study)


def test_all_significant_family() -> None:
    table = score_table({("m", "full"): 50.0, ("b", "full"): 0.0}, sites=30)
    tests = [
        {"name": f"t{i}", "plus": [ref("m", "full")], "minus": [ref("b", "full")]} for i in range(7)
    ]
    families = [{"name": "f", "adjustment": "holm", "seed_offset": 0, "tests": tests}]
    spec = parse_analysis(STUDY | {"families": families})
    rows, _ = family_results(spec, cells_from_scores(table, DESIGN))
    np.testing.assert_allclose(rows["p_adjusted"], 7 / 2_001, rtol=1e-12)
    assert (rows["significant"] == "yes").all()
