"""A world with a known answer: margins are a simple function of the policy, each field its own.

Every field has an optimum and a curvature of its own, the optimum lies inside the box, and no two
fields can be exchanged without a loss. Campaigns go through the real executor, pool and tools; only
the facility is made of formulas. What a recommendation is worth is known exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slowlab.campaign.errors import Reply
from slowlab.campaign.executor import Executor
from slowlab.campaign.history import History
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.campaign.session import Session, ToolCall
from slowlab.config import override
from slowlab.methods._base import Campaign, watched
from slowlab.methods._registry import build_method
from slowlab.seeds import SeedKey
from slowlab.tools.artifacts import ArtifactFolder, write_artifact
from slowlab.tools.season_kernel import KernelContent
from slowlab.tools.toolbox import Toolbox
from slowlab.world.contract import Contract, load_contract
from slowlab.world.economics import LedgerTotals
from slowlab.world.facility_records import Series
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.sensors import load_sensors
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import DAY, FakeFacility
from tests.campaign.sessions import FakeStepping

CONTRACT = load_contract()
SENSORS = load_sensors()
PRICES = CONTRACT.economics.default_prices

OPTIMUM = {
    "day_temperature_c": 22.6,
    "night_temperature_c": 18.4,
    "co2_target_ppm": 980.0,
    "supplemental_light_hours": 6.5,
    "vent_temperature_offset_c": 4.1,
    "vent_rh_threshold_pct": 80.0,
}
LOSS_EUR_M2 = {
    "day_temperature_c": 35.0,
    "night_temperature_c": 8.0,
    "co2_target_ppm": 3.0,
    "supplemental_light_hours": 100.0,
    "vent_temperature_offset_c": 5.0,
    "vent_rh_threshold_pct": 20.0,
}
"""Loss at the distance of a whole range from the optimum."""
BEST_MARGIN_EUR_M2 = 40.0
SEASON_EUR_M2 = 1.0
NOISE_SD_EUR_M2 = 0.7
PREDICTION_ERROR_EUR_M2 = 4.0


def toy_margin(policy: Policy, planting_day: float, contract: Contract = CONTRACT) -> float:
    """Margin of a crop without noise, EUR/m2."""
    season = SEASON_EUR_M2 * math.cos(2 * math.pi * planting_day / 365)
    margin = BEST_MARGIN_EUR_M2 - season
    for name in POLICY_FIELDS:
        bound = contract.policy.of(name)
        distance = (getattr(policy, name) - OPTIMUM[name]) / (bound.max - bound.min)
        margin -= LOSS_EUR_M2[name] * distance**2
    return margin


def toy_score(policy: Policy, contract: Contract = CONTRACT) -> float:
    """What a recommendation is worth, EUR/m2."""
    days = [planting.day for planting in contract.evaluation.plantings]
    return float(np.mean([toy_margin(policy, day, contract) for day in days]))


def mean_of_random_policies(contract: Contract = CONTRACT) -> float:
    """Score of a feasible policy drawn at random."""
    rng = np.random.default_rng(5)
    scores = []
    low, high = contract.policy.limits(POLICY_FIELDS)
    while len(scores) < 2000:
        values = dict(
            zip(POLICY_FIELDS, (low + rng.random(6) * (high - low)).tolist(), strict=True)
        )
        if values["night_temperature_c"] <= values["day_temperature_c"]:
            scores.append(toy_score(Policy(**values), contract))
    return float(np.mean(scores))


class ToyFacility(FakeFacility):
    """Crops with the margins of the toy world, few readings, and a seed for its noise."""

    def __init__(self, contract: Contract = CONTRACT, site: int = 0) -> None:
        count = contract.facility.compartments
        super().__init__(contract, PRICES, grown=[[] for _ in range(count)])
        self.compartments = count
        self.site = site

    def crop_noise(self, unit: int, run_index: int) -> float:
        """Difference of one crop from the surface, EUR/m2."""
        rng = np.random.default_rng([self.site, unit, run_index])
        return NOISE_SD_EUR_M2 * float(rng.standard_normal())

    def series(self, unit: int, channel: str, start_tick: int, end_tick: int) -> Series:
        """One reading at the end of every tenth day, so that campaigns are fast."""
        first = -(-(start_tick + 1) // (10 * DAY)) * 10 * DAY - 1
        ticks = np.arange(first, end_tick + 1, 10 * DAY, dtype=np.int32)
        return Series(ticks, ticks / 1000.0 * (unit + 1))

    def _totals(self, crop: Any, tick: int) -> LedgerTotals:
        days, costs = (tick - crop.start_tick) / DAY, self.contract.economics.fixed_costs
        wanted = toy_margin(crop.policy, crop.start_tick / DAY, self.contract)
        wanted += self.crop_noise(crop.unit, crop.run_index)
        fees = costs.planting_eur_per_m2 + costs.cleanup_eur_per_m2
        fees += costs.background_service_eur_per_m2_day * self.contract.calendar.crop_days
        each = self.prices.fruit_eur_per_kg_fresh - costs.harvest_handling_eur_per_kg
        share = days / self.contract.calendar.crop_days
        harvest = share * max(0.0, wanted + fees) / each
        return LedgerTotals(harvest, 0.0, 0.0, 0.0, 0.0, days)


class ToyTools:
    """The real tools; only the process predictor is replaced by one whose error is known.

    Attributes:
        error_eur_m2: its error, which it also tells.
    """

    def __init__(self, history: History, artifacts: ArtifactFolder, facility: ToyFacility) -> None:
        self._history, self._facility = history, facility
        self._real = Toolbox(history, artifacts, 17, facility.contract.analysis_tools)
        self.error_eur_m2 = PREDICTION_ERROR_EUR_M2

    def __call__(self, call: ToolCall) -> Reply:
        """Answer a call; predictions need daily rows of harvest and canopy."""
        if call.name != "predict_crop_outcome":
            return self._real(call)
        unit, index = call.arguments["unit"], call.arguments["run_index"]
        for channel in ("cumulative_harvest_fresh_equivalent", "canopy_lai_proxy"):
            assert self._history.daily(unit, channel), "nothing was read"
        return self._predicted(unit, index)

    def _predicted(self, unit: int, index: int) -> Reply:
        crop = next(c for c in self._history.crops() if (c.unit, c.run_index) == (unit, index))
        rng = np.random.default_rng([self._facility.site, unit, index, 1])
        margin = toy_margin(crop.policy, crop.start_day, self._facility.contract)
        margin += self.error_eur_m2 * float(rng.standard_normal())
        return Reply.success(
            {"margin_eur_m2": round(margin, 6), "typical_error_eur_m2": self.error_eur_m2}
        )


@dataclass(frozen=True)
class ToyOutcome:
    """How a campaign of the toy world went.

    Attributes:
        recommended: the policy that counts.
        score_eur_m2: what it is worth.
        actions: everything that was sent, tool calls as well.
        history: everything that was seen.
        settlement: how the executor settled it.
    """

    recommended: Policy
    score_eur_m2: float
    actions: list[Any]
    history: History
    settlement: Any


def turned(value: Any) -> Any:
    """The same data with the keys of every object and the policy fields in reverse order."""
    if isinstance(value, Mapping):
        data = {key: turned(value[key]) for key in reversed(list(value))}
        if "fields" in data and isinstance(data["fields"], list):
            data["fields"] = data["fields"][::-1]
        return data
    return [turned(item) for item in value] if isinstance(value, list | tuple) else value


class TurnedHistory(History):
    """A history that was told everything in another order of keys."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        super().__init__(task)
        self.task = turned(self.task)

    def add(self, action: Mapping[str, Any] | None, reply: Mapping[str, Any]) -> None:
        """Append one exchange."""
        super().add(turned(action), turned(reply))


