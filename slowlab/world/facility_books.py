"""What a facility tells about its compartments and crops: statuses, accounts, failures.

The public part (phases, events, accounts of closed crops) says of a collapsed crop that it was
stopped for safety, as the environment rules; the private ending keeps the difference.

Source: SlowLab task contract v8, life cycle and economics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.lanes import LEDGER, Ending, Phase
from slowlab.world.contract import Contract
from slowlab.world.economics import (
    FLUX_TOLERANCE,
    CropStatement,
    LedgerTotals,
    Prices,
    crop_statement,
)
from slowlab.world.ledger import CropEnding, ledger_totals
from slowlab.world.policy import Policy

_CROP_FLOWS = ("harvest_dry_kg_m2", "transpiration_kg_m2")
# What an empty compartment may seem to give by the rounding of running totals, kg/m2.
_EMPTY_TOLERANCE = 1e-9


class UnitPhase(StrEnum):
    """What a compartment holds, in the words of the task."""

    IDLE = "idle"
    ACTIVE = "active"
    CLEANUP = "cleanup"


class UnitEvent(StrEnum):
    """What last happened in a compartment, as coarse as it is told to an agent."""

    OPENED = "opened"
    STARTED = "started"
    COMPLETED = "completed"
    STOPPED = "stopped"
    SAFETY_STOP = "safety_stop"
    DEADLINE = "deadline"
    CLEANED = "cleaned"


class FailureKind(StrEnum):
    """Why a campaign cannot go on: infrastructure, never a result."""

    NON_FINITE_STATE = "non_finite_state"
    IMPOSSIBLE_BOOKS = "impossible_books"


_PHASES = MappingProxyType(
    {
        Phase.IDLE: UnitPhase.IDLE,
        Phase.GROWING: UnitPhase.ACTIVE,
        Phase.CLEANING: UnitPhase.CLEANUP,
    }
)
_PUBLIC_EVENTS = MappingProxyType(
    {
        CropEnding.COMPLETED: UnitEvent.COMPLETED,
        CropEnding.STOPPED: UnitEvent.STOPPED,
        CropEnding.TEMPERATURE_SAFETY: UnitEvent.SAFETY_STOP,
        CropEnding.COLLAPSED: UnitEvent.SAFETY_STOP,
        CropEnding.DEADLINE: UnitEvent.DEADLINE,
    }
)


class FacilityError(ValueError):
    """Something was asked of a facility that cannot be done; the message says what."""


@dataclass(frozen=True)
class FailureReport:
    """Why a facility stands still for ever. Private.

    Attributes:
        kind: what went wrong.
        tick: control step that could not be made, or at which the books were found impossible;
            the facility stands at its beginning.
        units: the compartments concerned.
        message: for people.
    """

    kind: FailureKind
    tick: int
    units: tuple[int, ...]
    message: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The report from the plain data of its fields."""
        kind, units = FailureKind(data["kind"]), tuple(data["units"])
        return cls(kind, data["tick"], units, data["message"])


@dataclass(frozen=True)
class UnitStatus:
    """Public state of one compartment.

    Attributes:
        unit: number of the compartment, from 0.
        phase: what it holds.
        last_event: what happened last.
        run_index: number of the latest crop in this compartment, from 1; 0 before the first.
        since_tick: when the phase began.
        ready_tick: when the cleaning ends, which may be after the campaign; None while there is
            none.
    """

    unit: int
    phase: UnitPhase
    last_event: UnitEvent
    run_index: int
    since_tick: int
    ready_tick: int | None


@dataclass(frozen=True)
class CropAccount:
    """One crop and what it used and gave, per m2 of floor.

    Attributes:
        unit: number of the compartment.
        run_index: number of the crop in its compartment, from 1.
        policy: as planted.
        start_tick: when it was planted.
        end_tick: when it ended; None while it grows.
        ending: how it ended, in full; private. None while it grows.
        lit_pole_ticks: control steps with a lit canopy at the pole of photosynthesis; private.
        totals: ledger from the planting to now, or to the end.
        statement: account in EUR/m2; None while the crop grows.
    """

    unit: int
    run_index: int
    policy: Policy
    start_tick: int
    end_tick: int | None
    ending: CropEnding | None
    lit_pole_ticks: int
    totals: LedgerTotals
    statement: CropStatement | None

    @property
    def closed(self) -> bool:
        """Whether the crop has ended."""
        return self.end_tick is not None

    @property
    def public_ending(self) -> UnitEvent | None:
        """How the crop ended, as coarse as it is told to an agent; None while it grows."""
        return None if self.ending is None else _PUBLIC_EVENTS[self.ending]


