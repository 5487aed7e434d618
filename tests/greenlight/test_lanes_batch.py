"""Lanes and their books: planting, endings, parameters, weather, saving and loading."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.greenlight import stepper as stepper_module
from slowlab.greenlight.batch import SavedStateError, load_batch, open_batch, save_batch
from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.lanes import (
    DEFAULT_PARAMETERS,
    HARD_BOUNDS,
    LEDGER,
    Ending,
    LaneParameterError,
    Phase,
    check_parameters,
    open_lanes,
    plant,
    stop,
)
from slowlab.greenlight.model import CROP_POOLS, STATES
from slowlab.greenlight.sensors import READ_CHANNELS
from slowlab.greenlight.stepper import Stepper, WeatherShapeError, lane_parameters
from tests.greenlight.checks import (
    check_account_of_a_crop,
    check_failed_save_keeps_the_old_file,
    check_planting_resets_the_crop,
)
from tests.greenlight.simulator import (
    POLICY_A,
    REPOSITORY,
    assert_same_bytes,
    busy,
    opened,
    policies,
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

BUILD = {"definition": "a", "settings": "b"}
EVERYWHERE = np.ones(1, bool)
THERMAL = [n for n in STATES if n.startswith("t") and n not in ("tCanSum", "tBlScr")]
CROP_TICKS, CLEANING_TICKS, YEAR_TICKS = 51840, 576, 105120


# -- opening, planting, stopping -------------------------------------------------------------


def test_campaign_opens_with_the_native_climate_and_nothing_planted():
    opening = open_lanes(3, np.float32)
    named = dict(zip(STATES, opening.states, strict=True))
    for name in (
        "tAir", "tTop", "tCovIn", "tCovE", "tFlr", "tSo1", "tThScr", "tBlScr", "tPipe", "tGroPipe",
        "tLamp", "tIntLamp",
    ):  # fmt: skip
        assert (named[name] == 16.5).all(), name
    expected = {
        "tSo2": 13.364, "tSo3": 10.228, "tSo4": 7.092, "tSo5": 3.956, "tCan": 20.5, "tCan24": 20.5,
        "vpAir": 1681.91, "vpTop": 1313.0, "co2Air": 722.0, "co2Top": 722.0, "tCanSum": 0.0,
        "cBuf": 0.0, "cFruit": 0.0, "cLeaf": 0.0, "cStem": 0.0,
    }  # fmt: skip
    for name, value in expected.items():
        assert (named[name] == np.float32(value)).all(), name
    assert (opening.phase == Phase.IDLE).all()
    assert (opening.ending == Ending.NONE).all()
    assert (opening.tick == 0).all()
    assert np.isnan(opening.held).all()
    assert (open_batch(3, np.float32).totals == 0.0).all()


def test_planting_resets_the_crop_and_keeps_the_climate():
    check_planting_resets_the_crop()


def test_young_plants_have_the_published_leaf_area():
    lanes = same_lanes(1)
    day = production().advance_day(opened(lanes), lanes, sunny_day(1), trace="readings")
    lai = READ_CHANNELS.index("canopy_lai_proxy")
    assert day.trace["readings"][0, lai, 0] == pytest.approx(0.116, abs=1e-3)


def test_planting_notes_the_tick_and_forgets_excursions():
    batch = with_state(open_batch(2, np.float32), tick=700, excursion_ticks=9)
    planted = batch.plant(np.array([True, False]))
    np.testing.assert_array_equal(planted.state.phase, [Phase.GROWING, Phase.IDLE])
    np.testing.assert_array_equal(planted.state.phase_tick, [700, 0])
    np.testing.assert_array_equal(planted.state.excursion_ticks, [0, 9])


@pytest.mark.parametrize("phase", [Phase.GROWING, Phase.CLEANING])
def test_only_idle_lanes_can_be_planted(phase):
    batch = with_state(open_batch(3, np.float32), phase=[0, phase, phase])
    with pytest.raises(ValueError, match=f"lane 1 is {phase.name.lower()}, not idle"):
        batch.plant(np.array([True, True, False]))
    planted = batch.plant(np.array([True, False, False]))
    np.testing.assert_array_equal(planted.state.phase, [Phase.GROWING, phase, phase])


def test_stopping_empties_the_pools_and_leaves_the_climate():
    grown = plant(open_lanes(2, np.float32), np.ones(2, bool))
    stopped = stop(grown._replace(tick=np.array([900, 900], np.int32)), np.array([True, False]))
    for row, name in enumerate(STATES):
        emptied = name in (*CROP_POOLS, "tCanSum")
        assert stopped.states[row, 0] == (0.0 if emptied else grown.states[row, 0]), name
        assert stopped.states[row, 1] == grown.states[row, 1], name
    np.testing.assert_array_equal(stopped.phase, [Phase.CLEANING, Phase.GROWING])
    np.testing.assert_array_equal(stopped.phase_tick, [900, 0])
    np.testing.assert_array_equal(stopped.ending, [Ending.STOPPED, Ending.NONE])
    np.testing.assert_array_equal(stopped.ending_tick, [900, -1])


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.CLEANING])
def test_only_growing_crops_can_be_stopped(phase):
    batch = with_state(open_batch(2, np.float32), phase=[Phase.GROWING, phase])
    with pytest.raises(ValueError, match="lane 1 has no growing crop"):
        batch.stop(np.array([False, True]))


def test_account_of_a_stopped_crop_survives_the_next_planting():
    """A crop's account is what was used between its planting and its end, and nothing later."""
    lanes = same_lanes(1)
    day = sunny_day(1)
    idle = run_days(opened(lanes, planted=False), lanes, [day])
    grown = run_days(idle.plant(EVERYWHERE), lanes, [day, day])
    used = grown.totals - idle.totals
    stopped = grown.stop(EVERYWHERE)
    cleaned = run_days(stopped, lanes, [day, day])
    assert cleaned.state.phase[0] == Phase.IDLE
    replanted = run_days(cleaned.plant(EVERYWHERE), lanes, [day])
    for batch in (stopped, cleaned, cleaned.plant(EVERYWHERE), replanted):
        account = batch.ended_crop()
        assert tuple(account) == LEDGER
        np.testing.assert_allclose(np.stack(list(account.values())), used, rtol=1e-12, atol=1e-15)
    assert used[LEDGER.index("light_kwh_m2"), 0] > 1.0
    second = replanted.stop(EVERYWHERE).ended_crop()["heat_kwh_m2"]
    assert second == pytest.approx((replanted.totals - cleaned.totals)[0], rel=1e-12)


