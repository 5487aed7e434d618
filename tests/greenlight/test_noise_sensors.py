"""The counter-based generator, and readings made from it: moments, dropouts, rounding."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.noise import normal, seed_words, threefry_2x32, uniform
from slowlab.greenlight.sensors import Draws, SensorSettings, read
from tests.greenlight.checks import (
    check_known_random_numbers,
    check_noise_differs_between_compartments,
    draws_of,
    noise_keys,
    words,
)
from tests.greenlight.simulator import (
    POLICY_A,
    opened,
    policies,
    production,
    same_lanes,
    sunny_day,
)

SETTINGS = SensorSettings()
WORDS = st.integers(0, 2**32 - 1)
CHANNELS = ("air", "humidity", "co2", "canopy")


def drawn(seeds, compartments, ticks, settings: SensorSettings = SETTINGS) -> Draws:
    """Draws [ticks, lanes] of lanes with the given seeds and compartments."""
    return draws_of(noise_keys(np.asarray(seeds), np.asarray(compartments)), ticks, settings)


@pytest.mark.parametrize("library", [np, jax.numpy])
def test_published_known_answers(library):
    check_known_random_numbers(library)


@given(st.tuples(WORDS, WORDS, WORDS, WORDS))
def test_numpy_and_jax_agree(numbers):
    a, b = (threefry_2x32(*words(*numbers), library) for library in (np, jax.numpy))
    assert [int(x[0]) for x in a] == [int(x[0]) for x in b]


def test_seed_is_split_without_loss():
    for seed in (0, 1, 2**32 - 1, 2**32, 20260929, 2**63 - 1, 2**64 - 1):
        high, low = seed_words(seed)
        assert (high << 32) | low == seed
        assert 0 <= low < 2**32
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match=f"noise seed {seed} is not in"):
            seed_words(seed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_and_normal_stay_open_and_finite_at_the_ends(dtype):
    ends = np.array([0, 511, 512, 2**31, 2**32 - 513, 2**32 - 1], np.uint32)
    with jax.enable_x64(dtype is np.float64):
        u, z = np.asarray(uniform(ends, dtype)), np.asarray(normal(ends, dtype))
    assert u.dtype == z.dtype == dtype
    assert (u > 0).all()
    assert (u < 1).all()
    assert np.isfinite(z).all()
    assert z[0] == pytest.approx(-z[-1], rel=1e-2)
    assert -6 < z[0] < -5


def test_normal_has_the_right_quantiles():
    index = np.arange(2**16, dtype=np.uint32) * np.uint32(2**16) + np.uint32(2**15)
    z = np.asarray(normal(index, np.float32))
    assert z.mean() == pytest.approx(0.0, abs=1e-3)
    assert z.std() == pytest.approx(1.0, abs=1e-3)
    assert np.quantile(z, 0.975) == pytest.approx(1.95996, abs=1e-3)
    assert np.all(np.diff(z) > 0)


def test_moments_and_independence_of_channels_and_ticks():
    draws = drawn(np.arange(8), np.arange(8) % 4, np.arange(1, 5001))
    series = np.stack([getattr(draws, c) for c in CHANNELS])
    count = series[0].size
    assert np.abs(series.mean(axis=(1, 2))).max() < 5 / np.sqrt(count)
    assert np.abs(series.std(axis=(1, 2)) - 1).max() < 5 / np.sqrt(2 * count)
    between = np.corrcoef(series.reshape(4, -1)) - np.eye(4)
    assert np.abs(between).max() < 5 / np.sqrt(count)
    for one in series:
        for lag in (1, 2, 288):
            a, b = one[:-lag].ravel(), one[lag:].ravel()
            assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(a.size)


def test_compartments_of_one_seed_are_unrelated():
    check_noise_differs_between_compartments()


@pytest.mark.parametrize("other", [20260930, 20260929 + 2**32, 20260929 ^ 2**63])
def test_seeds_that_differ_in_any_bit_are_unrelated(other):
    draws = drawn([20260929, other], [1, 1], np.arange(1, 4001))
    for channel in (*CHANNELS, "canopy_day"):
        values = getattr(draws, channel)
        if channel == "canopy_day":
            assert (values[:, 0] != values[:, 1]).all()
        else:
            assert abs(np.corrcoef(values.T)[0, 1]) < 0.08, channel


def test_neighbouring_streams_do_not_repeat_each_other():
    """Compartment, channel, tick and day must not be exchangeable in the counter."""
    draws = drawn(np.full(64, 7), np.arange(64), np.arange(1, 601))
    values = np.stack([getattr(draws, c) for c in CHANNELS])
    assert np.unique(values).size > 0.98 * values.size  # 23-bit numbers do coincide


def test_same_arguments_give_the_same_numbers_in_any_shape():
    """Up to the last digit of the inverse error function, which a compiler may round by shape."""
    ticks = np.arange(1, 301)
    whole = drawn([3, 4, 5], [0, 1, 2], ticks)
    alone = drawn([4], [1], ticks[::-1])
    for name in Draws._fields:
        a, b = getattr(whole, name)[:, 1], getattr(alone, name)[::-1, 0]
        np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=name)


def test_canopy_error_of_a_day_is_shared_within_the_day_only():
    draws = drawn([11], [2], np.arange(4 * TICKS_PER_DAY))
    per_day = draws.canopy_day.reshape(4, TICKS_PER_DAY)
    assert (np.ptp(per_day, axis=1) == 0).all()
    assert np.unique(per_day[:, 0]).size == 4
    many = drawn(np.arange(2000), np.zeros(2000), [0, TICKS_PER_DAY]).canopy_day
    assert np.abs(many.mean(axis=1)).max() < 0.12
    assert np.abs(many.std(axis=1) - 1).max() < 0.08
    assert abs(np.corrcoef(many)[0, 1]) < 0.12


def test_dropout_rates_and_groups():
    draws = drawn(np.arange(20), np.arange(20) % 4, np.arange(1, 10001))
    count = draws.climate_lost.size
    for lost, rate in ((draws.climate_lost, 0.005), (draws.canopy_lost, 0.02)):
        assert abs(lost.mean() - rate) < 5 * np.sqrt(rate / count)
    both = (draws.climate_lost & draws.canopy_lost).mean()
    assert abs(both - 1e-4) < 5 * np.sqrt(1e-4 / count)
    runs = draws.climate_lost[1:] & draws.climate_lost[:-1]
    assert runs.mean() < 1e-4  # lost readings do not come in runs


def test_nothing_is_lost_at_the_first_reading():
    always = dataclasses.replace(SETTINGS, climate_dropout=1.0, canopy_dropout=1.0)
    draws = drawn(np.arange(50), np.zeros(50), [0, 1], always)
    assert not draws.climate_lost[0].any()
    assert not draws.canopy_lost[0].any()
    assert draws.climate_lost[1].all()
    assert draws.canopy_lost[1].all()


def readings(truth, *, noisy: bool = True, count: int = 20000) -> np.ndarray:
    """Readings [4, count] of one unchanging truth."""
    keys = noise_keys(np.arange(count), np.zeros(count), noisy)
    draws = Draws(*(values[0] for values in draws_of(keys, [1])))
    shown = read(SETTINGS, keys, draws, tuple(np.full(count, t, np.float32) for t in truth))
    return np.stack([np.asarray(s) for s in shown])


def test_readings_have_the_published_errors():
    truth = (20.3, 71.7, 812.0, 2.5)
    air, humidity, co2, lai = readings(truth)
    assert air.mean() == pytest.approx(20.3, abs=0.01)
    assert air.std() == pytest.approx(np.hypot(0.2, 0.1 / np.sqrt(12)), rel=0.03)
    assert humidity.mean() == pytest.approx(71.7, abs=0.1)
    assert humidity.std() == pytest.approx(2.0, rel=0.03)
    assert co2.mean() == pytest.approx(812.0, abs=1.0)
    assert co2.std() == pytest.approx(np.hypot(10.0, 0.02 * 812.0), rel=0.03)
    logs = np.log(lai / 2.5)
    assert logs.mean() == pytest.approx(0.0, abs=0.005)
    assert logs.std() == pytest.approx(np.hypot(0.10, 0.03), rel=0.03)


@pytest.mark.parametrize("truth", [(0.04, 0.5, 8.0, 0.001), (40.0, 99.5, 5000.0, 6.0)])
def test_readings_are_rounded_and_clipped(truth):
    air, humidity, co2, lai = readings(truth, count=5000)
    for values, decimals in ((air, 1), (humidity, 1), (co2, 0), (lai, 2)):
        scaled = values.astype(float) * 10**decimals
        np.testing.assert_allclose(scaled, np.round(scaled), atol=2e-3)
    assert humidity.min() >= 0.0
    assert humidity.max() <= 100.0
    assert co2.min() >= 0.0
    assert lai.min() >= 0.0
    assert (humidity.max() == 100.0) == (truth[1] > 90)
    assert (co2.min() == 0.0) == (truth[2] < 100)


def test_without_noise_readings_are_the_exact_truth():
    truth = (20.123456, 71.7654, 812.3456, 2.55555)
    shown = readings(truth, noisy=False, count=10)
    np.testing.assert_array_equal(shown, np.repeat(np.array([truth], np.float32).T, 10, axis=1))


def test_without_noise_nothing_is_lost():
    keys = noise_keys(np.arange(5000), np.zeros(5000), noisy=False)
    draws = draws_of(keys, [1])
    assert not draws.climate_lost.any()
    assert not draws.canopy_lost.any()


def test_empty_canopy_reads_zero_whatever_the_noise():
    assert (readings((20.0, 70.0, 800.0, 0.0))[3] == 0.0).all()


def test_dropouts_do_not_depend_on_policy_crop_or_weather():
    """The same seed and compartment lose the same readings, whatever is done."""
    rows = [POLICY_A, POLICY_A, (26.0, 22.0, 400.0, 0.0, 2.0, 70.0), POLICY_A]
    lanes = same_lanes(4, noise_seeds=np.full(4, 99), compartments=np.full(4, 2))
    lanes = lanes._replace(policy=jax.tree.map(np.float32, policies(rows)))
    lanes = lanes._replace(
        policy=lanes.policy._replace(lamp_off_tick=np.int32([216, 216, 72, 216]))
    )
    batch = opened(lanes, planted=False).plant(np.array([True, False, True, True]))
    weather = sunny_day(4)
    weather[:, 1, 3] += 10.0
    shown = production().advance_day(batch, lanes, weather, trace="full").trace["readings"]
    lost = np.isnan(shown)
    assert lost.any(axis=(0, 2)).all()
    for lane in (1, 2, 3):
        np.testing.assert_array_equal(lost[:, :, lane], lost[:, :, 0])
        assert not np.array_equal(shown[:, 0, lane], shown[:, 0, 0], equal_nan=True)
    assert (lost[:, 0] == lost[:, 1]).all()
    assert (lost[:, 0] == lost[:, 2]).all()
    assert (lost[:, 0] != lost[:, 3]).any()
