"""Failure classes: planted failures land in their class, every campaign has exactly one."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.analysis.autolab import autolab_numbers
from slowlab.analysis.campaign_facts import campaign_facts, idle_days
from slowlab.analysis.failure_classes import FailureClass, classify
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_numbers import build_numbers
from slowlab.analysis.study_tables import table
from slowlab.canonical import canonical_bytes
from tests.analysis.synthetic_study import synthetic_inputs, without

METHODS = ("fixed_reference", "grower", "careful", "prior_bo")
NAME = (0, "grower", "full", 0)
LEVEL = {"fixed_reference": 0.0, "careful": 5.0, "grower": 5.0, "prior_bo": 5.0}
LOST = {"fallback_reason": "missing_recommendation", "source": "fixed_policy"}


@pytest.fixture(scope="module")
def inputs():
    """Every campaign gains 5 EUR/m2 and nothing goes wrong."""
    plain = synthetic_inputs(METHODS, sites=2, repeats=1, readers=(), noise=0.0)
    scores = plain.scores.assign(margin_eur_m2=30.0 + plain.scores["method"].map(LEVEL))
    agents = plain.agents.assign(forced_advance=0)
    return replace(plain, scores=scores, agents=agents)


def planted(inputs, name=NAME, *, campaign=None, agent=None, gain=None):
    """The study with some values of one campaign changed."""
    changed = {}
    for table_name, values in (("campaigns", campaign), ("agents", agent)):
        frame = getattr(inputs, table_name).copy()
        for column, value in (values or {}).items():
            frame.loc[_rows(frame, name), column] = value
        changed[table_name] = frame
    scores = inputs.scores.copy()
    if gain is not None:
        scores.loc[_rows(scores, name), "margin_eur_m2"] = 30.0 + gain
    return replace(inputs, scores=scores, **changed)


def _rows(frame, name):
    keys = zip(("site", "method", "feedback", "repeat"), name, strict=True)
    chosen = pd.Series(True, index=frame.index)
    for column, value in keys:
        chosen &= frame[column] == value
    return chosen


def with_steps(inputs, name, told):
    """The study with the steps of one campaign replaced by (sequence, kind, action, ok)."""
    frame = inputs.steps[_rows(inputs.steps, name)].iloc[:1]
    rows = [
        {**frame.iloc[0].to_dict(), "sequence": number, "kind": kind, "action": action, "ok": ok}
        for number, kind, action, ok in told
    ]
    others = inputs.steps[~_rows(inputs.steps, name)]
    return replace(inputs, steps=pd.concat([others, pd.DataFrame(rows)], ignore_index=True))


def failures(inputs):
    """The class of each campaign with one, and their rows."""
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    found = autolab_numbers(inputs, cells)["failures"]
    named = {
        (row["site"], row["method"], row["feedback"], row["repeat"]): row for row in found["failed"]
    }
    return found, named


def test_campaigns_that_gain_have_no_class(inputs) -> None:
    found, named = failures(inputs)
    assert named == {}
    assert found["counts"]["grower"]["full"]["none"] == 2


INFRASTRUCTURE = {"status": "infrastructure_failure", "ending": "infrastructure_failure"}
BROKEN_OFF = {"status": "", "ending": "infrastructure_failure"}
"""What the tables hold of a campaign that the harness breaks off, as its facility did not fail."""
PLANTED = {
    "firewall": {"campaign": BROKEN_OFF, "agent": {"blocked": 1}},
    "infrastructure": {"campaign": INFRASTRUCTURE},
    "budget": {"campaign": LOST | {"calls": 126}},
    "format": {"campaign": LOST, "agent": {"format_errors": 40, "answers": 60}},
    "rules": {"campaign": LOST | {"fallback_reason": "invalid_recommendation"}},
    "premature_finish": {"campaign": LOST | {"fallback_reason": "deadline_not_reached"}},
    "no_recommendation": {"campaign": LOST},
    "capability_gap": {"gain": -0.5},
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_failure_lands_in_its_class(inputs, kind) -> None:
    found, named = failures(planted(inputs, **PLANTED[kind]))
    assert {name: row["class"] for name, row in named.items()} == {NAME: kind}
    assert named[NAME]["evidence"]
    assert found["counts"]["grower"]["full"] == {
        name: int(name == kind) + int(name == "none") for name in found["classes"]
    }


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"agent": {"forced_advance": 1}}, "budget"),
        ({"agent": {"context_exhausted": 1}}, "budget"),
        ({"campaign": {"ending": "request_limit"}}, "budget"),
        ({"agent": {"forced_advance": 1, "identical_errors": 1}}, "format"),
        ({"campaign": {"rejections": 9}, "agent": {"identical_errors": 1}}, "rules"),
        ({"campaign": {"ending": "protocol_error"}}, "format"),
        ({"campaign": {"rejections": 40}}, "rules"),
        ({"campaign": {"rejections": 20}, "agent": {"format_errors": 30}}, "format"),
        ({"campaign": {"rejections": 9}, "agent": {"format_errors": 9}}, "capability_gap"),
        ({"campaign": {"calls": 128}}, "capability_gap"),
    ],
)
def test_a_weak_campaign_is_explained_by_what_went_wrong(inputs, changes, kind) -> None:
    """The same without a failure explains nothing."""
    assert failures(planted(inputs, gain=0.0, **changes))[1][NAME]["class"] == kind
    assert failures(planted(inputs, gain=0.1, **changes))[1] == {}


def test_a_safety_stop_explains_a_weak_campaign(inputs) -> None:
    crops = inputs.crops.copy()
    crops.loc[crops[_rows(crops, NAME)].index[2], "reason"] = "safety_stop"
    weak = planted(replace(inputs, crops=crops), gain=-1.0)
    assert failures(weak)[1][NAME]["class"] == "safety"
    assert failures(weak)[1][NAME]["evidence"] == "safety stops of compartment/crop 1/1"
    assert failures(replace(inputs, crops=crops))[1] == {}


def test_half_of_the_days_idle_is_a_premature_finish(inputs) -> None:
    """One wave leaves 183 of 365 days."""
    crops = inputs.crops[~(_rows(inputs.crops, NAME) & (inputs.crops["run_index"] == 2))]
    one_wave = replace(inputs, crops=crops)
    assert failures(planted(one_wave, gain=-1.0))[1][NAME]["class"] == "premature_finish"
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    facts = campaign_facts(one_wave, cells)
    assert idle_days(facts[NAME], inputs.contract) == 4 * (365 - 182)
    empty = replace(inputs, crops=crops[~_rows(crops, NAME)])
    assert idle_days(campaign_facts(empty, cells)[NAME], inputs.contract) == 4 * 365


def test_what_was_never_run_or_scored_is_no_failure_of_the_method(inputs) -> None:
    _, named = failures(without(inputs, "careful"))
    assert {row["class"] for row in named.values()} == {"infrastructure"}
    assert {name[1] for name in named} == {"careful"}
    scores = inputs.scores.copy()
    scores.loc[_rows(scores, NAME), ["status", "margin_eur_m2"]] = ["run_failed", None]
    _, named = failures(replace(inputs, scores=scores))
    assert named[NAME]["evidence"] == "no score: run_failed"


def test_without_a_reference_nobody_is_weak(inputs) -> None:
    weak = planted(inputs, gain=-5.0)
    scores = weak.scores[weak.scores["method"] != "fixed_reference"]
    assert failures(replace(weak, scores=scores))[1] == {}


def test_records_of_the_transcript_are_the_evidence(inputs) -> None:
    told = [
        (7, "error", "gave no usable answer", "no"),
        (9, "start", "plant C1", "no"),
        (12, "flag", "flag: forced advance", "yes"),
        (15, "flag", "flag: identical errors", "yes"),
        (20, "flag", "flag: blocked", "yes"),
        (21, "recommend", "recommend", "yes"),
    ]
    shown = with_steps(inputs, NAME, told)
    for kind, changes, records in (
        ("firewall", PLANTED["firewall"], [20]),
        ("budget", {"gain": 0.0, "agent": {"forced_advance": 1}}, [12]),
        ("format", PLANTED["format"], [7]),
        ("rules", PLANTED["rules"], [9]),
        ("capability_gap", PLANTED["capability_gap"], [21]),
        ("infrastructure", PLANTED["infrastructure"], [21]),
    ):
        row = failures(planted(shown, **changes))[1][NAME]
        assert (row["class"], row["records"]) == (kind, records)
    many = with_steps(inputs, NAME, [(number, "error", "", "no") for number in range(3, 12)])
    row = failures(planted(many, **PLANTED["format"]))[1][NAME]
    assert (row["records"], row["n_records"]) == ([3, 4, 5, 6, 7], 9)


def test_a_numerical_method_needs_no_transcript(inputs) -> None:
    name = (1, "prior_bo", "endpoint", 0)
    row = failures(planted(inputs, name, campaign=LOST))[1][name]
    assert (row["class"], row["records"]) == ("no_recommendation", [])
    assert row["evidence"] == "fallback: missing_recommendation, ending: settled"


def test_calls_of_a_numerical_method_count_as_its_answers(inputs) -> None:
    name = (1, "prior_bo", "endpoint", 0)
    for rejections, kind in ((10, "rules"), (9, "no_recommendation")):
        refused = planted(inputs, name, campaign=LOST | {"calls": 20, "rejections": rejections})
        assert failures(refused)[1][name]["class"] == kind


COUNT = st.integers(0, 130)


@settings(max_examples=60, deadline=None)
@given(
    campaign=st.fixed_dictionaries(
        {
            "status": st.sampled_from(["finished", "closed", "infrastructure_failure", ""]),
            "fallback_reason": st.sampled_from(
                ["", "invalid_recommendation", "missing_recommendation", "deadline_not_reached"]
            ),
            "ending": st.sampled_from(["settled", "request_limit", "crashed", "protocol_error"]),
            "calls": COUNT,
            "decisions": COUNT,
            "rejections": COUNT,
        }
    ),
    agent=st.fixed_dictionaries(
        {
            name: st.integers(0, 3)
            for name in ("blocked", "context_exhausted", "forced_advance", "identical_errors")
        }
        | {"answers": COUNT, "format_errors": COUNT}
    ),
    gain=st.floats(-20, 20),
)
def test_every_campaign_has_exactly_one_class(campaign, agent, gain) -> None:
    inputs = _BASE
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    facts = campaign_facts(inputs, cells)[NAME]
    given_facts = replace(
        facts, campaign={**facts.campaign, **campaign}, agent={**facts.agent, **agent}, gain=gain
    )
    found = classify(given_facts, inputs.contract)
    sound = campaign["status"] in ("finished", "closed")
    failed = not sound or campaign["fallback_reason"] != "" or gain <= 0
    assert (found.kind is FailureClass.NONE) == (not failed)
    assert bool(found.evidence) == failed
    technical = found.kind in (FailureClass.FIREWALL, FailureClass.INFRASTRUCTURE)
    assert technical == (not sound)
    assert list(found.records) == sorted(found.records)


_BASE = synthetic_inputs(("fixed_reference", "grower", "prior_bo"), sites=1, repeats=1, readers=())


def test_order_of_rows_changes_nothing() -> None:
    failed = [(0, "grower", "full", 0)]
    plain = synthetic_inputs(METHODS, sites=3, readers=(), failed=failed)
    mixed = {
        name: getattr(plain, name).sample(frac=1.0, random_state=4)
        for name in ("scores", "campaigns", "crops", "reads", "agents", "steps")
    }
    assert canonical_bytes(failures(plain)[0]) == canonical_bytes(
        failures(replace(plain, **mixed))[0]
    )


def test_the_table_counts_every_campaign_once() -> None:
    plain = synthetic_inputs(METHODS, sites=3, readers=())
    frame = table("failures", build_numbers(plain))
    totals = frame.astype({"campaigns": int}).groupby(["method", "feedback"])["campaigns"].sum()
    assert set(totals) == {6}
    assert set(frame["of"]) == {"6"}
    assert "grower (stand-in)" in set(frame["method"])
