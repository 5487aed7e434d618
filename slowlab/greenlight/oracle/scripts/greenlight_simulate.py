"""Run GreenLight's own solver tick by tick with held inputs, on the compartment of the benchmark.

Usage (inside the oracle environment): ``python greenlight_simulate.py REQUEST.npz RESULT.npz``

The model is ``main_katzin_2021.json`` with the nodes of `compartment_nodes` loaded after it: the
geometry and capacities of one compartment of 96 m2, five held commands, side-wall heat. GreenLight
is restarted at every tick with constant inputs, so that its interpolation in time plays no part.

Request arrays: ``state_names [n_states]`` and ``initial [n_states]`` (the model's units);
``input_names [n_inputs]`` (the five commands and the outdoor drivers; all of `INPUTS`, any order)
and ``inputs [n_ticks, n_inputs]``. Options: ``tick_s`` (300), ``constants`` (name -> value, further
constants of the model to override), ``solver`` (GreenLight options such as ``solver``, ``rtol``,
``atol``; the rest keeps GreenLight's defaults).

Result arrays: ``time_s [n_ticks + 1]``; ``states [n_ticks + 1, n_states]``; ``integral_names`` and
``integrals [n_ticks, n_integrals]``, the time integral of each flow of `INTEGRALS` over each tick
(J/m2, mg/m2, kg/m2 of floor); ``evaluations [n_ticks]``, calls of the right-hand side, those for
Jacobians included.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from greenlight_driver import (
    DEFINITION_FILES,
    definition_digests,
    definition_folder,
    function_calls,
    load_model,
    package_versions,
    quiet,
    read_request,
    write_result,
)

COMMANDS = ("uBoil", "uRoof", "uExtCo2", "uLamp", "uThScr")
DRIVERS = ("tOut", "vpOut", "co2Out", "wind", "tSky", "tSoOut", "iGlob")
CLOCK = ("dayRadSum", "isDay", "isDaySmooth")
INPUTS = (*COMMANDS, *DRIVERS, *CLOCK)

INTEGRALS = {
    "hBoilPipe": "hBoilPipe",
    "qLampIn": "qLampIn",
    "mcExtAir": "mcExtAir",
    "mcFruitHar": "mcFruitHar",
    "mvCanAirPositive": "max(mvCanAir, 0)",
}
"""Flow whose integral is wanted -> its expression in the model's names."""

CONSTANTS: dict[str, float] = {
    "aFlr": 96.0,
    "aCov": 289.24809954029,
    "hAir": 4.2,
    "hGh": 4.984831471002188,
    "psi": 22.0,
    "aRoof": 28.8,
    "pBoil": 11_520.0,
    "phiExtCo2": 200.0,
    "useBlScr": 0.0,
    "wallLowerNorth": 40.32,
    "wallLowerEast": 42.0,
    "wallLowerWest": 42.0,
    "wallUpperNorth": 7.534382121621004,
    "wallUpperEast": 3.0,
    "wallUpperWest": 3.0,
    "tNeighbourNorth": 20.0,
    "tNeighbourEast": 16.0,
    "tNeighbourWest": 16.0,
    "ueffSideWall": 2.0,
}
"""Compartment: areas m2, heights m, slope deg, heating W, CO2 mg/s, neighbours degC, W/m2/K."""

SWITCHED_OFF = ("uSide", "uBoilGro", "uIntLamp", "heatCorrection")


def side_wall(level: str) -> str:
    """Return the side-wall heat of one air layer (``Lower``, ``Upper``), W per m2 of floor."""
    walls = (f"wall{level}{side} * (tNeighbour{side} - tOut)" for side in ("North", "East", "West"))
    return f"ueffSideWall * ({' + '.join(walls)}) / aFlr"


def native_definition(name: str) -> str:
    """Return the definition of a state in the last definition file, which has the final word."""
    text = (definition_folder() / DEFINITION_FILES[-1]).read_text(encoding="utf-8")

    def find(node: Any) -> str | None:
        if not isinstance(node, dict):
            return None
        if isinstance(node.get(name), dict) and "definition" in node[name]:
            return str(node[name]["definition"])
        return next((found for sub in node.values() if (found := find(sub))), None)

    definition = find(json.loads(text))
    if definition is None:
        raise ValueError(f"no definition of {name} in {DEFINITION_FILES[-1]}")
    return definition