def test_account_closes_at_the_end_of_the_crop():
    check_account_of_a_crop()


def test_no_account_before_the_first_ending():
    lanes = same_lanes(1)
    grown = run_days(opened(lanes), lanes, [sunny_day(1)])
    assert all((value == 0.0).all() for value in grown.ended_crop().values())
    assert grown.totals[0, 0] > 0


def test_taking_lanes_out_and_putting_them_in_order():
    lanes = random_lanes(6, 1)
    batch = run_days(opened(lanes), lanes, [sunny_day(6)])
    index = np.array([4, 0, 4])
    taken = batch.take(index)
    assert taken.lanes == 3
    np.testing.assert_array_equal(taken.totals, batch.totals[:, index])
    np.testing.assert_array_equal(taken.state.states, np.asarray(batch.state.states)[:, index])
    assert_same_bytes(taken.take(np.array([1])), batch.take(np.array([0])))


# -- calendar ---------------------------------------------------------------------------------


def after_a_day(*, to_tick: int = 288, **lane_state):
    """One lane with the given clock and phase, a day later."""
    lanes = same_lanes(1)
    batch = with_state(opened(lanes), **lane_state)
    return production().advance_day(batch, lanes, sunny_day(1), to_tick=to_tick).batch


def ending_of(batch) -> tuple[Phase, int, Ending, int]:
    values = batch.state
    return (
        Phase(int(values.phase[0])),
        int(values.phase_tick[0]),
        Ending(int(values.ending[0])),
        int(values.ending_tick[0]),
    )


