"""Sites reproduce the published draws, and every component has a stream of its own."""

import math
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.config import ConfigError, override, validate_config
from slowlab.world.site import (
    SiteError,
    WeatherPools,
    default_site,
    draw_site,
    evaluation_draws,
    read_site,
    write_site,
)
from slowlab.world.site_distribution import SITE_PARAMETERS, Basis, SiteDistribution

indices = st.integers(0, 10_000)


@pytest.fixture
def draw(sites, cabauw_pools, golden):
    def draw_one(index, distribution=sites, seed=None, compartments=4, pools=cabauw_pools):
        master = golden["master_seed"] if seed is None else seed
        return draw_site(distribution, master, index, pools=pools, compartments=compartments)

    return draw_one


@pytest.mark.parametrize("index", range(8))
def test_development_sites_are_the_published_ones(draw, golden, index):
    published = golden["development_sites_v1"][str(index)]
    site = draw(index)
    assert site.draws == published["draws"]
    assert site.noise_seed == published["campaign_noise_seed"]
    assert site.campaign_year == published["campaign_year"]
    assert list(site.evaluation_years) == published["evaluation_years"]


def test_evaluation_draws_are_the_published_ones(draw, golden):
    site = draw(0)
    for year, published in golden["development_site0_evaluation_draws"].items():
        found = evaluation_draws(site, int(year))
        assert {**found.draws, "noise_seed": found.noise_seed} == published
    with pytest.raises(SiteError, match="no draws"):
        evaluation_draws(site, site.campaign_year)


def test_published_draw_checks_of_distribution_v0(draw, sites, golden):
    older = override(sites, {"id": "slowlab-site-distribution-v0"})
    published = golden["distribution_v0"]
    first = draw(0, older)
    assert first.draws["site/deep_soil_boundary_c"] == published["site_0_deep_soil_boundary_c"]
    assert first.parameters[0]["tSoOut"] == published["site_0_deep_soil_boundary_c"]
    assert draw(107, older).parameters[0]["tCan24Min"] == published["site_107_tCan24Min"]


def test_draws_move_the_constants_they_should(draw):
    site = draw(3)
    values, first = site.draws, site.parameters[0]
    shift, vents = (
        values["site/temperature_window_shift_c"],
        values["site/ventilation_coefficient_factor"],
    )
    assert first["tCan24Min"] == 15.0 + shift
    assert first["tCan24Max"] == 24.5 + shift
    assert first["j25LeafMax"] == 210 * values["site/photosynthetic_capacity_factor"]
    assert first["tEndSum"] == 1035 * values["site/earliness_factor"]
    assert (first["cDgh"], first["cWgh"]) == (0.75 * vents, 0.09 * vents)
    assert first["tauRfPar"] == first["tauRfNir"] == values["site/cover_par_nir_transmission"]
    growth = 0.328 * values["site/fruit_growth_potential_factor"]
    for unit, row in enumerate(site.parameters):
        assert row["rgFruit"] == growth * values[f"unit{unit}/fruit_growth_multiplier"]
        leak = values["site/leakage_coefficient"] * values[f"unit{unit}/leakage_multiplier"]
        assert row["cLeakage"] == leak
        assert row["ueff"] == values["site/side_wall_exchange_w_m2_k"]
    factor = values["price/energy_price_factor"]
    assert site.prices.electricity_eur_per_kwh == 0.15 * factor
    assert site.prices.delivered_heat_eur_per_kwh == 0.05 * factor
    assert site.prices.fruit_eur_per_kg_fresh == values["price/fruit_price_eur_per_kg"]
    assert site.prices.co2_eur_per_kg == 0.2


def test_parameter_arrays_are_taken_by_name(draw):
    site = draw(2)
    table = site.parameter_array()
    assert table.shape == (4, len(SITE_PARAMETERS))
    swapped = site.parameter_array(tuple(reversed(SITE_PARAMETERS)))
    np.testing.assert_array_equal(swapped[:, ::-1], table)
    np.testing.assert_array_equal(
        evaluation_draws(site, site.evaluation_years[0]).parameter_array(("laiMax",)),
        np.full((4, 1), site.draws["site/max_lai"]),
    )


@settings(deadline=None, max_examples=30)
@given(index=indices, seed=st.integers(0, 2**63 - 1))
def test_every_site_is_valid_and_inside_its_ranges(sites, draft_sites, cabauw_pools, index, seed):
    for distribution in (sites, draft_sites):
        site = draw_site(distribution, seed, index, pools=cabauw_pools, compartments=4)
        for row in (*site.parameters, *(r for year in site.years for r in year.parameters)):
            assert row["tCan24Min"] < row["tCan24Max"]
            assert distribution.outside_hard_bounds(row) == []
            for name in SITE_PARAMETERS:
                low, high = distribution.parameter_range(name)
                assert low - 1e-9 <= row[name] <= high + 1e-9
        years = [site.campaign_year, *site.evaluation_years, *site.spare_years]
        assert sorted(years) == list(cabauw_pools.campaign)
        assert list(site.evaluation_years) == sorted(site.evaluation_years)
        assert site == draw_site(distribution, seed, index, pools=cabauw_pools, compartments=4)


