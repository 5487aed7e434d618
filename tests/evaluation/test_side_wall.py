"""Scores with other side walls: one hidden value is replaced and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.campaign.settlement import CampaignStatus
from slowlab.evaluation.recommendations import Recommendation
from slowlab.evaluation.score import reference_recommendations, score_recommendations
from slowlab.evaluation.side_wall import (
    PARAMETER,
    SIDE_WALL_SCHEMA,
    score_with_side_walls,
    with_side_wall,
)
from slowlab.greenlight.lanes import LaneParameterError


@pytest.fixture
def runner(fake_runner):
    """Warm walls move the optimum."""
    fake_runner.optimum = lambda run: np.full(6, 0.1 * run.lanes[0].parameters[PARAMETER])
    return fake_runner


@pytest.fixture
def by_number(sites):
    return {site.index: site for site in sites[:3]}


def test_every_compartment_and_year_gets_the_value_and_keeps_the_rest(sites):
    site = sites[0]
    before = site.model_dump()
    other = with_side_wall(site, 4.0)
    rows = [*other.parameters, *(row for year in other.years for row in year.parameters)]
    assert {row[PARAMETER] for row in rows} == {4.0}
    assert site.model_dump() == before
    back = with_side_wall(other, site.parameters[0][PARAMETER])
    assert back.model_dump() == before
    assert [year.noise_seed for year in other.years] == [year.noise_seed for year in site.years]


def test_the_drawn_value_gives_the_drawn_scores(runner, by_number, contract):
    wanted = reference_recommendations([by_number[1]], contract)
    value = by_number[1].parameters[0][PARAMETER]
    found = score_with_side_walls(runner, by_number, wanted, [value])
    _, plain = score_recommendations(runner, by_number, wanted)
    assert found["score_eur_m2"].tolist() == plain["score_eur_m2"].tolist()


def test_scores_follow_the_wall_whatever_the_order(runner, by_number, contract):
    wanted = reference_recommendations(list(by_number.values()), contract)
    found = score_with_side_walls(runner, by_number, wanted, [0.0, 4.0])
    turned = score_with_side_walls(runner, by_number, wanted[::-1], [4.0, 0.0])
    assert SIDE_WALL_SCHEMA.parquet(found) == SIDE_WALL_SCHEMA.parquet(turned)
    wide = found.pivot(index="site", columns="exchange_w_m2_k", values="score_eur_m2")
    assert (wide[0.0] != wide[4.0]).all()


def test_a_campaign_without_a_result_stays_missing(runner, by_number):
    failed = Recommendation(
        site=0,
        method="m",
        feedback="full",
        campaign=CampaignStatus.INFRASTRUCTURE_FAILURE,
        failure="no answer",
    )
    found = score_with_side_walls(runner, by_number, [failed], [0.0, 4.0])
    assert found["score_eur_m2"].isna().all()
    assert found["reason"].tolist() == ["no answer"] * 2


def test_the_models_own_bounds_still_hold(simulator, sites, contract):
    from slowlab.evaluation.batching import simulate_together
    from slowlab.evaluation.years import scoring_run
    from slowlab.world.weather_source import WeatherSource

    site = with_side_wall(sites[0], 11.0)
    run = scoring_run(contract, site, site.evaluation_years[0], contract.fixed_reference)
    with pytest.raises(LaneParameterError, match=PARAMETER):
        simulate_together(simulator, WeatherSource(), [run])
