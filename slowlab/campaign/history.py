"""The one store of what an agent has seen, in order.

A history is built from public exchanges only: an action as it was sent and the reply as it came
back. Whoever has the same exchanges has the same history, in whatever process, so the state digest,
every tool and every packet are made from it and from nothing else. Raw and daily reads both enter
:meth:`History.daily`; totals and states enter :meth:`History.crops`. Members are taken by name, so
the order of keys in an exchange never matters, and what goes in is copied, so that nobody changes
it afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from slowlab.campaign.budget import ActionKind
from slowlab.campaign.rounding import daily_row
from slowlab.canonical import canonical_json, canonical_sha256
from slowlab.world.contract_rules import SECONDS_PER_DAY
from slowlab.world.policy import POLICY_FIELDS, Policy

Channel = tuple[int, str]
"""Compartment and variable."""


@dataclass(frozen=True)
class Exchange:
    """One action and its reply, as plain data; the action is None where it was not readable."""

    action: dict[str, Any] | None
    reply: dict[str, Any]


@dataclass(frozen=True)
class DailyRow:
    """One day of one channel: count, mean, lowest and highest of its readings."""

    day: int
    n: int
    mean: float
    min: float
    max: float


@dataclass(frozen=True)
class Totals:
    """Released totals of a closed crop, per m2 of floor; money in EUR/m2."""

    harvest_kg_m2: float
    heat_kwh_m2: float
    light_kwh_m2: float
    co2_kg_m2: float
    margin_eur_m2: float


@dataclass(frozen=True)
class SeenCrop:
    """What an agent knows of one crop.

    Attributes:
        unit: compartment.
        run_index: crop number within the compartment, from 1.
        policy: as accepted.
        start_day: day of planting.
        closed: whether it is known to have closed.
        reason: how it closed, where that is known.
        end_day: when it closed, where that is known.
        totals: its totals, once they were read.
    """

    unit: int
    run_index: int
    policy: Policy
    start_day: float
    closed: bool = False
    reason: str | None = None
    end_day: float | None = None
    totals: Totals | None = None


class History:
    """Everything one agent has seen.

    Args:
        task: the public description.
    """

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.task: dict[str, Any] = _plain(task)
        self.day = 0.0
        self.budget: dict[str, Any] | None = None
        self._exchanges: list[Exchange] = []
        self._statuses: dict[int, dict[str, Any]] = {}
        self._crops: dict[tuple[int, int], SeenCrop] = {}
        self._raw: dict[Channel, dict[int, float]] = {}
        self._daily: dict[Channel, dict[int, DailyRow]] = {}

    def assign(self, task: Mapping[str, Any]) -> None:
        """Replace the description when a feedback mode is assigned; what was seen stays."""
        self.task = _plain(task)

    def add(self, action: Mapping[str, Any] | None, reply: Mapping[str, Any]) -> None:
        """Append one exchange.

        Args:
            action: as it was sent, or None where it was not readable.
            reply: its reply as plain data, see ``Reply.payload``.

        Raises:
            CanonicalError: no plain data; nothing was stored.
            KeyError: a reply without the members that its action returns.
        """
        exchange = Exchange(None if action is None else _plain(action), _plain(reply))
        self._exchanges.append(exchange)
        body = exchange.reply["result" if exchange.reply["ok"] else "error"]
        self.budget = body.get("budget", self.budget)
        if exchange.reply["ok"] and exchange.action is not None:
            self.day = body["day"]
            self._take(exchange.action, body)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges, oldest first."""
        return tuple(self._exchanges)

    def statuses(self) -> list[dict[str, Any]]:
        """Latest known state of each compartment that was ever reported, by number."""
        return [dict(self._statuses[unit]) for unit in sorted(self._statuses)]

    def crops(self) -> list[SeenCrop]:
        """All crops that were started, by compartment and number."""
        return [self._crops[name] for name in sorted(self._crops)]

    def channels(self) -> list[Channel]:
        """Compartment and variable of everything that was read, sorted."""
        return sorted(self._raw.keys() | self._daily.keys())

    def raw(self, unit: int, variable: str) -> list[tuple[int, float]]:
        """Raw records read so far: time in seconds and value, oldest first, each once."""
        return sorted(self._raw.get((unit, variable), {}).items())

    def daily(self, unit: int, variable: str) -> list[DailyRow]:
        """Daily rows from raw and daily reads together, oldest first.

        Where a day was read in both ways, or more than once, the row with the most readings counts.
        """
        rows = dict(self._daily.get((unit, variable), {}))
        for day, row in self._days_of_raw(unit, variable).items():
            if day not in rows or row.n > rows[day].n:
                rows[day] = row
        return [rows[day] for day in sorted(rows)]

    def digest(self) -> dict[str, Any]:
        """The state of the campaign in a few lines, as plain data."""
        return {
            "day": self.day,
            "days_left": self.task["calendar"]["campaign_days"] - self.day,
            "budget": self.budget,
            "compartments": self.statuses(),
            "crops": [_crop_line(crop) for crop in self.crops()],
        }

    def sha256(self) -> str:
        """Identity of everything that was seen: description and exchanges in order."""
        seen = [{"action": item.action, "reply": item.reply} for item in self._exchanges]
        return canonical_sha256({"task": self.task, "exchanges": seen})

    def _take(self, action: dict[str, Any], result: dict[str, Any]) -> None:
        """Enter what a successful reply tells."""
        kind = ActionKind(action["action"])
        if kind is ActionKind.START:
            policy = Policy(**{name: action["policy"][name] for name in POLICY_FIELDS})
            crop = SeenCrop(result["unit"], result["run_index"], policy, result["day"])
            self._crops[crop.unit, crop.run_index] = crop
        if kind is ActionKind.STOP:
            stopped = (result["unit"], result["run_index"])
            self._crops[stopped] = replace(self._crops[stopped], closed=True)
        for status in result.get("statuses", [result.get("status")]):
            if status is not None:
                self._take_status(status)
        if result.get("crop"):
            self._take_crop(result["crop"])
        if "records" in result:
            self._take_records(action["unit"], result["records"])

    def _take_status(self, status: dict[str, Any]) -> None:
        """Enter a state: earlier crops have closed, and the latest one if nothing is growing."""
        unit, latest = status["unit"], status["run_index"]
        self._statuses[unit] = status
        for name, crop in self._crops.items():
            ended = name[1] < latest or status["phase"] != "active"
            if name[0] == unit and not crop.closed and ended:
                self._crops[name] = replace(crop, closed=True)

    def _take_crop(self, told: dict[str, Any]) -> None:
        """Enter the totals of a closed crop."""
        name = (told["unit"], told["run_index"])
        if told["state"] != "closed" or name not in self._crops:
            return
        totals = Totals(**{field: told[field] for field in Totals.__dataclass_fields__})
        self._crops[name] = replace(
            self._crops[name],
            closed=True,
            reason=told["reason"],
            end_day=told["end_day"],
            totals=totals,
        )

    def _take_records(self, unit: int, records: dict[str, Any]) -> None:
        channel = (unit, records["variable"])
        if records["resolution"] == "raw":
            raw = self._raw.setdefault(channel, {})
            raw.update({row["time_s"]: row["value"] for row in records["rows"]})
            return
        rows = self._daily.setdefault(channel, {})
        for told in records["rows"]:
            row = DailyRow(**{field: told[field] for field in DailyRow.__dataclass_fields__})
            if row.day not in rows or row.n >= rows[row.day].n:
                rows[row.day] = row

    def _days_of_raw(self, unit: int, variable: str) -> dict[int, DailyRow]:
        days: dict[int, list[float]] = {}
        for time_s, value in self.raw(unit, variable):
            days.setdefault(time_s // SECONDS_PER_DAY, []).append(value)
        return {day: DailyRow(**daily_row(day, values)) for day, values in days.items()}


def _plain(data: Any) -> Any:
    """A deep copy as plain data."""
    return json.loads(canonical_json(data))


def _crop_line(crop: SeenCrop) -> dict[str, Any]:
    """One crop as plain data."""
    totals = crop.totals
    return {
        "unit": crop.unit,
        "run_index": crop.run_index,
        "start_day": crop.start_day,
        "closed": crop.closed,
        "reason": crop.reason,
        "end_day": crop.end_day,
        "policy": crop.policy.model_dump(),
        "margin_eur_m2": None if totals is None else totals.margin_eur_m2,
    }
