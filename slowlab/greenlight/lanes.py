"""State and parameters of a batch of compartments ("lanes"), and what may be done to it.

A lane is one compartment. Everything the compiled day step carries is in ``LaneState``, a
plain tuple of arrays: no multistep history, so stopping, saving, permuting or re-batching
lanes changes nothing. Clocks are integer ticks of 300 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from slowlab.greenlight.controller import PolicyLanes
from slowlab.greenlight.model import CROP_POOLS, STATES
from slowlab.greenlight.sensors import NoiseKeys

Array = Any

# Native initial values of GreenLight 2.0.5 (its definition files; degC, Pa, mg/m3).
CLIMATE_START: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(
            ("tAir", "tTop", "tCovIn", "tCovE", "tFlr", "tSo1", "tThScr", "tBlScr",
             "tPipe", "tGroPipe", "tLamp", "tIntLamp"), 16.5),
        "tSo2": 13.364, "tSo3": 10.228, "tSo4": 7.092, "tSo5": 3.956,
        "tCan": 20.5, "tCan24": 20.5, "vpAir": 1681.91, "vpTop": 1313.0,
        "co2Air": 722.0, "co2Top": 722.0, "tCanSum": 0.0,
    }
)  # fmt: skip
# Young plants: GreenLight's native pools, mg CH2O per m2 (leaf area index 0.116).
PLANTING_POOLS: Mapping[str, float] = MappingProxyType(
    {"cBuf": 20_000.0, "cFruit": 312.0, "cLeaf": 4_368.0, "cStem": 1_560.0}
)
LEDGER = ("heat_kwh_m2", "light_kwh_m2", "co2_kg_m2", "harvest_dry_kg_m2", "transpiration_kg_m2")


class Phase(IntEnum):
    """What stands in a compartment."""

    IDLE = 0
    GROWING = 1
    CLEANING = 2


class Ending(IntEnum):
    """How the latest crop of a compartment ended."""

    NONE = 0
    COMPLETED = 1
    STOPPED = 2
    TEMPERATURE_SAFETY = 3
    COLLAPSED = 4
    DEADLINE = 5


class LaneState(NamedTuple):
    """Everything that changes, arrays [..., lanes].

    ``states`` [27, lanes] in the order of ``STATES``; ``tick`` counts from the campaign's start;
    ``phase_tick`` is when the phase began; ``ending_tick`` when the latest crop ended;
    ``held`` [4, lanes] are the last observed air temperature, humidity, CO2 and canopy proxy;
    ``excursion_ticks`` counts readings in a row outside the safe range; ``failed_tick`` is the
    tick at whose integration a lane became non-finite, or -1.
    """

    states: Array
    tick: Array
    phase: Array
    phase_tick: Array
    ending: Array
    ending_tick: Array
    held: Array
    excursion_ticks: Array
    lit_pole_ticks: Array
    failed_tick: Array


class LaneParameters(NamedTuple):
    """Everything that does not change while a day is stepped, arrays [..., lanes]."""

    model: dict[str, Array]
    policy: PolicyLanes
    noise: NoiseKeys
    stop_on_collapse: Array


class LaneParameterError(ValueError):
    """A hidden parameter is unknown, not finite or outside its hard bounds."""


DEFAULT_PARAMETERS: Mapping[str, float] = MappingProxyType(
    {
        "tCan24Min": 15.0, "tCan24Max": 24.5, "j25LeafMax": 210.0, "rgFruit": 0.328,
        "tEndSum": 1035.0, "laiMax": 3.0, "tauRfPar": 0.85, "tauRfNir": 0.85,
        "cLeakage": 1e-4, "cDgh": 0.75, "cWgh": 0.09, "etaLampPar": 0.55,
        "tSoOut": 20.0, "ueff": 2.0,
    }
)  # fmt: skip
# Hard bounds of the environment's site distribution, used to reject malformed input.
HARD_BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "tCan24Min": (5.0, 25.0), "tCan24Max": (15.0, 35.0), "j25LeafMax": (50.0, 500.0),
        "rgFruit": (0.05, 1.0), "tEndSum": (500.0, 2000.0), "laiMax": (1.0, 6.0),
        "tauRfPar": (0.4, 0.95), "tauRfNir": (0.4, 0.95), "cLeakage": (1e-5, 1e-3),
        "cDgh": (0.3, 1.2), "cWgh": (0.02, 0.3), "etaLampPar": (0.2, 0.8),
        "tSoOut": (-5.0, 35.0), "ueff": (0.0, 10.0),
    }
)  # fmt: skip


def check_parameters(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Hidden parameters with defaults filled in, as float64 arrays.

    Args:
        values: name -> number or array [lanes]; names of ``DEFAULT_PARAMETERS``.

    Raises:
        LaneParameterError: names the parameter, its value, the lane and the allowed range.
    """
    unknown = sorted(set(values) - set(DEFAULT_PARAMETERS))
    if unknown:
        allowed = ", ".join(DEFAULT_PARAMETERS)
        raise LaneParameterError(f"unknown parameter {unknown[0]!r}; known are {allowed}")
    checked = {}
    for name, default in DEFAULT_PARAMETERS.items():
        array = np.atleast_1d(np.asarray(values.get(name, default), dtype=np.float64))
        low, high = HARD_BOUNDS[name]
        bad = np.flatnonzero(~((array >= low) & (array <= high)))
        if bad.size:
            raise LaneParameterError(
                f"parameter {name} of lane {bad[0]} is {array[bad[0]]}; "
                f"it must lie in [{low}, {high}]"
            )
        checked[name] = array
    window = np.broadcast_arrays(checked["tCan24Min"], checked["tCan24Max"])
    bad = np.flatnonzero(window[0] >= window[1])
    if bad.size:
        raise LaneParameterError(
            f"parameter tCan24Min of lane {bad[0]} is {window[0][bad[0]]}; "
            f"it must be below tCan24Max = {window[1][bad[0]]}"
        )
    return checked


