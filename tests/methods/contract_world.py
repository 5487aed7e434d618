"""A fast world in which any method can be tried: a made-up facility of any size, real rules.

Executor, sessions, journal, toolbox and pool are the real ones; only the physics is made up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from slowlab.campaign.errors import Reply
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability, Journal
from slowlab.campaign.pool import Entry, PoolResult, run_pool
from slowlab.campaign.session import ToolCall
from slowlab.config import CONFIG_ROOT, validate_config
from slowlab.methods._base import Campaign, Method, Steps, watched
from slowlab.methods._registry import build_method
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.toolbox import Toolbox
from slowlab.world.contract import Contract, load_contract
from slowlab.world.facility_records import Series
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import DAY, FakeFacility, Hidden, step
from tests.campaign.sessions import FakeStepping, fake_session

RULES = load_contract()
SENSORS = load_sensors()
PRICES = RULES.economics.default_prices
ARTIFACTS = ArtifactFolder(CONFIG_ROOT / "artifacts" / "v8", RULES.id)
LAST_DAY = RULES.calendar.campaign_days


class ContractFacility(FakeFacility):
    """The made-up facility with as many compartments as the rules say, and quick series."""

    @property
    def compartments(self) -> int:
        return len(self.grown)

    def series(self, unit: int, channel: str, start_tick: int, end_tick: int) -> Series:
        assert self.keeps_records
        ticks = np.arange(start_tick, end_tick + 1, dtype=np.int32)
        if "cumulative" in channel or "energy" in channel or "dosed" in channel:
            return Series(ticks, ticks * (unit + 1) / 3000 * self.growth)
        kept = ticks[(ticks == 0) | ((7 * ticks + unit) % 97 != 0)]
        return Series(kept, np.round(18 + 4 * np.sin(2 * math.pi * kept / DAY) + unit, 1))


def rules_for(compartments: int, **budgets: int) -> Contract:
    """Contract v8 with another number of compartments and other budgets."""
    plantings = [list(range(0, compartments, 2)), list(range(1, compartments, 2))]
    data = RULES.model_dump(mode="json")
    days = [item["day"] for item in data["evaluation"]["plantings"]]
    data["evaluation"]["plantings"] = [
        {"day": day, "compartments": units}
        for day, units in zip(days, plantings, strict=True)
        if units
    ]
    data["facility"]["compartments"] = compartments
    data["budget"] |= budgets
    return validate_config(data, Contract)


Scramble = Callable[[Any], Any]
"""Gives the same data with members in another order."""


def as_it_is(data: Any) -> Any:
    return data


def scrambled(data: Any) -> Any:
    """The same content: members of objects backwards, rows of named fields backwards."""
    if isinstance(data, Mapping):
        return {key: scrambled(data[key]) for key in reversed(list(data))}
    if isinstance(data, list):
        rows = [scrambled(item) for item in data]
        named = rows and all(isinstance(row, dict) and "name" in row for row in rows)
        return rows[::-1] if named else rows
    return data


@dataclass
class Play:
    """One campaign of one method, and what it did."""

    method: Method
    seed: int = 1
    feedback: Feedback = Feedback.FULL
    rules: Contract = RULES
    hidden: Hidden = field(default_factory=Hidden)
    journal: Path | None = None
    scramble: Scramble = as_it_is
    stops_after: int | None = None
    items: list[Any] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)
    tool_calls: int = 0

    def entry(self, name: str = "campaign", *, group: int = 1) -> Entry:
        """The campaign, ready for a pool."""
        units = self.rules.facility.compartments
        facility = ContractFacility(
            self.rules, PRICES, hidden=self.hidden, grown=[[] for _ in range(units)]
        )
        reference = self.rules.fixed_reference
        executor = Executor.open(
            facility, self.rules, SENSORS, PRICES, self.feedback, reference, stepping=step
        )
        journal = None
        if self.journal is not None:
            journal = Journal.open(self.journal, durability=Durability.PROCESS)
        session = fake_session(executor, FakeStepping(group), journal)
        history = History(self.scramble(executor.task()))
        tools = Toolbox(history, ARTIFACTS, seed=99, limits=self.rules.analysis_tools)
        played = self.method.play(Campaign(history), np.random.default_rng(self.seed))
        steps = watched(self._scrambled(played), history)
        return Entry(name, session, self._kept(steps), self._counting(tools))

    def run(self) -> PoolResult:
        """Run it alone."""
        (result,) = run_pool([self.entry()])
        return result

    def _scrambled(self, steps: Steps) -> Steps:
        """Show the method replies in another order of members."""
        try:
            item = next(steps)
            while True:
                reply = yield item
                item = steps.send(Reply(reply.ok, self.scramble(reply.result), reply.error))
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

    def _kept(self, steps: Steps) -> Steps:
        """Keep what the method does and sees; stop where it is to be interrupted."""
        try:
            item = next(steps)
            while True:
                if len(self.items) == self.stops_after:
                    raise Interrupted
                self.items.append(item.payload() if isinstance(item, ToolCall) else item)
                reply = yield item
                self.replies.append(reply.payload())
                item = steps.send(reply)
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

    def _counting(self, tools: Toolbox) -> Callable[[ToolCall], Reply]:
        def handler(call: ToolCall) -> Reply:
            self.tool_calls += 1
            return tools(call)

        return handler


class Interrupted(BaseException):
    """The process dies here."""


def made(name: str, **settings: Any) -> Method:
    """A fresh method with the committed artifacts."""
    return build_method(name, settings, ARTIFACTS)