def test_components_do_not_depend_on_each_other(draw, sites):
    full = draw(5)
    data = sites.model_dump(mode="json")
    data["hidden"] = dict(reversed([i for i in data["hidden"].items() if i[0] != "max_lai"]))
    fewer = draw(5, validate_config(data, SiteDistribution))
    assert "site/max_lai" not in fewer.draws
    assert fewer.parameters[0]["laiMax"] == sites.parameters["laiMax"].default
    assert {**fewer.draws, "site/max_lai": full.draws["site/max_lai"]} == full.draws
    assert draw(5, compartments=2).parameters == full.parameters[:2]


def test_no_two_streams_give_the_same_number(draw):
    seen = [value for index in range(40) for value in draw(index).draws.values()]
    assert len(set(seen)) == len(seen)
    noise = [draw(i).noise_seed for i in range(40)] + [y.noise_seed for y in draw(0).years]
    assert len(set(noise)) == len(noise)


def test_separate_pools_are_never_mixed(draw):
    pools = WeatherPools(("c2", "c1"), tuple(f"e{number}" for number in range(5)))
    site = draw(1, pools=pools)
    assert site.campaign_year in {"c1", "c2"}
    assert len(site.evaluation_years) == 3
    assert {*site.evaluation_years, *site.spare_years} == set(pools.evaluation)
    shuffled = WeatherPools(("c1", "c2"), tuple(reversed(pools.evaluation)))
    assert draw(1, pools=shuffled) == site


@pytest.mark.parametrize(
    ("campaign", "evaluation"), [((1, 2), (2, 3)), ((1, 1), (1, 1)), ((1, "a"), (1, "a"))]
)
def test_bad_pools_are_refused(campaign, evaluation):
    with pytest.raises(SiteError):
        WeatherPools(campaign, evaluation)


def test_too_few_years_and_negative_numbers_are_refused(draw):
    with pytest.raises(SiteError, match="1 \\+ 3"):
        draw(0, pools=WeatherPools((1, 2, 3), (1, 2, 3)))
    with pytest.raises(SiteError, match="starts at 0"):
        draw(-1)


def test_the_default_site_holds_the_native_values(sites, contract):
    prices = contract.economics.default_prices
    site = default_site(sites, prices, compartments=4, campaign_year=2017)
    assert site.parameters[0]["tCan24Min"] == 15.0
    assert site.parameters[3]["ueff"] == 2.0
    assert site.prices == prices


def test_a_site_shows_nothing_hidden(draw):
    site = draw(0)
    shown = f"{site!r} {site} {site.years[0]!r}"
    assert str(site.noise_seed) not in shown
    assert "tCan24Min" not in shown
    assert repr(site.prices.fruit_eur_per_kg_fresh) not in shown
    assert str(site.campaign_year) not in f"{site!r}"


def test_site_files_round_trip_and_are_private(tmp_path, draw):
    site = draw(4)
    path = tmp_path / "private" / "site.json"
    write_site(path, site)
    assert read_site(path) == site
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_site(path) == site
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match="syntax"):
        read_site(path)
    campaign = site.for_campaign()
    assert campaign.years == campaign.evaluation_years == campaign.spare_years == ()
    assert campaign.parameters == site.parameters


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden.max_lai.high": 7.0}, "laiMax can reach 2.5 to 7, outside its hard bounds 1 to 6"),
        ({"compartment.leakage_multiplier.low": 0.1}, "cLeakage can reach"),
        ({"prices.energy_price_factor.high": 20.0}, "electricity_eur_per_kwh can reach"),
        ({"fixed_prices.co2_eur_per_kg": 2.0}, "co2_eur_per_kg can reach 2 to 2"),
        ({"fixed_prices": {}}, "prices: missing co2_eur_per_kg"),
        ({"fixed_prices": {"co2_eur_per_kg": 0.2, "fruit_eur_per_kg_fresh": 1.0}}, "already moved"),
        ({"hidden.leakage_coefficient.low": 0.0}, "above 0 for a loguniform"),
        ({"hidden.max_lai.low": 4.0}, "low 4 must not be above high 3.5"),
        ({"hidden.max_lai.basis": "guess"}, "observed, literature, assumed, unsupported"),
        ({"hidden.max_lai.targets": {"cFruitMax": {}}}, "unknown cFruitMax; allowed: tCan24Min"),
        ({"parameters.laiMax.default": 9.0}, "default 9 must lie from 1 to 6"),
        ({"id": "a|b"}, "text matching"),
    ],
)
def test_impossible_distributions_are_refused(sites, changes, words):
    with pytest.raises(ConfigError, match=words):
        override(sites, changes)


def test_a_window_that_could_close_is_refused(draft_sites):
    with pytest.raises(ConfigError, match="tCan24Min must stay below tCan24Max"):
        override(draft_sites, {"hidden.temperature_window_width_k.low": -1.0})


def test_the_draft_draws_centre_and_width_apart(draw, draft_sites):
    assert draft_sites.label.endswith("(DRAFT)")
    site = draw(9, draft_sites)
    assert site.draft
    row = site.parameters[0]
    centre = site.draws["site/temperature_window_centre_c"]
    width = site.draws["site/temperature_window_width_k"]
    assert math.isclose((row["tCan24Min"] + row["tCan24Max"]) / 2, centre)
    assert math.isclose(row["tCan24Max"] - row["tCan24Min"], width)
    assert draft_sites.parameter_range("laiMax") == (2.0, 4.5)
    assert draft_sites.parameter_range("j25LeafMax") == (147.0, 273.0)
    assert draft_sites.hidden["temperature_window_width_k"].basis is Basis.ASSUMED
