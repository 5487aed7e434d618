"""Diagnostics: schedules as multisets, reads and totals apart, attempts and outputs apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.analysis.diagnostics import diagnostics, same_schedule
from slowlab.analysis.timeline import campaign_timeline, example_timelines
from tests.analysis.synthetic_study import synthetic_inputs

DAYS = st.lists(st.integers(1, 183).map(float), max_size=6)


@pytest.fixture(scope="module")
def inputs():
    return synthetic_inputs(readers=())


@pytest.fixture(scope="module")
def found(inputs):
    return diagnostics(inputs)["methods"]


@given(days=DAYS, data=st.data())
def test_order_and_a_few_days_of_slack_make_no_difference(days, data) -> None:
    moved = [day + data.draw(st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0])) for day in days]
    assert same_schedule(days, data.draw(st.permutations(moved)), 3.0)


def test_other_schedules_differ() -> None:
    assert not same_schedule([182.0, 182.0], [182.0], 3.0)
    assert not same_schedule([182.0, 182.0], [182.0, 186.0], 3.0)
    assert same_schedule([], [], 3.0)


def test_schedules_match_although_days_differ_by_one(found) -> None:
    pairs = found["prior_bo"]["full_and_endpoint"]
    assert (pairs["pairs"], pairs["same_later_schedule"]) == (12, 12)


def test_identical_recommendations_are_those_at_no_distance(found) -> None:
    pairs = found["prior_bo"]["full_and_endpoint"]
    assert pairs["identical_recommendation"] == 6
    span = 26.0 - 18.0
    assert pairs["mean_recommendation_distance"] == pytest.approx(0.5 * (1 / span) / 6**0.5)


def test_reads_of_records_and_of_totals_are_counted_apart(found) -> None:
    full, endpoint = (found["prior_bo"]["conditions"][mode] for mode in ("full", "endpoint"))
    means = full["mean_per_campaign"]
    assert (means["record_reads"], means["totals_reads"]) == (24.0, 8.0)
    assert means["record_reads_before_second_start"] == 12.0
    assert means["totals_reads_before_second_start"] == 4.0
    assert endpoint["mean_per_campaign"]["record_reads"] == 0.0


def test_reads_of_closed_crops_are_not_in_season(inputs, found) -> None:
    """Two reads of each campaign come on day 180, on which the crops of the first wave close."""
    means = found["prior_bo"]["conditions"]["full"]["mean_per_campaign"]
    assert (means["record_reads"], means["in_season_reads"]) == (24.0, 22.0)
    reads = inputs.reads.copy()
    reads.loc[reads["day"] == 180.0, "day"] = 179.0
    earlier = diagnostics(replace(inputs, reads=reads))["methods"]["prior_bo"]
    assert earlier["conditions"]["full"]["mean_per_campaign"]["in_season_reads"] == 24.0
    crops = inputs.crops[inputs.crops["unit"] != 0]
    empty = diagnostics(replace(inputs, crops=crops))["methods"]["prior_bo"]
    assert empty["conditions"]["full"]["mean_per_campaign"]["in_season_reads"] == 11.0


def test_permuted_starts_and_182_for_183_are_the_same_schedule(inputs) -> None:
    """The published comparison called both of them different."""
    crops = inputs.crops.copy()
    mine = (crops["method"] == "random_search") & (crops["run_index"] == 2)
    endpoint = mine & (crops["feedback"] == "endpoint")
    full = mine & (crops["feedback"] == "full")
    crops.loc[full, "start_day"] = 183.0 + 10.0 * crops.loc[full, "unit"]
    crops.loc[endpoint, "start_day"] = 182.0 + 10.0 * (3 - crops.loc[endpoint, "unit"])
    found = diagnostics(replace(inputs, crops=crops))["methods"]["random_search"]
    assert found["full_and_endpoint"]["same_later_schedule"] == 12
    crops.loc[endpoint, "start_day"] += 5.0
    other = diagnostics(replace(inputs, crops=crops))["methods"]["random_search"]
    assert other["full_and_endpoint"]["same_later_schedule"] == 0


def test_failed_predictions_are_no_predictions(inputs) -> None:
    """The published count of predictor calls held failures."""
    campaigns = inputs.campaigns.copy()
    mine = (campaigns["method"] == "prior_bo") & (campaigns["feedback"] == "full")
    campaigns.loc[mine, ["predictor_attempts", "predictor_outputs"]] = [5, 0]
    campaigns.loc[mine & (campaigns["site"] == 0), "predictor_outputs"] = 1
    found = diagnostics(replace(inputs, campaigns=campaigns))["methods"]["prior_bo"]
    full = found["conditions"]["full"]
    assert full["mean_per_campaign"]["predictor_attempts"] == 5.0
    assert full["mean_per_campaign"]["predictor_outputs"] == pytest.approx(2 / 12)
    assert full["campaigns_with_a_prediction"] == 2


def test_attempts_and_outputs_of_the_predictor_are_counted_apart(found) -> None:
    means = found["prior_bo"]["conditions"]["endpoint"]["mean_per_campaign"]
    assert (means["predictor_attempts"], means["predictor_outputs"]) == (2.0, 0.0)
    assert found["prior_bo"]["conditions"]["endpoint"]["campaigns_with_a_prediction"] == 0


def test_two_waves_need_the_first_one_closed_and_read(inputs, found) -> None:
    assert found["prior_bo"]["conditions"]["full"]["campaigns_with_two_waves"] == 12
    crops = inputs.crops.copy()
    crops.loc[crops["run_index"] == 1, "totals_read_day"] = float("nan")
    unread = diagnostics(replace(inputs, crops=crops))["methods"]
    assert unread["prior_bo"]["conditions"]["full"]["campaigns_with_two_waves"] == 0


def test_starts_off_the_waves_and_early_ends(inputs) -> None:
    crops = inputs.crops.copy()
    one = (crops["site"] == 0) & (crops["unit"] == 0) & (crops["run_index"] == 2)
    crops.loc[one, "start_day"] = 150.0
    found = diagnostics(replace(inputs, crops=crops))["methods"]
    full = found["prior_bo"]["conditions"]["full"]
    assert full["campaigns_with_a_start_off_the_waves"] == 2
    assert full["campaigns_with_an_early_end"] == 0
    assert found["random_search"]["conditions"]["full"]["campaigns_with_an_early_end"] == 12


def test_technical_failures_do_not_count() -> None:
    found = diagnostics(synthetic_inputs(failed=[(0, "prior_bo", "full", 0)]))["methods"]
    assert found["prior_bo"]["conditions"]["full"]["campaigns"] == 11
    assert found["prior_bo"]["full_and_endpoint"]["pairs"] == 11


def test_timeline_has_crops_and_reads_of_records(inputs) -> None:
    line = campaign_timeline(inputs, 0, "random_search", "full", 0)
    assert (line["n_crops"], line["n_reads"], line["n_totals_reads"]) == (8, 24, 8)
    assert [crop["start_day"] for crop in line["crops"]] == [0.0] * 4 + [183.0] * 4
    assert {read["variable"] for read in line["reads"]} == {"canopy_lai_proxy"}
    lines = example_timelines(inputs)
    assert list(lines["campaigns"]) == ["prior_bo", "random_search"]


def test_a_campaign_that_is_not_there_is_missing(inputs) -> None:
    line = campaign_timeline(inputs, 99, "random_search", "full", 0)
    assert (line["status"], line["crops"], line["n_reads"]) == ("missing", [], 0)
