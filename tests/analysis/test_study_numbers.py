"""The numbers of a study: known effects are found, what is missing is counted, bytes are stable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowlab.analysis.multiplicity import Adjustment
from slowlab.analysis.numbers_file import NumbersError, read_numbers, write_numbers
from slowlab.analysis.published import Version, secondary_tests
from slowlab.analysis.study_families import analysis_spec, declared_tests
from slowlab.analysis.study_inputs import FamilyPlan
from slowlab.analysis.study_numbers import build_numbers
from slowlab.canonical import canonical_bytes
from tests.analysis.synthetic_study import (
    EFFECTS,
    FULL_GAIN,
    describe,
    synthetic_inputs,
    without,
)

KNOWLEDGE = ("prior_bo_no_anchor", "random_search_with_anchor", "random_search")


@pytest.fixture(scope="module")
def exact():
    """A study without noise: every difference is its effect."""
    return build_numbers(synthetic_inputs((*EFFECTS,), sites=5, readers=(), noise=0.0))


@pytest.fixture(scope="module")
def numbers():
    return build_numbers(synthetic_inputs())


def shuffled(inputs, seed=3):
    """The same tables with their rows in another order."""
    names = ("scores", "sites", "campaigns", "crops", "reads", "readings")
    tables = {
        name: getattr(inputs, name).sample(frac=1.0, random_state=seed).reset_index(drop=True)
        for name in names
    }
    return replace(inputs, **tables)


def test_known_effects_are_found(exact) -> None:
    for name, effect in EFFECTS.items():
        if name == "fixed_reference":
            continue
        full = FULL_GAIN if name != "common_policy" else 0.0
        assert exact["tests"][f"gain.{name}"]["estimate"] == pytest.approx(effect + full)
        if name not in ("prior_bo", "common_policy"):
            test = exact["tests"][f"e1.{name}"]
            assert test["estimate"] == pytest.approx(effect - EFFECTS["prior_bo"])
    assert exact["tests"]["e2.prior_bo"]["estimate"] == pytest.approx(FULL_GAIN)
    assert exact["tests"]["e2.prior_bo"]["ci_kind"] == "point"


def test_knowledge_is_compared_in_pairs_and_between_pairs(exact) -> None:
    tests = exact["tests"]
    first = EFFECTS["prior_bo"] - EFFECTS["prior_bo_no_anchor"]
    second = EFFECTS["random_search_with_anchor"] - EFFECTS["random_search"]
    assert tests["knowledge.anchor_bo"]["estimate"] == pytest.approx(first)
    assert tests["knowledge.anchor_random"]["estimate"] == pytest.approx(second)
    both = tests["knowledge.anchor_bo_less_anchor_random"]
    assert both["estimate"] == pytest.approx(first - second)


def test_share_of_what_the_single_policy_gains(exact) -> None:
    shares = exact["common_gain"]
    assert shares["gain_eur_m2"] == pytest.approx(EFFECTS["common_policy"])
    expected = (EFFECTS["prior_bo"] + FULL_GAIN) / EFFECTS["common_policy"]
    assert shares["methods"]["prior_bo"]["share"] == pytest.approx(expected)


def test_tests_stand_in_the_declared_families() -> None:
    study = describe(("fixed_reference", "random_search", "prior_bo"), 3, 2, ("gp",))
    spec = analysis_spec(study)
    assert [[test.name for test in family.tests] for family in spec.families] == [
        ["e1.random_search", "e2.random_search", "e2.prior_bo"],
        ["gain.random_search", "gain.prior_bo", "reader.gp"],
    ]
    assert [family.adjustment.value for family in spec.families] == ["holm", "benjamini_hochberg"]


def test_families_are_those_of_the_description() -> None:
    plan = FamilyPlan(name="all", questions=("e2", "gain"), adjustment=Adjustment.NONE)
    study = describe(("fixed_reference", "prior_bo"), 3, 1, (), families=(plan,))
    assert [test.contrast.name for test in declared_tests(study)] == [
        "e2.prior_bo",
        "gain.prior_bo",
    ]


def test_published_numbers_stand_beside_those_of_the_same_method(numbers) -> None:
    published = numbers["tests"]["gain.prior_bo"]["published"]
    theirs = secondary_tests(Version.CORRECTED)["baseline_full_minus_fixed_reference"]
    assert (published["estimate"], published["ci_low"]) == (theirs.mean, theirs.ci95_bca[0])
    assert numbers["tests"]["e2.prior_bo"]["published"]["estimate"] == pytest.approx(
        -0.72, abs=0.01
    )
    assert numbers["tests"]["e1.random_search"]["published"] is None
    assert numbers["means"]["prior_bo"]["full"]["published"] == pytest.approx(33.62, abs=0.01)
    assert numbers["resources"]["prior_bo"]["full"]["published"]["heat_kwh_m2"] == 94.898


def test_published_numbers_are_not_shown_under_other_rules() -> None:
    inputs = synthetic_inputs(sites=3, readers=())
    rules = inputs.contract.model_copy(update={"id": "another-contract"})
    numbers = build_numbers(replace(inputs, contract=rules))
    assert not numbers["study"]["published_shown"]
    assert all(test["published"] is None for test in numbers["tests"].values())
    assert numbers["means"]["prior_bo"]["full"]["published"] is None


def test_failed_campaigns_are_left_out_and_counted() -> None:
    failed = [(1, "random_search", "full", 0)]
    numbers = build_numbers(synthetic_inputs(failed=failed, noise=0.0))
    test = numbers["tests"]["e1.random_search"]
    assert (test["n_sites"], test["n_excluded"], test["excluded"]) == (5, 1, "campaign_failed: 1")
    assert 1 not in test["sites"]
    assert test["estimate"] == pytest.approx(EFFECTS["random_search"] - EFFECTS["prior_bo"])
    cell = numbers["means"]["random_search"]["full"]
    assert (cell["n_sites"], cell["missing"]) == (5, {"campaign_failed": 1})
    assert numbers["resources"]["random_search"]["full"]["n_sites"] == 5
    assert numbers["campaigns"]["missing"] == 1


def test_a_method_that_never_ran_is_missing_and_keeps_its_place_in_the_family() -> None:
    numbers = build_numbers(without(synthetic_inputs(), "random_search"))
    test = numbers["tests"]["e1.random_search"]
    assert (test["status"], test["estimate"], test["family_size"]) == ("no_data", None, 3)
    assert [m["missing"] for m in numbers["methods"]] == [False, True, False]
    assert numbers["means"]["random_search"]["full"]["mean"] is None
    assert numbers["tests"]["gain.prior_bo"]["estimate"] is not None
    assert "random_search" not in numbers["scores_by_year"] or (
        numbers["scores_by_year"]["random_search"] == {}
    )


def test_one_site_and_one_repeat() -> None:
    numbers = build_numbers(synthetic_inputs(sites=1, repeats=1))
    test = numbers["tests"]["e1.random_search"]
    assert test["estimate"] is not None
    assert (test["ci_low"], test["ci_kind"], test["verdict"]) == (None, "undefined", "undefined")
    assert numbers["means"]["prior_bo"]["full"]["se"] is None


def test_the_order_of_rows_changes_no_byte(numbers) -> None:
    assert canonical_bytes(build_numbers(shuffled(synthetic_inputs()))) == canonical_bytes(numbers)


def test_yearly_means_average_to_the_whole(numbers) -> None:
    for test in numbers["tests"].values():
        if test["by_year"]:
            means = [row["mean"] for row in test["by_year"]]
            assert np.mean(means) == pytest.approx(test["estimate"])


def test_sites_outside_the_study_do_not_count() -> None:
    inputs = synthetic_inputs(sites=4, readers=())
    fewer = inputs.study.model_copy(update={"sites": (0, 1, 2)})
    numbers = build_numbers(replace(inputs, study=fewer))
    assert numbers["tests"]["gain.prior_bo"]["sites"] == [0, 1, 2]
    assert numbers["campaigns"]["planned"] == 3 * 2 * 2 * 2


def test_file_is_read_back_and_others_are_refused(numbers, tmp_path) -> None:
    path = write_numbers(tmp_path / "numbers.json", numbers)
    assert read_numbers(path) == numbers
    (tmp_path / "other.json").write_text('{"format":"x"}')
    with pytest.raises(NumbersError, match="slowlab-numbers-1"):
        read_numbers(tmp_path / "other.json")


def test_provenance_has_a_place_for_the_lock(numbers) -> None:
    assert numbers["provenance"]["lock"] is None
    assert numbers["study"]["exploratory"]
    locked = build_numbers(replace(synthetic_inputs(sites=3), lock="abc"))
    assert locked["provenance"]["lock"] == "abc"
    assert not locked["study"]["exploratory"]


def test_a_description_names_its_own_methods_only() -> None:
    with pytest.raises(ValueError, match="'nobody' is not among the methods"):
        describe(("fixed_reference", "prior_bo"), 3, 1, (), baseline="nobody")
