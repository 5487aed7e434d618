"""From the contract and the sensor specification to what the compiled simulator needs.

Every number of a run is taken from the configuration here. A few rules are compiled in and cannot
be configured yet; a contract that says otherwise about them is refused, never half obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slowlab.greenlight import model
from slowlab.greenlight.controller import ControllerSettings, PolicyLanes, lamp_off_tick
from slowlab.greenlight.day import CropCalendar, SafetySettings, StepperSettings
from slowlab.greenlight.integrator import STEP_SECONDS, Scheme
from slowlab.greenlight.sensors import DECIMALS, READ_CHANNELS, SensorSettings
from slowlab.world.contract import Contract
from slowlab.world.contract_facility import WALL_SIDES
from slowlab.world.policy import Policy, encode
from slowlab.world.sensors import PUBLIC_CHANNELS, AdditiveChannel, LogChannel, SensorSpec

# Rules of the compiled step: floor under the CO2 compensation point, pole test, clipping.
FLOOR_RATIO = 0.25
STOP_RATIO = 0.02
POLE_LIGHT_UMOL_M2_S = 1.0
# Constants that the model's own variant of GreenLight has at zero.
_ZERO_IN_MODEL = ("heatCorrection", "hElevation")
_MODELS = {**dict.fromkeys(READ_CHANNELS[:3], "additive"), "canopy_lai_proxy": "log_multiplicative"}
_CLIPS: dict[str, tuple[float | None, float | None]] = {
    "air_temperature_c": (None, None),
    "relative_humidity_pct": (0.0, 100.0),
    "co2_ppm": (0.0, None),
    "canopy_lai_proxy": (0.0, None),
}


class UnsupportedConfigError(ValueError):
    """A contract or sensor specification that the compiled step cannot follow; names the key."""


def compiled_facility(contract: Contract) -> model.Facility:
    """Geometry, capacities and side walls as the model's overrides."""
    facility, shape = contract.facility, contract.facility.geometry
    constants = {
        name: value
        for name, value in facility.greenlight_constants().items()
        if not (name in _ZERO_IN_MODEL and value == 0.0)
    }
    constants["co2Out"] = facility.outdoor_co2_mg_m3
    neighbours = ((side, facility.side_walls.neighbour_c(side)) for side in WALL_SIDES)
    walls = tuple(
        model.Wall(celsius, shape.wall_lower_area_m2(side), shape.wall_upper_area_m2(side))
        for side, celsius in neighbours
        if celsius is not None
    )
    return model.Facility(constants, walls, facility.side_walls.form.value)


def compiled_settings(
    contract: Contract, sensors: SensorSpec, scheme: Scheme | None = None
) -> StepperSettings:
    """Controller, sensors, calendar and safety rules of the compiled step.

    Args:
        contract: the task's rules.
        sensors: the instruments.
        scheme: substeps of the integrator; by default those of production runs.

    Raises:
        UnsupportedConfigError: a rule that is compiled in and that the configuration changes.
    """
    _require_supported(contract, sensors)
    calendar = contract.calendar
    return StepperSettings(
        scheme=Scheme() if scheme is None else scheme,
        controller=controller_settings(contract),
        sensors=_sensor_settings(sensors),
        calendar=CropCalendar(calendar.crop_ticks, calendar.cleanup_ticks, calendar.campaign_ticks),
        safety=SafetySettings(
            contract.safety.air_below_c, contract.safety.air_above_c, contract.safety_ticks
        ),
    )


def controller_settings(contract: Contract) -> ControllerSettings:
    """Constants of the climate computer, with and without a crop."""
    rules, standby = contract.controller, contract.standby
    return ControllerSettings(
        day_start_hour=float(contract.calendar.day_start_hour),
        day_end_hour=float(contract.calendar.day_end_hour),
        lamp_start_hour=float(rules.lamps.start_hour),
        heating_band_k=rules.heating.band_k,
        vent_temperature_band_k=rules.ventilation.temperature_band_k,
        vent_humidity_band_pct=rules.ventilation.humidity_band_pct,
        vent_guard_offset_k=rules.ventilation.guard_offset_k,
        vent_guard_band_k=rules.ventilation.guard_band_k,
        co2_band_ppm=rules.co2.band_ppm,
        co2_min_radiation_w_m2=rules.co2.solar_above_w_m2,
        lamp_max_radiation_w_m2=rules.lamps.off_at_solar_w_m2,
        lamp_max_air_c=rules.lamps.off_at_air_c,
        screen_outdoor_day_c=rules.screen.outdoor_day_c,
        screen_outdoor_night_c=rules.screen.outdoor_night_c,
        screen_cold_band_k=rules.screen.cold_band_k,
        screen_warm_offset_k=rules.screen.warm_offset_k,
        screen_warm_band_k=rules.screen.warm_band_k,
        screen_humidity_offset_pct=rules.screen.humidity_offset_pct,
        screen_humidity_band_pct=rules.screen.humidity_band_pct,
        standby_heating_c=standby.heat_target_c,
        standby_vent_c=standby.vent_target_c,
        standby_screen_humidity_pct=standby.screen_humidity_target_pct,
    )