def open_lanes(lanes: int, dtype: Any) -> LaneState:
    """Empty, idle compartments with GreenLight's native climate at tick 0.

    ``held`` is NaN until the first reading is taken.
    """
    start = {**CLIMATE_START, **dict.fromkeys(CROP_POOLS, 0.0)}
    states = np.repeat(np.array([[start[s]] for s in STATES], dtype), lanes, axis=1)

    def whole(value: int) -> np.ndarray:
        return np.full(lanes, value, np.int32)

    return LaneState(
        states=states,
        tick=whole(0),
        phase=whole(Phase.IDLE),
        phase_tick=whole(0),
        ending=whole(Ending.NONE),
        ending_tick=whole(-1),
        held=np.full((4, lanes), np.nan, dtype),
        excursion_ticks=whole(0),
        lit_pole_ticks=whole(0),
        failed_tick=whole(-1),
    )


def plant(state: LaneState, where: np.ndarray) -> LaneState:
    """Plant young crops now; the climate carries on, canopy temperatures start at air.

    Args:
        state: lanes.
        where: boolean [lanes]; those must be idle.

    Raises:
        ValueError: a lane to plant is not idle.
    """
    phase = np.array(state.phase)
    busy = np.flatnonzero(where & (phase != Phase.IDLE))
    if busy.size:
        raise ValueError(f"lane {busy[0]} is {Phase(int(phase[busy[0]])).name.lower()}, not idle")
    states = np.array(state.states)
    air = states[STATES.index("tAir")]
    for name, value in {
        **PLANTING_POOLS, "tCanSum": 0.0, "tCan": air, "tCan24": air
    }.items():  # fmt: skip
        row = STATES.index(name)
        states[row] = np.where(where, value, states[row])
    phase_tick = np.where(where, state.tick, state.phase_tick).astype(np.int32)
    return state._replace(
        states=states,
        phase=np.where(where, Phase.GROWING, phase).astype(np.int32),
        phase_tick=phase_tick,
        excursion_ticks=np.where(where, 0, state.excursion_ticks).astype(np.int32),
    )


def stop(state: LaneState, where: np.ndarray, ending: Ending = Ending.STOPPED) -> LaneState:
    """End growing crops now: pools to zero, climate unchanged, cleaning begins.

    Raises:
        ValueError: a lane to stop has no crop.
    """
    phase = np.array(state.phase)
    empty = np.flatnonzero(where & (phase != Phase.GROWING))
    if empty.size:
        raise ValueError(f"lane {empty[0]} has no growing crop to stop")
    states = np.array(state.states)
    for name in (*CROP_POOLS, "tCanSum"):
        row = STATES.index(name)
        states[row] = np.where(where, 0.0, states[row])

    def here(value: Any, old: Array) -> np.ndarray:
        return np.where(where, value, old).astype(np.int32)

    return state._replace(
        states=states,
        phase=here(Phase.CLEANING, phase),
        phase_tick=here(state.tick, state.phase_tick),
        ending=here(ending, state.ending),
        ending_tick=here(state.tick, state.ending_tick),
        excursion_ticks=here(0, state.excursion_ticks),
    )
