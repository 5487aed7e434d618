"""Missing repeats: both declared rules, and tests that lack too many sites."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowlab.analysis.numbers_file import read_numbers, write_numbers
from slowlab.analysis.results import family_results
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table
from tests.analysis.synthetic_study import synthetic_inputs

METHODS = ("fixed_reference", "random_search", "prior_bo")
HOLE = (2, "prior_bo", "full", 0)
TOUCHED = {"e1.random_search", "e2.prior_bo", "gain.prior_bo"}


@pytest.fixture(scope="module")
def whole():
    return build_numbers(synthetic_inputs(METHODS, sites=20, readers=()))


@pytest.fixture(scope="module")
def holed():
    return synthetic_inputs(METHODS, sites=20, readers=(), failed=[HOLE])


@pytest.fixture(scope="module")
def numbers(holed):
    return build_numbers(holed)


def test_without_holes_the_rules_agree_and_only_the_first_family_is_listed(whole) -> None:
    found = whole["missing_data"]
    assert not any(test["differ"] for test in found["tests"].values())
    rows = table("missing_data", whole)
    assert set(rows["test"]) == set(whole["families"][0]["tests"])
    assert set(rows["enough_sites"]) == {"yes"}
    assert set(rows["repeats"]) == {"complete"}


def test_a_missing_repeat_costs_its_site_or_its_weight(numbers) -> None:
    """The numbers of either rule are those of an analysis under that rule."""
    found = numbers["missing_data"]
    assert {name for name, test in found["tests"].items() if test["differ"]} == TOUCHED
    for name in TOUCHED:
        rules = found["tests"][name]["rules"]
        assert (rules["complete"]["n_sites"], rules["available"]["n_sites"]) == (19, 20)
        assert rules["complete"]["p_adjusted"] == numbers["tests"][name]["p_adjusted"]
        assert rules["complete"]["estimate"] == numbers["tests"][name]["estimate"]


def test_the_other_rule_is_that_of_the_analysis(holed, numbers) -> None:
    spec = spec_of(holed).model_copy(update={"repeat_rule": "available"})
    cells = cells_from_scores(holed.own_scores, holed.design)
    rows = family_results(spec, cells)[0].set_index("test")
    for name, test in numbers["missing_data"]["tests"].items():
        shown = test["rules"]["available"]
        assert shown["estimate"] == rows.loc[name, "estimate"]
        assert shown["p_adjusted"] == pytest.approx(rows.loc[name, "p_adjusted"], abs=1e-9)
        assert shown["verdict"] == rows.loc[name, "verdict"]


def test_both_rules_stand_in_the_table_where_they_differ(numbers, tmp_path) -> None:
    rows = table("missing_data", numbers)
    shown = rows[rows["test"] == "e2.prior_bo"]
    assert shown[["repeats", "declared", "sites"]].to_numpy().tolist() == [
        ["complete", "yes", "19"],
        ["available", "no", "20"],
    ]
    assert set(shown["missing_share"]) == {"0.05"}
    again = read_numbers(write_numbers(tmp_path / "numbers.json", numbers))
    assert table("missing_data", again).equals(rows)


def test_a_first_test_that_lacks_more_sites_than_declared_is_not_confirmatory(holed) -> None:
    other = (7, "prior_bo", "endpoint", 1)
    worse = synthetic_inputs(METHODS, sites=20, readers=(), failed=[HOLE, other])
    tests = build_numbers(worse)["missing_data"]["tests"]
    enough = {name: test["confirmatory"] for name, test in tests.items()}
    assert enough == {
        "e1.random_search": True,
        "e2.random_search": True,
        "e2.prior_bo": False,
        "gain.random_search": None,
        "gain.prior_bo": None,
    }
    strict = spec_of(holed).model_copy(update={"largest_missing_share": 0.0})
    tests = build_numbers(replace(holed, declared=strict))["missing_data"]["tests"]
    assert tests["e1.random_search"]["confirmatory"] is False
    assert tests["e2.random_search"]["confirmatory"] is True
