"""Scripted agents that fail in a known way: played whole, they land in their failure class.

Stand-ins are scripted programs, not language models, and the facility grows by a few formulas.
Harness, endpoint, executor, session and pool are the real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from slowlab.agents.standins import registry
from slowlab.agents.transcript import read_transcript
from slowlab.analysis.campaign_facts import CampaignFacts, campaign_facts
from slowlab.analysis.failure_classes import Failure, FailureClass, classify
from slowlab.analysis.scores import cells_from_scores
from slowlab.campaign.journal import read_journal
from slowlab.stages.agent_table import agent_tables, journal_step_table
from slowlab.stages.campaign_table import CampaignName, campaign_tables, count_tools, rows_from
from slowlab.stages.campaigns import CampaignRecord
from slowlab.world.contract import Contract
from tests.agents.planted_failures import PLANTED
from tests.agents.stand_in_campaigns import EXACT_PRICES, play_in_pool, take_in_pool
from tests.analysis.synthetic_study import synthetic_inputs
from tests.methods.contract_world import LAST_DAY, RULES

NAME = CampaignName(0, "grower", "full", 0)


@dataclass
class Found:
    """A campaign that was played, what a study knows of it, and its class."""

    facts: CampaignFacts
    contract: Contract
    failure: Failure
    records: dict[int, Any]

    def shown(self) -> list[Any]:
        return [self.records[number] for number in self.failure.records]


def _found(record: CampaignRecord, gain: float | None, steps, agents, records) -> Found:
    """The class of a campaign in a study that knows nothing but its tables."""
    row = rows_from(
        NAME,
        record.history,
        record.result.settlement,
        ending=record.ending,
        tools=count_tools(record.tool_uses),
    )
    campaigns, crops, reads = campaign_tables([row])
    plain = synthetic_inputs(("fixed_reference", "grower", "prior_bo"), sites=1, repeats=1)
    inputs = replace(
        plain, campaigns=campaigns, crops=crops, reads=reads, agents=agents, steps=steps
    )
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    facts = campaign_facts(inputs, cells)[0, "grower", "full", 0]
    facts = replace(facts, gain=gain)
    return Found(facts, inputs.contract, classify(facts, inputs.contract), records)


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """Plays a script, which is served under the name of the grower if it is no stand-in."""

    def played(script: str, gain: float | None = 0.0, **faults) -> Found:
        if script in PLANTED:
            monkeypatch.setitem(registry.SCRIPTS, "grower", PLANTED[script])
            script = "grower"
        record, path = play_in_pool(script, tmp_path, **faults)
        told = read_transcript(path).records
        agents, steps = agent_tables([(NAME, told)])
        return _found(record, gain, steps, agents, {item.sequence: item for item in told})

    return played


def _flag(*names: str):
    return lambda record: record.kind == "flag" and record.payload["flag"] in names


def _action(name: str, *, ok: bool = True):
    def is_it(record) -> bool:
        told = record.payload
        same = record.kind == "exchange" and told["action"].get("action") == name
        return same and told["reply"]["ok"] is ok

    return is_it


def _refusal(record) -> bool:
    return record.kind == "exchange" and not record.payload["reply"]["ok"]


def _unusable(record) -> bool:
    return record.kind == "error"


def _planting_or_loss(record) -> bool:
    if record.kind != "exchange" or not record.payload["reply"]["ok"]:
        return False
    action, crop = record.payload["action"], record.payload["reply"]["result"].get("crop") or {}
    hot = action.get("policy", {}).get("day_temperature_c") == 26.0
    return (action["action"] == "start" and hot) or crop.get("reason") == "safety_stop"


FIREWALL = {"hidden": [("site.price", EXACT_PRICES.electricity_eur_per_kwh)]}
AGENTS = [
    ("grower", FIREWALL, "firewall", _flag("blocked")),
    ("time-blind", {}, "budget", _flag("forced_advance")),
    ("over-budget", {}, "budget", _flag("forced_advance", "context_exhausted")),
    ("malformed", {}, "format", _unusable),
    ("silent", {}, "format", _unusable),
    ("hostile", {}, "format", _unusable),
    ("plants_on_top", {}, "rules", _refusal),
    ("plants_on_top_for_ever", {}, "rules", _refusal),
    ("cooks", {}, "safety", _planting_or_loss),
    ("leaves_empty", {}, "premature_finish", _action("start")),
    ("grower", {}, "capability_gap", _action("recommend")),
]


@pytest.mark.parametrize(("script", "faults", "kind", "shows"), AGENTS)
def test_an_agent_that_gained_nothing_is_in_its_class(agent, script, faults, kind, shows) -> None:
    """Its evidence is all the records of the transcript that show the class, and no others."""
    found = agent(script, **faults)
    assert found.failure.kind == kind
    assert found.failure.evidence
    showing = [number for number, record in found.records.items() if shows(record)]
    assert list(found.failure.records) == showing
    assert showing


def test_a_facility_that_breaks_is_infrastructure(agent) -> None:
    """The record where the campaign broke off is its evidence: what came after was never told."""
    found = agent("grower", gain=None, fails_at=40 * 288)
    assert found.failure.kind == "infrastructure"
    assert "infrastructure_failure" in found.failure.evidence
    (last,) = found.shown()
    kept = [n for n, record in found.records.items() if record.kind in ("exchange", "tool", "flag")]
    assert last.sequence == max(kept)


@pytest.mark.parametrize("script", ["time-blind", "cooks", "leaves_empty", "plants_on_top"])
def test_an_agent_that_gained_something_did_not_fail(agent, script) -> None:
    found = agent(script, gain=0.1)
    assert found.failure == Failure(FailureClass.NONE)


def test_what_stopped_crops_were_is_named(agent) -> None:
    found = agent("cooks")
    assert found.failure.evidence == "safety stops of compartment/crop 0/1, 1/1, 2/1"
    assert [record.payload["action"]["unit"] for record in found.shown()] == [0, 1, 2] * 2


POLICY = RULES.fixed_reference.model_dump()
START = {"action": "start", "unit": 0, "policy": POLICY}
END = {"action": "advance", "day": LAST_DAY}
METHODS = {
    "premature_finish": [START, {"action": "advance", "day": 30}],
    "no_recommendation": [START, END],
    "rules": [START, START, START, START, END, {"action": "recommend", "policy": POLICY}],
    "budget": [*({"action": "observe", "unit": unit % 4} for unit in range(126)), END],
    "capability_gap": [
        *({**START, "unit": unit} for unit in range(4)),
        {"action": "advance", "day": 182},
        *({**START, "unit": unit} for unit in range(4)),
        END,
        {"action": "recommend", "policy": POLICY},
    ],
}


@pytest.mark.parametrize("kind", METHODS)
def test_a_numerical_method_is_in_its_class_too(tmp_path, kind) -> None:
    """Where its steps are kept, requests of its journal are the evidence."""
    path = tmp_path / "journal.jsonl"
    record = take_in_pool(METHODS[kind], path)
    told = {item.sequence: item for item in read_journal(path).records}
    found = _found(record, 0.0, journal_step_table(NAME, path), None, told)
    assert found.failure.kind == kind
    assert {item.kind for item in found.shown()} <= {"request"}
    shown = [item.payload["action"] for item in found.shown()]
    assert shown == {
        "premature_finish": ["start"],
        "capability_gap": ["recommend"],
        "rules": ["start"] * 3,
    }.get(kind, [])


def test_every_class_has_a_campaign_that_lands_in_it() -> None:
    """In the harness a budget runs out before an agent that never recommends is asked no more."""
    covered = {kind for _, _, kind, _ in AGENTS} | set(METHODS) | {"infrastructure", "none"}
    assert covered == set(FailureClass)
