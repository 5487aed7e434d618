"""Step the compartments of many campaigns together, each to its own tick, in full lanes.

The compiled day costs the same for one lane as for a full width, so campaigns are packed until the
width is full. Each keeps its own clock and weather day, and a lane's bytes never depend on its
company, so campaigns may be packed in any way: those with the longest way to go come first, and
the choice is made anew every few days, which leaves hardly a lane empty whatever the number of
campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from slowlab.greenlight.batch import LaneBatch
from slowlab.greenlight.controller import TICKS_PER_DAY
from slowlab.greenlight.lanes import LaneParameters
from slowlab.greenlight.stepper import DayResult, Stepper
from slowlab.weather.series import WeatherYear
from slowlab.world.facility_books import FailureKind, FailureReport
from slowlab.world.facility_records import RecordStore

# Days after which it is chosen anew who is stepped together.
_STINT_DAYS = 8
Progress = Callable[[int, int], None]
"""Called after every packed day with the campaign-days done and to be done."""


@dataclass
class CampaignLanes:
    """The compartments of one campaign as the simulator sees them: one lane each.

    Attributes:
        batch: states and books; all clocks are equal.
        parameters: hidden parameters, noise and the policy of the latest crop in each lane.
        weather: the campaign's year.
        records: where readings go; None where none are kept.
        failure: why the campaign stands still, if it does.
    """

    batch: LaneBatch
    parameters: LaneParameters
    weather: WeatherYear
    records: RecordStore | None
    failure: FailureReport | None = None

    @property
    def tick(self) -> int:
        """The campaign's clock in control steps."""
        return int(self.batch.state.tick[0])


def step_campaigns(
    stepper: Stepper,
    requests: Sequence[tuple[CampaignLanes, int]],
    on_day: Progress | None = None,
) -> None:
    """Step every campaign to its own target tick.

    A campaign in which a lane becomes non-finite stops at the beginning of that control step with
    all its lanes and is marked; the others go on. When this is interrupted, every campaign stands
    at some tick on its way, consistent and ready to go on.

    Args:
        stepper: the compiled step.
        requests: different campaigns with their target ticks, not before their clocks.
        on_day: progress.
    """
    journeys = [_Journey(lanes, target) for lanes, target in requests]
    progress = _Count(sum(j.days_left for j in journeys), on_day)
    for traced in (False, True):
        queue = [j for j in journeys if (j.lanes.records is not None) == traced]
        for chosen, days in _stints(queue, stepper.width):
            _step_stint(stepper, chosen, days, progress)


@dataclass
class _Journey:
    """A campaign on its way to a tick."""

    lanes: CampaignLanes
    target: int

    @property
    def days_left(self) -> int:
        """Calendar days, whole or in part, that are still to be stepped."""
        tick = self.lanes.tick
        if self.lanes.failure is not None or tick >= self.target:
            return 0
        return (self.target - 1) // TICKS_PER_DAY - tick // TICKS_PER_DAY + 1


@dataclass
class _Count:
    """Campaign-days done."""

    total: int
    on_day: Progress | None
    done: int = 0

    def add(self, days: int) -> None:
        self.done += days
        if self.on_day is not None:
            self.on_day(self.done, self.total)


def _stints(queue: list[_Journey], width: int) -> Iterator[tuple[list[_Journey], int]]:
    """Who is stepped together next, and for how many days; the longest ways first."""
    while queue := sorted((j for j in queue if j.days_left), key=lambda j: -j.days_left):
        chosen: list[_Journey] = []
        room = max(width, queue[0].lanes.batch.lanes)
        for journey in queue:
            if journey.lanes.batch.lanes <= room:
                chosen.append(journey)
                room -= journey.lanes.batch.lanes
        days = min(j.days_left for j in chosen)
        yield chosen, days if len(chosen) == len(queue) else min(days, _STINT_DAYS)


