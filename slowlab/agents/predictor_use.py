"""Whether a crop's outcome could be predicted from what was read, judged without the predictor.

The announced rule is applied to the replies themselves: not to the store that the tools read, and
not to what the tool answered. So a reading that a tool cannot see shows up as a prediction that
should have been possible and was not. The rule: the crop grows; its harvest meter and its canopy
were read within a day of each other, old enough; and a crop planted after day 0 needs the meter at
planting, from the hour before it or from the whole day that begins with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from slowlab.campaign.budget import ActionKind
from slowlab.world.contract import Contract, load_contract
from slowlab.world.contract_rules import SECONDS_PER_DAY

PREDICTOR = "predict_crop_outcome"
"""The tool whose use is judged."""
HARVEST, CANOPY = "cumulative_harvest_fresh_equivalent", "canopy_lai_proxy"

_TOGETHER_DAYS = 1
_HOUR_S = 3600
_AGE_TOLERANCE_DAYS = 0.01  # the last reading before a full day is this much short of it at most


@dataclass
class _Channel:
    """What was read of one channel of one compartment."""

    last_s: int = -1
    instants: set[int] = field(default_factory=set)
    whole_days: set[int] = field(default_factory=set)


@dataclass
class ReadingsSoFar:
    """What one agent has read so far; feed it every exchange in order.

    Attributes:
        step_seconds: time between two records, s.
        crop_days: full length of a crop, d.
        min_age_days: youngest age at which a prediction is announced, d.
    """

    step_seconds: int
    crop_days: float
    min_age_days: float
    day: float = 0.0
    _channels: dict[tuple[int, str], _Channel] = field(default_factory=dict)
    _starts: dict[tuple[int, int], float] = field(default_factory=dict)
    _ended: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of_task(cls, task: Mapping[str, Any]) -> ReadingsSoFar:
        """Nothing read yet, under the calendar of a public task.

        The youngest age is that of the default contract: a task tells it in words only.
        """
        calendar, tools = task["calendar"], _default_rules().analysis_tools
        return cls(calendar["step_seconds"], calendar["crop_days"], tools.min_crop_age_days)

    @classmethod
    def of_rules(cls) -> ReadingsSoFar:
        """Nothing read yet, under the default contract."""
        calendar, tools = _default_rules().calendar, _default_rules().analysis_tools
        return cls(calendar.tick_seconds, calendar.crop_days, tools.min_crop_age_days)

    def take(self, action: Mapping[str, Any] | None, reply: Mapping[str, Any]) -> None:
        """Enter one exchange.

        Args:
            action: as it was carried out, or None.
            reply: the reply as plain data.
        """
        if not reply["ok"] or action is None:
            return
        result = reply["result"]
        self.day = result["day"]
        if action["action"] == ActionKind.START:
            self._starts[result["unit"], result["run_index"]] = result["day"]
        if action["action"] == ActionKind.STOP:
            self._ended.add((result["unit"], result["run_index"]))
        for status in result.get("statuses", [result.get("status")]):
            if status is not None and status["phase"] != "active":
                self._ended.add((status["unit"], status["run_index"]))
        if result.get("records"):
            self._read(action["unit"], result["records"])

    def enough(self, unit: Any, run_index: Any) -> bool:
        """Whether what was read of a crop suffices for a prediction now."""
        if type(unit) is not int or type(run_index) is not int:
            return False
        start = self._starts.get((unit, run_index))
        if start is None or not self._grows(unit, run_index, start):
            return False
        harvest, canopy = (self._channels.get((unit, name)) for name in (HARVEST, CANOPY))
        if harvest is None or canopy is None:
            return False
        together = abs(_day(harvest.last_s) - _day(canopy.last_s)) <= _TOGETHER_DAYS
        age = harvest.last_s / SECONDS_PER_DAY - start
        old_enough = age >= self.min_age_days - _AGE_TOLERANCE_DAYS
        return together and old_enough and self._has_zero_point(harvest, start)

    def _grows(self, unit: int, run_index: int, start: float) -> bool:
        later = (unit, run_index + 1) in self._starts
        ended = later or (unit, run_index) in self._ended
        return not ended and self.day < start + self.crop_days

    def _has_zero_point(self, harvest: _Channel, start: float) -> bool:
        if start == 0 or start in harvest.whole_days:
            return True
        leads = (start * SECONDS_PER_DAY - instant for instant in harvest.instants)
        return any(-1 < lead <= _HOUR_S for lead in leads)

    def _read(self, unit: int, records: Mapping[str, Any]) -> None:
        """Enter records; the last reading of a daily row follows from its count."""
        channel = self._channels.setdefault((unit, records["variable"]), _Channel())
        for row in records["rows"]:
            if records["resolution"] == "raw":
                instant = row["time_s"]
            else:
                instant = row["day"] * SECONDS_PER_DAY + (row["n"] - 1) * self.step_seconds
                if row["n"] == SECONDS_PER_DAY // self.step_seconds:
                    channel.whole_days.add(row["day"])
            channel.instants.add(instant)
            channel.last_s = max(channel.last_s, instant)


def _day(instant_s: int) -> int:
    return instant_s // SECONDS_PER_DAY


@cache
def _default_rules() -> Contract:
    return load_contract()
