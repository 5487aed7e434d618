"""Crops and facility-years: what is the same, what adds up, how crops end."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from slowlab.config import override
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.lanes import LaneParameterError
from slowlab.world.economics import Prices
from slowlab.world.simulation import (
    CropEnding,
    RunOptions,
    SimulationError,
    simulate_crop,
    simulate_year,
)
from slowlab.world.simulation_report import parquet_bytes, summarise
from slowlab.world.simulation_table import COLUMNS, FLOW_COLUMNS, daily_table
from slowlab.world.simulator import Simulator
from tests import simulations
from tests.simulations import CROP_DAYS, SECOND_PLANTING, YEAR_DAYS, plain_weather


@pytest.fixture(scope="module")
def simulator():
    return simulations.short_simulator()


@pytest.fixture(scope="module")
def policy(simulator):
    return simulator.contract.fixed_reference


@pytest.fixture(scope="module")
def crop(simulator, policy):
    return simulate_crop(simulator, policy, plain_weather(8))


@pytest.fixture(scope="module")
def noisy_year(simulator, policy):
    options = RunOptions(noise_seed=11)
    return simulate_year(simulator, policy, simulations.plain_year(), options=options)


def test_a_crop_is_completed_after_its_days(crop):
    [record] = crop.crops
    assert (record.compartment, record.planted_day) == (0, 0)
    assert record.ending is CropEnding.COMPLETED
    assert record.ended_day == record.totals.active_days == CROP_DAYS
    assert crop.days == CROP_DAYS
    assert crop.notes == ()
    assert len(crop.table) == CROP_DAYS * TICKS_PER_DAY
    assert crop.mean_margin == record.statement.margin


def test_a_year_plants_as_the_contract_says(noisy_year):
    planted = [(c.compartment, c.planted_day, c.ended_day) for c in noisy_year.crops]
    first, second = (0, CROP_DAYS), (SECOND_PLANTING, YEAR_DAYS)
    assert planted == [(0, *first), (1, *first), (2, *second), (3, *second)]
    assert {crop.ending for crop in noisy_year.crops} == {CropEnding.COMPLETED}
    assert len(noisy_year.table) == 4 * YEAR_DAYS * TICKS_PER_DAY
    margins = [crop.statement.margin for crop in noisy_year.crops]
    assert noisy_year.mean_margin == pytest.approx(np.mean(margins))
    days = noisy_year.table.groupby("phase", observed=True).size() / TICKS_PER_DAY
    # Two compartments are cleaned within the run; the others have just been harvested.
    assert days.to_dict() == {"growing": 4 * CROP_DAYS, "cleaning": 2, "idle": 22}


def test_the_year_holds_the_crops_that_are_simulated_alone(simulator, policy):
    year = simulate_year(simulator, policy, simulations.plain_year())
    weather = plain_weather(20)
    for lane, start_day in ((0, 0), (2, SECOND_PLANTING)):
        alone = simulate_crop(simulator, policy, weather, start_day=start_day)
        expected = dataclasses.replace(year.crops[lane], compartment=0)
        assert alone.crops[0] == expected
        rows = year.table[year.table["compartment"] == lane].iloc[: len(alone.table)]
        pd.testing.assert_frame_equal(
            rows.drop(columns="compartment").reset_index(drop=True),
            alone.table.drop(columns="compartment"),
        )


def test_flows_of_all_steps_add_up_to_the_ledger(noisy_year):
    for record, standby in zip(noisy_year.crops, noisy_year.standby, strict=True):
        rows = noisy_year.table[noisy_year.table["compartment"] == record.compartment]
        growing = rows["phase"] == "growing"
        for name in FLOW_COLUMNS:
            assert rows.loc[growing, name].sum() == pytest.approx(
                getattr(record.totals, name), rel=1e-6, abs=1e-9
            )
            assert rows.loc[~growing, name].sum() == pytest.approx(
                getattr(standby, name), rel=1e-6, abs=1e-9
            )
            assert (rows[name] >= 0).all()
        assert record.totals.heat_kwh_m2 > 0
        assert standby.harvest_kg_m2 == standby.light_kwh_m2 == standby.co2_kg_m2 == 0


def test_money_follows_from_the_steps(simulator, crop):
    prices = simulator.contract.economics.default_prices
    flows = crop.table[list(FLOW_COLUMNS)].sum()
    by_hand = (
        (prices.fruit_eur_per_kg_fresh - 0.05) * flows["harvest_kg_m2"]
        - prices.delivered_heat_eur_per_kwh * flows["heat_kwh_m2"]
        - prices.electricity_eur_per_kwh * flows["light_kwh_m2"]
        - prices.co2_eur_per_kg * flows["co2_kg_m2"]
        - 0.01 * CROP_DAYS
        - 2.5
    )
    assert crop.mean_margin == pytest.approx(by_hand, abs=1e-6)


def test_prices_change_the_account_alone(simulator, policy, crop):
    free = Prices(
        fruit_eur_per_kg_fresh=0,
        electricity_eur_per_kwh=0,
        delivered_heat_eur_per_kwh=0,
        co2_eur_per_kg=0,
    )
    other = simulate_crop(simulator, policy, plain_weather(8), options=RunOptions(prices=free))
    assert other.crops[0].totals == crop.crops[0].totals
    assert other.mean_margin == pytest.approx(-2.5 - 0.01 * CROP_DAYS)


def test_exact_readings_are_the_truth(crop):
    table = crop.table.iloc[:-1]  # the crop has just been taken out at the end of the last step
    assert table["air_temperature_c"].equals(
        table["true_air_temperature_c"].rename("air_temperature_c")
    )
    for shown, true in (
        ("relative_humidity_pct", "true_relative_humidity_pct"),
        ("co2_ppm", "true_co2_ppm"),
        ("canopy_lai_proxy", "true_lai_m2_m2"),
    ):
        np.testing.assert_allclose(table[shown], table[true], rtol=1e-5, atol=1e-6)


def test_noisy_readings_scatter_about_the_truth_and_get_lost(noisy_year):
    table = noisy_year.table
    error = table["air_temperature_c"] - table["true_air_temperature_c"]
    assert error.mean() == pytest.approx(0.0, abs=0.01)
    assert error.std() == pytest.approx(0.2, rel=0.1)
    assert 0.002 < table["air_temperature_c"].isna().mean() < 0.01
    assert table["true_air_temperature_c"].notna().all()


def test_noise_is_a_function_of_its_seed(simulator, policy):
    tables = [
        simulate_crop(
            simulator, policy, plain_weather(2), options=RunOptions(noise_seed=seed)
        ).table
        for seed in (5, 5, 6)
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0]["air_temperature_c"].equals(tables[2]["air_temperature_c"])


def test_setpoints_and_lamps_follow_policy_and_clock(crop, policy):
    table = crop.table.assign(hour=crop.table["tick"] % TICKS_PER_DAY / 12)
    day = (table["hour"] >= 6) & (table["hour"] < 22)
    assert set(table.loc[day, "heating_setpoint_c"]) == {policy.day_temperature_c}
    assert set(table.loc[~day, "heating_setpoint_c"]) == {policy.night_temperature_c}
    offset = table["ventilation_setpoint_c"] - table["heating_setpoint_c"]
    assert set(offset) == {policy.vent_temperature_offset_c}
    lit = table.loc[table["lamp_command"] > 0, "hour"]
    assert (lit.min(), lit.max()) == (6.0, 6 + policy.supplemental_light_hours - 1 / 12)


def test_time_is_the_end_of_each_step(crop):
    assert crop.table["time"].iloc[0] == pd.Timestamp("2001-01-01T00:05")
    assert crop.table["time"].iloc[-1] == pd.Timestamp("2001-01-05T00:00")
    outdoor = plain_weather(8).column("air_temperature_c")[[1, 1, 2, 2]]
    np.testing.assert_allclose(crop.table["outdoor_air_temperature_c"][:4], outdoor, rtol=1e-6)


def test_a_short_series_cuts_the_crop_and_says_so(simulator, policy):
    result = simulate_crop(simulator, policy, plain_weather(3), start_day=1)
    [record] = result.crops
    assert record.ending is CropEnding.WEATHER_END
    assert (record.ended_day, record.totals.active_days) == (3.0, 2.0)
    assert record.statement.service == pytest.approx(0.02)
    assert "weather series ends after 3 days" in result.notes[0]


def test_too_hot_a_house_stops_the_crop_for_safety(simulator, policy):
    result = simulate_crop(simulator, policy, plain_weather(5, mean_c=45.0))
    [record] = result.crops
    assert record.ending is CropEnding.TEMPERATURE_SAFETY
    assert record.ended_day < 1
    # Nothing is used after the stop, and the days go on without a crop.
    after = result.table[result.table["tick"] >= record.ended_day * TICKS_PER_DAY]
    assert (after["phase"] != "growing").all()
    assert after["lamp_command"].max() == after["co2_command"].max() == 0
    assert len(result.table) == CROP_DAYS * TICKS_PER_DAY


def test_the_collapse_rule_decides_at_the_pole(simulator, policy):
    # Young plants, hard frost, no warm neighbours: lamps meet an ice-cold canopy at 06:00.
    frost = plain_weather(5, mean_c=-30.0)
    cold = {"ueff": 0.0, "tSoOut": 5.0}
    stopped, floored, default = (
        simulate_crop(
            simulator, policy, frost, options=RunOptions(parameters=cold, collapse=rule)
        ).crops[0]
        for rule in ("stop", "floor", None)
    )
    assert stopped.ending is CropEnding.COLLAPSED
    assert stopped.ended_day == 0.25
    assert floored.ending is not CropEnding.COLLAPSED
    assert floored.ended_day > 0.25
    assert min(stopped.lit_pole_ticks, floored.lit_pole_ticks) > 0
    assert default == floored


@pytest.mark.parametrize("failing_tick", [TICKS_PER_DAY + 7, 0])
def test_a_failed_compartment_is_named_and_harms_no_other(simulator, policy, failing_tick):
    stepper = simulations.FailingStepper(simulator.stepper, failing_tick)
    failing = dataclasses.replace(simulator, stepper=stepper)
    year = simulate_year(failing, policy, simulations.plain_year())
    sound = simulate_year(simulator, policy, simulations.plain_year())
    assert year.crops[0].ending is CropEnding.NUMERICAL_FAILURE
    assert year.crops[1:] == sound.crops[1:]
    assert "Compartment 0" in year.notes[0]
    assert (year.table["compartment"] == 0).sum() == failing_tick
    assert summarise(year)["notes"] == list(year.notes)


def test_a_failure_after_the_harvest_leaves_the_account(simulator, policy):
    stepper = simulations.FailingStepper(simulator.stepper, (CROP_DAYS + 1) * TICKS_PER_DAY)
    failing = dataclasses.replace(simulator, stepper=stepper)
    year = simulate_year(failing, policy, simulations.plain_year())
    assert year.crops[0].ending is CropEnding.COMPLETED
    assert "Compartment 0" in year.notes[0]


@pytest.mark.parametrize("start_day", [-1, 3, SECOND_PLANTING + 1])
def test_an_impossible_planting_day_is_refused(simulator, policy, start_day):
    with pytest.raises(SimulationError, match=f"start day {start_day}"):
        simulate_crop(simulator, policy, plain_weather(3), start_day=start_day)


def test_a_hidden_parameter_acts_and_a_bad_one_is_refused(simulator, policy, crop):
    options = RunOptions(parameters={"etaLampPar": 0.3})
    darker = simulate_crop(simulator, policy, plain_weather(8), options=options)
    leaves = [run.table["true_lai_m2_m2"].max() for run in (darker, crop)]
    assert leaves[0] < leaves[1]
    for bad, said in (({"lai": 1.0}, "unknown parameter 'lai'"), ({"laiMax": 9.0}, "laiMax")):
        with pytest.raises(LaneParameterError, match=said):
            simulate_crop(simulator, policy, plain_weather(2), options=RunOptions(parameters=bad))


def test_parameters_may_differ_between_compartments(simulator, policy):
    options = RunOptions(parameters={"ueff": np.array([0.0, 4.0, 2.0, 2.0])})
    year = simulate_year(simulator, policy, simulations.plain_year(), options=options)
    heat = [crop.totals.heat_kwh_m2 for crop in year.crops]
    assert heat[0] != heat[1]
    assert heat[2] == heat[3]
    assert summarise(year)["inputs"]["parameters"]["ueff"] == [0.0, 4.0, 2.0, 2.0]


def test_progress_is_told_every_day(simulator, policy):
    told = []
    simulate_crop(
        simulator, policy, plain_weather(3), on_day=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_run_again_gives_the_same_bytes(simulator, policy, crop):
    again = simulate_crop(simulator, policy, plain_weather(8))
    assert parquet_bytes(again.table) == parquet_bytes(crop.table)
    assert json.dumps(summarise(again)) == json.dumps(summarise(crop))


def test_the_summary_says_where_everything_came_from(crop, policy):
    summary = json.loads(json.dumps(summarise(crop), allow_nan=False))
    assert summary["inputs"]["policy"] == policy.model_dump()
    assert summary["inputs"]["weather"]["sha256"] == plain_weather(8).sha256
    assert summary["inputs"]["substeps"] == Scheme().substeps
    assert summary["provenance"]["contract"]["id"] == "slowlab-task-contract-v8"
    assert summary["provenance"]["build"] == crop.simulator.stepper.build
    assert summary["crops"][0]["account_eur_m2"]["margin"] == crop.mean_margin
    assert summary["draft"] is False


def test_every_choice_changes_the_identity_of_the_run(simulator, policy, crop):
    weather = plain_weather(8)
    others = [
        simulate_crop(simulator, policy, weather, options=options)
        for options in (
            RunOptions(noise_seed=0),
            RunOptions(collapse="stop"),
            RunOptions(parameters={"laiMax": 2.9}),
        )
    ] + [simulate_crop(simulator, policy, weather, start_day=1)]
    identities = {summarise(run)["provenance"]["run_sha256"] for run in (crop, *others)}
    assert len(identities) == 5


def test_the_parquet_file_explains_its_columns(noisy_year):
    file = pq.read_table(io.BytesIO(parquet_bytes(noisy_year.table)))
    assert file.column_names == list(COLUMNS)
    for field in file.schema:
        unit, meaning = COLUMNS[field.name]
        assert field.metadata == {b"unit": unit.encode(), b"meaning": meaning.encode()}
    back = file.to_pandas()
    pd.testing.assert_frame_equal(back, noisy_year.table, check_dtype=False)
    assert back["phase"].tolist() == noisy_year.table["phase"].tolist()


def test_the_daily_table_sums_and_ends_with_the_standing_crop(noisy_year):
    daily = daily_table(noisy_year.table)
    assert len(daily) == 4 * CROP_DAYS
    for record in noisy_year.crops:
        rows = daily.xs(record.compartment, level="compartment")
        for name in FLOW_COLUMNS:
            total = pytest.approx(getattr(record.totals, name), rel=1e-6, abs=1e-9)
            assert rows[f"{name}_sum"].sum() == total
            assert rows[f"{name}_cumulative"].iloc[-1] == total
        assert (rows["true_lai_m2_m2_last"] > 0.1).all()
        low, mean, high = (rows[f"true_co2_ppm_{how}"] for how in ("min", "mean", "max"))
        assert ((low < mean) & (mean < high)).all()


def test_a_draft_is_marked(sensors, policy):
    draft = override(simulations.short_contract(), {"draft": True})
    simulator = dataclasses.replace(simulations.short_simulator(), contract=draft)
    assert summarise(simulate_crop(simulator, policy, plain_weather(1)))["draft"] is True


def test_precision_and_substeps_are_those_asked_for(sensors):
    audit = Simulator.build(
        simulations.short_contract(), sensors, precision="float64", substeps=12
    ).stepper
    assert audit.precision == "float64"
    assert audit.settings.scheme.substeps == 12
    assert audit.build["settings"] != simulations.short_simulator().stepper.build["settings"]
