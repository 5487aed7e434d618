"""How crops end: calendar, temperature safety, collapse."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.greenlight.lanes import (
    Ending,
    Phase,
    stop,
)
from slowlab.greenlight.model import CROP_POOLS, STATES
from tests.greenlight.simulator import (
    assert_same_bytes,
    busy,
    opened,
    production,
    random_lanes,
    run_days,
    same_lanes,
    state,
    steady_weather,
    sunny_day,
    with_state,
    with_states,
)

EVERYWHERE = np.ones(1, bool)
THERMAL = [n for n in STATES if n.startswith("t") and n not in ("tCanSum", "tBlScr")]
CROP_TICKS = 51840
CLEANING_TICKS = 576
YEAR_TICKS = 105120


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