def default_parameters(contract: Contract) -> dict[str, float]:
    """Hidden parameters that the contract sets where no site says otherwise."""
    facility = contract.facility
    return {
        "ueff": facility.side_walls.default_exchange_w_m2_k,
        "tSoOut": facility.deep_soil_default_c,
    }


def policy_lanes(policies: Sequence[Policy], settings: ControllerSettings) -> PolicyLanes:
    """Policies as arrays, one entry a lane; the hours of light become a tick of the day."""
    encoded = encode(policies)
    hours = encoded.column("supplemental_light_hours").tolist()
    off_ticks = np.array([lamp_off_tick(value, settings) for value in hours], dtype=np.int32)
    return PolicyLanes(
        lamp_off_tick=off_ticks,
        **{name: encoded.column(name) for name in PolicyLanes._fields if name != "lamp_off_tick"},
    )


def _sensor_settings(sensors: SensorSpec) -> SensorSettings:
    """Noise of the instruments, whose forms have been checked."""
    air, humidity, co2, canopy = (sensors.channels[name] for name in READ_CHANNELS)
    return SensorSettings(
        air_temperature_sd_c=air.sd_abs,
        relative_humidity_sd_pct=humidity.sd_abs,
        co2_sd_ppm=co2.sd_abs,
        co2_relative_sd=co2.sd_rel,
        lai_reading_sd_log=canopy.reading_sd_log,
        lai_day_sd_log=canopy.day_sd_log,
        climate_dropout=_dropout(sensors, "air_temperature_c"),
        canopy_dropout=_dropout(sensors, "canopy_lai_proxy"),
    )


def _dropout(sensors: SensorSpec, channel: str) -> float:
    group = sensors.group_of(channel)
    return 0.0 if group is None else sensors.groups[group].dropout_probability


def _require_supported(contract: Contract, sensors: SensorSpec) -> None:
    """Refuse values that differ from what is compiled in."""
    for key, value, compiled in (*_fixed_rules(contract), *_fixed_sensors(sensors)):
        if value != compiled:
            raise UnsupportedConfigError(
                f"{key} is {value}, but the simulator is built with {compiled} and cannot change it"
            )


def _fixed_rules(contract: Contract) -> Iterator[tuple[str, object, object]]:
    """Contract values (key path, value, compiled value) that the compiled step does not vary."""
    rules, standby, collapse = contract.controller, contract.standby, contract.collapse
    yield "calendar.tick_seconds", contract.calendar.tick_seconds, STEP_SECONDS
    yield "collapse.floor_ratio", collapse.floor_ratio, FLOOR_RATIO
    yield "collapse.stop_ratio", collapse.stop_ratio, STOP_RATIO
    yield "collapse.lit_above_umol_m2_s", collapse.lit_above_umol_m2_s, POLE_LIGHT_UMOL_M2_S
    yield "standby.heat_band_k", standby.heat_band_k, rules.heating.band_k
    yield "standby.vent_band_k", standby.vent_band_k, rules.ventilation.temperature_band_k
    yield "standby.screen_heat_target_c", standby.screen_heat_target_c, standby.heat_target_c
    for name in ("guard_offset_k", "guard_band_k"):
        vent = getattr(rules.ventilation, name)
        yield f"controller.screen.{name}", getattr(rules.screen, name), vent


def _fixed_sensors(sensors: SensorSpec) -> Iterator[tuple[str, object, object]]:
    """The same for the instruments."""
    yield "sensors: dropout_at_start", sensors.dropout_at_start, False
    yield "sensors: constant_bias", sensors.constant_bias, False
    climate = {sensors.group_of(name) for name in READ_CHANNELS[:3]}
    yield "sensors: groups of the climate channels", len(climate), 1
    shared = sensors.group_of("canopy_lai_proxy") in climate - {None}
    yield "sensors: canopy_lai_proxy in the climate group", shared, False
    for name in PUBLIC_CHANNELS:
        channel, key = sensors.channels[name], f"sensors: channels.{name}"
        yield f"{key}.model", channel.model, _MODELS.get(name, "exact")
        if isinstance(channel, AdditiveChannel | LogChannel):
            yield f"{key}.decimals", channel.decimals, DECIMALS[name]
            yield f"{key}.clip", (channel.clip_low, channel.clip_high), _CLIPS[name]
        if isinstance(channel, AdditiveChannel) and name != "co2_ppm":
            yield f"{key}.sd_rel", channel.sd_rel, 0.0
