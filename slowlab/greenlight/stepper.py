"""The stepper as callers use it: NumPy in, NumPy out, any number of lanes.

Lanes are cut into groups of a fixed width and the last group is padded, so there is one compiled
program per trace mode and a lane's bytes never depend on its company. Float32 is the production
build; float64 with more substeps is the audit build.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from slowlab.greenlight.batch import LaneBatch, open_batch
from slowlab.greenlight.controller import TICKS_PER_DAY, PolicyLanes
from slowlab.greenlight.day import (
    RECORDS_PER_DAY,
    DayInputs,
    StepperSettings,
    Trace,
    observe_truth,
    step_day,
)
from slowlab.greenlight.definition import FILE_SHA256, load_definition
from slowlab.greenlight.integrator import StagedModel, lane_values, stage_model
from slowlab.greenlight.lanes import (
    LaneParameterError,
    LaneParameters,
    LaneState,
    check_parameters,
)
from slowlab.greenlight.model import WEATHER, Facility, build_model
from slowlab.greenlight.noise import seed_words
from slowlab.greenlight.sensors import NoiseKeys, draw, read

LANE_WIDTH = 64
# Worth a quarter of the speed where the processor has 512-bit registers, harmless elsewhere.
_COMPILER_OPTIONS = {"xla_cpu_prefer_vector_width": 512}
# Modules that measure the stepper and are no part of it.
_MEASURING_MODULES = frozenset(
    {"audit", "bench", "bench_load", "bench_worker", "golden", "parity", "reference"}
    | {"scenarios", "two_days"}
)
CollapseRule = Literal["floor", "stop"]
# Floor under the compensation point as a share of the CO2 in the stomata; see ``lit_pole``.
_GAMMA_FLOOR = {"floor": -0.25, "stop": -1e9}


class WeatherShapeError(ValueError):
    """A day's weather has the wrong shape or holds a value that is not finite."""


class DayResult(NamedTuple):
    """A batch after a day, and what was recorded.

    ``trace`` is empty, or holds arrays [288, ..., lanes] of the day: ``live`` (the tick was
    stepped), ``readings`` [4], ``totals`` [5] (books after the tick, float64) and in full mode
    ``states`` [27] and ``commands`` [5].
    """

    batch: LaneBatch
    trace: dict[str, np.ndarray]


def lane_parameters(
    model: Mapping[str, Any],
    policy: PolicyLanes,
    *,
    noise_seeds: np.ndarray | None,
    compartments: np.ndarray,
    collapse_rule: CollapseRule = "floor",
    dtype: Any = np.float32,
) -> LaneParameters:
    """Checked parameters of a batch.

    Args:
        model: hidden parameters by name, numbers or arrays [lanes]; defaults fill in.
        policy: arrays [lanes].
        noise_seeds: seeds below 2**64 [lanes], or None for exact, unrounded readings.
        compartments: compartment number within the campaign [lanes].
        collapse_rule: ``floor`` the compensation point, or ``stop`` a crop at the lit pole.
        dtype: of the numbers.

    Raises:
        LaneParameterError: a parameter is unknown, not finite or out of bounds, a policy value is
            not finite, or the lanes of a value are not those of ``compartments``.
    """
    count = len(compartments)
    checked = check_parameters(model) | {"gammaFloor": np.array([_GAMMA_FLOOR[collapse_rule]])}

    def spread(name: str, values: Any, dtype: Any) -> np.ndarray:
        shape = np.shape(values)
        if shape not in ((), (1,), (count,)):
            raise LaneParameterError(f"{name} has shape {shape}, expected {count} lanes")
        return np.array(np.broadcast_to(values, (count,)), dtype)

    for name, values in policy._asdict().items():
        bad = np.flatnonzero(~np.isfinite(spread(name, values, np.float64)))
        if bad.size:
            raise LaneParameterError(f"policy field {name} of lane {bad[0]} is not finite")
    seeds = [0] * count if noise_seeds is None else [int(s) for s in noise_seeds]
    if len(seeds) != count:
        raise LaneParameterError(f"noise_seeds has {len(seeds)} values, expected {count} lanes")
    words = np.array([seed_words(s) for s in seeds], np.uint32).reshape(count, 2)
    return LaneParameters(
        model={name: spread(name, values, dtype) for name, values in checked.items()},
        policy=PolicyLanes(
            **{
                name: spread(name, values, np.int32 if name == "lamp_off_tick" else dtype)
                for name, values in policy._asdict().items()
            }
        ),
        noise=NoiseKeys(
            seed_high=words[:, 0],
            seed_low=words[:, 1],
            compartment=np.asarray(compartments, np.uint32),
            noisy=np.full(count, noise_seeds is not None),
        ),
        stop_on_collapse=np.full(count, collapse_rule == "stop"),
    )


