"""What the simulator tests share: policies, weather, batches, runs and comparison byte by byte."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import (
    TICKS_PER_DAY,
    ControllerSettings,
    PolicyLanes,
    lamp_off_tick,
)
from slowlab.greenlight.day import RECORDS_PER_DAY, CropCalendar, StepperSettings
from slowlab.greenlight.definition import ModelDefinition, load_definition
from slowlab.greenlight.evaluate import evaluate, reachable
from slowlab.greenlight.expression import Graph
from slowlab.greenlight.golden import golden_path
from slowlab.greenlight.integrator import StagedModel, stage_model
from slowlab.greenlight.lanes import HARD_BOUNDS, LaneParameters, LaneState
from slowlab.greenlight.model import (
    COMMANDS,
    FAST_STATES,
    SLOW_STATES,
    STATES,
    WEATHER,
    Facility,
    Model,
    build_model,
)
from slowlab.greenlight.sensors import SensorSettings
from slowlab.greenlight.stepper import Stepper, lane_parameters

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = golden_path("greenlight_rhs").parent
# Day and night temperature, CO2 target, light hours, ventilation offset, humidity threshold.
POLICY_A = (22.0, 18.0, 800.0, 12.0, 4.0, 85.0)
POLICY_BOUNDS = ((18, 26), (15, 22), (400, 1200), (0, 16), (2, 6), (70, 90))
# Parameters of lanes drawn at random: the ranges from which hidden sites are drawn.
SITE_RANGES = {
    "j25LeafMax": (178.5, 241.5), "rgFruit": (0.27, 0.38), "tEndSum": (931.5, 1138.5),
    "laiMax": (2.5, 3.5), "cLeakage": (3e-5, 2e-4), "cDgh": (0.6, 0.9), "cWgh": (0.072, 0.108),
    "etaLampPar": (0.45, 0.60), "tSoOut": (8.0, 20.0), "ueff": (1.0, 3.0),
}  # fmt: skip
# Another build with short crops and unreliable sensors, to see many endings in few days.
BUSY = StepperSettings(
    calendar=CropCalendar(crop_ticks=150, cleaning_ticks=40, campaign_ticks=3 * TICKS_PER_DAY),
    sensors=SensorSettings(air_temperature_sd_c=0.8, climate_dropout=0.3, canopy_dropout=0.1),
)


@functools.cache
def definition() -> ModelDefinition:
    """The installed model definition."""
    return load_definition()


def fresh_model() -> Model:
    """The default variant as a graph that a test may add to."""
    return build_model(definition(), Facility())


@functools.cache
def staged() -> StagedModel:
    """The default variant, staged; for reading only."""
    return stage_model(fresh_model())


@functools.cache
def production() -> Stepper:
    """The production build, compiled once per test run."""
    return Stepper()


@functools.cache
def busy() -> Stepper:
    """A build with short crops and unreliable sensors, compiled once per test run."""
    return Stepper(settings=BUSY)


def golden_states() -> dict[str, np.ndarray]:
    """States and inputs of the golden right-hand sides by name, [2000] each."""
    with np.load(GOLDEN / "greenlight_rhs.npz", allow_pickle=False) as archive:
        return {
            str(name): archive[table][:, column]
            for table in ("states", "inputs")
            for column, name in enumerate(archive[f"{table[:-1]}_names"])
        }


def golden_derivatives() -> dict[str, np.ndarray]:
    """GreenLight's own answers at the golden states by name of the state, [2000] each."""
    with np.load(GOLDEN / "greenlight_rhs.npz", allow_pickle=False) as archive:
        return dict(zip(archive["state_names"].tolist(), archive["derivatives"].T, strict=True))


def everything() -> dict[str, np.ndarray]:
    """Symbols of the variant: golden states and weather, random commands and parameters."""
    rng = np.random.default_rng(1)
    golden = golden_states()
    symbols = {n: golden[n] for n in FAST_STATES + SLOW_STATES + WEATHER}
    symbols |= {name: rng.uniform(0, 1, 2000) for name in COMMANDS}
    symbols |= {name: rng.uniform(*bounds, 2000) for name, bounds in HARD_BOUNDS.items()}
    return symbols | {"cropPresent": np.ones(2000), "gammaFloor": np.full(2000, -0.25)}


def smallest_power_base(graph: Graph, roots: list[int], symbols: dict) -> np.ndarray:
    """Smallest magnitude that is raised to a power, per row."""
    powers = [n for n in reachable(graph, roots) if graph.nodes[n].op == "pow"]
    values = evaluate(graph, [graph.nodes[n].args[0] for n in powers], symbols, np, exact=True)
    return functools.reduce(np.minimum, (np.abs(v) for v in values), np.inf)


def policies(rows: Sequence[Sequence[float]]) -> PolicyLanes:
    """Policies from rows of six numbers in the order of the task contract."""
    day, night, co2, light, offset, humidity = np.array(rows, float).T
    off = np.array([lamp_off_tick(h, ControllerSettings()) for h in light])
    return PolicyLanes(
        day_temperature_c=day,
        night_temperature_c=night,
        co2_target_ppm=co2,
        lamp_off_tick=off,
        vent_temperature_offset_c=offset,
        vent_rh_threshold_pct=humidity,
    )


def same_lanes(count: int, **keywords: Any) -> LaneParameters:
    """Default parameters, policy a and (unless ``noise_seeds`` is given) exact readings."""
    model = keywords.pop("model", {})
    arguments = {"noise_seeds": None, "compartments": np.arange(count) % 4} | keywords
    return lane_parameters(model, policies([POLICY_A] * count), **arguments)


