"""Tables of a simulation: one row a control step, and daily summaries of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.greenlight.controller import TICKS_PER_DAY, TICKS_PER_HOUR, ControllerSettings
from slowlab.greenlight.day import TICKS_PER_WEATHER_RECORD
from slowlab.greenlight.evaluate import evaluate
from slowlab.greenlight.integrator import OBSERVED, STEP_SECONDS, StagedModel
from slowlab.greenlight.lanes import LEDGER
from slowlab.greenlight.model import COMMANDS, STATES
from slowlab.greenlight.sensors import READ_CHANNELS
from slowlab.weather.series import DRIVERS, WeatherSeries
from slowlab.world.policy import Policy

PHASES = ("idle", "growing", "cleaning")
TRUE_CLIMATE = ("true_relative_humidity_pct", "true_co2_ppm", "true_lai_m2_m2")
assert len(TRUE_CLIMATE) == len(OBSERVED)

_STATE_COLUMNS = {
    "true_air_temperature_c": "tAir",
    "canopy_temperature_c": "tCan",
    "canopy_temperature_24h_c": "tCan24",
    "buffer_mg_m2": "cBuf",
    "fruit_mg_m2": "cFruit",
    "leaf_mg_m2": "cLeaf",
    "stem_mg_m2": "cStem",
    "temperature_sum_c_day": "tCanSum",
}
COMMAND_COLUMNS = dict(
    zip(
        ("heating_command", "vent_command", "co2_command", "lamp_command", "screen_command"),
        COMMANDS,
        strict=True,
    )
)
FLOW_COLUMNS = (
    "heat_kwh_m2",
    "light_kwh_m2",
    "co2_kg_m2",
    "harvest_kg_m2",
    "transpiration_kg_m2",
)
"""Flows in the order of the simulator's ledger; the harvest as fresh fruit."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    "time": ("UTC+1", "end of the control step: readings and states are of this moment"),
    "compartment": ("-", "number of the compartment"),
    "tick": ("300 s", "number of the control step since the start of the weather series"),
    "phase": ("-", "what the compartment held during the step"),
    "heating_setpoint_c": ("degC", "heating set-point during the step"),
    "ventilation_setpoint_c": ("degC", "air temperature from which the vents open"),
    "air_temperature_c": ("degC", "reading; missing where it was lost"),
    "relative_humidity_pct": ("percent", "reading; missing where it was lost"),
    "co2_ppm": ("ppm", "reading; missing where it was lost"),
    "canopy_lai_proxy": ("m2 leaf/m2", "reading; missing where it was lost"),
    "true_air_temperature_c": ("degC", "true air temperature"),
    "true_relative_humidity_pct": ("percent", "true relative humidity of the air"),
    "true_co2_ppm": ("ppm", "true CO2 of the air"),
    "true_lai_m2_m2": ("m2 leaf/m2", "true leaf area index"),
    "canopy_temperature_c": ("degC", "temperature of the canopy"),
    "canopy_temperature_24h_c": ("degC", "the same, averaged over about a day"),
    "buffer_mg_m2": ("mg CH2O/m2", "carbohydrate buffer"),
    "fruit_mg_m2": ("mg CH2O/m2", "fruit on the plants"),
    "leaf_mg_m2": ("mg CH2O/m2", "leaves"),
    "stem_mg_m2": ("mg CH2O/m2", "stems and roots"),
    "temperature_sum_c_day": ("degC day", "temperature sum of the crop"),
    "heating_command": ("0..1", "heating, held during the step"),
    "vent_command": ("0..1", "roof vents, held during the step"),
    "co2_command": ("0..1", "CO2 dosing, held during the step"),
    "lamp_command": ("0..1", "lamps, held during the step"),
    "screen_command": ("0..1", "thermal screen (1 is closed), held during the step"),
    "heat_kwh_m2": ("kWh/m2", "heat delivered to the pipes in the step"),
    "light_kwh_m2": ("kWh/m2", "lamp electricity in the step"),
    "co2_kg_m2": ("kg/m2", "CO2 dosed in the step"),
    "harvest_kg_m2": ("kg/m2", "harvest in the step, fresh"),
    "transpiration_kg_m2": ("kg/m2", "canopy transpiration in the step"),
    "outdoor_global_radiation_w_m2": ("W/m2", "outdoors, during the step"),
    "outdoor_air_temperature_c": ("degC", "outdoors, during the step"),
    "outdoor_vapour_pressure_pa": ("Pa", "outdoors, during the step"),
    "outdoor_wind_speed_m_s": ("m/s", "outdoors, during the step"),
    "outdoor_sky_temperature_c": ("degC", "outdoors, during the step"),
}
"""Unit and meaning of every column, in order. One row is one control step."""