@pytest.mark.parametrize("planted_at", [0, 5, 287])
def test_crop_closes_180_days_after_planting_to_the_tick(planted_at):
    closing = planted_at + CROP_TICKS
    today = closing // 288 * 288 if planted_at else closing - 288
    before = after_a_day(tick=today, phase_tick=planted_at, to_tick=closing - today - 1)
    assert ending_of(before) == (Phase.GROWING, planted_at, Ending.NONE, -1)
    after = after_a_day(tick=today, phase_tick=planted_at)
    assert ending_of(after) == (Phase.CLEANING, closing, Ending.COMPLETED, closing)
    assert all(state(after, name)[0] == 0.0 for name in (*CROP_POOLS, "tCanSum"))


def test_cleaning_takes_exactly_two_days():
    clean = {"phase": Phase.CLEANING, "phase_tick": CROP_TICKS, "ending": Ending.COMPLETED}
    last_day = {"tick": CROP_TICKS + CLEANING_TICKS - 288, "ending_tick": CROP_TICKS, **clean}
    before = after_a_day(to_tick=287, **last_day)
    assert ending_of(before)[:2] == (Phase.CLEANING, CROP_TICKS)
    idle = after_a_day(**last_day)
    opening = CROP_TICKS + CLEANING_TICKS
    assert ending_of(idle) == (Phase.IDLE, opening, Ending.COMPLETED, CROP_TICKS)
    again = idle.plant(EVERYWHERE)
    assert ending_of(again)[:2] == (Phase.GROWING, opening)
    assert state(again, "tCan")[0] == state(again, "tAir")[0]


def test_deadline_stops_what_still_grows():
    last_day = {"tick": YEAR_TICKS - 288}
    growing = after_a_day(phase_tick=YEAR_TICKS - 40000, **last_day)
    assert ending_of(growing) == (Phase.CLEANING, YEAR_TICKS, Ending.DEADLINE, YEAR_TICKS)
    complete = after_a_day(phase_tick=YEAR_TICKS - CROP_TICKS, **last_day)
    assert ending_of(complete) == (Phase.CLEANING, YEAR_TICKS, Ending.COMPLETED, YEAR_TICKS)
    idle = after_a_day(phase=Phase.IDLE, **last_day)
    assert ending_of(idle)[2:] == (Ending.NONE, -1)
    pending = after_a_day(phase=Phase.CLEANING, phase_tick=YEAR_TICKS - 100, **last_day)
    assert ending_of(pending) == (Phase.CLEANING, YEAR_TICKS - 100, Ending.NONE, -1)


@pytest.mark.slow
def test_a_whole_year_of_two_crops():
    lanes = same_lanes(3)
    batch = opened(lanes, planted=False).plant(np.array([True, True, False]))
    endings = []
    for day in range(365):
        if day == 182:
            batch = batch.plant(np.array([True, False, False]))
        if day == 200:
            batch = batch.plant(np.array([False, True, True]))
        before = np.array(batch.state.ending_tick)
        mean_c = 10.0 - 8.0 * np.cos(2 * np.pi * day / 365)
        weather = sunny_day(3, peak=500.0 - 350.0 * np.cos(2 * np.pi * day / 365), mean_c=mean_c)
        batch = production().advance_day(batch, lanes, weather).batch
        for lane in np.flatnonzero(np.asarray(batch.state.ending_tick) != before):
            kind = Ending(int(batch.state.ending[lane]))
            endings.append((int(lane), kind, int(batch.state.ending_tick[lane])))
            account = {name: float(value[lane]) for name, value in batch.ended_crop().items()}
            assert all(np.isfinite(v) and v >= 0 for v in account.values())
            assert 5 < account["harvest_dry_kg_m2"] / 0.06 < 100 or kind is Ending.DEADLINE
    assert endings == [
        (0, Ending.COMPLETED, CROP_TICKS),
        (1, Ending.COMPLETED, CROP_TICKS),
        (0, Ending.COMPLETED, 182 * 288 + CROP_TICKS),
        (1, Ending.DEADLINE, YEAR_TICKS),
        (2, Ending.DEADLINE, YEAR_TICKS),
    ]
    assert (np.asarray(batch.state.failed_tick) < 0).all()


