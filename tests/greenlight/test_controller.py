"""The controller against a plain Python reading of its published rules."""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.greenlight import controller
from slowlab.greenlight.controller import (
    TICKS_PER_DAY,
    ControllerSettings,
    PolicyLanes,
    Readings,
    band,
    lamp_off_tick,
)
from slowlab.greenlight.model import COMMANDS
from tests.greenlight.checks import plain_band, plain_commands
from tests.greenlight.simulator import POLICY_A, policies

SETTINGS = ControllerSettings()
# Seen by an ordinary winter day; tests change one or two of them.
SEEN = {"air": 21.0, "humidity": 70.0, "co2": 750.0, "sun": 100.0, "outdoor": 4.0}


def as_readings(seen: dict, dtype=np.float32) -> Readings:
    values = (seen[k] for k in ("air", "humidity", "co2", "sun", "outdoor"))
    return Readings(*(np.atleast_1d(np.asarray(v, dtype)) for v in values))


def found(policy, seen, tick: int, *, growing: bool = True) -> dict[str, float]:
    """Commands of one compartment from the package."""
    readings, lanes = as_readings(seen), policies([policy])
    result = controller.commands(SETTINGS, lanes, readings, tick, np.array([growing]))
    return {name: float(value[0]) for name, value in result.items()}


def over_a_day(policy, seen) -> dict[str, np.ndarray]:
    """Commands at the 288 ticks of a day with unchanging readings."""
    count = TICKS_PER_DAY
    readings = as_readings({name: np.full(count, value) for name, value in seen.items()})
    ticks, growing = np.arange(count), np.ones(count, bool)
    result = controller.commands(SETTINGS, policies([policy] * count), readings, ticks, growing)
    return {name: np.asarray(value) for name, value in result.items()}


@pytest.mark.parametrize("width", [-100.0, -1.0, 1.0, 4.0, 50.0])
def test_band_is_one_percent_half_and_99_percent(width):
    """Exactly 1/101, 1/2 and 100/101."""
    x = jnp.asarray([10.0, 10.0 + width / 2, 10.0 + width], jnp.float32)
    np.testing.assert_allclose(band(x, 10.0, width), [1 / 101, 0.5, 100 / 101], rtol=2e-5)


@given(
    x=st.floats(-1e6, 1e6, width=32), start=st.floats(-50, 50, width=32),
    width=st.sampled_from([-100.0, -1.0, 1.0, 4.0, 10.0, 50.0]),
)  # fmt: skip
def test_band_never_overflows_and_equals_the_written_curve(x, start, width):
    value = float(band(jnp.float32(x), jnp.float32(start), width))
    assert 0.0 <= value <= 1.0
    expected = plain_band(x, start, width)
    rounding = 1e-5 + 4e-6 * abs(x / width)  # of a float32 temperature of that size
    assert value == pytest.approx(expected, rel=rounding, abs=1e-30)


@given(
    day=st.floats(18, 26), night=st.floats(15, 22), target=st.floats(400, 1200),
    light=st.floats(0, 16), offset=st.floats(2, 6), threshold=st.floats(70, 90),
    air=st.floats(-5, 45), humidity=st.floats(0, 100), co2=st.floats(200, 3000),
    sun=st.one_of(st.floats(0, 1000), st.sampled_from([20.0, 20.1, 399.9, 400.0])),
    outdoor=st.floats(-20, 40), tick=st.integers(0, TICKS_PER_DAY - 1), growing=st.booleans(),
)  # fmt: skip
def test_commands_follow_the_published_rules(
    day, night, target, light, offset, threshold, air, humidity, co2, sun, outdoor, tick, growing
):
    policy = (day, min(day, night), target, light, offset, threshold)
    seen = {"air": air, "humidity": humidity, "co2": co2, "sun": sun, "outdoor": outdoor}
    seen = {name: float(np.float32(value)) for name, value in seen.items()}
    result = found(policy, seen, tick, growing=growing)
    expected = plain_commands(policy, seen, tick, growing=growing)
    assert tuple(result) == COMMANDS
    for name, value in result.items():
        assert 0.0 <= value <= 1.0
        assert value == pytest.approx(expected[name], abs=2e-4), name


