"""The stepper: independent lanes, resumable days, books, failures, and the audit build."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from slowlab.greenlight.batch import load_batch
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import LEDGER, Phase
from slowlab.greenlight.model import CROP_POOLS, STATES
from slowlab.greenlight.sensors import READ_CHANNELS
from slowlab.greenlight.stepper import LANE_WIDTH, Stepper
from slowlab.weather import bleiswijk_winter
from tests.greenlight.checks import check_books_match_commands, check_commands_in_a_run
from tests.greenlight.simulator import (
    assert_same_bytes,
    extreme_lanes,
    opened,
    picked,
    production,
    python,
    random_lanes,
    run_days,
    same_lanes,
    state,
    steady_weather,
    sunny_day,
    with_state,
    with_states,
)


def varied_days(lanes: int, days: int, seed: int = 0) -> list[np.ndarray]:
    """Days that differ from lane to lane."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(days):
        weather = sunny_day(lanes)
        weather[:, 0] *= rng.uniform(0.2, 1.5, lanes)
        weather[:, 1] += rng.normal(0, 4, lanes)
        weather[:, 3] *= rng.uniform(0.3, 2.0, lanes)
        result.append(weather)
    return result


def days_of(days: list[np.ndarray], index) -> list[np.ndarray]:
    return [weather[:, :, index] for weather in days]


# -- lanes are independent ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd():
    """128 different lanes after two days: parameters, weather, result and last day's trace."""
    lanes = random_lanes(2 * LANE_WIDTH, 17)
    days = varied_days(2 * LANE_WIDTH, 2)
    first = run_days(opened(lanes), lanes, days[:1])
    result = production().advance_day(first, lanes, days[1], trace="full")
    return lanes, days, result


@pytest.mark.parametrize(
    "index",
    [
        [0], [77], [127],
        list(range(LANE_WIDTH)),
        list(range(100, 20, -1)),
        list(np.random.default_rng(3).permutation(128)),
        [5, 5, 5],
        list(range(65)),
    ],
    ids=["first", "second-group", "last", "one-group", "reversed", "permuted", "repeated", "split"],
)  # fmt: skip
def test_a_lane_has_the_same_bytes_in_any_company(crowd, index):
    lanes, days, result = crowd
    some, their_days = picked(lanes, index), days_of(days, index)
    first = run_days(opened(some), some, their_days[:1])
    alone = production().advance_day(first, some, their_days[1], trace="full")
    assert_same_bytes(alone.batch, result.batch.take(np.array(index)))
    for name, values in alone.trace.items():
        expected = np.ascontiguousarray(result.trace[name][..., index])
        assert np.ascontiguousarray(values).tobytes() == expected.tobytes(), name


def test_lanes_of_the_crowd_do_differ(crowd):
    _, _, result = crowd
    assert np.unique(state(result.batch, "tAir")).size > 120
    assert np.unique(result.batch.totals[0]).size == 128
    assert (np.asarray(result.batch.state.failed_tick) < 0).all()


def test_recording_changes_nothing(crowd):
    lanes, days, result = crowd
    some, their_days = picked(lanes, slice(0, 10)), days_of(days, slice(0, 10))
    first = run_days(opened(some), some, their_days[:1])
    for trace in ("none", "readings"):
        other = production().advance_day(first, some, their_days[1], trace=trace)
        assert_same_bytes(other.batch, result.batch.take(np.arange(10)))
        wanted = {"none": set(), "readings": {"live", "readings", "totals"}}[trace]
        assert set(other.trace) == wanted
        for name in wanted:
            np.testing.assert_array_equal(other.trace[name], result.trace[name][..., :10])


