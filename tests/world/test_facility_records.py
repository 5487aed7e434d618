"""Readings of a facility: what is kept, what is lost, and that meters are the books exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.greenlight.lanes import LEDGER
from slowlab.world.facility import advance_together
from slowlab.world.facility_records import METERS, RecordStore
from slowlab.world.sensors import PUBLIC_CHANNELS
from tests.facilities import DAY, opened, policy
from tests.simulations import short_contract, short_simulator

NOISY = ("air_temperature_c", "relative_humidity_pct", "co2_ppm", "canopy_lai_proxy")


@pytest.fixture(scope="module")
def facility():
    """A facility with crops after ten days and a bit."""
    facility = opened(short_simulator(), 4)
    facility.plant(0, policy())
    facility.plant(1, policy(co2_target_ppm=1000))
    advance_together(short_simulator(), [(facility, 10 * DAY + 100)])
    return facility


@pytest.mark.parametrize("channel", PUBLIC_CHANNELS)
def test_the_opening_reading_exists_before_anything_is_stepped(channel):
    for index in range(8):
        facility = opened(short_simulator(), index)
        for unit in range(4):
            (record,) = facility.records(unit, channel, 0, 0)
            assert (record.unit, record.channel, record.tick, record.time_s) == (
                unit,
                channel,
                0,
                0,
            )
            assert np.isfinite(record.value)
            if channel in METERS:
                assert record.value == 0.0


def test_lost_readings_are_absent_and_the_climate_box_fails_as_a_whole(facility):
    window = (0, facility.tick)
    for unit in range(4):
        ticks = {name: facility.series(unit, name, *window).ticks for name in NOISY}
        for name in NOISY[1:3]:
            np.testing.assert_array_equal(ticks[name], ticks[NOISY[0]])
        assert all(found[0] == 0 for found in ticks.values())
        lost = [1 - len(ticks[name]) / (facility.tick + 1) for name in (NOISY[0], NOISY[3])]
        assert 0.002 < lost[0] < 0.009
        assert 0.012 < lost[1] < 0.029
        for name in METERS:
            assert len(facility.series(unit, name, *window).ticks) == facility.tick + 1


def test_values_have_the_decimals_of_the_sensor_specification(facility):
    for channel in NOISY:
        decimals = facility.simulator.sensors.channels[channel].decimals
        values = [r.value for r in facility.records(0, channel, 0, facility.tick)]
        assert values == [round(value, decimals) for value in values]
        assert not any(str(value).startswith("-0") for value in values if value == 0)
        assert len(set(values)) > 10


def test_without_noise_readings_are_exact_and_never_lost():
    facility = opened(short_simulator(), 4, noise=False)
    advance_together(short_simulator(), [(facility, DAY)])
    air = facility.series(0, "air_temperature_c", 0, DAY)
    assert len(air.ticks) == DAY + 1
    assert air.values[0] == 16.5
    assert (np.round(air.values, 1) != air.values).mean() > 0.9


def test_meters_end_at_the_books_whatever_the_window(facility):
    totals = facility.lanes.batch.totals
    for unit in range(4):
        for channel, name in METERS.items():
            whole = facility.series(unit, channel, 0, facility.tick).values
            scale = 0.06 if "harvest" in channel else 1.0
            assert whole[-1] == totals[LEDGER.index(name), unit] / scale
            assert (np.diff(whole) >= 0).all()
            for start, end in ((5, 5), (287, 289), (288, 288), (700, 2000), (1440, facility.tick)):
                part = facility.series(unit, channel, start, end)
                np.testing.assert_array_equal(part.values, whole[start : end + 1])
                np.testing.assert_array_equal(part.ticks, np.arange(start, end + 1))


def test_records_and_series_agree(facility):
    records = facility.records(1, "co2_ppm", 100, 400)
    series = facility.series(1, "co2_ppm", 100, 400)
    assert [r.tick for r in records] == series.ticks.tolist()
    assert [r.value for r in records] == series.values.tolist()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    start=st.floats(0, 1e4),
    cuts=st.sets(st.integers(1, 3 * DAY - 1), max_size=6),
    scale=st.sampled_from((1.0, 1e-4, 1e-9, 1e-20)),
)
def test_meters_are_the_running_books_to_the_last_bit(seed, start, cuts, scale):
    """However small the flows, and however the steps come in pieces within days."""
    rng = np.random.default_rng(seed)
    booked = rng.choice([0.0, 1.0], (3 * DAY, 5, 1)) * rng.random((3 * DAY, 5, 1)) ** 4
    booked = (booked * scale).astype(np.float32)
    booked[0] = np.float32(start)
    totals = np.add.accumulate(np.concatenate([np.zeros((1, 5, 1)), booked.astype(float)]), axis=0)
    contract = short_contract().model_copy(
        update={"facility": short_contract().facility.model_copy(update={"compartments": 1})}
    )
    store = RecordStore(contract, short_simulator().sensors, "float32", noise=True)
    store.open(np.zeros((4, 1)))
    edges = sorted({0, *cuts, DAY, 2 * DAY, 3 * DAY})
    for first, last in itertools.pairwise(edges):
        shown = np.zeros((last - first, 4, 1), np.float32)
        store.write(first + 1, shown, totals[first], totals[first + 1 : last + 1])
    for channel, name in METERS.items():
        expected = totals[:, LEDGER.index(name), 0] / (0.06 if "harvest" in channel else 1.0)
        np.testing.assert_array_equal(store.series(0, channel, 0, 3 * DAY).values, expected)


def test_a_campaign_of_a_year_takes_less_than_sixteen_megabytes(contract, sensors):
    store = RecordStore(contract, sensors, "float32", noise=True)
    size = sum(a.nbytes for a in store.arrays(contract.calendar.campaign_ticks).values())
    assert size < 14e6