# -- temperature safety -----------------------------------------------------------------------


def test_an_hour_below_five_degrees_ends_the_crop():
    lanes = same_lanes(1, model={"cLeakage": 1e-3})
    batch = with_states(opened(lanes), **dict.fromkeys(THERMAL, 1.0))
    frost = steady_weather(1, outdoor=-40.0, vapour=30.0, wind=15.0, sky=-50.0)
    early = production().advance_day(batch, lanes, frost, to_tick=11).batch
    assert ending_of(early) == (Phase.GROWING, 0, Ending.NONE, -1)
    late = production().advance_day(batch, lanes, frost).batch
    assert ending_of(late) == (Phase.CLEANING, 12, Ending.TEMPERATURE_SAFETY, 12)


def expected_safety_ending(readings: np.ndarray, first: float) -> tuple[Ending, int]:
    """The published rule for one crop, from its readings (NaN: lost) at ticks 1, 2, ..."""
    held, outside = first, 0
    for tick, reading in enumerate(readings, start=1):
        held = held if np.isnan(reading) else reading
        outside = outside + 1 if held < 5.0 or held > 40.0 else 0
        if outside >= 12:
            return Ending.TEMPERATURE_SAFETY, tick
        if tick >= 150:
            return Ending.COMPLETED, tick
    return Ending.NONE, -1


@pytest.fixture(scope="module")
def hovering():
    """Crops near 5 or 40 degC with unreliable thermometers: opening, result and readings."""
    seeds = np.arange(64)
    lanes = same_lanes(64, noise_seeds=seeds, model={"cLeakage": 1e-3})
    outdoor = np.concatenate([np.full(32, -40.0), np.linspace(39.5, 42.0, 32)])
    wind = np.concatenate([np.linspace(2.0, 6.0, 32), np.full(32, 15.0)])
    near = np.where(np.arange(64) < 32, 5.0, 40.0)
    opening = with_states(opened(lanes, busy()), **dict.fromkeys(THERMAL, near))
    opening = with_state(opening, held=np.stack([near, near * 0 + 60, near * 0 + 400, near * 0]))
    every_record = {"outdoor": outdoor, "wind": wind, "sky": outdoor - 10.0}
    tiled = {name: np.tile(values, (145, 1)) for name, values in every_record.items()}
    weather = steady_weather(64, vapour=30.0, **tiled)
    result = busy().advance_day(opening, lanes, weather, trace="full")
    return opening, result


def test_safety_counts_readings_in_a_row_and_holds_lost_ones(hovering):
    opening, result = hovering
    air = result.trace["readings"][:, 0]
    first = opening.state.held[0]
    expected = [expected_safety_ending(air[:, lane], first[lane]) for lane in range(64)]
    found = zip(result.batch.state.ending, result.batch.state.ending_tick, strict=True)
    assert [(Ending(int(e)), int(t)) for e, t in found] == expected
    ticks = [t for kind, t in expected if kind is Ending.TEMPERATURE_SAFETY]
    assert len(ticks) > 20
    assert max(ticks) > 40  # the count was reset in some lane
    assert any(kind is Ending.COMPLETED for kind, _ in expected)
    # Neither skipping lost readings nor taking them as in range would give the same answer.
    for other in (np.nan_to_num(air, nan=20.0), filled_from_next(air)):
        changed = [expected_safety_ending(other[:, lane], first[lane]) for lane in range(64)]
        assert changed != expected


def filled_from_next(air: np.ndarray) -> np.ndarray:
    """Lost readings replaced by the next one that was not lost."""
    filled = air[::-1].copy()
    for row in range(1, len(filled)):
        filled[row] = np.where(np.isnan(filled[row]), filled[row - 1], filled[row])
    return filled[::-1]


def test_crop_that_ended_goes_through_cleaning_to_idle(hovering):
    _, result = hovering
    ended, values = result.batch.state.ending_tick, result.batch.state
    assert (ended > 0).all()
    cleaned = ended + 40 <= 288
    np.testing.assert_array_equal(values.phase, np.where(cleaned, Phase.IDLE, Phase.CLEANING))
    np.testing.assert_array_equal(values.phase_tick, np.where(cleaned, ended + 40, ended))


