"""What tests of facilities share: sites, years, and a stepper that knows the calendar only."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slowlab.config import override
from slowlab.greenlight.batch import LaneBatch, open_batch
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import LEDGER, Ending, LaneParameters, Phase
from slowlab.greenlight.sensors import READ_CHANNELS
from slowlab.greenlight.stepper import DayResult
from slowlab.weather.series import WeatherYear
from slowlab.world.contract import Contract, load_contract
from slowlab.world.facility import Facility
from slowlab.world.policy import Policy
from slowlab.world.sensors import load_sensors
from slowlab.world.simulation import Simulator
from slowlab.world.site import Site, WeatherPools, default_site, draw_site
from slowlab.world.site_distribution import load_sites
from tests.simulations import plain_year, short_contract, short_simulator

DAY = TICKS_PER_DAY
REFERENCE = load_contract().fixed_reference
# Heat, light, CO2, dry harvest and transpiration booked in every tick by the fake stepper: exact
# in binary, so that sums are exact too.
FAKE_FLOWS: Mapping[Phase, tuple[float, ...]] = {
    Phase.IDLE: (2.0**-3, 0.0, 0.0, 0.0, 0.0),
    Phase.GROWING: (2.0**-2, 2.0**-4, 2.0**-5, 2.0**-6, 2.0**-7),
    Phase.CLEANING: (2.0**-3, 0.0, 0.0, 0.0, 0.0),
}
# In the fake stepper the CO2 target says how a crop fares: age in ticks at which it ends early.
FAKE_DOOMS: Mapping[float, tuple[int, Ending]] = {
    450.0: (37, Ending.TEMPERATURE_SAFETY),
    500.0: (500, Ending.COLLAPSED),
}


def policy(**changes: float) -> Policy:
    """The fixed reference with some fields changed."""
    return REFERENCE.model_copy(update={name: float(value) for name, value in changes.items()})


@functools.cache
def short_simulator_with(rule: str) -> Simulator:
    """The short task with another collapse rule, on the same compiled step."""
    simulator = short_simulator()
    contract = override(simulator.contract, {"collapse.rule": rule})
    return Simulator(contract, simulator.sensors, simulator.stepper)


@functools.cache
def two_years() -> tuple[WeatherYear, WeatherYear]:
    """A cold and a warmer year of plain days."""
    cold = plain_year()
    warm = cold.values + np.array([0.0, 4.0, 200.0, 1.0, 4.0])
    return cold, WeatherYear("warmer", cold.start, warm)


@functools.cache
def drawn_site(index: int) -> Site:
    """A site of the development distribution."""
    pools = WeatherPools(tuple(range(4)), tuple(range(4)))
    return draw_site(load_sites(), 20260930, index, pools=pools, compartments=4)


def plain_site(seed: int = 5, **parameters: float) -> Site:
    """The site without draws, with some hidden parameters changed in all compartments."""
    prices = load_contract().economics.default_prices
    site = default_site(
        load_sites(), prices, compartments=4, campaign_year="plain", noise_seed=seed
    )
    rows = tuple(row | parameters for row in site.parameters)
    return site.model_copy(update={"parameters": rows})


def opened(simulator: Simulator, index: int = 0, **keywords: Any) -> Facility:
    """A facility on a drawn site, in one of two years."""
    keep = keywords.pop("keep_records", True)
    year = two_years()[index % 2]
    return Facility.open(simulator, drawn_site(index), year, keep_records=keep, **keywords)


@dataclass(frozen=True)
class Settings:
    """The only settings of a stepper that a facility reads."""

    controller: Any


@dataclass(frozen=True)
class CalendarStepper:
    """Steps clocks, phases and constant flows by the rules of the calendar, without physics.

    Attributes:
        contract: the calendar.
        width: lanes that are stepped together.
        calls: lanes, first and last ticks of every call.
    """

    contract: Contract
    width: int = 64
    precision: str = "float32"
    calls: list[tuple[int, ...]] = field(default_factory=list, compare=False)

    @property
    def settings(self) -> Settings:
        """Settings of the real build."""
        return Settings(short_simulator().stepper.settings.controller)

    @property
    def build(self) -> dict[str, str]:
        """Identity."""
        return {"stepper": "calendar"}

    def open(self, parameters: LaneParameters) -> LaneBatch:
        """Empty lanes with readings."""
        batch = open_batch(len(parameters.stop_on_collapse), np.float32)
        held = np.full_like(batch.state.held, 1.0)
        return batch._replace(state=batch.state._replace(held=held))

    def advance_day(
        self,
        batch: LaneBatch,
        parameters: LaneParameters,
        weather: np.ndarray,
        *,
        from_tick: np.ndarray,
        to_tick: np.ndarray,
        trace: str,
    ) -> DayResult:
        """Step every lane from event to event; readings are the lane's clock."""
        assert weather.shape == (145, 5, batch.lanes)
        self.calls.append((batch.lanes, int((to_tick - from_tick).max())))
        state = {name: np.array(value) for name, value in batch.state._asdict().items()}
        day = batch.state.tick // DAY * DAY
        booked = np.zeros((DAY, len(LEDGER), batch.lanes))
        for lane in range(batch.lanes):
            assert batch.state.tick[lane] - day[lane] == from_tick[lane]
            co2, end = float(parameters.policy.co2_target_ppm[lane]), day[lane] + to_tick[lane]
            while (tick := state["tick"][lane]) < end:
                phase = Phase(int(state["phase"][lane]))
                event, ending = self._next_event(phase, int(state["phase_tick"][lane]), co2)
                until = int(min(event, end))
                booked[tick - day[lane] : until - day[lane], :, lane] = FAKE_FLOWS[phase]
                state["tick"][lane] = until
                # A collapse is found in the step after the tick at which it is dated.
                if event <= (end - 1 if ending is Ending.COLLAPSED else end):
                    self._change(state, lane, until, ending)
        running = np.concatenate([batch.totals[None], batch.totals + np.cumsum(booked, axis=0)])
        ended = np.flatnonzero(state["ending_tick"] != batch.state.ending_tick)
        latest = batch.latest_crop.copy()
        for lane in ended:
            at_end = running[state["ending_tick"][lane] - day[lane], :, lane]
            latest[:, lane] = at_end - batch.totals_at_planting[:, lane]
        after = batch._replace(
            state=batch.state._replace(**state), totals=running[-1], latest_crop=latest
        )
        clocks = day + np.arange(1, DAY + 1)[:, None, None]
        shown = np.broadcast_to(clocks, (DAY, len(READ_CHANNELS), batch.lanes)).astype(np.float32)
        traced = {"readings": shown, "totals": running[1:]} if trace == "readings" else {}
        return DayResult(after, traced)

    def _next_event(self, phase: Phase, since: int, co2: float) -> tuple[int, Ending]:
        calendar = self.contract.calendar
        if phase is Phase.IDLE:
            return 10**9, Ending.NONE
        if phase is Phase.CLEANING:
            return since + calendar.cleanup_ticks, Ending.NONE
        age, doom = FAKE_DOOMS.get(co2, (10**9, Ending.NONE))
        events = [
            (since + age, doom),
            (since + calendar.crop_ticks, Ending.COMPLETED),
            (calendar.campaign_ticks, Ending.DEADLINE),
        ]
        # A collapse is found only in the next step, which a crop that ended anyway does not make.
        return min(events, key=lambda event: (event[0], event[1] is Ending.COLLAPSED))

    def _change(self, state: dict[str, np.ndarray], lane: int, tick: int, ending: Ending) -> None:
        """What an event does to a lane."""
        state["phase_tick"][lane] = tick
        if ending is Ending.NONE:
            state["phase"][lane] = Phase.IDLE
        else:
            state["phase"][lane], state["ending"][lane] = Phase.CLEANING, ending
            state["ending_tick"][lane] = tick