def test_number_of_a_compartment_matters_only_to_noise():
    exact = same_lanes(4, compartments=np.arange(4))
    renamed = same_lanes(4, compartments=np.array([3, 2, 1, 0]))
    days = [sunny_day(4)] * 2
    assert_same_bytes(
        run_days(opened(exact), exact, days), run_days(opened(renamed), renamed, days)
    )
    seeds = np.full(4, 5)
    noisy = same_lanes(4, compartments=np.arange(4), noise_seeds=seeds)
    turned = same_lanes(4, compartments=np.array([3, 2, 1, 0]), noise_seeds=seeds)
    first, second = run_days(opened(noisy), noisy, days), run_days(opened(turned), turned, days)
    assert_same_bytes(first.take(np.arange(4)[::-1]), second)
    assert np.unique(first.totals[0]).size == 4


# -- days can be cut and resumed ---------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[1], [100], [287], [71, 73, 200]])
def test_a_day_in_pieces_equals_a_day_in_one_call(cuts):
    lanes = random_lanes(5, 23)
    weather = varied_days(5, 1)[0]
    opening = opened(lanes)
    whole = production().advance_day(opening, lanes, weather, trace="full")
    batch, traces = opening, []
    for begin, end in zip([0, *cuts], [*cuts, TICKS_PER_DAY], strict=True):
        part = production().advance_day(
            batch, lanes, weather, from_tick=begin, to_tick=end, trace="full"
        )
        live = part.trace["live"]
        assert live.all(axis=1).tolist() == [begin <= t < end for t in range(TICKS_PER_DAY)]
        batch = part.batch
        traces.append({name: values[begin:end] for name, values in part.trace.items()})
    assert_same_bytes(batch, whole.batch)
    for name, expected in whole.trace.items():
        joined = np.concatenate([trace[name] for trace in traces])
        np.testing.assert_array_equal(joined, expected, err_msg=name)


def test_lanes_may_be_cut_at_different_ticks():
    lanes = random_lanes(4, 29)
    weather = varied_days(4, 1)[0]
    whole = run_days(opened(lanes), lanes, [weather])
    cut = np.array([0, 10, 150, 287])
    first = production().advance_day(opened(lanes), lanes, weather, to_tick=cut).batch
    np.testing.assert_array_equal(first.state.tick, cut)
    second = production().advance_day(first, lanes, weather, from_tick=cut).batch
    assert_same_bytes(second, whole)


def test_empty_interval_changes_nothing():
    lanes = random_lanes(2, 31)
    batch = run_days(opened(lanes), lanes, [sunny_day(2)])
    assert_same_bytes(production().advance_day(batch, lanes, sunny_day(2), to_tick=0).batch, batch)


FIRST_PROCESS = """
import os, signal, sys
from slowlab.greenlight.batch import save_batch
from tests.greenlight.simulator import *

folder = sys.argv[1]
other = random_lanes(3, 41)
batch = run_days(opened(other), other, [sunny_day(3, peak=200.0)] * 2)
save_batch(f"{folder}/other.npz", batch, production().build)
lanes = random_lanes(5, 37)
batch = run_days(opened(lanes), lanes, [sunny_day(5)] * 2)
save_batch(f"{folder}/stopped.npz", batch, production().build)
run_days(batch, lanes, [sunny_day(5)])
os.kill(os.getpid(), signal.SIGKILL)
"""
SECOND_PROCESS = """
import sys
from slowlab.greenlight.batch import load_batch, save_batch
from tests.greenlight.simulator import *

folder = sys.argv[1]
lanes = random_lanes(5, 37)
batch = load_batch(f"{folder}/stopped.npz", production().build)
batch = run_days(batch, lanes, [sunny_day(5)] * 2)
save_batch(f"{folder}/finished.npz", batch, production().build)
"""