@pytest.mark.parametrize(
    ("hour", "changes", "command", "expected"),
    [
        # Heating with policy a (22 by day, 18 by night): full below, half at -0.5, 1 % at target.
        (12, {"air": 21.5}, "uBoil", 0.5),
        (12, {"air": 22.0}, "uBoil", 0.01),
        (12, {"air": 21.0}, "uBoil", 0.99),
        (12, {"air": 10.0}, "uBoil", 1.0),
        (2, {"air": 17.5}, "uBoil", 0.5),
        (2, {"air": 18.0}, "uBoil", 0.01),
        # Roof vents: from 26 by day (offset 4), full at 30; humidity from 85 over 50 points;
        # shut below the target less 1.5.
        (12, {"air": 28.0}, "uRoof", 0.5),
        (12, {"air": 26.0}, "uRoof", 0.01),
        (2, {"air": 24.0}, "uRoof", 0.5),
        (12, {"air": 24.0, "humidity": 85.0}, "uRoof", 0.01),
        (12, {"air": 24.0, "humidity": 95.0}, "uRoof", 0.0594),
        (12, {"air": 20.5, "humidity": 100.0}, "uRoof", 0.1368),
        (12, {"air": 19.0, "humidity": 100.0}, "uRoof", 0.0),
        # CO2: half at target less 50, only with sun above 20 W/m2 or lamps.
        (12, {"co2": 750.0}, "uExtCo2", 0.5),
        (12, {"co2": 800.0}, "uExtCo2", 0.01),
        (20, {"co2": 750.0, "sun": 20.0}, "uExtCo2", 0.0),
        (20, {"co2": 750.0, "sun": 20.5}, "uExtCo2", 0.5),
        (12, {"co2": 750.0, "sun": 0.0}, "uExtCo2", 0.5),
        (2, {"co2": 400.0, "sun": 0.0}, "uExtCo2", 0.0),
        # Lamps: 12 h from 6 h, off at 400 W/m2 and at 35 degC.
        (12, {"sun": 399.9}, "uLamp", 1.0),
        (12, {"sun": 400.0}, "uLamp", 0.0),
        (12, {"air": 34.9}, "uLamp", 1.0),
        (12, {"air": 35.0}, "uLamp", 0.0),
        # Screen: closed when cold outside (5 by day, 10 by night) unless warm or humid.
        (12, {"outdoor": 0.0}, "uThScr", 1.0),
        (12, {"outdoor": 4.5}, "uThScr", 0.5),
        (12, {"outdoor": 8.0}, "uThScr", 0.0),
        (2, {"outdoor": 8.0, "air": 18.0}, "uThScr", 0.9999),
        (2, {"outdoor": 9.5, "air": 18.0}, "uThScr", 0.5),
        (12, {"outdoor": 0.0, "air": 26.5}, "uThScr", 0.5),
        (12, {"outdoor": 0.0, "humidity": 88.0}, "uThScr", 0.5),
        (12, {"outdoor": 0.0, "humidity": 100.0, "air": 19.0}, "uThScr", 1.0),
    ],
)
def test_worked_cases_of_a_growing_crop(hour, changes, command, expected):
    result = found(POLICY_A, SEEN | changes, hour * 12)
    assert result[command] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("hour", "changes", "command", "expected"),
    [
        (12, {"air": 9.5}, "uBoil", 0.5),
        (12, {"air": 12.0}, "uBoil", 0.0),
        (12, {"air": 32.0}, "uRoof", 0.5),
        (12, {"air": 25.0, "humidity": 100.0}, "uRoof", 0.0),
        (12, {"co2": 100.0, "sun": 500.0}, "uExtCo2", 0.0),
        (12, {"sun": 0.0}, "uLamp", 0.0),
        (12, {"outdoor": 0.0, "air": 10.0}, "uThScr", 1.0),
        (12, {"outdoor": 0.0, "air": 14.5}, "uThScr", 0.5),
        (12, {"outdoor": 0.0, "air": 10.0, "humidity": 90.0}, "uThScr", 0.5),
        (2, {"outdoor": 9.5, "air": 10.0}, "uThScr", 0.5),
    ],
)
def test_worked_cases_of_standby(hour, changes, command, expected):
    result = found(POLICY_A, SEEN | changes, hour * 12, growing=False)
    assert result[command] == pytest.approx(expected, abs=1e-3)