def test_account_of_a_crop_closes_at_the_tick_of_its_end(hovering):
    _, result = hovering
    totals, ended = result.trace["totals"], np.asarray(result.batch.state.ending_tick)
    account = np.stack(list(result.batch.ended_crop().values()))
    for lane in range(64):
        np.testing.assert_array_equal(account[:, lane], totals[ended[lane] - 1, :, lane])
    later = result.batch.totals - account
    assert later[0].max() > 0.01  # heat of standby is not the crop's
    assert (later[1:4] == 0.0).all()


# -- collapse ---------------------------------------------------------------------------------

LIGHT_AT = 72  # lamps come on at six


@pytest.fixture(scope="module")
def collapsing():
    """Cold canopies of few leaves before a bright day; the last one has leaves enough."""

    def made(rule: str):
        lanes = same_lanes(3, collapse_rule=rule)
        cold = dict.fromkeys([n for n in THERMAL if not n.startswith("tSo")], 10.0)
        leaves = np.array([800.0, 1500.0, 40000.0])
        dry = {"vpAir": 900.0, "vpTop": 900.0, "cBuf": 3000.0, "cLeaf": leaves}
        return lanes, with_states(opened(lanes), **cold, **dry)

    return made


def dark_morning() -> np.ndarray:
    return sunny_day(3, peak=300.0, mean_c=0.0)


def test_collapse_is_dated_at_the_start_of_its_tick(collapsing):
    lanes, batch = collapsing("stop")
    day = production().advance_day(batch, lanes, dark_morning(), trace="full")
    values = day.batch.state
    over, well = Ending.COLLAPSED, Ending.NONE
    np.testing.assert_array_equal(values.ending, [over, over, well])
    np.testing.assert_array_equal(values.ending_tick, [LIGHT_AT, LIGHT_AT, -1])
    np.testing.assert_array_equal(values.phase, [Phase.CLEANING] * 2 + [Phase.GROWING])
    np.testing.assert_array_equal(values.phase_tick, [LIGHT_AT, LIGHT_AT, 0])
    np.testing.assert_array_equal(values.lit_pole_ticks, [1, 1, 0])
    account = np.stack(list(day.batch.ended_crop().values()))
    np.testing.assert_array_equal(account[:, :2], day.trace["totals"][LIGHT_AT - 1, :, :2])
    assert (account[:, 2] == 0.0).all()
    lamps = day.trace["commands"][:, 3]
    assert (lamps[LIGHT_AT:, :2] == 0.0).all()
    assert lamps[LIGHT_AT, 2] == 1.0


def test_tick_of_a_collapse_is_redone_as_cleaning(collapsing):
    """The same bytes as if the crop had been taken out at the start of that tick."""
    lanes, batch = collapsing("stop")
    whole = production().advance_day(batch, lanes, dark_morning()).batch
    part = production().advance_day(batch, lanes, dark_morning(), to_tick=LIGHT_AT).batch
    assert (np.asarray(part.state.ending) == Ending.NONE).all()
    removed = np.array([True, True, False])
    by_hand = part._replace(
        state=stop(part.state, removed, Ending.COLLAPSED),
        latest_crop=np.where(removed, part.totals, part.latest_crop),
    )
    rest = production().advance_day(by_hand, lanes, dark_morning(), from_tick=LIGHT_AT).batch
    assert_same_bytes(whole, rest, ignore=["state.lit_pole_ticks"])


def test_floor_counts_lit_pole_ticks_and_ends_nothing(collapsing):
    lanes, batch = collapsing("floor")
    day = production().advance_day(batch, lanes, dark_morning()).batch
    assert (np.asarray(day.state.ending) == Ending.NONE).all()
    assert (np.asarray(day.state.phase) == Phase.GROWING).all()
    counted = np.asarray(day.state.lit_pole_ticks)
    assert (counted[:2] > 1).all()
    assert counted[2] == 0
    assert np.isfinite(day.state.states).all()
    assert (np.abs(state(day, "cBuf")) < 25000).all()