def test_killed_run_resumes_in_another_process_to_the_same_bytes(tmp_path):
    """Also: what ran before in a process, or in another stepper, leaves no trace."""
    killed = python(FIRST_PROCESS, str(tmp_path))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = python(SECOND_PROCESS, str(tmp_path))
    assert resumed.returncode == 0, resumed.stderr

    lanes, other = random_lanes(5, 37), random_lanes(3, 41)
    fresh_stepper = Stepper()
    uninterrupted = run_days(opened(lanes), lanes, [sunny_day(5)] * 4)
    after_it = run_days(
        opened(other, fresh_stepper), other, [sunny_day(3, peak=200.0)] * 2, fresh_stepper
    )
    build = production().build
    assert fresh_stepper.build == build
    assert_same_bytes(load_batch(tmp_path / "finished.npz", build), uninterrupted)
    assert_same_bytes(load_batch(tmp_path / "other.npz", build), after_it)


# -- failures stay where they are ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("tAir", np.nan), ("cLeaf", np.inf), ("vpAir", -np.inf), ("tSo3", 1e30), ("co2Air", 1e15)],
)
def test_absurd_state_is_flagged_and_frozen_beside_healthy_lanes(name, value):
    lanes = random_lanes(6, 43)
    days = varied_days(6, 2)
    healthy = opened(lanes)
    values = np.array(state(healthy, name))
    values[2] = value
    sick = with_states(healthy, **{name: values})
    result = run_days(sick, lanes, days)
    np.testing.assert_array_equal(result.state.failed_tick, [-1, -1, 0, -1, -1, -1])
    others = np.array([0, 1, 3, 4, 5])
    assert_same_bytes(result.take(others), run_days(healthy, lanes, days).take(others))
    frozen = result.take(np.array([2]))
    expected = with_state(sick.take(np.array([2])), failed_tick=0)
    assert_same_bytes(frozen, expected)


def test_lane_that_fails_in_the_middle_of_a_day_keeps_its_last_good_tick():
    lanes = random_lanes(3, 47)
    weather = sunny_day(3)
    noon = production().advance_day(opened(lanes), lanes, weather, to_tick=150).batch
    values = np.array(state(noon, "tCovE"))
    values[1] = np.nan
    broken = with_states(noon, tCovE=values)
    day = production().advance_day(broken, lanes, weather, from_tick=150, trace="full")
    np.testing.assert_array_equal(day.batch.state.failed_tick, [-1, 150, -1])
    np.testing.assert_array_equal(day.batch.state.tick, [288, 150, 288])
    np.testing.assert_array_equal(day.batch.totals[:, 1], noon.totals[:, 1])
    assert day.trace["live"][150, 1]
    assert not day.trace["live"][151:, 1].any()
    # The next day goes on for the others, although this one does not stand at its start.
    tomorrow = run_days(day.batch, lanes, [weather])
    np.testing.assert_array_equal(tomorrow.state.tick, [576, 150, 576])
    np.testing.assert_array_equal(tomorrow.totals[:, 1], noon.totals[:, 1])


def test_lost_memory_of_the_controller_is_a_failure_not_a_guess():
    lanes = same_lanes(2)
    batch = opened(lanes)
    held = np.array(batch.state.held)
    held[0, 0] = np.nan
    result = run_days(with_state(batch, held=held), lanes, [sunny_day(2)])
    np.testing.assert_array_equal(result.state.failed_tick, [0, -1])


def test_parameters_at_their_extremes_stay_finite():
    lanes = extreme_lanes(LANE_WIDTH, 53)
    hot = sunny_day(LANE_WIDTH, peak=950.0, mean_c=30.0)
    frost = sunny_day(LANE_WIDTH, peak=100.0, mean_c=-15.0)
    result = run_days(opened(lanes), lanes, [hot, frost, hot])
    assert (np.asarray(result.state.failed_tick) < 0).all()
    assert np.isfinite(result.state.states).all()
    assert np.isfinite(result.totals).all()
    assert (result.totals >= 0).all()


# -- the controller and the instruments in the loop ----------------------------------------------


def test_commands_of_a_day_follow_from_the_readings_before_them():
    check_commands_in_a_run(production())