@dataclass(frozen=True)
class LaneHistory:
    """What is known of one compartment's run.

    Attributes:
        compartment: its number.
        planted_tick: tick of the planting; None where nothing was planted.
        ended_tick: tick at which the crop ended.
        cleaned_tick: tick at which the cleaning ended.
        steps: number of control steps that were made.
    """

    compartment: int
    planted_tick: int | None
    ended_tick: int
    cleaned_tick: int
    steps: int


def join_trace(days: list[dict[str, NDArray]]) -> dict[str, NDArray]:
    """Arrays of a whole run, [ticks, ..., lanes], from those of its days.

    The running ``totals`` become ``flows``: what was booked in each control step.
    """
    joined = {name: np.concatenate([day[name] for day in days]) for name in days[0]}
    totals = joined.pop("totals")
    flows = np.diff(totals, axis=0, prepend=np.zeros_like(totals[:1]))
    # Booked in the precision of the states: this takes off the rounding of the running totals.
    return joined | {"flows": flows.astype(joined["states"].dtype).astype(np.float64)}


@dataclass(frozen=True)
class RunContext:
    """What all compartments of a run have in common.

    Attributes:
        weather: the series from whose first day the run started.
        policy: of all crops.
        controller: rules of the climate computer.
        staged: the compiled model, for the true humidity, CO2 and leaf area.
        dry_matter_fraction: of the fruit.
    """

    weather: WeatherSeries
    policy: Policy
    controller: ControllerSettings
    staged: StagedModel
    dry_matter_fraction: float


def lane_table(
    context: RunContext,
    history: LaneHistory,
    trace: Mapping[str, NDArray],
    parameters: Mapping[str, NDArray],
) -> pd.DataFrame:
    """Table of one compartment with the columns of :data:`COLUMNS`.

    Args:
        context: of the run.
        history: of the compartment.
        trace: result of :func:`join_trace`, of this compartment only: [ticks, ...].
        parameters: model parameters of the compartment.
    """
    trace = {name: values[: history.steps] for name, values in trace.items()}
    ticks = np.arange(history.steps, dtype=np.int32)
    growing = _growing(ticks, history)
    columns: dict[str, object] = {
        "time": _times(context.weather.start, ticks),
        "compartment": np.full(history.steps, history.compartment, np.int8),
        "tick": ticks,
        "phase": _phases(ticks, growing, history),
        **_setpoints(ticks, growing, context.policy, context.controller),
        **dict(zip(READ_CHANNELS, trace["readings"].T, strict=True)),
        **_states(trace["states"], context.staged, parameters),
        **dict(zip(COMMAND_COLUMNS, trace["commands"].T, strict=True)),
        **_flows(trace["flows"], context.dry_matter_fraction),
        **_outdoor(context.weather, ticks),
    }
    frame = pd.DataFrame({name: columns[name] for name in COLUMNS})
    floats = [c for c in frame if frame[c].dtype.kind == "f" and c not in FLOW_COLUMNS]
    return frame.astype(dict.fromkeys(floats, np.float32))


def _growing(ticks: NDArray, history: LaneHistory) -> NDArray[np.bool_]:
    if history.planted_tick is None:
        return np.zeros(len(ticks), dtype=bool)
    return (ticks >= history.planted_tick) & (ticks < history.ended_tick)


def _times(start: str, ticks: NDArray) -> NDArray[np.datetime64]:
    ends = (ticks.astype(np.int64) + 1) * STEP_SECONDS
    return np.datetime64(datetime.fromisoformat(start), "s") + ends.astype("timedelta64[s]")


