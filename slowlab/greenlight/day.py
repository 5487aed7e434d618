"""The compiled day: controller, climate, crop, sensors and endings, 288 ticks at once.

One call advances every lane by up to a day. Lanes are independent: each keeps its own clock,
weather, parameters and policy, and a lane that becomes non-finite is flagged and frozen while
its neighbours go on. Lanes are stepped in a fixed width, so results do not depend on how many
are stepped together or in which order.

Order inside a tick: commands from the last readings, integrate 300 s, book flows, take new
readings, advance the clock, safety and completion checks, end of cleaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jax import lax

from slowlab.greenlight import integrator as physics
from slowlab.greenlight.controller import (
    TICKS_PER_DAY,
    ControllerSettings,
    Readings,
    commands,
)
from slowlab.greenlight.lanes import Ending, LaneParameters, LaneState, Phase
from slowlab.greenlight.model import (
    COMMANDS,
    CROP_POOLS,
    STATES,
    WEATHER,
)
from slowlab.greenlight.sensors import READ_CHANNELS, Draws, SensorSettings, draw, read

Array = Any
Trace = Literal["none", "readings", "full"]
TICKS_PER_WEATHER_RECORD = 2
RECORDS_PER_DAY = TICKS_PER_DAY // TICKS_PER_WEATHER_RECORD
_JOULE_PER_KWH = 3.6e6
_MG_PER_KG = 1e6
# Beyond this a state is meaningless and the lane counts as failed (degC, Pa, mg/m3, mg/m2).
_MAX_MAGNITUDE = 1e7
_TEMPERATURE_RANGE_C = (-100.0, 200.0)


@dataclass(frozen=True)
class CropCalendar:
    """Lengths in ticks of 300 s and the tick at which the campaign ends."""

    crop_ticks: int = 180 * TICKS_PER_DAY
    cleaning_ticks: int = 2 * TICKS_PER_DAY
    campaign_ticks: int = 365 * TICKS_PER_DAY


@dataclass(frozen=True)
class SafetySettings:
    """Observed air temperature outside this range for so many ticks in a row ends a crop."""

    low_c: float = 5.0
    high_c: float = 40.0
    ticks: int = 12


@dataclass(frozen=True)
class StepperSettings:
    """Everything that is compiled in."""

    scheme: physics.Scheme = field(default_factory=physics.Scheme)
    controller: ControllerSettings = field(default_factory=ControllerSettings)
    sensors: SensorSettings = field(default_factory=SensorSettings)
    calendar: CropCalendar = field(default_factory=CropCalendar)
    safety: SafetySettings = field(default_factory=SafetySettings)


class DayInputs(NamedTuple):
    """What a day needs beside state and parameters.

    ``weather`` [145, 5, lanes]: the record before the day and its 144 ten-minute records in the
    order of ``WEATHER``. A lane is stepped for ticks of the day in [from_tick, to_tick).
    """

    weather: Array
    from_tick: Array
    to_tick: Array


class DayOutputs(NamedTuple):
    """State after the day, what was booked in each tick, and what was recorded.

    ``booked`` [288, 5, lanes] in the order and units of ``LEDGER``; zero in ticks not stepped.
    The caller adds them up in float64, one by one, so that books do not depend on how a campaign
    is cut into calls.
    """

    state: LaneState
    booked: Array
    trace: dict[str, Array]


class _Tick(NamedTuple):
    """Per-tick inputs of the scan."""

    tick_of_day: Array
    physics_weather: Array
    released_weather: Array
    draws: Draws


def step_day(
    staged: physics.StagedModel,
    settings: StepperSettings,
    trace: Trace,
    parameters: LaneParameters,
    state: LaneState,
    inputs: DayInputs,
) -> DayOutputs:
    """Advance every lane through its ticks of one day. Traceable; see ``stepper``."""
    dtype = state.states.dtype
    lane = physics.lane_values(staged, parameters.model)
    day_start = (state.tick // TICKS_PER_DAY) * TICKS_PER_DAY
    ticks = jnp.arange(TICKS_PER_DAY, dtype=jnp.int32)
    reading_ticks = day_start[None, :] + ticks[:, None] + 1
    record = ticks // TICKS_PER_WEATHER_RECORD
    xs = _Tick(
        tick_of_day=ticks,
        physics_weather=inputs.weather[record + 1],
        released_weather=inputs.weather[record],
        draws=draw(settings.sensors, parameters.noise, reading_ticks, dtype),
    )

    def one(before: LaneState, x: _Tick) -> tuple[LaneState, tuple[Array, dict[str, Array]]]:
        live = (x.tick_of_day >= inputs.from_tick) & (x.tick_of_day < inputs.to_tick)
        live = live & (before.failed_tick < 0)
        after, booked, record = _tick(staged, settings, parameters, lane, before, x)
        booked = jnp.where(live, booked, 0.0)
        return _keep(live, after, before), (booked, _traced(trace, record, live))

    end, (booked, recorded) = lax.scan(one, state, xs)
    return DayOutputs(end, booked, recorded)


def _keep(live: Array, new: LaneState, old: LaneState) -> LaneState:
    return LaneState(*(jnp.where(live, n, o) for n, o in zip(new, old, strict=True)))


def _traced(trace: Trace, record: Mapping[str, Array], live: Array) -> dict[str, Array]:
    wanted = {"none": (), "readings": ("readings",), "full": tuple(record)}[trace]
    return {"live": live, **{k: record[k] for k in wanted}} if wanted else {}


class _Attempt(NamedTuple):
    """A tick as integrated, and whether it must be redone because a crop collapsed in it."""

    before: LaneState
    states: Array
    booked: Array
    commands: Array
    lit_pole: Array
    again: Array


def _tick(
    staged: physics.StagedModel,
    settings: StepperSettings,
    parameters: LaneParameters,
    lane: Mapping[int, Array],
    start: LaneState,
    x: _Tick,
) -> tuple[LaneState, Array, dict[str, Array]]:
    """One control step; a crop that collapses in it is removed and the tick redone without."""

    def attempt(last: _Attempt) -> _Attempt:
        before = last.before
        states, booked, given, pole = _integrate(staged, settings, parameters, lane, before, x)
        collapsed = (pole > 0) & parameters.stop_on_collapse & (before.phase == Phase.GROWING)
        return _Attempt(
            before=_end_crop(before, collapsed, Ending.COLLAPSED, before.tick),
            states=states,
            booked=booked,
            commands=given,
            lit_pole=jnp.maximum(pole, last.lit_pole),
            again=jnp.any(collapsed),
        )

    zero = jnp.zeros_like(start.states[0])
    first = _Attempt(
        before=start,
        states=jnp.zeros_like(start.states),
        booked=jnp.stack([zero] * len(physics.BOOKED)),
        commands=jnp.stack([zero] * len(COMMANDS)),
        lit_pole=zero,
        again=jnp.asarray(True),
    )
    done = lax.while_loop(lambda a: a.again, attempt, first)
    return _settle(staged, settings, parameters, lane, start, done, x)


def _integrate(
    staged: physics.StagedModel,
    settings: StepperSettings,
    parameters: LaneParameters,
    lane: Mapping[int, Array],
    state: LaneState,
    x: _Tick,
) -> tuple[Array, Array, Array, Array]:
    """States after the tick [27, lanes], booked flows [5, lanes], commands [5, lanes], pole."""
    growing = state.phase == Phase.GROWING
    readings = Readings(
        *state.held[:3],
        radiation_w_m2=x.released_weather[WEATHER.index("iGlob")],
        outdoor_temperature_c=x.released_weather[WEATHER.index("tOut")],
    )
    given = commands(settings.controller, parameters.policy, readings, x.tick_of_day, growing)
    named = dict(zip(STATES, state.states, strict=True))
    symbols = (
        named
        | parameters.model
        | given
        | dict(zip(WEATHER, x.physics_weather, strict=True))
        | {"cropPresent": growing.astype(state.states.dtype)}
    )
    held = physics.step_values(staged, lane, symbols)
    after, flows, pole = physics.integrate_states(staged, settings.scheme, held, named)
    heat, light, co2, harvest, transpiration = flows
    booked = jnp.stack(
        [
            heat / _JOULE_PER_KWH,
            light / _JOULE_PER_KWH,
            co2 / _MG_PER_KG,
            harvest / _MG_PER_KG,
            transpiration,
        ]
    )
    states = jnp.stack([after[s] for s in STATES])
    return states, booked, jnp.stack([given[c] for c in COMMANDS]), pole


def _settle(
    staged: physics.StagedModel,
    settings: StepperSettings,
    parameters: LaneParameters,
    lane: Mapping[int, Array],
    start: LaneState,
    done: _Attempt,
    x: _Tick,
) -> tuple[LaneState, Array, dict[str, Array]]:
    """Everything after integration: readings, clock, endings, failure, books."""
    before = done.before
    sound = _sound(done.states)
    state = before._replace(
        states=done.states,
        tick=before.tick + 1,
        lit_pole_ticks=before.lit_pole_ticks + (done.lit_pole > 0).astype(jnp.int32),
    )
    state, readings = _take_readings(staged, settings.sensors, parameters, lane, state, x.draws)
    state = _check_endings(settings, state)
    kept = _keep(sound, state, start._replace(failed_tick=start.tick))
    record = {"readings": readings, "states": kept.states, "commands": done.commands}
    return kept, jnp.where(sound, done.booked, 0.0), record


def _sound(states: Array) -> Array:
    """True for lanes whose states are finite and conceivable."""
    air = states[STATES.index("tAir")]
    low, high = _TEMPERATURE_RANGE_C
    finite = jnp.all(jnp.abs(states) < _MAX_MAGNITUDE, axis=0)
    return finite & (air > low) & (air < high)


def observe_truth(
    staged: physics.StagedModel,
    lane: Mapping[int, Array],
    parameters: LaneParameters,
    state: LaneState,
) -> tuple[Array, Array, Array, Array]:
    """Air temperature (degC), relative humidity (%), CO2 (ppm), leaf area index; [lanes]."""
    named = dict(zip(STATES, state.states, strict=True))
    humidity, co2, lai = physics.observe(staged, lane, named | parameters.model)
    return named["tAir"], humidity, co2, lai


def _take_readings(
    staged: physics.StagedModel,
    sensors: SensorSettings,
    parameters: LaneParameters,
    lane: Mapping[int, Array],
    state: LaneState,
    draws: Draws,
) -> tuple[LaneState, Array]:
    """Read the four instruments; a lost reading is NaN for the agent and leaves the held value."""
    truth = observe_truth(staged, lane, parameters, state)
    shown = jnp.stack(read(sensors, parameters.noise, draws, truth))
    climate, canopy = draws.climate_lost, draws.canopy_lost
    lost = jnp.stack([climate, climate, climate, canopy])
    held = jnp.where(lost, state.held, shown)
    return state._replace(held=held), jnp.where(lost, jnp.nan, shown)


def _check_endings(settings: StepperSettings, state: LaneState) -> LaneState:
    """Temperature safety, completion, deadline, end of cleaning."""
    safety, calendar = settings.safety, settings.calendar
    growing = state.phase == Phase.GROWING
    air = state.held[READ_CHANNELS.index("air_temperature_c")]
    outside = growing & ((air < safety.low_c) | (air > safety.high_c))
    excursion = jnp.where(outside, state.excursion_ticks + 1, 0)
    state = state._replace(excursion_ticks=excursion)
    age = state.tick - state.phase_tick
    unsafe = growing & (excursion >= safety.ticks)
    complete = growing & (age >= calendar.crop_ticks)
    late = growing & (state.tick >= calendar.campaign_ticks)
    ending = jnp.where(
        unsafe,
        Ending.TEMPERATURE_SAFETY,
        jnp.where(complete, Ending.COMPLETED, Ending.DEADLINE),
    )
    ended = unsafe | complete | late
    cleaned = (state.phase == Phase.CLEANING) & (age >= calendar.cleaning_ticks)
    state = state._replace(
        phase=jnp.where(cleaned, Phase.IDLE, state.phase).astype(jnp.int32),
        phase_tick=jnp.where(cleaned, state.tick, state.phase_tick),
    )
    return _end_crop(state, ended, ending, state.tick)


def _end_crop(state: LaneState, where: Array, ending: Array | int, tick: Array) -> LaneState:
    """Remove the crops of the lanes in ``where``: pools to zero, climate as it is, cleaning."""
    gone = jnp.asarray([s in (*CROP_POOLS, "tCanSum") for s in STATES])[:, None]
    return state._replace(
        states=jnp.where(where & gone, 0.0, state.states),
        phase=jnp.where(where, Phase.CLEANING, state.phase).astype(jnp.int32),
        phase_tick=jnp.where(where, tick, state.phase_tick),
        ending=jnp.where(where, ending, state.ending).astype(jnp.int32),
        ending_tick=jnp.where(where, tick, state.ending_tick),
        excursion_ticks=jnp.where(where, 0, state.excursion_ticks),
    )
