"""The configuration is the only source of the simulator's numbers, and none of it is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from slowlab.config import ConfigError, override
from slowlab.greenlight import day, integrator, model, stepper
from slowlab.greenlight.controller import ControllerSettings
from slowlab.greenlight.day import StepperSettings
from slowlab.greenlight.lanes import DEFAULT_PARAMETERS, HARD_BOUNDS
from slowlab.greenlight.sensors import SensorSettings
from slowlab.greenlight.stepper import Stepper
from slowlab.weather import DRIVERS, RECORDS_PER_DAY
from slowlab.weather.tables import GREENLIGHT_COLUMNS
from slowlab.world import compiled
from slowlab.world.compiled import (
    UnsupportedConfigError,
    compiled_facility,
    compiled_settings,
    default_parameters,
    policy_lanes,
)
from slowlab.world.contract import Contract, load_contract
from slowlab.world.policy import Policy
from slowlab.world.sensors import SensorSpec, load_sensors
from slowlab.world.simulator import Simulator
from slowlab.world.site_distribution import load_sites

# Rules that are obeyed outside the compiled step, or that follow from others.
OBEYED_ELSEWHERE = {
    "facility.compartments",
    "calendar.latest_start_day",
}
SECTIONS = ("facility", "calendar", "controller", "standby", "safety", "collapse")


def leaves(data: Any, path: str = "") -> list[tuple[str, Any]]:
    """Key paths of all numbers and switches in plain data."""
    if isinstance(data, dict):
        return [leaf for key, value in data.items() for leaf in leaves(value, f"{path}.{key}")]
    return [(path.removeprefix("."), data)] if isinstance(data, int | float) else []


def contract_leaves() -> list[tuple[str, Any]]:
    data = load_contract().model_dump(mode="json")
    return [leaf for name in SECTIONS for leaf in leaves(data[name], name)]


def sensor_leaves() -> list[tuple[str, Any]]:
    """All but the sizes of a bias, which act only where a bias is on, and that is refused."""
    found = leaves(load_sensors().model_dump(mode="json"))
    return [(key, value) for key, value in found if not key.endswith(("draft", "bias_sd"))]


def changed(value: Any) -> list[Any]:
    """Other values of the same kind, of which some may not be allowed."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 300]
    return [value + 0.5, value * 0.5 or 0.1, value - 0.5]


def test_contract_v8_and_sensors_v0_are_the_simulators_defaults(contract, sensors):
    facility, settings = compiled_facility(contract), compiled_settings(contract, sensors)
    assert facility == model.Facility()
    assert settings == StepperSettings()
    assert settings.controller == ControllerSettings()
    assert settings.sensors == SensorSettings()
    # The build's identity is made of these texts: saved states of both must be interchangeable.
    assert (repr(facility), repr(settings)) == (repr(model.Facility()), repr(StepperSettings()))
    assert Simulator.build(contract, sensors).stepper.build == Stepper().build


def test_default_site_has_the_simulators_parameters_and_bounds(contract):
    sites = load_sites()
    assert sites.default_parameters() == dict(DEFAULT_PARAMETERS)
    bounds = {name: (spec.min, spec.max) for name, spec in sites.parameters.items()}
    assert bounds == dict(HARD_BOUNDS)
    assert default_parameters(contract).items() <= DEFAULT_PARAMETERS.items()


def test_rules_that_are_compiled_in_have_the_values_that_contracts_are_held_to():
    assert stepper._GAMMA_FLOOR["floor"] == -compiled.FLOOR_RATIO
    assert compiled.STOP_RATIO == integrator._POLE_SHARE
    assert compiled.POLE_LIGHT_UMOL_M2_S == integrator._POLE_LIGHT_UMOL
    assert [model._SWITCHED_OFF[name] for name in compiled._ZERO_IN_MODEL] == [0.0, 0.0]


def test_weather_reaches_the_model_in_its_own_order():
    assert tuple(GREENLIGHT_COLUMNS[driver] for driver in DRIVERS) == model.WEATHER
    assert day.RECORDS_PER_DAY == RECORDS_PER_DAY


