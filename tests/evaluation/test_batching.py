"""Runs in full lanes: independent of company, order and processes; failures stay apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowlab.evaluation.batching import lane_chunks, simulate_together, simulator_identity
from slowlab.evaluation.years import (
    mean_parameters,
    run_key,
    scoring_run,
    screening_run,
    shared_lanes,
    single_crop_run,
    year_margin,
)
from slowlab.world.contract import load_contract
from slowlab.world.simulation import CropEnding, RunOptions, simulate_year
from slowlab.world.weather_source import WeatherSource

SOURCE = WeatherSource()


@pytest.fixture(scope="module")
def policies(contract):
    return list(contract.evaluation.candidates.values())


@pytest.fixture(scope="module")
def runs(contract, sites, policies):
    """Nine runs of 36 lanes: three sites, each in a year of its own under three policies."""
    return [
        scoring_run(contract, site, site.evaluation_years[0], policy)
        for site in sites[:3]
        for policy in policies
    ]


@pytest.fixture(scope="module")
def outcomes(simulator, runs):
    return simulate_together(simulator, SOURCE, runs)


def test_outcomes_do_not_depend_on_company_or_order(simulator, runs, outcomes):
    backwards = simulate_together(simulator, SOURCE, runs[::-1])
    assert backwards[::-1] == outcomes
    alone = [simulate_together(simulator, SOURCE, [run])[0] for run in runs[:2]]
    assert alone == outcomes[:2]


def test_more_lanes_than_the_width_give_the_same(simulator, runs, outcomes):
    assert simulate_together(simulator, SOURCE, runs * 2) == outcomes * 2


def test_a_scoring_run_is_a_simulated_facility_year(contract, simulator, sites, outcomes, policies):
    site, year = sites[0], sites[0].evaluation_years[0]
    draw = next(draw for draw in site.years if draw.year == year)
    names = list(draw.parameters[0])
    parameters = {name: np.array([row[name] for row in draw.parameters]) for name in names}
    expected = simulate_year(
        simulator,
        policies[0],
        SOURCE.year(year),
        options=RunOptions(parameters, draw.noise_seed, prices=site.prices),
    )
    costs = contract.economics.fixed_costs
    for crop, other in zip(outcomes[0].crops, expected.crops, strict=True):
        assert crop.compartment == other.compartment
        assert crop.ending is other.ending is CropEnding.COMPLETED
        assert crop.totals(costs).heat_kwh_m2 == pytest.approx(other.totals.heat_kwh_m2, rel=1e-4)
        assert crop.active_ticks == 2 * 288
    margin = year_margin(outcomes[0], contract.evaluation.plantings, site.prices, costs)
    assert margin == pytest.approx(expected.mean_margin, abs=1e-3)


def test_compartments_and_noise_are_redrawn_for_every_year(contract, sites, policies):
    site = sites[0]
    one, two = (scoring_run(contract, site, y, policies[0]) for y in site.evaluation_years[:2])
    assert one.noise_seed != two.noise_seed
    assert one.lanes[0].parameters != two.lanes[0].parameters
    assert one.lanes[0].parameters != dict(site.parameters[0])
    assert {lane.planting_days for lane in one.lanes[:2]} == {(0,)}
    assert {lane.planting_days for lane in one.lanes[2:]} == {(3,)}


def test_plantings_share_a_compartment_in_screening(contract, simulator, sites, policies):
    draw = sites[0].years[0]
    run = screening_run(contract, draw, policies[0])
    assert [lane.planting_days for lane in run.lanes] == [(0, 3)]
    (outcome,) = simulate_together(simulator, SOURCE, [run])
    assert [crop.planted_day for crop in outcome.crops] == [0, 3]
    single = single_crop_run(contract, draw.year, policies[0], mean_parameters(draw.parameters), 0)
    (first,) = simulate_together(simulator, SOURCE, [single])
    assert first.crops[0] == outcome.crops[0]


def test_the_real_calendar_fits_two_crops_in_one_compartment():
    assert shared_lanes(load_contract()) == ((0, 182),)


def test_crops_that_overlap_get_compartments_of_their_own(contract):
    days = [{"day": 0, "compartments": [0, 1]}, {"day": 2, "compartments": [2, 3]}]
    plantings = tuple(contract.evaluation.plantings[0].model_copy(update=item) for item in days)
    close = contract.model_copy(
        update={"evaluation": contract.evaluation.model_copy(update={"plantings": plantings})}
    )
    assert shared_lanes(close) == ((0,), (2,))


def test_a_failed_lane_is_missing_and_leaves_the_others_alone(simulator, runs, outcomes):
    class Failing:
        """Marks lane 1 as failed after the first day."""

        def __init__(self, stepper):
            self._stepper = stepper

        def __getattr__(self, name):
            return getattr(self._stepper, name)

        def advance_day(self, batch, *arguments, **keywords):
            if (np.asarray(batch.state.tick) == 0).all():
                failed = np.array(batch.state.failed_tick)
                failed[1] = 5
                batch = batch._replace(state=batch.state._replace(failed_tick=failed))
            return self._stepper.advance_day(batch, *arguments, **keywords)

    bad = replace(simulator, stepper=Failing(simulator.stepper))
    found = simulate_together(bad, SOURCE, runs)
    assert found[0].failure == "compartment 1: integration failed in tick 5"
    assert found[0].crops == ()
    assert found[1:] == outcomes[1:]
    with pytest.raises(ValueError, match="no score"):
        year_margin(found[0], simulator.contract.evaluation.plantings, None, None)


def test_chunks_are_full_and_of_one_kind(contract, sites, policies):
    draw = sites[0].years[0]
    noisy = [scoring_run(contract, sites[0], draw.year, policies[0])] * 40
    exact = [screening_run(contract, draw, policies[0])] * 70
    chunks = list(lane_chunks([*exact[:35], *noisy, *exact[35:]], 64))
    assert [sum(len(run.lanes) for run in chunk) for chunk in chunks] == [64, 6, 64, 64, 32]
    for chunk in chunks:
        assert len({run.noise_seed is None for run in chunk}) == 1
    assert list(lane_chunks([], 64)) == []


def test_runs_of_different_kinds_are_not_stepped_together(contract, simulator, sites, policies):
    draw = sites[0].years[0]
    pair = [
        scoring_run(contract, sites[0], draw.year, policies[0]),
        screening_run(contract, draw, policies[0]),
    ]
    with pytest.raises(ValueError, match="one length and one kind"):
        simulate_together(simulator, SOURCE, pair)


def test_the_key_changes_with_whatever_decides_a_run(contract, simulator, sites, runs):
    identity = simulator_identity(simulator)
    run = runs[0]
    lane = replace(run.lanes[0], parameters=dict(run.lanes[0].parameters) | {"laiMax": 2.0})
    others = [
        replace(run, policy=runs[1].policy),
        replace(run, noise_seed=None),
        replace(run, noise_seed=(run.noise_seed or 0) + 1),
        replace(run, days=run.days + 1),
        replace(run, lanes=(lane, *run.lanes[1:])),
        replace(run, lanes=run.lanes[::-1]),
    ]
    keys = {run_key(item, identity, "w") for item in (run, *others)}
    keys |= {run_key(run, identity, "v"), run_key(run, {**identity, "source": "x"}, "w")}
    assert len(keys) == len(others) + 3
    assert run_key(replace(run), identity, "w") == run_key(run, identity, "w")
