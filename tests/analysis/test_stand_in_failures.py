"""Scripted agents that fail in a known way: played whole, they land in their failure class.

Stand-ins are scripted programs, not language models, and the facility grows by a few formulas.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.analysis.campaign_facts import campaign_facts
from slowlab.analysis.failure_classes import classify
from slowlab.analysis.scores import cells_from_scores
from slowlab.stages.agent_table import agent_tables
from slowlab.stages.campaign_table import CampaignName, campaign_tables, rows_from
from tests.agents.stand_in_campaigns import play_whole
from tests.analysis.synthetic_study import synthetic_inputs

NAME = CampaignName(0, "grower", "endpoint", 0)


def facts_of(script, folder, gain):
    """What a study would know of the campaign of a stand-in, with a gain that is given."""
    played = play_whole(script, folder)
    records = read_transcript(played.path).records
    agents, steps = agent_tables([(NAME, records)])
    rows = rows_from(NAME, played.history, played.executor.settle(), ending="recommended")
    campaigns, crops, reads = campaign_tables([rows])
    plain = synthetic_inputs(("fixed_reference", "grower", "prior_bo"), sites=1, repeats=1)
    inputs = replace(
        plain, campaigns=campaigns, crops=crops, reads=reads, agents=agents, steps=steps
    )
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    facts = campaign_facts(inputs, cells)[0, "grower", "endpoint", 0]
    return replace(facts, gain=gain), inputs.contract, {r.sequence: r for r in records}


@pytest.mark.parametrize(
    ("script", "kind", "shown_by"),
    [
        ("time-blind", "budget", TranscriptKind.FLAG),
        ("malformed", "format", TranscriptKind.ERROR),
        ("silent", "format", TranscriptKind.ERROR),
        ("hostile", "format", TranscriptKind.ERROR),
        ("over-budget", "budget", TranscriptKind.FLAG),
        ("grower", "capability_gap", TranscriptKind.EXCHANGE),
    ],
)
def test_a_script_that_gained_nothing_is_in_its_class(tmp_path, script, kind, shown_by) -> None:
    """Most of what the hostile one asks for is no action at all, so that the parser refuses it."""
    facts, contract, records = facts_of(script, tmp_path, gain=0.0)
    found = classify(facts, contract)
    assert found.kind == kind
    assert found.records
    assert {records[number].kind for number in found.records} == {shown_by}


def test_a_script_that_gained_something_did_not_fail(tmp_path) -> None:
    facts, contract, _ = facts_of("time-blind", tmp_path, gain=0.1)
    assert classify(facts, contract).kind == "none"
