"""Parameters, seeds, policies and weather that cannot be used are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from slowlab.greenlight.lanes import (
    DEFAULT_PARAMETERS,
    HARD_BOUNDS,
    LaneParameterError,
    check_parameters,
)
from slowlab.greenlight.stepper import WeatherShapeError, lane_parameters
from tests.greenlight.simulator import (
    POLICY_A,
    opened,
    policies,
    production,
    same_lanes,
    sunny_day,
)


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