def compartment_nodes(constants: Mapping[str, float]) -> dict[str, Any]:
    """Return the definition nodes that turn the native greenhouse into one compartment."""
    values = {**CONSTANTS, **constants}
    nodes: dict[str, Any] = {
        name: {"type": "const", "definition": repr(float(value))} for name, value in values.items()
    }
    nodes |= {name: {"type": "aux", "definition": "0"} for name in SWITCHED_OFF}
    nodes["hSideWallAir"] = {"type": "aux", "definition": side_wall("Lower")}
    nodes["hSideWallTop"] = {"type": "aux", "definition": side_wall("Upper")}
    for state, capacity, heat in (
        ("tAir", "capAir", "hSideWallAir"),
        ("tTop", "capTop", "hSideWallTop"),
    ):
        definition = f"{native_definition(state)} + (1/{capacity}) * {heat}"
        nodes[state] = {"type": "state", "definition": definition, "init": "16.5"}
    for name, expression in INTEGRALS.items():
        nodes[f"integral_{name}"] = {"type": "state", "definition": expression, "init": "0"}
    return nodes


def load_compartment(options: Mapping[str, Any]) -> Any:
    """Load the compartment model; ValueError where an overridden constant is unknown."""
    constants = options.get("constants", {})
    solver = {key: str(value) for key, value in options.get("solver", {}).items()}
    model = load_model(INPUTS, overrides=compartment_nodes(constants), options=solver)
    used = set().union(*model.dependencies.values())
    unknown = set(constants) - used
    if unknown:
        raise ValueError(f"no equation of the model uses the constants {sorted(unknown)}")
    return model


def step(model: Any, state: Mapping[str, float], inputs: np.ndarray, tick_s: float) -> Any:
    """Let GreenLight solve one tick from ``state`` with constant ``inputs``; its solution."""
    from greenlight._solve._solve_ivp_from_str import SolveIvpFromStr

    model.init = dict(state)
    model.options |= {"t_start": "0", "t_end": repr(tick_s)}
    table = np.column_stack([[0.0, tick_s], np.tile(inputs, (2, 1))])
    model.input_data = pd.DataFrame(table, columns=["Time", *INPUTS])
    model.log = ""
    with quiet():
        SolveIvpFromStr.solve(model)
    if not model.states_sol.success:
        raise RuntimeError(f"GreenLight's solver failed: {model.states_sol.message}")
    return model.states_sol


def run(model: Any, initial: Mapping[str, float], inputs: np.ndarray, tick_s: float) -> dict:
    """Run all ticks; arrays in the model's own order of states."""
    names = list(model.states)
    integral = [names.index(f"integral_{name}") for name in INTEGRALS]
    states = np.empty((len(inputs) + 1, len(names)))
    states[0] = [initial.get(name, 0.0) for name in names]
    integrals = np.empty((len(inputs), len(integral)))
    evaluations = np.empty(len(inputs), dtype=np.int64)
    for tick, given in enumerate(inputs):
        start = states[tick].copy()
        start[integral] = 0.0
        solution = step(model, dict(zip(names, start, strict=True)), given, tick_s)
        states[tick + 1] = solution.y[:, -1]
        integrals[tick] = solution.y[integral, -1]
        evaluations[tick] = function_calls(solution, model.options["solver"])
    return {"states": states, "integrals": integrals, "evaluations": evaluations}


def main(request_path: str, result_path: str) -> None:
    """Answer one request."""
    options, arrays = read_request(request_path)
    tick_s = float(options.get("tick_s", 300.0))
    given = [str(name) for name in arrays["input_names"]]
    if sorted(given) != sorted(INPUTS):
        raise ValueError(f"the inputs must be {sorted(INPUTS)}, not {sorted(given)}")
    inputs = arrays["inputs"][:, [given.index(name) for name in INPUTS]]
    state_names = [str(name) for name in arrays["state_names"]]
    started = time.perf_counter()
    model = load_compartment(options)
    loaded = time.perf_counter()
    own = [name for name in model.states if not name.startswith("integral_")]
    if sorted(own) != sorted(state_names):
        raise ValueError(f"the states must be {sorted(own)}, not {sorted(state_names)}")
    initial = dict(zip(state_names, arrays["initial"].tolist(), strict=True))
    result = run(model, initial, inputs, tick_s)
    finished = time.perf_counter()
    order = [list(model.states).index(name) for name in state_names]
    result["states"] = result["states"][:, order]
    result["time_s"] = tick_s * np.arange(len(inputs) + 1)
    result["integral_names"] = np.array(list(INTEGRALS))
    info = {
        "versions": package_versions(),
        "definition_sha256": definition_digests(),
        "solver": {key: model.options[key] for key in ("solver", "rtol", "atol", "max_step")},
        "load_s": loaded - started,
        "solve_s": finished - loaded,
        "evaluations": int(result["evaluations"].sum()),
    }
    write_result(result_path, info, result)


if __name__ == "__main__":
    main(*sys.argv[1:3])
