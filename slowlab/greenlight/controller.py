"""The fixed supervisory controller: six policy fields and the last readings to five commands.

Rules and constants: SlowLab environment, contract v8. Every proportional element is the same
smooth band, 1 % at its start and 99 % at its end. All functions are elementwise over lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

Array = Any
TICKS_PER_HOUR = 12
TICKS_PER_DAY = 288


@dataclass(frozen=True)
class ControllerSettings:
    """Constants of the controller (degC, K, ppm, W/m2, percentage points, hours)."""

    day_start_hour: float = 6.0
    day_end_hour: float = 22.0
    lamp_start_hour: float = 6.0
    heating_band_k: float = -1.0
    vent_temperature_band_k: float = 4.0
    vent_humidity_band_pct: float = 50.0
    vent_guard_offset_k: float = -1.0
    vent_guard_band_k: float = -1.0
    co2_band_ppm: float = -100.0
    co2_min_radiation_w_m2: float = 20.0
    lamp_max_radiation_w_m2: float = 400.0
    lamp_max_air_c: float = 35.0
    screen_outdoor_day_c: float = 5.0
    screen_outdoor_night_c: float = 10.0
    screen_cold_band_k: float = -1.0
    screen_warm_offset_k: float = 4.0
    screen_warm_band_k: float = 1.0
    screen_humidity_offset_pct: float = -2.0
    screen_humidity_band_pct: float = 10.0
    standby_heating_c: float = 10.0
    standby_vent_c: float = 30.0
    standby_screen_humidity_pct: float = 87.0


class PolicyLanes(NamedTuple):
    """The six decision variables per lane, arrays [lanes]; the lamp window in ticks of the day."""

    day_temperature_c: Array
    night_temperature_c: Array
    co2_target_ppm: Array
    lamp_off_tick: Array
    vent_temperature_offset_c: Array
    vent_rh_threshold_pct: Array


class Readings(NamedTuple):
    """What the controller sees, arrays [lanes]: last observed indoor, last released outdoor."""

    air_temperature_c: Array
    relative_humidity_pct: Array
    co2_ppm: Array
    radiation_w_m2: Array
    outdoor_temperature_c: Array


def lamp_off_tick(light_hours: float, settings: ControllerSettings) -> int:
    """First tick of the day on which the lamp window is over.

    The lamps may burn while hour < start + light_hours, with the hour of a tick's start.

    Raises:
        ValueError: the hours are not finite.
    """
    if not math.isfinite(light_hours):
        raise ValueError(f"supplemental light hours are {light_hours}, not a finite number")
    end = settings.lamp_start_hour + light_hours
    return next(
        (t for t in range(TICKS_PER_DAY) if t / TICKS_PER_HOUR >= end),
        TICKS_PER_DAY,
    )


def band(x: Array, start: Array, width: float) -> Array:
    """1/(1+exp(-(2/width) ln(100) (x - start - width/2))), without overflow."""
    u = (2.0 / width) * math.log(100.0) * (x - start - 0.5 * width)
    e = jnp.exp(-jnp.abs(u))
    return jnp.where(u >= 0, 1.0, e) / (1.0 + e)


def commands(
    settings: ControllerSettings,
    policy: PolicyLanes,
    readings: Readings,
    tick_of_day: Array,
    growing: Array,
) -> dict[str, Array]:
    """Commands 0..1 of every lane for one tick.

    Args:
        settings: controller constants.
        policy: policies; read only where ``growing``.
        readings: held observations.
        tick_of_day: integer 0..287 (scalar or [lanes]).
        growing: True where a crop stands; elsewhere the standby rules hold.

    Returns:
        uBoil, uRoof, uExtCo2, uLamp, uThScr as arrays [lanes] of the readings' dtype.
    """
    c, r = settings, readings
    hour_ticks = np.array([c.day_start_hour, c.day_end_hour, c.lamp_start_hour]) * TICKS_PER_HOUR
    is_day = (tick_of_day >= hour_ticks[0]) & (tick_of_day < hour_ticks[1])
    planted_target = jnp.where(is_day, policy.day_temperature_c, policy.night_temperature_c)
    target = jnp.where(growing, planted_target, c.standby_heating_c)
    lamp_window = (tick_of_day >= hour_ticks[2]) & (tick_of_day < policy.lamp_off_tick)
    lamp = (
        growing
        & lamp_window
        & (r.radiation_w_m2 < c.lamp_max_radiation_w_m2)
        & (r.air_temperature_c < c.lamp_max_air_c)
    )
    sunlit = r.radiation_w_m2 > c.co2_min_radiation_w_m2
    dosing = band(r.co2_ppm, policy.co2_target_ppm, c.co2_band_ppm)
    dtype = r.air_temperature_c.dtype
    return {
        "uBoil": band(r.air_temperature_c, target, c.heating_band_k),
        "uRoof": _vent(c, policy, r, target, growing),
        "uExtCo2": jnp.where(growing & (sunlit | lamp), dosing, 0.0).astype(dtype),
        "uLamp": lamp.astype(dtype),
        "uThScr": _screen(c, policy, r, target, is_day, growing),
    }


def _vent(
    c: ControllerSettings, policy: PolicyLanes, r: Readings, target: Array, growing: Array
) -> Array:
    start = jnp.where(growing, target + policy.vent_temperature_offset_c, c.standby_vent_c)
    warm = band(r.air_temperature_c, start, c.vent_temperature_band_k)
    humid = band(r.relative_humidity_pct, policy.vent_rh_threshold_pct, c.vent_humidity_band_pct)
    guard = 1.0 - band(r.air_temperature_c, target + c.vent_guard_offset_k, c.vent_guard_band_k)
    return jnp.where(growing, jnp.minimum(guard, jnp.maximum(warm, humid)), warm)


def _screen(
    c: ControllerSettings,
    policy: PolicyLanes,
    r: Readings,
    target: Array,
    is_day: Array,
    growing: Array,
) -> Array:
    outdoor_limit = jnp.where(is_day, c.screen_outdoor_day_c, c.screen_outdoor_night_c)
    cold = band(r.outdoor_temperature_c, outdoor_limit, c.screen_cold_band_k)
    warm = 1.0 - band(r.air_temperature_c, target + c.screen_warm_offset_k, c.screen_warm_band_k)
    guard = 1.0 - band(r.air_temperature_c, target + c.vent_guard_offset_k, c.vent_guard_band_k)
    threshold = jnp.where(growing, policy.vent_rh_threshold_pct, c.standby_screen_humidity_pct)
    humid_start = threshold + c.screen_humidity_offset_pct
    open_humid = 1.0 - band(r.relative_humidity_pct, humid_start, c.screen_humidity_band_pct)
    humid = jnp.maximum(open_humid, 1.0 - guard)
    return jnp.minimum(cold, jnp.minimum(warm, humid))