def _step_stint(
    stepper: Stepper, journeys: Sequence[_Journey], days: int, progress: _Count
) -> None:
    """Step some campaigns together for some days, or until one of them fails."""
    pack = _Pack.of(stepper, journeys)
    try:
        for _ in range(days):
            sound = pack.step_day()
            progress.add(len(journeys))
            if not sound:
                break
    finally:
        pack.hand_back()


@dataclass
class _Pack:
    """Lanes of several campaigns in one batch, in the order of the journeys."""

    stepper: Stepper
    journeys: Sequence[_Journey]
    batch: LaneBatch
    parameters: LaneParameters
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, stepper: Stepper, journeys: Sequence[_Journey]) -> _Pack:
        """Join the lanes of the journeys."""
        return cls(
            stepper,
            journeys,
            _joined([j.lanes.batch for j in journeys]),
            _joined([j.lanes.parameters for j in journeys]),
            np.array([j.lanes.batch.lanes for j in journeys]),
        )

    def step_day(self) -> bool:
        """Step everyone to its target or to the end of its day; False if a campaign failed."""
        firsts = np.cumsum(self.sizes) - self.sizes
        ticks = np.asarray(self.batch.state.tick)[firsts]
        until = np.minimum(
            [j.target for j in self.journeys], (ticks // TICKS_PER_DAY + 1) * TICKS_PER_DAY
        )
        result = self._advance(ticks, until)
        stops = self._failures(result.batch)
        if stops:
            # The failing step is not made at all: everything is redone up to its beginning.
            until[list(stops)] = list(stops.values())
            result = self._advance(ticks, until)
        self._record(result, ticks, until)
        self.batch = result.batch
        return not stops

    def hand_back(self) -> None:
        """Give every campaign its lanes."""
        for journey, part in zip(self.journeys, self._parts(), strict=True):
            journey.lanes.batch = self.batch.take(np.arange(part.start, part.stop))

    def _parts(self) -> list[slice]:
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    def _advance(self, ticks: NDArray, until: NDArray) -> DayResult:
        days = ticks // TICKS_PER_DAY
        years = zip(self.journeys, days.tolist(), strict=True)
        weather = np.stack([j.lanes.weather.day_records(day) for j, day in years], axis=-1)
        return self.stepper.advance_day(
            self.batch,
            self.parameters,
            np.repeat(weather, self.sizes, axis=-1),
            from_tick=np.repeat(ticks - days * TICKS_PER_DAY, self.sizes),
            to_tick=np.repeat(until - days * TICKS_PER_DAY, self.sizes),
            trace="none" if self.journeys[0].lanes.records is None else "readings",
        )

    def _failures(self, batch: LaneBatch) -> dict[int, int]:
        """Campaigns in which a lane failed, marked as such: position -> tick of the first."""
        failed = np.asarray(batch.state.failed_tick)
        if (failed < 0).all():
            return {}
        stops = {}
        for position, (journey, part) in enumerate(zip(self.journeys, self._parts(), strict=True)):
            mine = failed[part]
            if (mine >= 0).any():
                first = int(mine[mine >= 0].min())
                units = tuple(np.flatnonzero(mine == first).tolist())
                stops[position] = first
                journey.lanes.failure = FailureReport(
                    FailureKind.NON_FINITE_STATE,
                    first,
                    units,
                    f"compartment {units[0]}: the integration failed in tick {first}",
                )
        return stops

    def _record(self, result: DayResult, ticks: NDArray, until: NDArray) -> None:
        """Hand the readings of the day to the campaigns."""
        spans = zip(self.journeys, self._parts(), ticks.tolist(), until.tolist(), strict=True)
        for journey, part, tick, end in spans:
            if journey.lanes.records is not None and end > tick:
                begin = tick % TICKS_PER_DAY
                steps = slice(begin, begin + end - tick)
                journey.lanes.records.write(
                    tick + 1,
                    result.trace["readings"][steps, :, part],
                    self.batch.totals[:, part],
                    result.trace["totals"][steps, :, part],
                )


def _joined(trees: Sequence[Any]) -> Any:
    """Lanes side by side: the last axis of every array of some pytrees, joined."""
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1), *trees)
