"""Best-known policies and the common policy, on a formula instead of a simulator."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.evaluation.common import greedy_portfolio, search_common, spread_prices
from slowlab.evaluation.common_file import CommonPolicyError, read_common, write_common
from slowlab.evaluation.oracle import OracleSettings, find_optima, mean_scores
from slowlab.evaluation.search import SearchSettings, cold_corner
from slowlab.world.contract import load_contract
from slowlab.world.economics import Prices
from slowlab.world.policy import encode, to_unit
from slowlab.world.site import SiteError

SETTINGS = OracleSettings(search=SearchSettings(sobol=16, rounds=4, population=8))
INSIDE = np.array([0.6, 0.2, 0.5, 0.0, 0.7, 0.3])


@pytest.fixture
def by_window(fake_runner):
    """The optimum lies higher where the leaves may grow denser."""
    fake_runner.optimum = lambda run: INSIDE + 0.3 * (run.lanes[0].parameters["laiMax"] - 3.0)
    return fake_runner


def unit_point(policy, contract):
    return to_unit(encode([policy]), contract.policy)[0]


def test_every_site_gets_its_own_optimum(by_window, sites, contract):
    optima = find_optima(by_window, sites, SETTINGS)
    assert [item.site for item in optima] == [site.index for site in sites]
    for item, site in zip(optima, sites, strict=True):
        expected = INSIDE + 0.3 * (site.parameters[0]["laiMax"] - 3.0)
        expected[3] = 0.0  # light costs money and gives nothing here
        gap = unit_point(item.policy, contract) - np.clip(expected, 0, 1)
        assert np.abs(gap).max() < 0.2
        assert item.selection_gain > 0


def test_screening_selection_and_scoring_use_different_years(by_window, sites):
    optima = find_optima(by_window, sites, SETTINGS)
    for item, site in zip(optima, sites, strict=True):
        used = {item.screening_year, *item.selection_years}
        assert len(used) == 3
        assert not used & set(site.evaluation_years)
        assert site.campaign_year not in used
    asked = {run.weather for run in by_window.asked}
    assert asked <= {year for site in sites for year in site.spare_years}


def test_given_policies_reference_and_corner_are_screened(by_window, sites, contract):
    tried = contract.evaluation.candidates["policy_b"]
    find_optima(by_window, sites[:1], SETTINGS, candidates={0: [tried]})
    screened = {run.policy for run in by_window.asked if run.noise_seed is None}
    assert {tried, contract.fixed_reference, cold_corner(contract.policy)} <= screened


def test_optimism_is_what_selection_flattered(by_window, sites):
    (item,) = find_optima(by_window, sites[:1], SETTINGS)
    assert item.optimism(item.selection_gain - 1.5) == pytest.approx(1.5)


def test_screening_runs_that_fail_are_passed_over(by_window, sites, contract):
    by_window.failing = lambda run: (
        run.noise_seed is None and run.policy == contract.fixed_reference
    )
    (item,) = find_optima(by_window, sites[:1], SETTINGS)
    assert item.policy != contract.fixed_reference


def test_a_selection_run_that_fails_is_no_score(by_window, sites):
    by_window.failing = lambda run: run.noise_seed is not None
    with pytest.raises(SiteError, match="integration failed"):
        find_optima(by_window, sites[:1], SETTINGS)


def test_too_few_spare_years_are_refused(by_window, sites):
    poor = sites[0].model_copy(update={"spare_years": sites[0].spare_years[:2]})
    with pytest.raises(SiteError, match="spare years"):
        find_optima(by_window, [poor], SETTINGS)


def test_mean_scores_are_means_over_the_years(fake_runner, sites, contract):
    policies = list(contract.evaluation.candidates.values())
    site = sites[0]
    (found,) = mean_scores(fake_runner, [(site, site.evaluation_years, policies)])
    assert set(found) == set(policies)
    assert len(fake_runner.asked) == 3 * len(policies)


@pytest.fixture
def common(by_window, development):
    return search_common(by_window, development, SearchSettings(sobol=16, rounds=4, population=10))


def test_the_common_policy_is_best_on_average(common, contract):
    archive = common.archive
    assert archive.own_margin[archive.common] == archive.own_margin.max()
    gap = unit_point(common.policy, contract) - INSIDE
    assert np.abs(gap).max() < 0.25
    assert contract.fixed_reference in archive.policies
    assert len(common.portfolio) == 12
    assert common.policy == common.portfolio[0]


def test_the_rule_by_prices_follows_prices(by_window, development, contract):
    def brighter(run):
        return np.append(INSIDE[:3], [1.0, *INSIDE[4:]])

    by_window.optimum = brighter
    found = search_common(by_window, development, SearchSettings(sobol=32, rounds=3, population=10))
    cheap = Prices(
        fruit_eur_per_kg_fresh=100.0,
        electricity_eur_per_kwh=0.0,
        delivered_heat_eur_per_kwh=0.0,
        co2_eur_per_kg=0.0,
    )
    dear = cheap.model_copy(update={"fruit_eur_per_kg_fresh": 0.5, "electricity_eur_per_kwh": 5.0})
    light = [found.archive.best_at(p).supplemental_light_hours for p in (cheap, dear)]
    assert light[0] > light[1] + 8


def test_the_file_is_read_as_it_was_written(common, contract, tmp_path):
    path = write_common(tmp_path / "common.json", common)
    found = read_common(path, contract)
    assert found.policy == common.policy
    assert found.portfolio == common.portfolio
    assert found.provenance == common.provenance
    np.testing.assert_array_equal(found.archive.totals, common.archive.totals)
    assert write_common(tmp_path / "again.json", found).read_bytes() == path.read_bytes()


def test_the_file_of_another_contract_is_refused(common, tmp_path):
    path = write_common(tmp_path / "common.json", common)
    with pytest.raises(CommonPolicyError, match="another version"):
        read_common(path, load_contract())
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(CommonPolicyError, match="not of the form"):
        read_common(tmp_path / "other.json", load_contract())


def test_a_portfolio_serves_every_site():
    margins = np.array([[9.0, 0.0, 5.0], [0.0, 9.0, 5.0], [6.0, 6.0, 5.0], [1.0, 1.0, 7.0]])
    assert greedy_portfolio(margins, 3) == [2, 0, 1]
    assert len(greedy_portfolio(margins, 9)) == 4


def test_prices_that_differ_are_chosen():
    def prices(fruit):
        return Prices(
            fruit_eur_per_kg_fresh=fruit,
            electricity_eur_per_kwh=0.1,
            delivered_heat_eur_per_kwh=0.1,
            co2_eur_per_kg=0.1,
        )

    listed = [prices(x) for x in (1.0, 1.1, 1.2, 4.0)]
    assert [p.fruit_eur_per_kg_fresh for p in spread_prices(listed, 2)] == [4.0, 1.0]
    assert spread_prices([prices(1.0)] * 3, 2) == []