def toy_artifacts(folder: Path, contract: Contract = CONTRACT) -> ArtifactFolder:
    """Artifacts as a development stage would have left them for the toy world."""
    kernel = KernelContent(
        policy_length_scales={n: 6.0 / math.sqrt(LOSS_EUR_M2[n]) for n in POLICY_FIELDS},
        season_length_scale=0.5,
        season_share=0.001,
        common_season=0.02,
        noise_ratio=1e-3,
        signal_sd_eur_m2=12.0,
        replicate_sd_eur_m2=NOISE_SD_EUR_M2,
    )
    anchor = contract.fixed_reference.model_dump()
    contents = {
        "kernel": kernel.model_dump(),
        "fixed_reference": {"policy": anchor},
        "common_policy": {"policy": anchor},
        "radius": {"radius": 0.3, "candidates": []},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_artifact(
            folder / f"{name}.json",
            contract=contract.id,
            fields=POLICY_FIELDS,
            provenance={"made_for": "tests"},
            content=content,
        )
    return ArtifactFolder(folder, contract.id)


def smaller(**changes: Any) -> Contract:
    """The contract with fewer compartments or smaller budgets.

    Args:
        changes: ``compartments`` (an even number, or 1) and members of the budget.
    """
    count = changes.pop("compartments", CONTRACT.facility.compartments)
    days = [planting.day for planting in CONTRACT.evaluation.plantings]
    half = count // 2
    plantings = [
        {"day": days[0], "compartments": list(range(half))},
        {"day": days[1], "compartments": list(range(half, count))},
    ]
    changed = {
        "facility.compartments": count,
        "evaluation.plantings": [p for p in plantings if p["compartments"]],
        **{f"budget.{name}": value for name, value in changes.items()},
    }
    return override(CONTRACT, changed)


def rng_for(method: str, site: int = 0, repeat: int = 0) -> np.random.Generator:
    """The stream of a method, as a study hands it out."""
    return SeedKey("toy", "toy", site, method, repeat, "method").generator()


def play_toys(
    name: str,
    artifacts: ArtifactFolder,
    sites: Sequence[int],
    *,
    feedback: Feedback = Feedback.FULL,
    settings: Mapping[str, Any] | None = None,
    contract: Contract = CONTRACT,
    repeat: int = 0,
    history_kind: type[History] = History,
    facility_kind: Callable[[Contract, int], ToyFacility] = ToyFacility,
) -> list[ToyOutcome]:
    """Run a method on sites of the toy world, all of them in one pool.

    Args:
        name: of the method.
        artifacts: what it may know.
        sites: seeds of the noise and of the method's random numbers.
        feedback: what it may see.
        settings: of the method.
        contract: the rules.
        repeat: number of the repeat.
        history_kind: what the method's history is made of.
        facility_kind: makes a facility from rules and site.
    """
    entries, kept = [], []
    for site in sites:
        facility = facility_kind(contract, site)
        fallback = contract.fixed_reference
        executor = Executor.open(facility, contract, SENSORS, PRICES, feedback, fallback)
        history = history_kind(executor.task())
        method = build_method(name, settings or {}, artifacts)
        sent: list[Any] = []
        steps = watched(method.play(Campaign(history), rng_for(name, site, repeat)), history)
        session = Session(executor, None, FakeStepping())
        tools = ToyTools(history, artifacts, facility)
        entries.append(Entry(f"site {site}", session, _noted(steps, sent), tools))
        kept.append((sent, history))
    outcomes = []
    for result, (sent, history) in zip(run_pool(entries), kept, strict=True):
        assert result.ending is Ending.SETTLED, result.error or result.failure
        policy = result.settlement.policy
        score = toy_score(policy, contract)
        outcomes.append(ToyOutcome(policy, score, sent, history, result.settlement))
    return outcomes


def _noted(steps: Any, sent: list[Any]) -> Any:
    """The same steps; what they yield is kept as plain data."""
    item = next(steps, None)
    while item is not None:
        sent.append(item.payload() if isinstance(item, ToolCall) else json.loads(json.dumps(item)))
        reply = yield item
        try:
            item = steps.send(reply)
        except StopIteration:
            return


def planted(outcome: ToyOutcome) -> list[dict[str, float]]:
    """Policies in the order in which they were planted."""
    return [a["policy"] for a in outcome.actions if a.get("action") == "start"]
