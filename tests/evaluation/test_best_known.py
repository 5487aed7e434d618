"""The best policy known of each site: who may suggest it, what scores it, and its error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from slowlab.evaluation.best_known import (
    BEST_KNOWN_SCHEMA,
    CAMPAIGN,
    FOUND,
    MISSING,
    SEARCH_SCHEMA,
    SEARCHED,
    Suggested,
    best_known_table,
    search_sites,
)
from slowlab.evaluation.oracle import OracleSettings, mean_scores
from slowlab.evaluation.search import SearchSettings, repaired
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.site import SiteError

SETTINGS = OracleSettings(
    search=SearchSettings(sobol=4, rounds=2, population=4), finalists=2, selection_years=2
)
INSIDE = np.array([0.61, 0.2, 0.53, 0.0, 0.71, 0.34])


@pytest.fixture
def runner(fake_runner):
    fake_runner.optimum = lambda run: INSIDE
    return fake_runner


@pytest.fixture
def suggested(contract):
    listed = list(contract.evaluation.candidates.values())
    return Suggested(listed[0], tuple(listed[1:]))


def best(contract):
    """The best policy of the formula, which no small search hits."""
    return repaired(INSIDE[None], contract.policy)[0]


def policy_of(row):
    return Policy(**{name: row[name] for name in POLICY_FIELDS})


def test_what_a_campaign_recommended_can_win(runner, sites, contract, suggested):
    given = {sites[0].index: [best(contract), contract.fixed_reference]}
    (told,) = search_sites(runner, sites[:1], (), SETTINGS, suggested, given).to_dict("records")
    (alone,) = search_sites(runner, sites[:1], (), SETTINGS, suggested, {}).to_dict("records")
    assert policy_of(told) == best(contract)
    assert (told["origin"], told["given"]) == (CAMPAIGN, 2)
    assert (alone["origin"], alone["given"]) == (SEARCHED, 0)
    assert told["score_eur_m2"] > alone["score_eur_m2"]


def test_recommendations_are_screened_in_the_screening_year_alone(
    runner, sites, contract, suggested
):
    site = sites[0]
    poor = contract.fixed_reference.model_copy(update={"supplemental_light_hours": 16.0})
    search_sites(runner, [site], (), SETTINGS, suggested, {site.index: [poor]})
    years = {run.weather for run in runner.asked if run.policy == poor}
    assert years == {site.spare_years[0]}


def test_no_scoring_year_is_seen_before_the_winner_is_known(runner, sites, suggested):
    site = sites[0]
    search_sites(runner, [site], (), SETTINGS, suggested, {})
    scored = [k for k, run in enumerate(runner.asked) if run.weather in site.evaluation_years]
    assert scored == list(range(scored[0], len(runner.asked)))
    assert len({runner.asked[k].policy for k in scored}) == 2  # the winner and the reference


def test_the_score_is_that_of_any_recommendation(runner, sites, suggested, contract):
    (row,) = search_sites(runner, sites[:1], (), SETTINGS, suggested, {}).to_dict("records")
    policies = [policy_of(row), contract.fixed_reference]
    (scores,) = mean_scores(runner, [(sites[0], sites[0].evaluation_years, policies)])
    assert row["score_eur_m2"] == scores[policies[0]]
    gain = scores[policies[0]] - scores[policies[1]]
    assert row["optimism_eur_m2"] == pytest.approx(row["selection_gain_eur_m2"] - gain)


def test_a_row_depends_on_nothing_but_its_site(runner, sites, contract, suggested):
    given = {site.index: [best(contract), contract.fixed_reference] for site in sites[1:3]}
    turned = {number: policies[::-1] * 2 for number, policies in given.items()}
    again = [sites[0].index, sites[2].index]
    whole = search_sites(runner, sites[:3], again, SETTINGS, suggested, given)
    parts = [
        search_sites(runner, [site], again, SETTINGS, suggested, turned) for site in sites[2::-1]
    ]
    joined = SEARCH_SCHEMA.table(pd.concat(parts).to_dict("records"))
    assert SEARCH_SCHEMA.parquet(joined) == SEARCH_SCHEMA.parquet(whole)


def test_a_second_search_has_other_draws(runner, sites, suggested):
    found = search_sites(runner, sites[:1], [sites[0].index], SETTINGS, suggested, {})
    one, two = (policy_of(row) for row in found.to_dict("records"))
    assert one != two


def test_a_failed_run_leaves_its_own_site_without_a_policy(runner, sites, suggested):
    bad = sites[1]
    runner.failing = lambda run: run.lanes[0].parameters["laiMax"] == bad.parameters[0]["laiMax"]
    found = search_sites(runner, sites[:3], [bad.index], SETTINGS, suggested, {})
    rows = {(row["site"], row["search"]): row for row in found.to_dict("records")}
    assert [rows[site.index, 0]["status"] for site in sites[:3]] == [FOUND, MISSING, FOUND]
    for number in (0, 1):
        assert "screening run failed" in rows[bad.index, number]["reason"]
        assert pd.isna(rows[bad.index, number]["score_eur_m2"])


def test_too_few_spare_years_are_refused(runner, sites, suggested):
    poor = sites[0].model_copy(update={"spare_years": sites[0].spare_years[:2]})
    with pytest.raises(SiteError, match="selection_years must be below"):
        search_sites(runner, [poor], (), SETTINGS, suggested, {})


def searches(pairs):
    """A table of searches with given scores; None for a search that was not made."""
    blank = {
        name: {"text": "", "integer": 0, "number": 0.0}[column.kind]
        for name, column in SEARCH_SCHEMA.columns.items()
    }
    return SEARCH_SCHEMA.table(
        [
            {**blank, "site": site, "search": number, "status": FOUND, "score_eur_m2": score}
            for site, pair in enumerate(pairs)
            for number, score in enumerate(pair)
        ]
    )


def test_the_error_joins_years_and_search():
    """By hand: 1.2 / sqrt(4) = 0.6; sqrt((1 + 0.28) / 2 / 2) = 0.5657; together 0.8246."""
    pairs = [(40.0, 41.0), (30.0,), (20.0, 20.0 - 0.28**0.5)]
    table = best_known_table(searches(pairs), 1.2, 4)
    assert table["evaluation_error_eur_m2"].tolist() == pytest.approx([0.6] * 3)
    assert table["search_error_eur_m2"].tolist() == pytest.approx([0.32**0.5] * 3)
    assert table["error_eur_m2"].tolist() == pytest.approx([0.68**0.5] * 3)
    assert table["score_eur_m2"].tolist() == [40.0, 30.0, 20.0]  # the better one is not chosen
    assert table["second_score_eur_m2"].isna().tolist() == [False, True, False]
    BEST_KNOWN_SCHEMA.check(table)


def test_without_a_second_search_there_is_no_error():
    with pytest.raises(ValueError, match="searched twice"):
        best_known_table(searches([(40.0,), (None, 3.0)]), 1.2, 3)