@pytest.mark.parametrize(
    ("key", "value"), [leaf for leaf in contract_leaves() if leaf[0] not in OBEYED_ELSEWHERE]
)
def test_no_number_of_the_contract_is_ignored(contract, sensors, key, value):
    outcomes = [_with_contract(contract, sensors, key, other) for other in changed(value)]
    allowed = [outcome for outcome in outcomes if outcome is not None]
    assert allowed, f"no other value of {key} is allowed"
    assert _everything(contract, sensors) not in allowed


@pytest.mark.parametrize(("key", "value"), sensor_leaves())
def test_no_number_of_the_sensors_is_ignored(contract, sensors, key, value):
    outcomes = [_with_sensors(contract, sensors, key, other) for other in changed(value)]
    allowed = [outcome for outcome in outcomes if outcome is not None]
    assert allowed, f"no other value of {key} is allowed"
    assert _everything(contract, sensors) not in allowed


def _everything(contract: Contract, sensors: SensorSpec) -> Any:
    """All that the simulator takes from the configuration, or the refusal in words."""
    try:
        settings = compiled_settings(contract, sensors)
    except UnsupportedConfigError as error:
        return str(error)
    return compiled_facility(contract), settings, default_parameters(contract)


def _with_contract(contract: Contract, sensors: SensorSpec, key: str, value: Any) -> Any:
    """What a changed contract gives; None where no such contract exists."""
    try:
        return _everything(override(contract, {key: value}), sensors)
    except ConfigError:
        return None


def _with_sensors(contract: Contract, sensors: SensorSpec, key: str, value: Any) -> Any:
    """What changed instruments give; None where no such instruments exist."""
    try:
        return _everything(contract, override(sensors, {key: value}))
    except ConfigError:
        return None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("calendar.tick_seconds", 600),
        ("collapse.floor_ratio", 0.3),
        ("collapse.stop_ratio", 0.05),
        ("collapse.lit_above_umol_m2_s", 2.0),
        ("standby.heat_band_k", -2.0),
        ("standby.vent_band_k", 5.0),
        ("standby.screen_heat_target_c", 11.0),
        ("controller.screen.guard_offset_k", -2.0),
        ("controller.screen.guard_band_k", -2.0),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused_by_name(contract, sensors, key, value):
    other = override(contract, {key: value})
    with pytest.raises(UnsupportedConfigError, match=key.replace(".", r"\.")):
        compiled_settings(other, sensors)


def test_drafts_can_be_followed(draft_contract, sensors):
    assert compiled_settings(draft_contract, sensors) == StepperSettings()


def test_open_walls_and_elevation_reach_the_model(contract):
    changes = {"facility.side_walls.north_c": None, "facility.elevation_m": 12.0}
    facility = compiled_facility(override(contract, changes))
    assert len(facility.walls) == 2
    assert facility.constants["hElevation"] == 12.0


def test_policies_become_lanes_by_name():
    low = Policy(
        day_temperature_c=20,
        night_temperature_c=16,
        co2_target_ppm=500,
        supplemental_light_hours=0,
        vent_temperature_offset_c=2,
        vent_rh_threshold_pct=71,
    )
    high = low.model_copy(update={"supplemental_light_hours": 7.01, "co2_target_ppm": 900.0})
    lanes = policy_lanes([low, high], ControllerSettings())
    assert lanes.day_temperature_c.tolist() == [20.0, 20.0]
    assert lanes.night_temperature_c.tolist() == [16.0, 16.0]
    assert lanes.co2_target_ppm.tolist() == [500.0, 900.0]
    assert lanes.lamp_off_tick.tolist() == [6 * 12, 13 * 12 + 1]
    assert lanes.vent_temperature_offset_c.tolist() == [2.0, 2.0]
    assert lanes.vent_rh_threshold_pct.tolist() == [71.0, 71.0]
