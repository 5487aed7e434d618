"""Analyses beside the confirmatory one: they say what changes, and nothing where nothing does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from slowlab.analysis.dry_matter import scores_at
from slowlab.analysis.mixed_model import year_differences
from slowlab.analysis.published import load_published
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table
from slowlab.analysis.table_notes import table_note
from slowlab.canonical import canonical_bytes
from slowlab.world.economics import LedgerTotals, Prices, crop_statement, margin_at_dry_matter
from tests.analysis.synthetic_study import synthetic_inputs

SECTIONS = ("mixed_model", "dry_matter", "sensitivity_repeats")


def in_years(inputs, sd=1.0, seed=3):
    """The same study with noise of its own in every scoring year of every recommendation."""
    rng = np.random.default_rng(seed)
    scores = inputs.scores.copy()
    noise = rng.normal(0.0, sd, len(scores))
    return replace(inputs, scores=scores.assign(margin_eur_m2=scores["margin_eur_m2"] + noise))


@pytest.fixture(scope="module")
def inputs():
    return in_years(synthetic_inputs(sites=12))


@pytest.fixture(scope="module")
def numbers(inputs):
    return build_numbers(inputs)


@pytest.fixture(scope="module")
def partly_failed():
    """One repeat of one site of a method has no score."""
    return build_numbers(
        synthetic_inputs(sites=8, failed=[(2, "random_search", "full", 1)], readers=())
    )


def test_mixed_model_of_complete_data_has_the_paired_estimate(numbers) -> None:
    for name, row in numbers["mixed_model"]["tests"].items():
        test = numbers["tests"][name]
        assert row["status"] in ("fitted", "singular")
        assert row["n_values"] == 12 * 2 * 3
        balanced = row["variances"]["campaign_year"] == row["variances"]["scoring_year"] == 0.0
        if balanced:  # else years are weighted by how well they are known
            assert row["estimate"] == pytest.approx(test["estimate"], abs=1e-8)
        assert row["ci_low"] < row["estimate"] < row["ci_high"]
        assert set(row["variances"]) | set(row["left_out"]) >= {"site", "repeat", "residual"}


def test_mixed_model_uses_sites_that_the_primary_test_leaves_out(partly_failed) -> None:
    row = partly_failed["mixed_model"]["tests"]["e1.random_search"]
    assert partly_failed["tests"]["e1.random_search"]["n_sites"] == 7
    assert (row["n_sites"], row["n_values"]) == (8, 8 * 6 - 3)


def test_a_cell_without_campaigns_stands_beside_every_repeat(inputs) -> None:
    contrast = next(
        test
        for family in spec_of(inputs).families
        for test in family.tests
        if test.name == "gain.prior_bo"
    )
    years = pd.DataFrame(
        [
            ("prior_bo", "full", 0, 0, "2003", 5.0),
            ("prior_bo", "full", 0, 1, "2003", 7.0),
            ("prior_bo", "full", 1, 0, "2003", 9.0),
            ("fixed_reference", "none", 0, 0, "2003", 4.0),
        ],
        columns=["method", "feedback", "site", "repeat", "year", "score"],
    )
    assert year_differences(years, contrast)["value"].tolist() == [1.0, 3.0]


def test_disagreement_is_named_in_table_and_note(numbers) -> None:
    changed = {**numbers, "mixed_model": {**numbers["mixed_model"]}}
    rows = {name: dict(row) for name, row in numbers["mixed_model"]["tests"].items()}
    assert "agree in sign and in significance" in table_note("mixed_model", numbers)
    rows["e2.prior_bo"]["disagrees"] = ["sign", "significance"]
    changed["mixed_model"]["tests"] = rows
    shown = table("mixed_model", changed).set_index("test")["disagrees"]
    assert shown["e2.prior_bo"] == "sign, significance"
    note = table_note("mixed_model", changed)
    assert "disagree on e2.prior_bo (sign and significance)" in note


def test_few_sites_and_unknown_years_are_said() -> None:
    few = build_numbers(replace(synthetic_inputs(sites=2, readers=()), site_facts=None))
    row = few["mixed_model"]["tests"]["e1.random_search"]
    assert row["status"] == "too_few"
    assert (row["estimate"], row["p"], row["disagrees"]) == (None, None, None)
    assert row["left_out"]["campaign_year"] == "unknown"
    assert row["left_out"]["site"] == "few_levels"
    assert few["dry_matter"] is None
    assert list(table("dry_matter", few).columns) == ["no_rows", "mark"]


def test_margins_at_another_fraction_are_those_of_the_accounts(inputs) -> None:
    costs = inputs.contract.economics.fixed_costs
    prices = dict(
        zip(inputs.site_facts["site"], inputs.site_facts["fruit_eur_per_kg_fresh"], strict=True)
    )
    changed = scores_at(inputs.scores, prices, 0.07, costs)
    for place in (0, 17, 100):
        row, site = inputs.scores.iloc[place], int(inputs.scores["site"].iloc[place])
        used = LedgerTotals(row["harvest_kg_m2"], 0.0, 0.0, 0.0, 0.0, 180.0)
        paid = Prices(
            fruit_eur_per_kg_fresh=prices[site],
            electricity_eur_per_kwh=0.0,
            delivered_heat_eur_per_kwh=0.0,
            co2_eur_per_kg=0.0,
        )
        statement = crop_statement(used, paid, costs)
        expected = margin_at_dry_matter(statement, 0.07, costs) - statement.margin
        found = changed["margin_eur_m2"].iloc[place] - row["margin_eur_m2"]
        assert found == pytest.approx(expected, abs=1e-9)
        assert changed["harvest_kg_m2"].iloc[place] == pytest.approx(used.harvest_kg_m2 * 6 / 7)


def test_the_drawn_fraction_repeats_the_confirmatory_tests(inputs, numbers) -> None:
    spec = spec_of(inputs)
    wanted = spec.sensitivity.model_copy(update={"dry_matter_fractions": (0.06,)})
    same = build_numbers(replace(inputs, declared=spec.model_copy(update={"sensitivity": wanted})))[
        "dry_matter"
    ]
    for name, row in same["fractions"]["0.06"].items():
        test = numbers["tests"][name]
        for key in ("estimate", "ci_low", "ci_high", "p", "p_adjusted", "verdict"):
            assert row[key] == test[key], (name, key)
        assert row["changes"] == []
    assert "every primary test has the same sign" in same["sentence"]


def test_published_dry_matter_stands_beside_and_the_sentence_names_what_changes(inputs) -> None:
    """Harvest goes with feedback, so that cheaper fruit turns a loss by feedback into a gain."""
    scores = inputs.scores.copy()
    full = (scores["method"] == "prior_bo") & (scores["feedback"] == "full")
    scores.loc[full, "harvest_kg_m2"] += 20.0
    found = build_numbers(replace(inputs, scores=scores))
    results = found["dry_matter"]["fractions"]
    name = "e2.prior_bo"
    drawn = found["tests"][name]["estimate"]
    assert results["0.07"][name]["estimate"] < drawn < results["0.05"][name]["estimate"]
    published = load_published().dry_matter_sensitivity.corrected.tests["0.07"]
    expected = published["E2_baseline_full_minus_endpoint"]
    assert (
        results["0.07"][name]["published"]["estimate"]
        == expected.mean
        == pytest.approx(-1.27, abs=0.01)
    )
    assert results["0.07"][name]["published"]["p"] == pytest.approx(0.007, abs=0.001)
    said = found["dry_matter"]["sentence"]
    for fraction in ("0.05", "0.07"):
        part = said.split(f"At {fraction} ")[1].split("At 0.07")[0]
        changed = [test for test, row in results[fraction].items() if row["changes"]]
        assert changed, fraction
        for test in results[fraction]:
            assert (test in part) == (test in changed), (fraction, test)
    frame = table("dry_matter", found)
    assert frame.loc[frame["test"] == name, "fraction"].tolist() == ["0.06", "0.05", "0.07"]
    assert table_note("dry_matter", found) == said


def test_both_rules_for_repeats_are_shown_where_they_differ(partly_failed) -> None:
    section = partly_failed["sensitivity_repeats"]
    assert section["differ"]["e1.random_search"]["n_sites"] == 8
    frame = table("sensitivity_repeats", partly_failed)
    shown = frame[frame["test"] == "e1.random_search"].set_index("rule")["sites"].to_dict()
    assert shown == {"complete": "7", "available": "8"}
    assert "e2.prior_bo" not in set(frame["test"])


def test_where_no_repeat_is_missing_nothing_differs(numbers) -> None:
    frame = table("sensitivity_repeats", numbers)
    assert frame["result"].tolist() == ["nothing differs"]
    assert "Nothing differs" in table_note("sensitivity_repeats", numbers)


@pytest.mark.parametrize(("sites", "said"), [(19, "no: lacks 5.3%"), (20, "yes")])
def test_a_primary_test_that_lacks_too_many_sites_is_not_confirmatory(sites, said) -> None:
    """One site in twenty is the largest share, and is itself allowed."""
    inputs = synthetic_inputs(
        sites=sites, failed=[(2, "random_search", "full", 1)], readers=(), flips=200, resamples=200
    )
    locked = build_numbers(replace(inputs, lock="0" * 12))
    frame = table("table3", locked).set_index("test")["confirmatory"]
    assert frame["e1.random_search"].startswith(said)
    assert frame["e2.prior_bo"] == "yes"
    assert frame["gain.random_search"] == ""
    assert ("e1.random_search" in table_note("table3", locked)) == said.startswith("no")
    open_study = build_numbers(inputs)
    assert set(table("table3", open_study)["confirmatory"]) == {""}


def test_order_of_rows_changes_no_byte(inputs, numbers) -> None:
    mixed = replace(
        inputs,
        scores=inputs.scores.sample(frac=1.0, random_state=1).reset_index(drop=True),
        site_facts=inputs.site_facts.iloc[::-1].reset_index(drop=True),
    )
    again = build_numbers(mixed)
    for section in SECTIONS:
        assert canonical_bytes(again[section]) == canonical_bytes(numbers[section]), section
