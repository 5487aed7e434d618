"""Sensors: what a compartment's instruments do to the truth.

The same noisy reading is seen by the agent, the controller and the safety check. The models here
only describe it; the compiled step draws the noise of ordinary runs,
:mod:`slowlab.world.sensor_reference` that of parity runs.

Source of ``config/sensors/v0.yaml``: SlowLab sensor noise v0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from slowlab.config import CONFIG_ROOT, ConfigModel, load_config
from slowlab.world.drafts import Drafted
from slowlab.world.site_distribution import Basis

DEFAULT_SENSORS = CONFIG_ROOT / "sensors" / "v0.yaml"

PUBLIC_CHANNELS = (
    "air_temperature_c",
    "relative_humidity_pct",
    "co2_ppm",
    "canopy_lai_proxy",
    "cumulative_harvest_fresh_equivalent",
    "heating_energy",
    "lighting_energy",
    "co2_dosed",
)
"""The channels that exist, in the order of readings. The last four are running totals."""

CONTROLLER_CHANNELS = ("outdoor_temperature_c", "solar_radiation_w_m2")
"""Outdoor channels that only the controller reads."""


class _Rounded(ConfigModel):
    """Rounding and clipping, common to the noisy channels."""

    unit: str = Field(description="Unit, as shown to the agent.")
    decimals: int = Field(ge=0, le=12, description="Decimals of a reading.")
    clip_low: float | None = Field(description="Lowest reading, in the channel's unit; null: none.")
    clip_high: float | None = Field(
        description="Highest reading, in the channel's unit; null: none."
    )

    @model_validator(mode="after")
    def _clip_ordered(self) -> Self:
        low, high = self.clip_low, self.clip_high
        if low is not None and high is not None and low >= high:
            raise ValueError("clip_low must be below clip_high")
        return self


class AdditiveChannel(_Rounded):
    """Reading = truth + normal noise of sd sqrt(sd_abs^2 + (sd_rel x truth)^2)."""

    model: Literal["additive"] = Field(description="Form of the noise.")
    sd_abs: float = Field(ge=0, description="Constant part of the sd, in the channel's unit.")
    sd_rel: float = Field(
        ge=0, description="Part of the sd proportional to the truth, as a fraction."
    )
    bias_sd: float = Field(
        default=0.0,
        ge=0,
        description="Sd of the constant bias, in the channel's unit, where it is on.",
    )


class LogChannel(_Rounded):
    """Reading = truth x exp(day_sd_log z_day + reading_sd_log z_reading)."""

    model: Literal["log_multiplicative"] = Field(description="Form of the noise.")
    reading_sd_log: float = Field(ge=0, description="Sd of the logarithm, anew for every reading.")
    day_sd_log: float = Field(
        ge=0, description="Sd of the logarithm, shared by one compartment's readings of one day."
    )


class ExactChannel(ConfigModel):
    """A meter without error."""

    model: Literal["exact"] = Field(description="Form of the noise.")
    unit: str = Field(description="Unit, as shown to the agent.")


Channel = Annotated[AdditiveChannel | LogChannel | ExactChannel, Field(discriminator="model")]


class SensorGroup(ConfigModel):
    """Channels of one instrument, which are lost together."""

    channels: tuple[str, ...] = Field(min_length=1, description="Channels of the instrument.")
    dropout_probability: float = Field(
        ge=0, lt=1, description="Chance of a lost reading, per tick."
    )


class SensorSpec(Drafted):
    """All instruments of a compartment."""

    basis: Basis = Field(description="How well the noise is supported.")
    groups: dict[str, SensorGroup] = Field(description="Instruments that fail as a whole, by name.")
    channels: dict[str, Channel] = Field(description="Public channels by name.")
    controller_channels: dict[str, str] = Field(
        description="Units of the outdoor channels that only the controller reads, by name."
    )
    dropout_at_start: bool = Field(description="Whether the reading at t = 0 may be lost.")
    constant_bias: bool = Field(
        description="Whether every compartment's instruments carry a constant bias."
    )

    @model_validator(mode="after")
    def _channels_are_known(self) -> Self:
        for section, found, known in (
            ("channels", tuple(self.channels), PUBLIC_CHANNELS),
            ("controller_channels", tuple(self.controller_channels), CONTROLLER_CHANNELS),
        ):
            if sorted(found) != sorted(known):
                raise ValueError(f"{section} must be exactly {', '.join(known)}")
        grouped = [name for group in self.groups.values() for name in group.channels]
        if len(set(grouped)) != len(grouped) or not set(grouped) <= set(self.channels):
            raise ValueError("groups: a channel belongs to at most one group and must exist")
        return self

    @property
    def noisy_channels(self) -> tuple[str, ...]:
        """Channels that are not exact, in the order of readings."""
        return tuple(n for n in PUBLIC_CHANNELS if not isinstance(self.channels[n], ExactChannel))

    def group_of(self, channel: str) -> str | None:
        """Name of the instrument that carries a channel, or None for one that never fails."""
        return next(
            (name for name, group in self.groups.items() if channel in group.channels), None
        )


def load_sensors(path: str | Path = DEFAULT_SENSORS) -> SensorSpec:
    """Read the sensor specification.

    Raises:
        ConfigError: the file is missing or does not fit; the message says where and what is
        allowed.
    """
    return load_config(path, SensorSpec)
