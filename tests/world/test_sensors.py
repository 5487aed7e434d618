"""Sensors: the specification and the original's noise, number by number."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.config import ConfigError, override, validate_config
from slowlab.world.sensor_reference import ReferenceNoise, blake2b_draws, lost_mask
from slowlab.world.sensors import PUBLIC_CHANNELS

TICKS = 105_120


@pytest.fixture
def noise(sensors, golden):
    return ReferenceNoise(sensors, golden["noise"]["seed"])


def test_published_examples(noise, golden):
    published = golden["noise"]
    compartment, time_s = published["compartment"], published["time_s"]
    drawn = noise.uniform("reading", "air_temperature_c", compartment, time_s)
    assert drawn == published["uniform_reading_air_temperature_c"]
    for channel, (truth, reading) in published["examples"].items():
        assert noise.reading(channel, compartment, time_s, truth) == reading


def test_published_number_of_lost_readings(noise, sensors, golden):
    lost = 0
    for name, group in sensors.groups.items():
        for compartment in range(4):
            times = range(300, TICKS * 300 + 1, 300)
            draws = (noise.uniform("dropout", name, compartment, t) for t in times)
            lost += len(group.channels) * sum(u < group.dropout_probability for u in draws)
    assert lost == golden["noise"]["dropped_channel_readings_per_campaign"]


@pytest.mark.parametrize("day", [0, 7, 364])
def test_daily_draws_are_the_single_ones(noise, sensors, day):
    draws = blake2b_draws(noise, 2, day)
    lost = lost_mask(noise, draws, day)
    channels = sensors.noisy_channels
    assert draws.reading.shape == (288, 4)
    assert draws.dropout.shape == (288, 2)
    for tick in (0, 1, 100, 287):
        time_s = day * 86_400 + tick * 300
        for column, channel in enumerate(channels):
            assert draws.reading[tick, column] == noise.uniform("reading", channel, 2, time_s)
            assert lost[tick, column] == noise.is_lost(channel, 2, time_s)
    assert draws.day.tolist() == [noise.uniform("day", name, 2, day) for name in channels]
    assert lost[:, :3].any(axis=1).tolist() == lost[:, 0].tolist()


def test_instruments_fail_as_a_whole_and_never_at_the_start(noise, sensors):
    box = sensors.groups["climate_box"].channels
    when = next(t for t in range(300, TICKS * 300, 300) if noise.is_lost(box[0], 0, t))
    assert [noise.reading(name, 0, when, 20.0) for name in box] == [None] * 3
    always = override(
        sensors, {f"groups.{name}.dropout_probability": 0.999999 for name in sensors.groups}
    )
    failing = ReferenceNoise(always, noise.seed)
    assert all(failing.reading(name, k, 0, 1.0) is not None for name in box for k in range(4))
    assert failing.reading(box[0], 0, 300, 1.0) is None
    assert failing.reading("heating_energy", 0, 300, 1.5) == 1.5


@given(
    st.sampled_from(PUBLIC_CHANNELS),
    st.integers(0, 3),
    st.integers(0, TICKS),
    st.floats(-50, 3000),
)
def test_readings_respect_the_instrument(sensors, channel, compartment, tick, truth):
    noise = ReferenceNoise(sensors, 5)
    reading = noise.reading(channel, compartment, tick * 300, truth)
    model = sensors.channels[channel]
    if channel not in sensors.noisy_channels:
        assert reading == truth
    elif reading is not None:
        assert math.isfinite(reading)
        assert round(reading, model.decimals) == reading
        assert reading >= (-math.inf if model.clip_low is None else model.clip_low)
        assert reading <= (math.inf if model.clip_high is None else model.clip_high)


def test_noise_has_the_stated_size(sensors):
    fine = override(
        sensors,
        {f"channels.{name}.decimals": 12 for name in sensors.noisy_channels}
        | {f"groups.{name}.dropout_probability": 0.0 for name in sensors.groups},
    )
    noise = ReferenceNoise(fine, 11)
    times = range(300, 300 * 4_001, 300)
    air = np.array([noise.reading("air_temperature_c", 1, t, 20.0) for t in times]) - 20.0
    co2 = np.array([noise.reading("co2_ppm", 1, t, 800.0) for t in times]) - 800.0
    leaf = np.log([noise.reading("canopy_lai_proxy", 1, t, 2.0) for t in times[:288]]) - math.log(2)
    assert air.std() == pytest.approx(0.2, rel=0.05)
    assert abs(air.mean()) < 0.02
    assert co2.std() == pytest.approx(math.hypot(10.0, 16.0), rel=0.05)
    assert leaf[:287].std() == pytest.approx(0.03, rel=0.15)


def test_noise_depends_on_nothing_but_its_key(sensors):
    noise, other = ReferenceNoise(sensors, 1), ReferenceNoise(sensors, 2)
    key = ("reading", "co2_ppm", 1, 600)
    assert noise.uniform(*key) == ReferenceNoise(sensors, 1).uniform(*key)
    neighbours = [("dropout", *key[1:]), ("reading", "air_temperature_c", 1, 600)]
    neighbours += [("reading", "co2_ppm", 2, 600), ("reading", "co2_ppm", 1, 900)]
    drawn = [noise.uniform(*key), other.uniform(*key), *(noise.uniform(*k) for k in neighbours)]
    assert len(set(drawn)) == len(drawn)


def test_constant_bias_is_a_sensitivity_setting(sensors):
    biased = ReferenceNoise(override(sensors, {"constant_bias": True}), 3)
    plain = ReferenceNoise(sensors, 3)
    shift = 0.3 * biased.normal("bias", "air_temperature_c", 0, 0)
    for time_s in (300, 600, 900):
        a = biased.reading("air_temperature_c", 0, time_s, 20.0)
        b = plain.reading("air_temperature_c", 0, time_s, 20.0)
        assert a - b == pytest.approx(shift, abs=0.11)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups.climate_box.channels": ["co2_ppm", "x"]}, "must exist"),
        ({"groups.canopy_camera.channels": ["co2_ppm"]}, "at most one group"),
        ({"groups.climate_box.dropout_probability": 1.0}, "of at least 0 and below 1"),
        ({"channels.relative_humidity_pct.clip_low": 100.0}, "clip_low must be below"),
        ({"controller_channels": {}}, "must be exactly"),
    ],
)
def test_bad_specifications_are_refused(sensors, changes, words):
    with pytest.raises(ConfigError, match=words):
        override(sensors, changes)


def test_a_wrong_noise_model_names_the_choices(sensors):
    data = sensors.model_dump(mode="json")
    data["channels"]["co2_ppm"]["model"] = "odd"
    with pytest.raises(ConfigError, match=r"channels\.co2_ppm"):
        validate_config(data, type(sensors))