def test_controller_sees_a_record_only_after_its_end():
    lanes = same_lanes(1)
    weather = steady_weather(1, radiation=100.0)
    weather[50, 0] = 600.0  # physics of ticks 98 and 99, released for ticks 100 and 101
    trace = production().advance_day(opened(lanes), lanes, weather, trace="full").trace
    lamp = trace["commands"][96:104, 3, 0]
    assert lamp.tolist() == [1, 1, 1, 1, 0, 0, 1, 1]
    calm = production().advance_day(
        opened(lanes), lanes, steady_weather(1, radiation=100.0), trace="full"
    ).trace  # fmt: skip
    difference = np.abs(trace["states"] - calm["states"]).max(axis=(1, 2))
    assert (difference[:98] == 0.0).all()
    assert difference[98] > 0.1


def test_record_before_the_day_is_seen_at_its_first_ticks():
    lanes = same_lanes(1)
    weather = steady_weather(1, outdoor=20.0)
    weather[0, 1] = -10.0
    screen = production().advance_day(opened(lanes), lanes, weather, trace="full").trace
    closed = screen["commands"][:4, 4, 0]
    assert closed[:2].min() > 0.4
    assert closed[2:].max() < 0.01


def test_exact_readings_are_the_truth_after_each_tick():
    lanes = same_lanes(3)
    trace = production().advance_day(opened(lanes), lanes, sunny_day(3), trace="full").trace
    named = dict(zip(STATES, np.moveaxis(trace["states"].astype(float), 1, 0), strict=True))
    shown = dict(zip(READ_CHANNELS, np.moveaxis(trace["readings"], 1, 0), strict=True))
    saturated = 610.78 * np.exp(17.2694 * named["tAir"] / (named["tAir"] + 238.3))
    ppm = 8.3144598 * (named["tAir"] + 273.15) * named["co2Air"] / (101325 * 44.01e-3)
    np.testing.assert_array_equal(shown["air_temperature_c"], named["tAir"])
    expected = {
        "relative_humidity_pct": 100.0 * named["vpAir"] / saturated,
        "co2_ppm": ppm,
        "canopy_lai_proxy": 2.66e-5 * named["cLeaf"],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(shown[name], values, rtol=1e-5)


def test_held_values_are_the_last_readings_that_were_not_lost():
    lanes = random_lanes(20, 59)
    day = production().advance_day(opened(lanes), lanes, sunny_day(20), trace="readings")
    readings = day.trace["readings"]
    last = np.array(readings[0])
    for row in readings[1:]:
        last = np.where(np.isnan(row), last, row)
    np.testing.assert_array_equal(np.asarray(day.batch.state.held), last)


# -- books ---------------------------------------------------------------------------------------


def test_books_are_commands_times_capacity():
    check_books_match_commands(production())


def test_books_run_through_days_and_crops():
    lanes = random_lanes(6, 61)
    days = varied_days(6, 3)
    batch, previous = opened(lanes), np.zeros((5, 6))
    for weather in days:
        day = production().advance_day(batch, lanes, weather, trace="readings")
        totals = day.trace["totals"]
        assert totals.dtype == np.float64
        np.testing.assert_array_equal(day.batch.totals, totals[-1])
        assert (np.diff(np.concatenate([previous[None], totals]), axis=0) >= 0).all()
        batch, previous = day.batch, day.batch.totals
    assert (previous[LEDGER.index("heat_kwh_m2")] > 0).all()


def test_fruit_that_leaves_the_plant_is_booked_as_harvest():
    lanes = same_lanes(1)
    ripe = with_states(opened(lanes), cFruit=286e3, cLeaf=9e4, cStem=9e4, cBuf=1e4, tCanSum=3e3)
    day = production().advance_day(ripe, lanes, sunny_day(1)).batch
    harvested = day.totals[LEDGER.index("harvest_dry_kg_m2"), 0] * 1e6
    grown = harvested + float(state(day, "cFruit")[0]) - 286e3
    assert harvested > 2000.0
    assert 0.0 < grown < 0.328 * 86400.0  # the potential growth of a full fruit load
    young = production().advance_day(opened(lanes), lanes, sunny_day(1)).batch
    assert young.totals[LEDGER.index("harvest_dry_kg_m2"), 0] < 1e-9


def test_empty_compartment_books_only_the_heat_of_standby():
    lanes = random_lanes(8, 67)
    days = [sunny_day(8, mean_c=-8.0)] * 3
    result = run_days(opened(lanes, planted=False), lanes, days)
    for name in (*CROP_POOLS, "tCanSum"):
        assert (state(result, name) == 0.0).all(), name
    assert (state(result, "tCan") == 20.5).all()
    totals = dict(zip(LEDGER, result.totals, strict=True))
    assert (totals.pop("heat_kwh_m2") > 0).all()
    assert all((values == 0.0).all() for values in totals.values())
    assert (np.asarray(result.state.phase) == Phase.IDLE).all()
    assert (np.abs(state(result, "tAir") - 10.0) < 8.0).all()


# -- the audit build -----------------------------------------------------------------------------


def test_audit_build_agrees_with_production():
    """Float32 against float64.

    By day heating and vents cycle from tick to tick, and rounding decides single ticks; until
    sunrise paths must agree, and after three days totals over many compartments.
    """
    audit = Stepper(precision="float64")
    short, double = (random_lanes(32, 71, noise_seeds=None, dtype=t) for t in ("f4", "f8"))
    single, exact = opened(short), opened(double, audit)
    for day, weather in enumerate(varied_days(32, 3)):
        first = production().advance_day(single, short, weather, trace="full")
        second = audit.advance_day(exact, double, weather, trace="full")
        single, exact = first.batch, second.batch
        if day == 0:
            air = STATES.index("tAir")
            apart = np.abs(first.trace["states"] - second.trace["states"])[:60, air]
            assert apart.max() < 2e-2
    assert np.asarray(exact.state.states).dtype == np.float64
    assert np.asarray(single.state.states).dtype == np.float32
    heat, light, co2, _, transpiration = range(5)
    np.testing.assert_allclose(single.totals[light], exact.totals[light], rtol=1e-6)
    for row, allowed in ((heat, 4e-3), (co2, 8e-3), (transpiration, 4e-3)):
        ratio = single.totals[row].sum() / exact.totals[row].sum()
        assert ratio == pytest.approx(1.0, abs=allowed), LEDGER[row]
    for name in ("tSo5", "cLeaf", "cStem", "tCanSum"):
        np.testing.assert_allclose(state(single, name), state(exact, name), rtol=0.02)
    np.testing.assert_array_equal(single.state.tick, exact.state.tick)


def test_real_winter_days_give_a_plausible_greenhouse():
    winter = bleiswijk_winter()
    lanes = same_lanes(2)
    batch = opened(lanes, planted=False).plant(np.array([True, False]))
    air = []
    for day in range(5):
        weather = np.repeat(winter.day_records(day)[:, :, None], 2, axis=2)
        result = production().advance_day(batch, lanes, weather, trace="readings")
        batch = result.batch
        air.append(result.trace["readings"][:, 0])
    planted, empty = np.concatenate(air)[TICKS_PER_DAY:].T
    assert 17.0 < np.median(planted[48:72]) < 18.5  # night target 18
    assert 15.0 < planted.min() < planted.max() < 30.0
    assert 5.0 < empty.min() < np.median(empty) < 20.0
    heat, light, co2, harvest, transpiration = batch.totals[:, 0]
    assert 2.0 < heat < 12.0
    assert 3.0 < light <= 5 * 0.8 + 1e-6
    assert 0.0 < co2 < 1.0
    assert harvest == pytest.approx(0.0, abs=1e-12)
    assert 0.5 < transpiration < 10.0
    assert state(batch, "cLeaf")[0] > 4368.0
