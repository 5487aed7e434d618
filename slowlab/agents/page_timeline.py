"""The campaign of a transcript as a timeline: crops, reads, and calls of the model by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slowlab.agents.step_words import action_words, unit_words
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.journal_format import Record

WIDTH, LEFT, RIGHT, TOP = 900, 40, 16, 8
"""Size and margins, in units of the picture."""
_LANE, _BAR, _CALLS, _AXIS = 30, 18, 44, 22


@dataclass
class _Crop:
    unit: int
    start: float
    end: float
    words: str


@dataclass
class Timeline:
    """Shapes of a timeline, placed.

    Attributes:
        height: of the picture.
        lanes: name and middle of each compartment.
        crops: place, length and words of each crop.
        reads: place of each read of records: across, from, to.
        calls: place, height and number of calls on a day.
        ticks: place and day of the marks of the axis.
        base: where the bars of calls stand.
    """

    height: float
    base: float
    lanes: list[tuple[str, float]] = field(default_factory=list)
    crops: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    reads: list[tuple[float, float, float]] = field(default_factory=list)
    calls: list[tuple[float, float, float, str]] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)


def timeline(records: Sequence[Record], task: Mapping[str, Any]) -> Timeline:
    """The timeline of a campaign.

    Args:
        records: its transcript.
        task: its public task.
    """
    units, days = task["compartments"]["count"], task["calendar"]["campaign_days"]
    base = TOP + units * _LANE + _CALLS
    picture = Timeline(height=base + _AXIS, base=base)
    scale = (WIDTH - LEFT - RIGHT) / days
    lane = [TOP + (unit + 0.5) * _LANE for unit in range(units)]
    picture.lanes = [(unit_words(unit), lane[unit]) for unit in range(units)]
    walk = _walk(records, task["calendar"])
    for crop in walk.crops.values():
        left, top = LEFT + crop.start * scale, lane[crop.unit] - _BAR / 2
        picture.crops.append((left, top, (crop.end - crop.start) * scale, _BAR, crop.words))
    for day, unit in walk.reads:
        top = lane[unit] - _BAR / 2
        picture.reads.append((LEFT + day * scale, top - 4, top + 2))
    most = max(walk.calls.values(), default=1)
    for day, count in sorted(walk.calls.items()):
        tall = (_CALLS - 8) * count / most
        words = f"day {day}: {count} call{'s' * (count != 1)}"
        picture.calls.append((LEFT + day * scale, base - tall, tall, words))
    picture.ticks = [(LEFT + day * scale, str(day)) for day in [*range(0, days - 30, 60), days]]
    return picture


@dataclass
class _Walk:
    """What was met on the way through the records."""

    calendar: Mapping[str, Any]
    day: float = 0.0
    crops: dict[tuple[int, int], _Crop] = field(default_factory=dict)
    reads: list[tuple[float, int]] = field(default_factory=list)
    calls: Counter[int] = field(default_factory=Counter)

    def exchange(self, action: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Enter an action that was carried out."""
        self.day = float(result["day"])
        kind = action["action"]
        if kind == ActionKind.START:
            self._plant(action, result)
        elif kind == ActionKind.STOP:
            self._end(result["unit"], result["run_index"], self.day)
        elif kind == ActionKind.OBSERVE and result.get("records"):
            self.reads.append((self.day, action["unit"]))
        for status in result.get("statuses", [result.get("status")]):
            if status is not None:
                self._state(status)

    def _plant(self, action: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        last = self.calendar["campaign_days"]
        end = min(self.day + self.calendar["crop_days"], last)
        crop = _Crop(result["unit"], self.day, float(end), action_words(action))
        self.crops[crop.unit, result["run_index"]] = crop

    def _state(self, status: Mapping[str, Any]) -> None:
        """A state tells when the crop before it ended."""
        since, unit, run = status["since_day"], status["unit"], status["run_index"]
        if status["phase"] == "cleanup":
            self._end(unit, run, since)
        elif status["phase"] == "idle":
            self._end(unit, run, since - self.calendar["cleaning_days"])

    def _end(self, unit: int, run: int, day: float) -> None:
        crop = self.crops.get((unit, run))
        if crop is not None:
            crop.end = min(crop.end, max(day, crop.start))


def _walk(records: Sequence[Record], calendar: Mapping[str, Any]) -> _Walk:
    walk = _Walk(calendar)
    for record in records:
        if record.kind is TranscriptKind.CALL:
            walk.calls[int(walk.day)] += 1
        elif record.kind is TranscriptKind.EXCHANGE and record.payload["reply"]["ok"]:
            walk.exchange(record.payload["action"], record.payload["reply"]["result"])
    return walk