@dataclass(frozen=True)
class Crop:
    """One crop as the facility keeps it.

    Attributes:
        unit: number of the compartment.
        run_index: number of the crop in its compartment, from 1.
        policy: as planted.
        start_tick: when it was planted.
        poles_before: lit-pole ticks of the compartment at the planting.
        end_tick: when it ended; None while it grows, as the next three.
        ending: how.
        poles: lit-pole ticks of this crop.
        flows: what it used and gave in the order of ``LEDGER``.
    """

    unit: int
    run_index: int
    policy: Policy
    start_tick: int
    poles_before: int
    end_tick: int | None = None
    ending: CropEnding | None = None
    poles: int | None = None
    flows: tuple[float, ...] | None = None

    def closed_from(self, batch: LaneBatch) -> Self:
        """The crop with its account closed, if its lane no longer grows; else unchanged."""
        state, lane = batch.state, self.unit
        if self.end_tick is not None or state.phase[lane] == Phase.GROWING:
            return self
        return replace(
            self,
            end_tick=int(state.ending_tick[lane]),
            ending=CropEnding(Ending(int(state.ending[lane])).name.lower()),
            poles=int(state.lit_pole_ticks[lane]) - self.poles_before,
            flows=tuple(batch.latest_crop[:, lane].tolist()),
        )

    def account(self, batch: LaneBatch, contract: Contract, prices: Prices) -> CropAccount:
        """The account as of now.

        Raises:
            LedgerError: a total that cannot be right.
        """
        costs = contract.economics.fixed_costs
        until = int(batch.state.tick[self.unit]) if self.end_tick is None else self.end_tick
        totals = ledger_totals(self.used(batch), until - self.start_tick, costs)
        poles = int(batch.state.lit_pole_ticks[self.unit]) - self.poles_before
        return CropAccount(
            unit=self.unit,
            run_index=self.run_index,
            policy=self.policy,
            start_tick=self.start_tick,
            end_tick=self.end_tick,
            ending=self.ending,
            lit_pole_ticks=poles if self.poles is None else self.poles,
            totals=totals,
            statement=None if self.end_tick is None else crop_statement(totals, prices, costs),
        )

    def used(self, batch: LaneBatch) -> NDArray[np.float64]:
        """What the crop has used and given until now or its end, in the order of ``LEDGER``."""
        if self.flows is not None:
            return np.array(self.flows)
        return batch.totals[:, self.unit] - batch.totals_at_planting[:, self.unit]

    def as_json(self) -> dict[str, Any]:
        """Plain data from which :meth:`from_json` makes the same crop."""
        return {**vars(self), "policy": self.policy.model_dump()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The crop written by :meth:`as_json`."""
        ending, flows = data["ending"], data["flows"]
        return cls(
            **{
                **data,
                "policy": Policy(**data["policy"]),
                "ending": None if ending is None else CropEnding(ending),
                "flows": None if flows is None else tuple(flows),
            }
        )


def unit_status(unit: int, batch: LaneBatch, latest: Crop | None, cleanup_ticks: int) -> UnitStatus:
    """Public state of one compartment.

    Args:
        unit: number of the compartment, which is its lane.
        batch: the facility's lanes.
        latest: its latest crop.
        cleanup_ticks: length of a cleaning; it takes at least one control step.
    """
    phase, since = _PHASES[Phase(int(batch.state.phase[unit]))], int(batch.state.phase_tick[unit])
    if phase is UnitPhase.ACTIVE:
        event = UnitEvent.STARTED
    elif phase is UnitPhase.IDLE:
        event = UnitEvent.OPENED if latest is None else UnitEvent.CLEANED
    else:
        event = _PUBLIC_EVENTS[CropEnding(Ending(int(batch.state.ending[unit])).name.lower())]
    return UnitStatus(
        unit=unit,
        phase=phase,
        last_event=event,
        run_index=0 if latest is None else latest.run_index,
        since_tick=since,
        ready_tick=since + max(cleanup_ticks, 1) if phase is UnitPhase.CLEANUP else None,
    )


def standby_flows(unit: int, batch: LaneBatch, crops: tuple[Crop, ...]) -> NDArray[np.float64]:
    """What one compartment used while it stood empty, in the order of ``LEDGER``.

    Rounding of running totals below the tolerance of the ledger is taken for nothing.
    """
    used = sum((crop.used(batch) for crop in crops), np.zeros(len(LEDGER)))
    left = batch.totals[:, unit] - used
    return np.where(np.abs(left) <= FLUX_TOLERANCE, 0.0, left)


def books_problem(batch: LaneBatch, crops: tuple[tuple[Crop, ...], ...]) -> FailureReport | None:
    """What is impossible about the books, if anything.

    Totals are finite and never negative, and an empty compartment neither harvests nor
    transpires.
    """
    rows = [LEDGER.index(name) for name in _CROP_FLOWS]
    bad = []
    for unit, grown in enumerate(crops):
        empty = standby_flows(unit, batch, grown)
        flows = np.array([*(crop.used(batch) for crop in grown), empty])
        sound = np.isfinite(flows).all() and (flows >= -FLUX_TOLERANCE).all()
        if not sound or (empty[rows] > _EMPTY_TOLERANCE).any():
            bad.append(unit)
    if not bad:
        return None
    return FailureReport(
        FailureKind.IMPOSSIBLE_BOOKS,
        int(batch.state.tick[0]),
        tuple(bad),
        "a total is negative or not finite, or an empty compartment harvested or transpired",
    )