def test_day_begins_at_six_and_ends_at_22():
    heating = over_a_day(POLICY_A, SEEN | {"air": 20.0})["uBoil"]
    np.testing.assert_array_equal(np.flatnonzero(heating > 0.5), np.arange(72, 264))


@pytest.mark.parametrize(
    ("hours", "ticks"),
    [(0.0, 0), (16.0, 192), (12.0, 144), (5.0, 60), (0.01, 1), (1 / 12, 1), (0.09, 2), (7.95, 96)],
)
def test_lamp_window_opens_at_six_for_the_hours_of_the_policy(hours, ticks):
    policy = (*POLICY_A[:3], hours, *POLICY_A[4:])
    lit = np.flatnonzero(over_a_day(policy, SEEN)["uLamp"] == 1.0)
    np.testing.assert_array_equal(lit, np.arange(72, 72 + ticks))


@given(hours=st.floats(0, 16))
def test_lamp_window_counts_the_hour_at_which_a_tick_starts(hours):
    first_dark = next(t for t in range(72, 289) if not t * 300 / 3600 < 6 + hours)
    assert lamp_off_tick(hours, SETTINGS) == first_dark


@pytest.mark.parametrize("hours", [math.nan, math.inf, -math.inf])
def test_light_hours_must_be_finite(hours):
    with pytest.raises(ValueError, match="not a finite number"):
        lamp_off_tick(hours, SETTINGS)


def test_lanes_are_independent_and_mixed():
    rows = [POLICY_A, (18.0, 15.0, 400.0, 0.0, 2.0, 70.0), (26.0, 22.0, 1200.0, 16.0, 6.0, 90.0)]
    seen = {
        "air": np.array([21.0, 17.0, 25.0]),
        "humidity": np.array([60.0, 80.0, 95.0]),
        "co2": np.array([750.0, 380.0, 1190.0]),
        "sun": np.array([0.0, 100.0, 500.0]),
        "outdoor": np.array([-5.0, 5.0, 9.0]),
    }
    growing = np.array([True, False, True])
    result = controller.commands(SETTINGS, policies(rows), as_readings(seen), 100, growing)
    for lane, row in enumerate(rows):
        one = {name: float(values[lane]) for name, values in seen.items()}
        expected = found(row, one, 100, growing=bool(growing[lane]))
        for name in COMMANDS:
            assert float(result[name][lane]) == pytest.approx(expected[name], rel=1e-6), name


def test_policy_of_an_idle_compartment_has_no_effect():
    rng = np.random.default_rng(0)
    seen = {
        "air": rng.uniform(0, 40, 50), "humidity": rng.uniform(20, 100, 50),
        "co2": rng.uniform(300, 2000, 50), "sun": rng.uniform(0, 600, 50),
        "outdoor": rng.uniform(-10, 20, 50),
    }  # fmt: skip
    idle = np.zeros(50, bool)
    other = PolicyLanes(*(np.full(50, v) for v in (26.0, 15.0, 400.0, 264, 2.0, 70.0)))
    for tick in (30, 100, 250):
        first, second = (
            controller.commands(SETTINGS, p, as_readings(seen), tick, idle)
            for p in (policies([POLICY_A] * 50), other)
        )
        for name in COMMANDS:
            np.testing.assert_array_equal(first[name], second[name])


def test_settings_are_used():
    """Every constant changes some command in a sweep over readings and hours."""
    rng = np.random.default_rng(1)
    seen = {
        "air": rng.uniform(5, 36, 4000), "humidity": rng.uniform(60, 100, 4000),
        "co2": rng.uniform(600, 900, 4000), "sun": rng.uniform(0, 450, 4000),
        "outdoor": rng.uniform(0, 15, 4000),
    }  # fmt: skip
    ticks = rng.integers(0, TICKS_PER_DAY, 4000)
    growing = rng.integers(0, 2, 4000).astype(bool)
    lanes = policies([POLICY_A] * 4000)

    def all_commands(settings: ControllerSettings) -> np.ndarray:
        result = controller.commands(settings, lanes, as_readings(seen), ticks, growing)
        return np.stack([result[name] for name in COMMANDS])

    native = all_commands(SETTINGS)
    for item in dataclasses.fields(ControllerSettings):
        changed = dataclasses.replace(SETTINGS, **{item.name: getattr(SETTINGS, item.name) * 1.3})
        assert not np.array_equal(native, all_commands(changed)), item.name