def random_lanes(count: int, seed: int, **keywords: Any) -> LaneParameters:
    """Random sites, policies and noise seeds."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.uniform(*bounds, count) for bounds in POLICY_BOUNDS])
    rows[:, 1] = np.minimum(rows[:, 1], rows[:, 0])
    model = {name: rng.uniform(*bounds, count) for name, bounds in SITE_RANGES.items()}
    tau, shift = rng.uniform(0.75, 0.88, count), rng.uniform(-1.5, 1.5, count)
    model |= {"tauRfPar": tau, "tauRfNir": tau, "tCan24Min": 15 + shift, "tCan24Max": 24.5 + shift}
    arguments = {
        "noise_seeds": rng.integers(0, 2**63, count),
        "compartments": rng.integers(0, 4, count),
    } | keywords
    return lane_parameters(model, policies(rows), **arguments)


def extreme_lanes(count: int, seed: int, **keywords: Any) -> LaneParameters:
    """Parameters and policies in random corners of their hard bounds."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, (len(HARD_BOUNDS) + len(POLICY_BOUNDS), count))
    chosen = zip(HARD_BOUNDS.items(), corner, strict=False)
    model = {name: np.take(bounds, side) for (name, bounds), side in chosen}
    model["tCan24Min"] = np.minimum(model["tCan24Min"], model["tCan24Max"] - 1)
    rows = np.array([np.take(b, s) for b, s in zip(POLICY_BOUNDS, corner[-6:], strict=True)]).T
    rows[:, 1] = np.minimum(rows[:, 1], rows[:, 0])
    arguments = {"noise_seeds": None, "compartments": np.arange(count) % 4} | keywords
    return lane_parameters(model, policies(rows), **arguments)


def steady_weather(
    lanes: int,
    *,
    radiation: Any = 0.0,
    outdoor: Any = 5.0,
    vapour: Any = 700.0,
    wind: Any = 3.0,
    sky: Any = -5.0,
) -> np.ndarray:
    """A day of constant weather, [145, 5, lanes]; numbers, or arrays [145] or [145, lanes]."""
    columns = (radiation, outdoor, vapour, wind, sky)
    shape = (RECORDS_PER_DAY + 1, lanes)
    spread = [np.broadcast_to(np.reshape(c, (*np.shape(c), 1, 1)[:2]), shape) for c in columns]
    return np.stack(spread, axis=1).astype(float)


def sunny_day(lanes: int, *, peak: float = 400.0, mean_c: float = 5.0) -> np.ndarray:
    """A plain day with sun from 8 to 18 h and a warm afternoon, [145, 5, lanes]."""
    hour = (np.arange(RECORDS_PER_DAY + 1) - 1) / 6.0
    sun = np.maximum(0.0, peak * np.sin((hour - 8.0) / 10.0 * np.pi))
    outdoor = mean_c + 3.0 * np.sin((hour - 9.0) / 12.0 * np.pi)
    return steady_weather(lanes, radiation=sun, outdoor=outdoor, sky=outdoor - 10.0)


def opened(
    parameters: LaneParameters, stepper: Stepper | None = None, *, planted: bool = True
) -> LaneBatch:
    """A batch at tick 0, planted everywhere or nowhere."""
    batch = (stepper or production()).open(parameters)
    return batch.plant(np.ones(batch.lanes, bool)) if planted else batch


def run_days(
    batch: LaneBatch,
    parameters: LaneParameters,
    days: Sequence[np.ndarray],
    stepper: Stepper | None = None,
) -> LaneBatch:
    """The batch after whole days of the given weather."""
    for weather in days:
        batch = (stepper or production()).advance_day(batch, parameters, weather).batch
    return batch


def picked(tree: Any, index: Any) -> Any:
    """Lanes ``index`` of every array of a tuple of arrays."""
    return jax.tree.map(lambda a: np.asarray(a)[..., index], tree)


def with_states(batch: LaneBatch, **values: Any) -> LaneBatch:
    """The batch with some physical states set by hand."""
    states = np.array(batch.state.states)
    for name, value in values.items():
        states[STATES.index(name)] = value
    return batch._replace(state=batch.state._replace(states=states))


def with_state(batch: LaneBatch, **values: Any) -> LaneBatch:
    """The batch with some entries of ``LaneState`` set by hand."""
    old = {name: np.asarray(getattr(batch.state, name)) for name in values}
    new = {n: np.array(np.broadcast_to(v, old[n].shape), old[n].dtype) for n, v in values.items()}
    return batch._replace(state=batch.state._replace(**new))


def named_arrays(batch: LaneBatch) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a batch with its name."""
    for name in LaneState._fields:
        yield f"state.{name}", np.asarray(getattr(batch.state, name))
    for name in LaneBatch._fields[1:]:
        yield name, getattr(batch, name)


def assert_same_bytes(first: LaneBatch, second: LaneBatch, *, ignore: Sequence[str] = ()) -> None:
    """Fail, naming the array, unless two batches are equal to the last bit."""
    for (name, a), (_, b) in zip(named_arrays(first), named_arrays(second), strict=True):
        if name in ignore:
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{name}: {a.dtype}{a.shape}"
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes(), name


def state(batch: LaneBatch, name: str) -> np.ndarray:
    """One physical state of every lane."""
    return np.asarray(batch.state.states)[STATES.index(name)]


def python(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run source in a fresh process that can import the package and these helpers."""
    return subprocess.run(
        [sys.executable, "-c", source, *arguments],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )
