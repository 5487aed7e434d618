"""A facility that grows by a few formulas: fast, exact, and with things that must stay hidden.

The public readings and totals are closed formulas of the policy, the compartment and time. The
hidden part (why a crop was stopped for safety, transpiration, pole ticks, standby, seeds) can be
varied without any effect on what may be seen.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from slowlab.world.economics import LedgerTotals, Prices, crop_statement
from slowlab.world.facility_books import (
    CropAccount,
    FailureKind,
    FailureReport,
    UnitEvent,
    UnitPhase,
    UnitStatus,
)
from slowlab.world.facility_records import Record, Series
from slowlab.world.policy import Policy
from slowlab.world.simulation import CropEnding

DAY = 288
COOKED_C = 25.9
"""A crop with a day temperature from here on is stopped for safety after 20 days."""


@dataclass(frozen=True)
class Hidden:
    """What no reply may show."""

    transpiration: float = 450.0
    poles: int = 0
    safety: CropEnding = CropEnding.TEMPERATURE_SAFETY
    seed: int = 8_402_157_319
    standby_heat: float = 31.415


@dataclass
class FakeFacility:
    """See the module; implements what the executor uses of a facility."""

    contract: Any
    prices: Prices
    hidden: Hidden = field(default_factory=Hidden)
    growth: float = 1.0
    fails_at: int | None = None
    keeps_records: bool = True
    tick: int = 0
    grown: list[list[CropAccount]] = field(default_factory=lambda: [[] for _ in range(4)])
    ticks_per_day: ClassVar[int] = DAY
    compartments: ClassVar[int] = 4

    def plant(self, unit: int, policy: Policy) -> int:
        """Plant a crop."""
        assert self.status(unit).phase is UnitPhase.IDLE
        index = len(self.grown[unit]) + 1
        nothing = LedgerTotals(0, 0, 0, 0, 0, 0)
        crop = CropAccount(unit, index, policy, self.tick, None, None, 0, nothing, None)
        self.grown[unit].append(crop)
        return index

    def stop(self, unit: int) -> None:
        """End a crop."""
        assert self.status(unit).phase is UnitPhase.ACTIVE
        self._close(unit, self.tick, CropEnding.STOPPED)

    def status(self, unit: int) -> UnitStatus:
        """Public state."""
        if not self.grown[unit]:
            return UnitStatus(unit, UnitPhase.IDLE, UnitEvent.OPENED, 0, 0, None)
        crop = self.grown[unit][-1]
        index, end = crop.run_index, crop.end_tick
        if end is None:
            started = UnitEvent.STARTED
            return UnitStatus(unit, UnitPhase.ACTIVE, started, index, crop.start_tick, None)
        ready = end + self.contract.calendar.cleanup_ticks
        if self.tick < ready:
            return UnitStatus(unit, UnitPhase.CLEANUP, crop.public_ending, index, end, ready)
        return UnitStatus(unit, UnitPhase.IDLE, UnitEvent.CLEANED, index, ready, None)

    def crops(self, unit: int) -> tuple[CropAccount, ...]:
        """Accounts, oldest first."""
        return tuple(
            crop if crop.closed else replace(crop, totals=self._totals(crop, self.tick))
            for crop in self.grown[unit]
        )

    def records(self, unit: int, channel: str, start_tick: int, end_tick: int) -> list[Record]:
        """Readings in a window, both ends included."""
        assert self.keeps_records
        assert 0 <= start_tick <= end_tick <= self.tick
        found = []
        for tick in range(start_tick, end_tick + 1):
            if "cumulative" in channel or "energy" in channel or "dosed" in channel:
                value = tick * (unit + 1) / 3000 * self.growth
            else:
                value = round(18 + 4 * math.sin(2 * math.pi * tick / DAY) + unit, 1)
                if tick and (7 * tick + unit) % 97 == 0:
                    continue
            found.append(Record(unit, channel, tick, value))
        return found

    def series(self, unit: int, channel: str, start_tick: int, end_tick: int) -> Series:
        """The same as arrays."""
        records = self.records(unit, channel, start_tick, end_tick)
        ticks = np.array([record.tick for record in records], np.int32)
        return Series(ticks, np.array([record.value for record in records], np.float64))

    def failure(self) -> FailureReport | None:
        """Whether it stands still."""
        if self.fails_at is None or self.tick < self.fails_at:
            return None
        kind = FailureKind.NON_FINITE_STATE
        return FailureReport(kind, self.fails_at, (0,), "secret detail of lane 0")

    def private_report(self) -> dict[str, Any]:
        """Everything hidden."""
        return {"seed": self.hidden.seed, "standby_heat": self.hidden.standby_heat}

    def advance(self, tick: int) -> None:
        """Let time pass."""
        assert tick >= self.tick
        calendar = self.contract.calendar
        for unit, crops in enumerate(self.grown):
            if crops and not crops[-1].closed:
                start = crops[-1].start_tick
                endings = [
                    (start + calendar.crop_ticks, CropEnding.COMPLETED),
                    (calendar.campaign_ticks, CropEnding.DEADLINE),
                ]
                if crops[-1].policy.day_temperature_c >= COOKED_C:
                    endings.append((start + 20 * DAY, self.hidden.safety))
                end, ending = min(endings, key=lambda item: item[0])
                if end <= tick:
                    self._close(unit, end, ending)
        self.tick = tick if self.fails_at is None else min(tick, self.fails_at)

    def _close(self, unit: int, tick: int, ending: CropEnding) -> None:
        crop = self.grown[unit][-1]
        totals = self._totals(crop, tick)
        statement = crop_statement(totals, self.prices, self.contract.economics.fixed_costs)
        self.grown[unit][-1] = replace(
            crop,
            end_tick=tick,
            ending=ending,
            lit_pole_ticks=self.hidden.poles,
            totals=totals,
            statement=statement,
        )

    def _totals(self, crop: CropAccount, tick: int) -> LedgerTotals:
        days, policy = (tick - crop.start_tick) / DAY, crop.policy
        warmth = policy.day_temperature_c - 15 + 0.1 * crop.unit
        return LedgerTotals(
            harvest_kg_m2=self.growth * max(0.0, days - 60) * warmth / 24,
            heat_kwh_m2=days * warmth / 9,
            light_kwh_m2=days * policy.supplemental_light_hours / 20,
            co2_kg_m2=days * policy.co2_target_ppm / 10_000,
            transpiration_kg_m2=days * self.hidden.transpiration / 180,
            active_days=days,
        )


def step(facility: FakeFacility, tick: int) -> None:
    """Step a fake facility to a tick, as an executor asks for it."""
    facility.advance(tick)
