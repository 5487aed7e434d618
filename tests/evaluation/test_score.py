"""Scores: which policy is scored, what is missing, and tables that keep their schema."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from slowlab.campaign.settlement import CampaignStatus, FallbackReason, PolicySource, Settlement
from slowlab.canonical import canonical_json
from slowlab.config import ConfigError
from slowlab.evaluation.recommendations import (
    FORMAT,
    Recommendation,
    RecommendationError,
    from_settlement,
    read_recommendations,
    resolve,
)
from slowlab.evaluation.score import (
    SCORE_SCHEMA,
    SITE_SCHEMA,
    reference_recommendations,
    score_recommendations,
)
from slowlab.evaluation.tables import Column, TableError, TableSchema
from slowlab.world.task import Feedback

GOOD = {
    "day_temperature_c": 19.0,
    "night_temperature_c": 16.0,
    "co2_target_ppm": 900.0,
    "supplemental_light_hours": 10.0,
    "vent_temperature_offset_c": 4.0,
    "vent_rh_threshold_pct": 85.0,
}
OTHER = GOOD | {"day_temperature_c": 20.0}


def recommend(site=0, method="m", **keywords):
    return Recommendation(site=site, method=method, feedback="full", **keywords)


@pytest.mark.parametrize(
    ("policy", "initial", "source", "reason"),
    [
        (GOOD, OTHER, PolicySource.RECOMMENDATION, None),
        (None, OTHER, PolicySource.INITIAL_RECOMMENDATION, FallbackReason.MISSING_RECOMMENDATION),
        ({}, OTHER, PolicySource.INITIAL_RECOMMENDATION, FallbackReason.INVALID_RECOMMENDATION),
        (None, None, PolicySource.FIXED_POLICY, FallbackReason.MISSING_RECOMMENDATION),
        (
            GOOD | {"co2_target_ppm": True},
            GOOD | {"extra": 1},
            PolicySource.FIXED_POLICY,
            FallbackReason.INVALID_RECOMMENDATION,
        ),
        ("21", [], PolicySource.FIXED_POLICY, FallbackReason.INVALID_RECOMMENDATION),
    ],
)
def test_the_fallback_is_typed(contract, policy, initial, source, reason):
    found = resolve(recommend(policy=policy, initial_policy=initial), contract)
    assert (found.source, found.fallback_reason) == (source, reason)
    expected = {
        PolicySource.RECOMMENDATION: policy,
        PolicySource.INITIAL_RECOMMENDATION: initial,
        PolicySource.FIXED_POLICY: contract.fixed_reference.model_dump(),
    }[source]
    assert found.policy is not None
    assert found.policy.model_dump() == expected


def test_the_order_of_keys_changes_nothing(contract):
    orders = [
        dict(reversed(GOOD.items())),
        *map(dict, itertools.islice(itertools.permutations(GOOD.items()), 0, 720, 97)),
    ]
    assert {resolve(recommend(policy=p), contract).policy for p in orders} == {
        resolve(recommend(policy=GOOD), contract).policy
    }


def test_a_settled_fallback_keeps_its_flag(contract):
    policy = contract.fixed_reference
    settlement = Settlement(
        status=CampaignStatus.CLOSED,
        feedback=Feedback.ENDPOINT,
        day=12.0,
        policy=policy,
        source=PolicySource.FIXED_POLICY,
        fallback_reason=FallbackReason.DEADLINE_NOT_REACHED,
        recommendations=0,
        budget={},
        rejections={},
        exchanged=(),
        failure=None,
        private={},
    )
    item = from_settlement(settlement, site=3, method="m", repeat=1)
    assert item.identity == (3, "m", "endpoint", 1)
    found = resolve(item, contract)
    assert found.policy == policy
    assert found.source is PolicySource.FIXED_POLICY
    assert found.fallback_reason is FallbackReason.DEADLINE_NOT_REACHED


def test_a_year_score_is_the_mean_of_its_plantings(fake_runner, sites, contract):
    scores, summaries = score_recommendations(
        fake_runner,
        {0: sites[0]},
        [recommend(policy=GOOD), *reference_recommendations(sites[:1], contract)],
    )
    assert len(scores) == 2 * 3 * 2
    mine = scores[scores["method"] == "m"]
    assert set(mine["planting_day"]) == {0, 3}
    assert (mine["crops"] == 2).all()
    by_year = mine.groupby("year")["margin_eur_m2"].mean()
    row = summaries[summaries["method"] == "m"].iloc[0]
    assert row["score_eur_m2"] == pytest.approx(by_year.mean(), abs=1e-12)
    assert row["years"] == 3
    assert row["day_temperature_c"] == 19.0


def test_a_failed_campaign_is_missing_and_nothing_is_simulated_for_it(fake_runner, sites):
    failed = recommend(
        campaign=CampaignStatus.INFRASTRUCTURE_FAILURE, failure="disk full", policy=GOOD
    )
    scores, summaries = score_recommendations(fake_runner, {0: sites[0]}, [failed])
    assert fake_runner.asked == []
    assert set(scores["status"]) == {"campaign_failed"}
    assert scores["margin_eur_m2"].isna().all()
    assert summaries["score_eur_m2"].isna().all()
    assert summaries["reason"].tolist() == ["disk full"]
    assert summaries["source"].tolist() == [""]


def test_a_failed_run_makes_the_site_score_missing_and_no_other(fake_runner, sites):
    year = sites[0].evaluation_years[1]
    fake_runner.failing = lambda run: run.weather == year and run.policy.day_temperature_c == 19
    scores, summaries = score_recommendations(
        fake_runner, {0: sites[0]}, [recommend(policy=GOOD), recommend(method="n", policy=OTHER)]
    )
    failed = scores[scores["status"] == "run_failed"]
    assert set(failed["year"]) == {str(year)}
    assert failed["margin_eur_m2"].isna().all()
    assert failed["reason"].str.contains("integration failed").all()
    assert summaries.set_index("method")["status"].to_dict() == {"m": "run_failed", "n": "scored"}
    assert summaries.set_index("method")["score_eur_m2"].isna().to_dict() == {"m": True, "n": False}


def test_one_policy_of_many_methods_is_simulated_once(fake_runner, sites):
    score_recommendations(
        fake_runner, {0: sites[0]}, [recommend(method=name, policy=GOOD) for name in "abcd"]
    )
    assert len(fake_runner.asked) == 3


def test_tables_do_not_depend_on_the_order_of_recommendations(fake_runner, sites, tmp_path):
    named = {site.index: site for site in sites}
    items = [recommend(site=s.index, method=m, policy=GOOD) for s in sites for m in "ab"]
    one, two = (score_recommendations(fake_runner, named, order) for order in (items, items[::-1]))
    for first, second, schema in zip(one, two, (SCORE_SCHEMA, SITE_SCHEMA), strict=True):
        assert schema.parquet(first) == schema.parquet(second)
    path = tmp_path / "scores.parquet"
    path.write_bytes(SCORE_SCHEMA.parquet(one[0]))
    pd.testing.assert_frame_equal(SCORE_SCHEMA.read(path), one[0])


def test_a_campaign_is_listed_once(fake_runner, sites):
    with pytest.raises(RecommendationError, match="listed twice"):
        score_recommendations(fake_runner, {0: sites[0]}, [recommend(), recommend(policy=GOOD)])


def write(path, **changed):
    content = {
        "format": FORMAT,
        "contract": "slowlab-task-contract-v8",
        "partition": "rehearsal",
        "recommendations": [{"site": 0, "method": "m", "feedback": "full", "policy": GOOD}],
    }
    path.write_text(canonical_json(content | changed), encoding="utf-8")
    return path


def test_a_file_of_recommendations_is_read(contract, tmp_path):
    found = read_recommendations(write(tmp_path / "r.json"), contract)
    assert found.recommendations[0].policy == GOOD
    assert found.recommendations[0].campaign is CampaignStatus.FINISHED


def test_a_bad_file_of_recommendations_is_refused(contract, tmp_path):
    with pytest.raises(RecommendationError, match="contract"):
        read_recommendations(write(tmp_path / "a.json", contract="v7"), contract)
    with pytest.raises(ConfigError, match="format"):
        read_recommendations(write(tmp_path / "b.json", format="x"), contract)
    twice = [{"site": 0, "method": "m", "feedback": "full"}] * 2
    with pytest.raises(RecommendationError, match="twice"):
        read_recommendations(write(tmp_path / "c.json", recommendations=twice), contract)


SMALL = TableSchema(
    {
        "name": Column("text", "-", "a name", allowed=("a", "b")),
        "count": Column("integer", "-", "a count", low=0),
        "value": Column("number", "m", "a value", nullable=True),
    },
    key=("name", "count"),
)
ROW = {"name": "a", "count": 1, "value": 2.0}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([ROW | {"name": "c"}], "name is not an allowed word"),
        ([ROW | {"name": None}], "name"),
        ([ROW | {"count": -1}], "count is below 0"),
        ([ROW | {"count": None}], "wrong type"),
        ([ROW | {"value": np.inf}], "value is not finite"),
        ([ROW | {"extra": 1}], "extra"),
        ([{"name": "a", "count": 1}], "value"),
        ([ROW, ROW], "there twice"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(rows, problem):
    with pytest.raises(TableError, match=problem):
        SMALL.table(rows)


def test_a_table_is_sorted_and_keeps_missing_numbers():
    table = SMALL.table([ROW | {"name": "b"}, ROW | {"value": None}])
    assert table["name"].tolist() == ["a", "b"]
    assert np.isnan(table["value"][0])
    assert SMALL.arrow.field("value").metadata[b"unit"] == b"m"
