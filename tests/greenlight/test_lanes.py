"""Lanes: opening, planting, stopping, and their books."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.greenlight.batch import open_batch
from slowlab.greenlight.lanes import (
    LEDGER,
    Ending,
    Phase,
    open_lanes,
    plant,
    stop,
)
from slowlab.greenlight.model import CROP_POOLS, STATES
from slowlab.greenlight.sensors import READ_CHANNELS
from tests.greenlight.checks import (
    check_account_of_a_crop,
    check_planting_resets_the_crop,
)
from tests.greenlight.simulator import (
    assert_same_bytes,
    opened,
    production,
    random_lanes,
    run_days,
    same_lanes,
    sunny_day,
    with_state,
)

EVERYWHERE = np.ones(1, bool)


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
