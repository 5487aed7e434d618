"""Money balances, is linear in prices, and reproduces the published margin."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.config import override
from slowlab.world.economics import (
    ZERO_TOTALS,
    CropStatement,
    LedgerError,
    LedgerTotals,
    Prices,
    crop_statement,
    margin_at_dry_matter,
    standby_cost,
)

amounts = st.floats(0, 2000)
price = st.floats(0, 10)
totals = st.builds(LedgerTotals, amounts, amounts, amounts, amounts, amounts, st.floats(0, 365))
prices = st.builds(
    Prices,
    fruit_eur_per_kg_fresh=price,
    electricity_eur_per_kwh=price,
    delivered_heat_eur_per_kwh=price,
    co2_eur_per_kg=price,
)


@pytest.fixture(scope="module")
def costs(contract):
    return contract.economics.fixed_costs


def test_published_january_margin(contract, costs, golden):
    crop = golden["january_crop_policy_a_2017"]
    used = LedgerTotals(
        harvest_kg_m2=crop["harvest_kg_m2"],
        heat_kwh_m2=crop["heat_kwh_m2"],
        light_kwh_m2=crop["light_kwh_m2"],
        co2_kg_m2=crop["co2_kg_m2"],
        transpiration_kg_m2=crop["transpiration_kg_m2"],
        active_days=180.0,
    )
    statement = crop_statement(used, contract.economics.default_prices, costs)
    assert statement.margin == pytest.approx(crop["margin"], abs=1e-9)


@given(totals, prices)
def test_lines_add_up_to_the_margin(costs, used, paid):
    statement = crop_statement(used, paid, costs)
    scale = 1 + statement.fruit + statement.costs
    formula = (
        (paid.fruit_eur_per_kg_fresh - costs.harvest_handling_eur_per_kg) * used.harvest_kg_m2
        - paid.delivered_heat_eur_per_kwh * used.heat_kwh_m2
        - paid.electricity_eur_per_kwh * used.light_kwh_m2
        - paid.co2_eur_per_kg * used.co2_kg_m2
        - costs.background_service_eur_per_m2_day * used.active_days
        - costs.planting_eur_per_m2
        - costs.cleanup_eur_per_m2
    )
    assert abs(statement.margin - formula) <= 1e-9 * scale
    assert abs(statement.fruit - statement.costs - statement.margin) <= 1e-9


@given(totals, prices, prices, st.floats(0, 1))
def test_margin_is_linear_in_prices(costs, used, first, second, share):
    mixed = Prices(
        **{
            name: share * getattr(first, name) + (1 - share) * getattr(second, name)
            for name in Prices.model_fields
        }
    )
    ends = [crop_statement(used, paid, costs).margin for paid in (first, second)]
    between = share * ends[0] + (1 - share) * ends[1]
    found = crop_statement(used, mixed, costs).margin
    assert math.isclose(found, between, rel_tol=1e-9, abs_tol=1e-6)


@given(totals, prices, st.sampled_from([0.05, 0.06, 0.07]))
def test_dry_matter_is_recomputed_without_simulation(costs, used, paid, fraction):
    statement = crop_statement(used, paid, costs)
    found = margin_at_dry_matter(statement, fraction, costs)
    heavier = LedgerTotals(
        used.harvest_kg_m2 * 0.06 / fraction,
        used.heat_kwh_m2,
        used.light_kwh_m2,
        used.co2_kg_m2,
        used.transpiration_kg_m2,
        used.active_days,
    )
    direct = crop_statement(heavier, paid, costs).margin
    assert math.isclose(found, direct, rel_tol=1e-9, abs_tol=1e-6)


def test_the_same_fraction_changes_nothing_and_bad_ones_are_refused(contract, costs):
    used = LedgerTotals(30.0, 100.0, 100.0, 10.0, 300.0, 180.0)
    statement = crop_statement(used, contract.economics.default_prices, costs)
    assert margin_at_dry_matter(statement, 0.06, costs) == statement.margin
    for fraction in (0.0, -0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="dry-matter"):
            margin_at_dry_matter(statement, fraction, costs)


@given(totals, totals)
def test_running_ledgers_split_and_join(first, second):
    joined = first.plus(second)
    apart = joined.since(first)
    for name, value in vars(second).items():
        assert math.isclose(getattr(apart, name), value, rel_tol=1e-9, abs_tol=1e-9)
    assert first.plus(ZERO_TOTALS) == first


@pytest.mark.parametrize("name", list(vars(ZERO_TOTALS)))
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e-6])
def test_impossible_totals_are_refused_by_name(name, value):
    with pytest.raises(LedgerError, match=name):
        LedgerTotals(**{**vars(ZERO_TOTALS), name: value})


def test_rounding_below_zero_is_tolerated_and_decreasing_ledgers_are_not():
    LedgerTotals(**{**vars(ZERO_TOTALS), "heat_kwh_m2": -1e-11})
    early = LedgerTotals(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    with pytest.raises(LedgerError, match="harvest_kg_m2 is negative"):
        ZERO_TOTALS.since(early)


def test_an_empty_crop_pays_its_fees(contract, costs):
    statement = crop_statement(ZERO_TOTALS, contract.economics.default_prices, costs)
    assert statement == CropStatement(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.5)
    assert statement.margin == -2.5


def test_standby_belongs_to_the_campaign(contract):
    spans = [LedgerTotals(0.0, heat, 0.0, 0.0, 0.0, 0.0) for heat in (0.25, 0.75)]
    assert standby_cost(spans, contract.economics.default_prices) == pytest.approx(0.05)
    assert standby_cost([], contract.economics.default_prices) == 0.0


def test_costs_are_configuration(contract):
    dear = override(contract, {"economics.fixed_costs.planting_eur_per_m2": 5.0})
    paid = contract.economics.default_prices
    assert crop_statement(ZERO_TOTALS, paid, dear.economics.fixed_costs).margin == -5.5