def calendar_simulator(contract: Contract | None = None, width: int = 64) -> Simulator:
    """A simulator without physics; of the short task by default."""
    contract = contract or short_contract()
    return Simulator(contract, load_sensors(), CalendarStepper(contract, width))  # type: ignore


class FailingStepper:
    """The real stepper, but lanes of one noise seed and compartment fail in a given tick."""

    def __init__(self, stepper: Any, seed: int, unit: int, tick: int) -> None:
        self._stepper, self._seed, self._unit, self._tick = stepper, seed, unit, tick

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stepper, name)

    def advance_day(
        self, batch: LaneBatch, parameters: LaneParameters, weather: np.ndarray, **keywords: Any
    ) -> DayResult:
        """As the real one; a failing lane stands at the beginning of its tick."""
        noise, day = parameters.noise, batch.state.tick // DAY * DAY
        mine = (noise.seed_low == self._seed) & (noise.compartment == self._unit)
        begin, end = keywords["from_tick"], np.array(keywords["to_tick"])
        fails = mine & (day + begin <= self._tick) & (self._tick < day + end)
        end = np.where(fails, self._tick - day, end)
        result = self._stepper.advance_day(
            batch, parameters, weather, **keywords | {"to_tick": end}
        )
        failed = np.where(fails, self._tick, result.batch.state.failed_tick).astype(np.int32)
        state = result.batch.state._replace(failed_tick=failed)
        return result._replace(batch=result.batch._replace(state=state))


def play(facility: Facility, script: Sequence[tuple[Any, ...]], advance: Any) -> None:
    """Carry out ``("plant", unit, policy)``, ``("stop", unit)`` and ``("to", tick)``."""
    for verb, *arguments in script:
        if verb == "to":
            advance(facility, *arguments)
        else:
            getattr(facility, verb)(*arguments)
