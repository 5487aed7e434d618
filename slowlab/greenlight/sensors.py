"""Readings of a compartment: noise, dropouts, rounding (SlowLab sensor noise v0).

The controller sees exactly the value an agent can read. Constants are the environment's;
random numbers come from the counter-based generator of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.noise import normal, threefry_2x32, uniform

Array = Any
READ_CHANNELS = ("air_temperature_c", "relative_humidity_pct", "co2_ppm", "canopy_lai_proxy")
DECIMALS = {
    "air_temperature_c": 1,
    "relative_humidity_pct": 1,
    "co2_ppm": 0,
    "canopy_lai_proxy": 2,
}
# Streams of the counter; a stream's number must never be reused for another purpose.
_STREAM_CLIMATE, _STREAM_CO2_CANOPY, _STREAM_DROPOUT, _STREAM_DAY = range(4)
_STREAMS_PER_COMPARTMENT = 16


@dataclass(frozen=True)
class SensorSettings:
    """Standard deviations, dropout probabilities per tick, clipping bounds."""

    air_temperature_sd_c: float = 0.2
    relative_humidity_sd_pct: float = 2.0
    co2_sd_ppm: float = 10.0
    co2_relative_sd: float = 0.02
    lai_reading_sd_log: float = 0.03
    lai_day_sd_log: float = 0.10
    climate_dropout: float = 0.005
    canopy_dropout: float = 0.02


class NoiseKeys(NamedTuple):
    """Seed words and compartment number per lane, uint32 arrays [lanes]; noise on or off."""

    seed_high: Array
    seed_low: Array
    compartment: Array
    noisy: Array


class Draws(NamedTuple):
    """Random numbers behind the readings at given ticks, arrays [..., lanes]."""

    air: Array
    humidity: Array
    co2: Array
    canopy: Array
    canopy_day: Array
    climate_lost: Array
    canopy_lost: Array


def draw(settings: SensorSettings, keys: NoiseKeys, tick: Array, dtype: Any) -> Draws:
    """Noise of the readings taken at integer ticks since the campaign's start.

    Args:
        settings: sensor constants.
        keys: seeds, [lanes].
        tick: int32 [..., lanes]; the reading at tick 0 is never lost.
        dtype: of the normal numbers.
    """
    tick = jnp.asarray(tick)
    counter = tick.astype(jnp.uint32)
    day = (tick // TICKS_PER_DAY).astype(jnp.uint32)

    def words(stream: int, when: Array) -> tuple[Array, Array]:
        which = keys.compartment * np.uint32(_STREAMS_PER_COMPARTMENT) + np.uint32(stream)
        return threefry_2x32(keys.seed_high, keys.seed_low, when, which + 0 * when)

    air, humidity = words(_STREAM_CLIMATE, counter)
    co2, canopy = words(_STREAM_CO2_CANOPY, counter)
    climate_lost, canopy_lost = words(_STREAM_DROPOUT, counter)
    canopy_day, _ = words(_STREAM_DAY, day)
    may_fail = keys.noisy & (tick > 0)
    return Draws(
        air=normal(air, dtype),
        humidity=normal(humidity, dtype),
        co2=normal(co2, dtype),
        canopy=normal(canopy, dtype),
        canopy_day=normal(canopy_day, dtype),
        climate_lost=may_fail & (uniform(climate_lost, dtype) < settings.climate_dropout),
        canopy_lost=may_fail & (uniform(canopy_lost, dtype) < settings.canopy_dropout),
    )


def read(
    settings: SensorSettings, keys: NoiseKeys, draws: Draws, truth: tuple[Array, ...]
) -> tuple[Array, ...]:
    """Values shown by the four instruments, ignoring dropouts.

    Args:
        settings: sensor constants.
        keys: says which lanes are noisy; others show the unrounded truth.
        draws: random numbers, [lanes].
        truth: air temperature (degC), relative humidity (%), CO2 (ppm), leaf area index.

    Returns:
        Readings in the order of ``READ_CHANNELS``.
    """
    air, humidity, co2, lai = truth
    co2_sd = jnp.sqrt(settings.co2_sd_ppm**2 + (settings.co2_relative_sd * co2) ** 2)
    log_error = (
        settings.lai_day_sd_log * draws.canopy_day + settings.lai_reading_sd_log * draws.canopy
    )
    shown = (
        air + settings.air_temperature_sd_c * draws.air,
        jnp.clip(humidity + settings.relative_humidity_sd_pct * draws.humidity, 0.0, 100.0),
        jnp.maximum(co2 + co2_sd * draws.co2, 0.0),
        jnp.maximum(lai * jnp.exp(log_error), 0.0),
    )
    return tuple(
        jnp.where(keys.noisy, _rounded(s, DECIMALS[name]), t)
        for name, s, t in zip(READ_CHANNELS, shown, truth, strict=True)
    )


def _rounded(x: Array, decimals: int) -> Array:
    scale = 10.0**decimals
    return jnp.round(x * scale) / scale