@dataclass(frozen=True)
class Stepper:
    """Compiled facility stepping for one facility and one set of settings.

    Attributes:
        facility: geometry, capacities, side walls.
        settings: integrator, controller, sensors, calendar, safety.
        precision: ``float32`` (production) or ``float64`` (audit).
        width: lanes per compiled call.
    """

    facility: Facility = field(default_factory=Facility)
    settings: StepperSettings = field(default_factory=StepperSettings)
    precision: Literal["float32", "float64"] = "float32"
    width: int = LANE_WIDTH

    @functools.cached_property
    def staged(self) -> StagedModel:
        """The model split into stages."""
        return stage_model(build_model(load_definition(), self.facility))

    @functools.cached_property
    def build(self) -> dict[str, str]:
        """Identity of everything that decides the bytes of a run."""
        import jaxlib

        return {
            "definition": _sha256("".join(sorted(FILE_SHA256.values()))),
            "settings": _sha256(repr((self.facility, self.settings, self.precision, self.width))),
            "source": source_fingerprint(),
            "jaxlib": jaxlib.__version__,
        }

    def open(self, parameters: LaneParameters) -> LaneBatch:
        """Empty compartments at tick 0 with their first readings taken (none is ever lost)."""
        count = parameters.stop_on_collapse.shape[0]
        batch = open_batch(count, self.precision)
        held = np.empty_like(batch.state.held)
        for part, padded in self._groups(count):
            state = _take(batch.state, padded)
            shown = self._call(self._first_readings, _take(parameters, padded), state)
            held[:, part] = np.asarray(shown)[:, : len(part)]
        return batch._replace(state=batch.state._replace(held=held))

    def advance_day(
        self,
        batch: LaneBatch,
        parameters: LaneParameters,
        weather: np.ndarray,
        *,
        from_tick: np.ndarray | int = 0,
        to_tick: np.ndarray | int = TICKS_PER_DAY,
        trace: Trace = "none",
    ) -> DayResult:
        """Step every lane through the ticks [from_tick, to_tick) of its current day.

        Args:
            batch: lanes; each must stand at tick ``from_tick`` of some day (failed lanes stay put).
            parameters: of the same lanes.
            weather: [145, 5, lanes], the record before the day and its 144 records.
            from_tick: first tick of the day to step, a number or [lanes].
            to_tick: tick of the day to stop before, a number or [lanes].
            trace: what to record.

        Raises:
            WeatherShapeError: wrong shape or a value that is not finite.
            ValueError: a lane does not stand at ``from_tick``.
        """
        count = batch.lanes
        _check_weather(weather, count)
        begin = np.array(np.broadcast_to(from_tick, count), np.int32)
        end = np.array(np.broadcast_to(to_tick, count), np.int32)
        alive = np.asarray(batch.state.failed_tick) < 0
        misplaced = np.flatnonzero(alive & (np.asarray(batch.state.tick) % TICKS_PER_DAY != begin))
        if misplaced.size:
            raise ValueError(f"lane {misplaced[0]} does not stand at tick {begin[misplaced[0]]}")
        inputs = DayInputs(np.asarray(weather, self.precision), begin, end)
        outputs = []
        for part, padded in self._groups(count):
            arguments = (_take(parameters, padded), _take(batch.state, padded))
            result = self._call(self._day(trace), *arguments, _take(inputs, padded))
            outputs.append(_take(jax.device_get(result), np.arange(len(part))))
        joined = jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1), *outputs)
        running = _running_totals(batch, joined.booked)
        totals = {"totals": running[1:]} if joined.trace else {}
        return DayResult(_book(batch, joined.state, running), joined.trace | totals)

    def _groups(self, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """(lanes of a group, the same padded to the width by repeating its first lane)."""
        groups = []
        for start in range(0, count, self.width):
            part = np.arange(start, min(start + self.width, count))
            padding = np.full(self.width - len(part), start)
            groups.append((part, np.concatenate([part, padding])))
        return groups

    def _call(self, function: Any, *arguments: Any) -> Any:
        with jax.enable_x64(self.precision == "float64"):
            return function(*arguments)

    @functools.cached_property
    def _compiled_days(self) -> dict[str, Any]:
        use_compilation_cache()
        return {}

    def _day(self, trace: Trace) -> Any:
        if trace not in self._compiled_days:
            day = functools.partial(step_day, self.staged, self.settings, trace)
            self._compiled_days[trace] = jax.jit(day, compiler_options=_COMPILER_OPTIONS)
        return self._compiled_days[trace]

    @functools.cached_property
    def _first_readings(self) -> Any:
        def readings(parameters: LaneParameters, state: LaneState) -> Any:
            lane = lane_values(self.staged, parameters.model)
            truth = observe_truth(self.staged, lane, parameters, state)
            sensors = self.settings.sensors
            draws = draw(sensors, parameters.noise, state.tick, state.states.dtype)
            return jax.numpy.stack(read(sensors, parameters.noise, draws, truth))

        use_compilation_cache()
        return jax.jit(readings)


def _take(tree: Any, index: np.ndarray) -> Any:
    """Pick lanes (last axis) of every array of a pytree."""
    return jax.tree.map(lambda a: np.asarray(a)[..., index], tree)


def _running_totals(batch: LaneBatch, booked: np.ndarray) -> np.ndarray:
    """Books [289, 5, lanes] before the day's first tick and after each tick, added in order."""
    steps = np.concatenate([batch.totals[None], booked.astype(np.float64)])
    return np.add.accumulate(steps, axis=0)


def _book(batch: LaneBatch, state: LaneState, running: np.ndarray) -> LaneBatch:
    """The batch after a day; a crop's account closes at the instant it ended."""
    ended_today = state.ending_tick != np.asarray(batch.state.ending_tick)
    day_start = np.asarray(batch.state.tick) // TICKS_PER_DAY * TICKS_PER_DAY
    closing = np.where(ended_today, state.ending_tick - day_start, 0)
    at_ending = np.take_along_axis(running, closing[None, None, :], axis=0)[0]
    used = at_ending - batch.totals_at_planting
    return batch._replace(
        state=state,
        totals=running[-1],
        latest_crop=np.where(ended_today, used, batch.latest_crop),
    )


def _check_weather(weather: np.ndarray, lanes: int) -> None:
    expected = (RECORDS_PER_DAY + 1, len(WEATHER), lanes)
    if np.shape(weather) != expected:
        raise WeatherShapeError(f"weather has shape {np.shape(weather)}, expected {expected}")
    bad = np.argwhere(~np.isfinite(weather))
    if bad.size:
        record, channel, lane = bad[0]
        raise WeatherShapeError(
            f"weather of lane {lane}: {WEATHER[channel]} of record {record} is not finite"
        )


def use_compilation_cache() -> Path:
    """Let XLA keep compiled programs in the user's cache folder; returns the folder.

    Set ``SLOWLAB_CACHE_DIR`` to move it. Processors with other instructions get other folders, so
    that machines of a cluster may share a home.
    """
    default = Path.home() / ".cache" / "slowlab"
    root = Path(os.environ.get("SLOWLAB_CACHE_DIR", default))
    folder = root / f"xla-{_processor_fingerprint()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    if jax.config.jax_compilation_cache_dir != str(folder):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def _processor_fingerprint() -> str:
    """SHA-256 of the processor's architecture and, where the system tells, instruction sets."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return _sha256(f"{platform.machine()} {flags}")


@functools.cache
def source_fingerprint() -> str:
    """SHA-256 over the source that decides results, at import; line ends normalised."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        if path.stem in _MEASURING_MODULES:
            continue
        digest.update(path.name.encode() + b"\n" + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Read now: files edited later are not the code that this process runs.
source_fingerprint()