def test_collapse_rule_changes_nothing_away_from_the_pole():
    lanes = random_lanes(8, 3, collapse_rule="floor")
    other = random_lanes(8, 3, collapse_rule="stop")
    floored = run_days(opened(lanes), lanes, [sunny_day(8)] * 3)
    stopped = run_days(opened(other), other, [sunny_day(8)] * 3)
    assert (np.asarray(floored.state.lit_pole_ticks) == 0).all()
    assert_same_bytes(floored, stopped)


# -- parameters -------------------------------------------------------------------------------


def test_defaults_fill_in():
    checked = check_parameters({"ueff": 3.0})
    assert tuple(checked) == tuple(DEFAULT_PARAMETERS)
    for name, value in DEFAULT_PARAMETERS.items():
        assert checked[name].tolist() == [3.0 if name == "ueff" else value]


def test_unknown_parameter_is_refused_by_name():
    with pytest.raises(LaneParameterError, match=r"unknown parameter 'tauRoof'; known are .*ueff"):
        check_parameters({"tauRoof": 0.8})


@pytest.mark.parametrize("name", HARD_BOUNDS)
def test_parameter_outside_its_bounds_is_refused_with_lane_and_range(name):
    low, high = HARD_BOUNDS[name]
    good = DEFAULT_PARAMETERS[name]
    for bad in (np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.nan, np.inf, -np.inf):
        with pytest.raises(LaneParameterError) as caught:
            check_parameters({name: np.array([good, good, bad])})
        message = str(caught.value)
        assert f"{name} of lane 2 is {bad}" in message
        assert f"[{low}, {high}]" in message
    if name.startswith("tCan24"):
        return  # the two bound each other, below
    check_parameters({name: np.array([low, high])})


def test_temperature_window_must_be_open():
    window = {"tCan24Min": np.array([15.0, 24.5]), "tCan24Max": 24.5}
    with pytest.raises(LaneParameterError, match=r"Min of lane 1 is 24\.5.*tCan24Max = 24\.5"):
        check_parameters(window)


def test_wrong_number_of_lanes_is_refused_by_name():
    policy, two = policies([POLICY_A] * 2), np.arange(2)
    with pytest.raises(LaneParameterError, match=r"ueff has shape \(3,\), expected 2 lanes"):
        lane_parameters({"ueff": np.ones(3)}, policy, noise_seeds=None, compartments=two)
    with pytest.raises(LaneParameterError, match=r"day_temperature_c has shape \(2,\), expected 3"):
        lane_parameters({}, policy, noise_seeds=None, compartments=np.arange(3))
    with pytest.raises(LaneParameterError, match="noise_seeds has 1 values, expected 2 lanes"):
        lane_parameters({}, policy, noise_seeds=np.array([5]), compartments=two)


@pytest.mark.parametrize("field", policies([POLICY_A])._fields)
def test_policy_value_that_is_not_finite_is_refused_with_field_and_lane(field):
    policy = policies([POLICY_A] * 3)
    values = np.array(getattr(policy, field), float)
    values[1] = np.nan
    with pytest.raises(LaneParameterError, match=f"policy field {field} of lane 1 is not finite"):
        lane_parameters(
            {}, policy._replace(**{field: values}), noise_seeds=None, compartments=np.arange(3)
        )


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError, match=f"noise seed {seed} is not in"):
        same_lanes(1, noise_seeds=[seed])


# -- weather ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda w: w[:-1], r"\(144, 5, 2\)"),
        (lambda w: w[:, :4], r"\(145, 4, 2\)"),
        (lambda w: w[:, :, :1], r"\(145, 5, 1\)"),
        (lambda w: np.repeat(w, 2, axis=0), r"\(290, 5, 2\)"),
        (lambda w: w[:, :, 0], r"\(145, 5\)"),
    ],
)
def test_weather_of_the_wrong_shape_is_refused(change, shape):
    lanes = same_lanes(2)
    batch = opened(lanes)
    with pytest.raises(WeatherShapeError, match=rf"shape {shape}, expected \(145, 5, 2\)"):
        production().advance_day(batch, lanes, change(sunny_day(2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_weather_is_refused_with_lane_channel_and_record(bad):
    lanes = same_lanes(2)
    batch = opened(lanes)
    weather = sunny_day(2)
    weather[77, 3, 1] = bad
    with pytest.raises(WeatherShapeError, match="lane 1: wind of record 77 is not finite"):
        production().advance_day(batch, lanes, weather)


def test_lane_that_stands_elsewhere_is_refused():
    lanes = same_lanes(2)
    batch = production().advance_day(opened(lanes), lanes, sunny_day(2), to_tick=[288, 100]).batch
    with pytest.raises(ValueError, match="lane 1 does not stand at tick 0"):
        production().advance_day(batch, lanes, sunny_day(2))
    joined = production().advance_day(batch, lanes, sunny_day(2), from_tick=[0, 100]).batch
    np.testing.assert_array_equal(joined.state.tick, [576, 288])


# -- saving and loading -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def batch():
    """A batch with something in every field."""
    lanes = random_lanes(3, 8)
    grown = run_days(opened(lanes), lanes, [sunny_day(3)])
    return run_days(grown.stop(np.array([True, False, False])), lanes, [sunny_day(3)])


def test_saved_batch_comes_back_byte_for_byte(tmp_path, batch):
    save_batch(tmp_path / "new" / "state.npz", batch, BUILD)
    assert_same_bytes(load_batch(tmp_path / "new" / "state.npz", BUILD), batch)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["state.npz"]


def test_saving_replaces_the_old_file(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, open_batch(3, np.float32), BUILD)
    save_batch(path, batch, BUILD)
    assert_same_bytes(load_batch(path, BUILD), batch)


def test_missing_file_is_reported(tmp_path):
    with pytest.raises(SavedStateError, match=r"nothing\.npz: not a readable saved state"):
        load_batch(tmp_path / "nothing.npz", BUILD)
    with pytest.raises(SavedStateError, match="not a readable saved state"):
        load_batch(tmp_path, BUILD)


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive", b"\x93NUMPY\x01\x00v\x00{}"])
def test_other_content_is_refused(tmp_path, content):
    path = tmp_path / "state.npz"
    path.write_bytes(content)
    with pytest.raises(SavedStateError, match=r"state\.npz: not a readable saved state"):
        load_batch(path, BUILD)


def rewritten(path: Path, **changes) -> None:
    """Replace members of an archive; a consistent zip with other content."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    members |= changes
    with path.open("wb") as file:
        np.savez(file, **{name: value for name, value in members.items() if value is not None})


def test_changed_number_is_seen_even_in_a_sound_archive(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    totals = batch.totals.copy()
    totals[0, 0] = np.nextafter(totals[0, 0], np.inf)
    rewritten(path, totals=totals)
    with pytest.raises(SavedStateError, match="does not match its checksum"):
        load_batch(path, BUILD)


@pytest.mark.parametrize("change", [{"totals": None}, {"extra": np.zeros(3)}])
def test_missing_or_added_member_is_seen(tmp_path, batch, change):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    rewritten(path, **change)
    with pytest.raises(SavedStateError, match="does not match its checksum"):
        load_batch(path, BUILD)


@pytest.mark.parametrize("header", ["", "[]", "{}", '{"format": 1}', '{"build": {}, "sha256": ""}'])
def test_damaged_header_is_refused(tmp_path, batch, header):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    rewritten(path, header=np.array(header))
    with pytest.raises(SavedStateError, match=r"not a readable saved state|format None, exp"):
        load_batch(path, BUILD)


def test_other_format_is_refused(tmp_path, batch):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    with np.load(path) as file:
        header = json.loads(str(file["header"]))
    rewritten(path, header=np.array(json.dumps(header | {"format": 2})))
    with pytest.raises(SavedStateError, match="format 2, expected 1"):
        load_batch(path, BUILD)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[bytes, Path]:
    """The bytes of a saved file, and a folder to write damaged ones to."""
    folder = tmp_path_factory.mktemp("damaged")
    save_batch(folder / "good.npz", open_batch(2, np.float32), BUILD)
    return (folder / "good.npz").read_bytes(), folder / "damaged.npz"


@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_altered_byte_is_refused_or_without_effect(saved, position, flip):
    """Bytes that neither content nor checksum depend on, such as zip's dates, may change."""
    content, path = saved
    damaged = bytearray(content)
    damaged[int(position * len(content))] ^= flip
    path.write_bytes(damaged)
    try:
        loaded = load_batch(path, BUILD)
    except SavedStateError:
        return
    assert_same_bytes(loaded, open_batch(2, np.float32))


def test_altered_byte_of_any_array_is_refused(saved):
    content, path = saved
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            end = archive.fp and member.header_offset + 30 + len(member.filename)
            damaged = bytearray(content)
            damaged[end + member.file_size - 1] ^= 1
            path.write_bytes(damaged)
            with pytest.raises(SavedStateError):
                load_batch(path, BUILD)


@given(share=st.floats(0, 1, exclude_max=True))
def test_truncated_file_is_refused(saved, share):
    content, path = saved
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(SavedStateError, match="not a readable saved state"):
        load_batch(path, BUILD)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"definition": "a", "settings": "c"}, r"settings differ \(settings was b, is c\)"),
        ({"definition": "a"}, r"settings differ \(settings was b, is None\)"),
        (BUILD | {"source": "d"}, r"source differ \(source was None, is d\)"),
        ({"definition": "x", "settings": "y"}, "definition, settings differ"),
    ],
)
def test_state_of_another_build_is_refused(tmp_path, batch, other, message):
    path = tmp_path / "state.npz"
    save_batch(path, batch, BUILD)
    with pytest.raises(SavedStateError, match=rf"state\.npz: saved by another build; {message}"):
        load_batch(path, other)


def test_build_knows_settings_precision_width_facility_and_source(monkeypatch):
    native = Stepper().build
    assert native == production().build
    settings = dataclasses.replace(Stepper().settings, scheme=Scheme(substeps=12))
    facility = dataclasses.replace(Stepper().facility, side_wall_form="neighbour_minus_indoor")
    others = [
        Stepper(settings=settings),
        Stepper(precision="float64"),
        Stepper(width=128),
        Stepper(facility=facility),
    ]
    assert all(other.build["settings"] != native["settings"] for other in others)
    monkeypatch.setattr(stepper_module, "source_fingerprint", lambda: "changed")
    assert Stepper().build["source"] == "changed" != native["source"]


def test_build_names_the_source_that_was_imported(tmp_path):
    """An edit under a running process must not pass for the code that runs."""
    package = REPOSITORY / "slowlab"
    shutil.copytree(package, tmp_path / "slowlab", ignore=shutil.ignore_patterns("__pycache__"))
    source = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import slowlab
from slowlab.greenlight.stepper import Stepper
folder = Path(sys.argv[1]) / "slowlab"
assert Path(slowlab.__file__).parent == folder
(folder / "greenlight" / "noise.py").write_text("edited = True")
print(Stepper().build["source"])
"""
    done = python(source, str(tmp_path))
    assert done.stdout.strip() == production().build["source"], done.stderr


def test_kill_in_the_middle_of_a_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.npz"
    source = """
import os, signal, sys
import numpy as np
from slowlab.greenlight import batch

path, build = sys.argv[1], {"definition": "a", "settings": "b"}
batch.save_batch(path, batch.open_batch(2, np.float32), build)
whole_archive = np.savez

def half_an_archive(file, **arrays):
    whole_archive(file, **arrays)
    file.seek(file.tell() // 2)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)

np.savez = half_an_archive
batch.save_batch(path, batch.open_batch(5, np.float32), build)
"""
    done = python(source, str(path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert_same_bytes(load_batch(path, BUILD), open_batch(2, np.float32))


def test_error_in_the_middle_of_a_save_leaves_the_old_file_and_no_other(tmp_path):
    check_failed_save_keeps_the_old_file(tmp_path)
