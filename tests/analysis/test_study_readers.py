"""Reader swaps: same sites, same repeats, identity cells apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowlab.analysis.study_numbers import build_numbers
from tests.analysis.synthetic_study import synthetic_inputs


def swap(numbers, reader, source):
    """One cell of reader by source."""
    (found,) = [
        item
        for item in numbers["readers"]["swaps"]
        if (item["reader"], item["source"]) == (reader, source)
    ]
    return found


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs()


@pytest.fixture(scope="module")
def numbers(inputs):
    return build_numbers(inputs)


def test_identity_cells_gain_nothing_and_are_left_out_of_the_pool(numbers) -> None:
    assert swap(numbers, "gp", "prior_bo")["identity"]
    assert swap(numbers, "gp", "prior_bo")["estimate"] == 0.0
    assert numbers["readers"]["largest_identity_gain"] == 0.0
    alone = swap(numbers, "gp", "random_search")["estimate"]
    assert numbers["tests"]["reader.gp"]["estimate"] == pytest.approx(alone)


def test_pooled_gain_is_the_mean_over_sources_within_sites(numbers) -> None:
    cells = [swap(numbers, "best_observed", name) for name in ("random_search", "prior_bo")]
    pooled = numbers["tests"]["reader.best_observed"]
    assert pooled["estimate"] == pytest.approx(np.mean([cell["estimate"] for cell in cells]))
    assert pooled["n_sites"] == 6


def test_a_gain_is_taken_from_the_same_site_and_repeat(inputs, numbers) -> None:
    """Only repeat 0 is read, so the other repeats of the source must not matter."""
    scores = inputs.scores.copy()
    scores.loc[scores["repeat"] == 1, "margin_eur_m2"] += 100.0
    other = build_numbers(replace(inputs, scores=scores))
    assert other["readers"]["swaps"] == numbers["readers"]["swaps"]


def test_a_failed_source_is_left_out_of_its_pool(inputs) -> None:
    numbers = build_numbers(synthetic_inputs(failed=[(2, "random_search", "full", 0)]))
    cell = swap(numbers, "best_observed", "random_search")
    assert (cell["n_sites"], cell["missing"]) == (5, {"campaign_failed": 1})
    pooled = numbers["tests"]["reader.best_observed"]
    assert (pooled["n_sites"], pooled["n_excluded"]) == (5, 1)
    assert 2 not in pooled["sites"]


def test_without_readings_readers_are_declared_and_have_no_data(inputs) -> None:
    numbers = build_numbers(replace(inputs, readings=None))
    assert numbers["tests"]["reader.gp"]["status"] == "no_data"
    assert swap(numbers, "gp", "random_search")["estimate"] is None
    assert numbers["readers"]["largest_identity_gain"] is None


def test_an_identity_cell_that_gains_something_is_told(inputs) -> None:
    readings = inputs.readings.copy()
    wrong = (readings["method"] == "reader:gp:prior_bo") & (readings["site"] == 3)
    readings.loc[wrong, "margin_eur_m2"] += 0.25
    numbers = build_numbers(replace(inputs, readings=readings))
    assert numbers["readers"]["largest_identity_gain"] == pytest.approx(0.25)


def test_a_reader_of_identity_sources_only_has_no_pool() -> None:
    numbers = build_numbers(
        synthetic_inputs(("fixed_reference", "prior_bo"), sites=3, readers=("gp",))
    )
    assert numbers["tests"]["reader.gp"]["status"] == "no_data"