def _phases(ticks: NDArray, growing: NDArray, history: LaneHistory) -> pd.Categorical:
    cleaning = (ticks >= history.ended_tick) & (ticks < history.cleaned_tick)
    if history.planted_tick is None:
        cleaning[:] = False
    codes = np.where(growing, 1, np.where(cleaning, 2, 0))
    return pd.Categorical.from_codes(codes, PHASES)


def _setpoints(
    ticks: NDArray, growing: NDArray, policy: Policy, controller: ControllerSettings
) -> dict[str, NDArray]:
    """Set-points as the controller forms them."""
    hour = ticks % TICKS_PER_DAY / TICKS_PER_HOUR
    is_day = (hour >= controller.day_start_hour) & (hour < controller.day_end_hour)
    target = np.where(is_day, policy.day_temperature_c, policy.night_temperature_c)
    vents = target + policy.vent_temperature_offset_c
    return {
        "heating_setpoint_c": np.where(growing, target, controller.standby_heating_c),
        "ventilation_setpoint_c": np.where(growing, vents, controller.standby_vent_c),
    }


def _states(
    states: NDArray, staged: StagedModel, parameters: Mapping[str, NDArray]
) -> dict[str, NDArray]:
    """True climate and crop, [ticks], from the states [ticks, 27]."""
    named = dict(zip(STATES, states.T, strict=True))
    seen = evaluate(staged.graph, staged.observed, named | dict(parameters), np, exact=False)
    columns = {column: named[state] for column, state in _STATE_COLUMNS.items()}
    return columns | dict(zip(TRUE_CLIMATE, seen, strict=True))


def _flows(flows: NDArray, dry_matter_fraction: float) -> dict[str, NDArray]:
    scale = np.array([1 / dry_matter_fraction if "dry" in name else 1.0 for name in LEDGER])
    return dict(zip(FLOW_COLUMNS, (flows * scale).T, strict=True))


def _outdoor(weather: WeatherSeries, ticks: NDArray) -> dict[str, NDArray]:
    records = weather.values[1 + ticks // TICKS_PER_WEATHER_RECORD]
    return {f"outdoor_{name}": records[:, i] for i, name in enumerate(DRIVERS)}


def daily_table(table: pd.DataFrame) -> pd.DataFrame:
    """Daily summary of the steps in which a crop stood.

    Args:
        table: any rows with the columns of :data:`COLUMNS`.

    Returns:
        One row for each compartment and day (index ``compartment``, ``date``): ``<climate>_mean``,
        ``_min`` and ``_max``; set-points ``_min`` and ``_max``; commands and the outdoor air as
        ``_mean``; crop states as ``_last``; flows as ``_sum`` and, running from the planting, as
        ``_cumulative``.
    """
    growing = table[table["phase"] == "growing"]
    # At the end of its last step a crop is gone already; its last state is that of a step before.
    standing = {c: growing[c].where(growing[c] > 0) for c in _CROP_STATES}
    growing = growing.assign(**standing)
    begin = growing["time"] - pd.Timedelta(seconds=STEP_SECONDS)
    groups = growing.groupby([growing["compartment"], begin.dt.floor("D").rename("date")])
    parts = [
        groups[columns].agg(how).set_axis([f"{c}_{how}" for c in columns], axis=1)
        for columns, how in _DAILY
    ]
    daily = pd.concat(parts, axis=1)
    running = daily[[f"{c}_sum" for c in FLOW_COLUMNS]].groupby("compartment").cumsum()
    return daily.join(running.set_axis([f"{c}_cumulative" for c in FLOW_COLUMNS], axis=1))


_CLIMATE = ["true_air_temperature_c", "true_relative_humidity_pct", "true_co2_ppm"]
_SETPOINTS = ["heating_setpoint_c", "ventilation_setpoint_c"]
_CROP_STATES = ["true_lai_m2_m2", "fruit_mg_m2"]
_DAILY: tuple[tuple[list[str], str], ...] = (
    ([*_CLIMATE, *COMMAND_COLUMNS, "outdoor_air_temperature_c"], "mean"),
    ([*_CLIMATE, *_SETPOINTS], "min"),
    ([*_CLIMATE, *_SETPOINTS], "max"),
    (_CROP_STATES, "last"),
    (list(FLOW_COLUMNS), "sum"),
)
