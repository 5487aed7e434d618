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
from dataclasses import dataclass
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
    FAST_STATES,
    INERT_STATES,
    SLOW_STATES,
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

    scheme: physics.Scheme = physics.Scheme()
    controller: ControllerSettings = ControllerSettings()
    sensors: SensorSettings = SensorSettings()
    calendar: CropCalendar = CropCalendar()
    safety: SafetySettings = SafetySettings()


class DayInputs(NamedTuple):
    """What a day needs beside state and parameters.

    ``weather`` [145, 5, lanes]: the record before the day and its 144 ten-minute records in the
    order of ``WEATHER``. A lane is stepped for ticks of the day in [from_tick, to_tick).
    """

    weather: Array
    from_tick: Array
    to_tick: Array


class DayOutputs(NamedTuple):
    """State after the day, flows booked today and what was recorded.

    ``booked`` and ``booked_at_ending`` [5, lanes] in the order and units of ``LEDGER``: the
    day's sums, and their value at the instant a crop ended today (else zero).
    """

    state: LaneState
    booked: Array
    booked_at_ending: Array
    trace: dict[str, Array]


class _Tick(NamedTuple):
    """Per-tick inputs of the scan."""

    tick_of_day: Array
    physics_weather: Array
    released_weather: Array
    draws: Draws


class _Carry(NamedTuple):
    state: LaneState
    booked: Array
    booked_at_ending: Array


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
    zero = jnp.zeros((len(physics.BOOKED), state.tick.shape[0]), dtype)
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

    def one(carry: _Carry, x: _Tick) -> tuple[_Carry, dict[str, Array]]:
        live = (x.tick_of_day >= inputs.from_tick) & (x.tick_of_day < inputs.to_tick)
        live = live & (carry.state.failed_tick < 0)
        advanced, record = _tick(staged, settings, parameters, lane, carry, x)
        kept = _Carry(*(_keep(live, new, old) for new, old in zip(advanced, carry, strict=True)))
        return kept, _traced(trace, record, live)

    end, recorded = lax.scan(one, _Carry(state, zero, zero), xs)
    return DayOutputs(end.state, end.booked, end.booked_at_ending, recorded)


def _keep(live: Array, new: Any, old: Any) -> Any:
    if isinstance(new, LaneState):
        return LaneState(*(_keep(live, n, o) for n, o in zip(new, old, strict=True)))
    return jnp.where(live, new, old)


def _traced(trace: Trace, record: Mapping[str, Array], live: Array) -> dict[str, Array]:
    wanted = {"none": (), "readings": ("readings", "booked"), "full": tuple(record)}[trace]
    return {"live": live, **{k: record[k] for k in wanted}} if wanted else {}


class _Attempt(NamedTuple):
    """A tick as integrated, and whether it must be redone because a crop collapsed in it."""

    before: LaneState
    booked_at_ending: Array
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
    carry: _Carry,
    x: _Tick,
) -> tuple[_Carry, dict[str, Array]]:
    """One control step; a crop that collapses in it is removed and the tick redone without."""

    def attempt(last: _Attempt) -> _Attempt:
        before = last.before
        states, booked, given, pole = _integrate(staged, settings, parameters, lane, before, x)
        collapsed = (pole > 0) & parameters.stop_on_collapse & (before.phase == Phase.GROWING)
        return _Attempt(
            before=_end_crop(before, collapsed, Ending.COLLAPSED, before.tick),
            booked_at_ending=jnp.where(collapsed, carry.booked, last.booked_at_ending),
            states=states,
            booked=booked,
            commands=given,
            lit_pole=jnp.maximum(pole, last.lit_pole),
            again=jnp.any(collapsed),
        )

    blank = jnp.zeros_like(carry.booked)
    first = _Attempt(
        carry.state,
        carry.booked_at_ending,
        jnp.zeros_like(carry.state.states),
        blank,
        blank,
        jnp.zeros_like(blank[0]),
        jnp.asarray(True),
    )
    done = lax.while_loop(lambda a: a.again, attempt, first)
    return _settle(staged, settings, parameters, lane, carry, done, x)


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
    fast = {s: named[s] for s in FAST_STATES}
    fast, slow_change, flows, pole = physics.integrate_step(staged, settings.scheme, held, fast)
    slow = {s: named[s] + d for s, d in zip(SLOW_STATES, slow_change, strict=True)}
    inert = {s: named[s] for s in INERT_STATES}
    after = fast | slow | inert
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
    carry: _Carry,
    done: _Attempt,
    x: _Tick,
) -> tuple[_Carry, dict[str, Array]]:
    """Everything after integration: books, readings, clock, endings, failure."""
    before = done.before
    sound = _sound(done.states)
    booked = carry.booked + done.booked
    tick = before.tick + 1
    state = before._replace(
        states=done.states,
        tick=tick,
        lit_pole_ticks=before.lit_pole_ticks + (done.lit_pole > 0).astype(jnp.int32),
    )
    state, readings = _take_readings(staged, settings.sensors, parameters, lane, state, x.draws)
    state, ended = _check_endings(settings, state)
    after = _Carry(state, booked, jnp.where(ended, booked, done.booked_at_ending))
    failed = carry.state._replace(failed_tick=carry.state.tick)
    kept = _Carry(
        _keep(sound, after.state, failed),
        _keep(sound, after.booked, carry.booked),
        _keep(sound, after.booked_at_ending, carry.booked_at_ending),
    )
    record = {
        "readings": readings,
        "booked": kept.booked,
        "states": kept.state.states,
        "commands": done.commands,
    }
    return kept, record


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


def _check_endings(settings: StepperSettings, state: LaneState) -> tuple[LaneState, Array]:
    """Temperature safety, completion, deadline, end of cleaning; True where a crop ended."""
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
    return _end_crop(state, ended, ending, state.tick), ended


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
