"""Tables of attempts, spread, dominance, cost and generations say what the numbers say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowlab.analysis.attempt_tables import NO_GENERATIONS
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table, tables_of
from slowlab.analysis.table_notes import table_note
from tests.analysis.synthetic_study import synthetic_inputs

METHODS = ("fixed_reference", "random_search", "grower", "careful", "prior_bo")


@pytest.fixture(scope="module")
def numbers():
    """SYNTHETIC: `careful` takes the place of `grower`."""
    inputs = synthetic_inputs(METHODS, readers=())
    methods = tuple(
        item.model_copy(
            update={"predecessor": "stand-in-grower" if item.name == "careful" else None}
        )
        for item in inputs.study.methods
    )
    study = inputs.study.model_copy(update={"methods": methods})
    return build_numbers(replace(inputs, study=study))


def test_attempts_have_a_row_for_every_k(numbers) -> None:
    frame = table("attempts", numbers)
    rows = frame[(frame["method"] == "random search") & (frame["feedback"] == "full")]
    assert rows["k"].tolist() == ["1", "2"]
    one, two = (rows.iloc[place] for place in (0, 1))
    assert one["best"] == one["worst"] == one["average"]
    assert float(two["worst"]) < float(two["average"]) < float(two["best"])
    assert two["sites"] == "6"


def test_two_repeats_are_guarded_and_missing_ones_said(numbers) -> None:
    frame = table("stability", numbers).set_index(["method", "feedback"])
    row = frame.loc["prior bo", "full"]
    found = numbers["autolab"]["attempts"]["methods"]["prior_bo"]["full"]
    assert row["guards"].startswith("two repeats: read pooled_sd")
    assert row["pooled_sd"] == f"{found['pooled_sd']:.2f}"
    assert row["site_variance"] == f"{found['site_variance']:.2f}"
    assert frame.loc["fixed reference", "no campaign"]["guards"] == "no site has two repeats"


def test_shares_of_two_methods_add_up(numbers) -> None:
    frame = table("dominance", numbers).set_index("method")
    one = float(frame.loc["prior bo", "random search"])
    other = float(frame.loc["random search", "prior bo"])
    assert one + other == pytest.approx(1.0, abs=0.011)
    assert frame.loc["prior bo", "prior bo"] == ""
    assert set(frame["fewest_sites"]) == {"6"}
    assert "at most 2.00 EUR/m2 are ties" in table_note("dominance", numbers)


def test_the_frontier_has_every_method_and_its_best_free_one_on_it(numbers) -> None:
    frame = table("frontier", numbers).set_index("method")
    assert len(frame) == len(METHODS)
    assert frame.loc["prior bo", "on_frontier"] == "yes"
    assert frame.loc["random search", "on_frontier"] == "no"
    assert frame.loc["fixed reference", "usd_per_campaign"] == "0.0000"


def test_a_generation_is_compared_with_the_one_before(numbers) -> None:
    frame = table("generations", numbers).set_index("method")
    assert frame.index.tolist() == ["careful"]
    assert frame.loc["careful", "before"] == "grower (stand-in)"
    difference = float(frame.loc["careful", "difference"])
    assert difference == pytest.approx(3.5, abs=1.5)  # the effects of the two synthetic models


def test_without_generations_the_table_says_so_or_is_absent() -> None:
    models = build_numbers(synthetic_inputs(METHODS, sites=3, readers=()))
    assert table("generations", models)["result"].tolist() == [NO_GENERATIONS]
    none = build_numbers(synthetic_inputs(sites=3, readers=()))
    assert "generations" not in tables_of(none)
