"""How far the compiled stepper is from the model's exact solution.

Three comparisons, each against something that shares no approximation with the stepper:

* the right-hand side against GreenLight's own evaluation (golden numbers of the oracle);
* open loop: the commands a production run gave, replayed into RK4 at small steps in float64;
* closed loop: the controller itself in the RK4 solution. Paths are chaotic there (the heating
  band cycles from tick to tick), so only totals are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from slowlab.greenlight import integrator as physics
from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import TICKS_PER_DAY, PolicyLanes, Readings, commands
from slowlab.greenlight.definition import load_definition
from slowlab.greenlight.evaluate import evaluate
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.lanes import LaneParameters, Phase
from slowlab.greenlight.model import (
    COMMANDS,
    STATES,
    WEATHER,
    Model,
    build_model,
)
from slowlab.greenlight.parser import Expander
from slowlab.greenlight.reference import DYNAMIC_STATES, rk4_step
from slowlab.greenlight.stepper import Stepper

Array = Any
REFERENCE_SECONDS = 0.5


def right_hand_side_errors(golden: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Largest relative error per state of the unmodified model's derivatives.

    Args:
        golden: ``state_names``, ``states``, ``input_names``, ``inputs``, ``derivatives`` as
            written by the oracle.

    Returns:
        State name -> max |ours - GreenLight's| / |GreenLight's| over all rows.
    """
    definition = load_definition()
    states = [str(n) for n in golden["state_names"]]
    inputs = [str(n) for n in golden["input_names"]]
    graph = Graph()
    expander = Expander(definition, graph, free=frozenset(states + inputs))
    roots = [expander.derivative_of(s) for s in states]
    symbols = dict(zip(states, golden["states"].T, strict=True))
    symbols |= dict(zip(inputs, golden["inputs"].T, strict=True))
    with np.errstate(over="ignore", under="ignore"):
        ours = evaluate(graph, roots, symbols, np, exact=True)
    errors = {}
    for name, mine, theirs in zip(states, ours, golden["derivatives"].T, strict=True):
        difference = np.abs(np.broadcast_to(mine, theirs.shape) - theirs)
        scale = np.where(theirs == 0.0, 1.0, np.abs(theirs))
        errors[name] = float(np.max(difference / scale))
    return errors


class Recorded(NamedTuple):
    """A production run of some days: state before it, and per tick what was commanded and met.

    ``commands`` and ``weather`` [ticks, 5, lanes], ``states`` [ticks, 27, lanes] at the ends of
    the ticks, ``booked`` [5, lanes] the sums of the run.
    """

    start: LaneBatch
    commands: np.ndarray
    weather: np.ndarray
    released: np.ndarray
    states: np.ndarray
    booked: np.ndarray


def record_run(
    stepper: Stepper,
    batch: LaneBatch,
    parameters: LaneParameters,
    weather: Sequence[np.ndarray],
) -> Recorded:
    """Run the stepper with everything recorded.

    Args:
        stepper: the stepper under test.
        batch: lanes at a day boundary.
        parameters: of the lanes.
        weather: one [145, 5, lanes] array per day.
    """
    start, pieces = batch, []
    for day in weather:
        result = stepper.advance_day(batch, parameters, day, trace="full")
        pieces.append((result.trace["commands"], result.trace["states"]))
        batch = result.batch
    days = np.stack(list(weather))
    return Recorded(
        start=start,
        commands=np.concatenate([p[0] for p in pieces]),
        weather=np.concatenate(np.repeat(days[:, 1:], 2, axis=1)),
        released=np.concatenate(np.repeat(days[:, :-1], 2, axis=1)),
        states=np.concatenate([p[1] for p in pieces]),
        booked=batch.totals - start.totals,
    )


@dataclass(frozen=True)
class ReferenceRun:
    """A counterpart of a ``Recorded``: states [ticks, 26, lanes] and booked sums [5, lanes]."""

    states: np.ndarray
    booked: np.ndarray

    def state(self, name: str) -> np.ndarray:
        """One state at the ends of the ticks, [ticks, lanes]."""
        return self.states[:, DYNAMIC_STATES.index(name)]


def replay_open_loop(
    stepper: Stepper,
    parameters: LaneParameters,
    recorded: Recorded,
    seconds: float = REFERENCE_SECONDS,
    progress: Callable[[float], None] | None = None,
) -> ReferenceRun:
    """Integrate the recorded commands and weather with RK4 in float64."""

    def given(_: Mapping[str, Array], tick: Mapping[str, Array]) -> Mapping[str, Array]:
        return dict(zip(COMMANDS, tick["commands"], strict=True))

    ticks = {"commands": recorded.commands, "weather": recorded.weather}
    return _run_reference(stepper, parameters, recorded, ticks, given, seconds, progress)


def replay_with_stepper(
    stepper: Stepper, parameters: LaneParameters, recorded: Recorded
) -> ReferenceRun:
    """Integrate the recorded commands and weather with a stepper's own substeps."""
    staged, scheme = stepper.staged, stepper.settings.scheme
    growing = np.asarray(recorded.start.state.phase) == Phase.GROWING

    def cast(array: Array) -> np.ndarray:
        return np.asarray(array, stepper.precision)

    fixed = {k: cast(v) for k, v in parameters.model.items()} | {"cropPresent": cast(growing)}

    def run(states: Array, commanded: Array, weather: Array) -> tuple[Array, Array]:
        lane = physics.lane_values(staged, fixed)

        def one(states: Array, tick: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            named = dict(zip(STATES, states, strict=True))
            given = dict(zip(COMMANDS, tick[0], strict=True))
            met = dict(zip(WEATHER, tick[1], strict=True))
            held = physics.step_values(staged, lane, named | fixed | given | met)
            after, booked, _ = physics.integrate_states(staged, scheme, held, named)
            after = jnp.stack([after[s] for s in STATES])
            return after, (after, jnp.stack(booked))

        return lax.scan(one, states, (commanded, weather))[1]

    with jax.enable_x64(stepper.precision == "float64"):
        inputs = (recorded.start.state.states, recorded.commands, recorded.weather)
        path, booked = jax.device_get(jax.jit(run)(*map(cast, inputs)))
    rows = [STATES.index(s) for s in DYNAMIC_STATES]
    sums = booked.astype(np.float64).sum(axis=0)
    return ReferenceRun(path[:, rows].astype(np.float64), sums * LEDGER_SCALE[:, None])


def run_closed_loop(
    stepper: Stepper,
    parameters: LaneParameters,
    recorded: Recorded,
    seconds: float = REFERENCE_SECONDS,
    progress: Callable[[float], None] | None = None,
) -> ReferenceRun:
    """Integrate with RK4 in float64 with the controller sampling the exact state each tick."""
    controller = stepper.settings.controller
    model = _model(stepper)
    policy = PolicyLanes(*(np.asarray(p, np.float64) for p in parameters.policy))
    growing = np.asarray(recorded.start.state.phase) == Phase.GROWING
    roots = [model.outputs["rhIn"], model.outputs["co2InPpm"]]

    def given(named: Mapping[str, Array], tick: Mapping[str, Array]) -> Mapping[str, Array]:
        humidity, co2 = evaluate(model.graph, roots, named, jnp, exact=True)
        readings = Readings(
            named["tAir"],
            humidity,
            co2,
            radiation_w_m2=tick["released"][WEATHER.index("iGlob")],
            outdoor_temperature_c=tick["released"][WEATHER.index("tOut")],
        )
        return commands(controller, policy, readings, tick["tick_of_day"], jnp.asarray(growing))

    tick_of_day = np.arange(recorded.weather.shape[0], dtype=np.int32) % TICKS_PER_DAY
    ticks = {
        "weather": recorded.weather,
        "released": recorded.released,
        "tick_of_day": tick_of_day,
    }
    return _run_reference(stepper, parameters, recorded, ticks, given, seconds, progress)


def _model(stepper: Stepper) -> Model:
    return build_model(load_definition(), stepper.facility)


def _run_reference(
    stepper: Stepper,
    parameters: LaneParameters,
    recorded: Recorded,
    ticks: Mapping[str, np.ndarray],
    given: Callable[[Mapping[str, Array], Mapping[str, Array]], Mapping[str, Array]],
    seconds: float,
    progress: Callable[[float], None] | None,
) -> ReferenceRun:
    """Scan RK4 control steps day by day; the crop flag stays as it is at the start."""
    step = rk4_step(_model(stepper), seconds)
    growing = np.asarray(recorded.start.state.phase) == Phase.GROWING
    fixed = {k: np.asarray(v, np.float64) for k, v in parameters.model.items()}
    fixed["cropPresent"] = growing.astype(np.float64)
    initial = dict(zip(STATES, np.asarray(recorded.start.state.states, np.float64), strict=True))

    def one(states: Mapping[str, Array], tick: Mapping[str, Array]) -> tuple[dict, tuple]:
        symbols = fixed | dict(zip(WEATHER, tick["weather"], strict=True))
        held = given(symbols | dict(states), tick)
        states, booked, _ = step(symbols | dict(held), states)
        return states, (jnp.stack([states[s] for s in DYNAMIC_STATES]), jnp.stack(booked))

    with jax.enable_x64(True):
        day = jax.jit(functools.partial(lax.scan, one))
        states = {s: jnp.asarray(initial[s]) for s in DYNAMIC_STATES}
        pieces = []
        count = recorded.weather.shape[0] // TICKS_PER_DAY
        for d in range(count):
            part = slice(d * TICKS_PER_DAY, (d + 1) * TICKS_PER_DAY)
            xs = {
                k: np.asarray(v[part], v.dtype if v.dtype.kind == "i" else np.float64)
                for k, v in ticks.items()
            }
            states, out = day(states, xs)
            pieces.append(jax.device_get(out))
            if progress is not None:
                progress((d + 1) / count)
    path = np.concatenate([p[0] for p in pieces])
    booked = np.concatenate([p[1] for p in pieces]).sum(axis=0)
    return ReferenceRun(path, booked * LEDGER_SCALE[:, None])


# From GreenLight's flows (J, J, mg, mg, kg) to the units of ``LEDGER``.
LEDGER_SCALE = np.array([1 / 3.6e6, 1 / 3.6e6, 1e-6, 1e-6, 1.0])
