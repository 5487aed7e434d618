"""Actions and tool calls in words: right for what is known, never a crash for what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.agents.step_words import (
    UNREADABLE,
    action_words,
    channel_words,
    policy_words,
    tool_words,
)
from slowlab.agents.steps import journal_steps, transcript_steps
from slowlab.agents.transcript import read_transcript
from slowlab.campaign.journal import read_journal
from slowlab.world.sensors import PUBLIC_CHANNELS
from tests.agents.synthetic_transcript import HARVEST, POLICY, branches
from tests.methods.contract_world import Play, made

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
FIELDS = ("action", "unit", "policy", "day", "variable", "resolution", "start_day", "run_index")


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    paths = branches(tmp_path_factory.mktemp("transcripts"))
    return {name: transcript_steps(read_transcript(p).records) for name, p in paths.items()}


@given(st.dictionaries(st.sampled_from(FIELDS), PLAIN) | st.none())
def test_any_action_has_words(action) -> None:
    assert action_words(action)


@given(PLAIN, PLAIN)
def test_any_tool_call_has_words(name, arguments) -> None:
    assert tool_words(name, arguments).startswith("use ")


def test_text_of_a_model_does_not_enter_the_words() -> None:
    bad = "<script>"
    observe = {"action": "observe", "unit": bad, "variable": bad, "start_day": bad}
    for words in (
        action_words({"action": bad}),
        action_words(observe),
        action_words({"action": "advance", "day": bad}),
        tool_words(bad, {"unit": bad, "variable": bad, "policies": [bad]}),
    ):
        assert bad not in words
    assert action_words({"action": "dance"}) == UNREADABLE


def test_every_public_channel_has_a_short_name() -> None:
    names = {channel_words(name) for name in PUBLIC_CHANNELS}
    assert len(names) == len(PUBLIC_CHANNELS)
    assert "an unknown channel" not in names


def test_a_policy_is_read_by_name() -> None:
    backwards = dict(reversed(POLICY.items()))
    assert policy_words(backwards) == policy_words(POLICY)
    assert policy_words({**POLICY, "co2_target_ppm": None}) == ""


def test_steps_say_what_was_done_why_and_what_came_of_it(steps) -> None:
    found = {(step.kind, step.ok): step for step in steps["full"]}
    planted = next(step for step in steps["full"] if step.kind == "start")
    assert planted.action.startswith("plant C1: 21/17 \N{DEGREE SIGN}C, 800 ppm CO2")
    assert (planted.reason, planted.outcome) == ("begin with what is known", "crop 1 planted")
    assert found["start", False].outcome == "refused: not idle"
    assert found["tool", False].outcome == "tool error: no readings"
    assert "\N{PLUS-MINUS SIGN}" in found["tool", True].outcome
    assert found["totals", True].outcome.startswith("crop 1 completed, margin ")
    assert found["observe", True].rows == 31
    assert found["recommend", True].stage == "final"
    assert found["error", False].outcome == "no object: one JSON object is needed"
    assert [step.day for step in steps["full"]] == sorted(step.day for step in steps["full"])
    assert f"look at {HARVEST}" in {step.reason for step in steps["full"]}


def test_steps_of_the_harness_are_not_those_of_the_model(steps) -> None:
    harness = {step.kind for step in steps["full"] if step.by == "harness"}
    assert harness == {"assignment", "flag", "ending"}


def test_both_branches_begin_with_the_same_steps(steps) -> None:
    begun = steps["initial"]
    for feedback in ("full", "endpoint"):
        assert steps[feedback][: len(begun)] == begun
        assert steps[feedback][len(begun)].action == f"tell the feedback condition: {feedback}"


def test_steps_of_a_numerical_method_come_from_its_journal(tmp_path) -> None:
    path = tmp_path / "journal.jsonl"
    play = Play(made("prior_bo"), journal=path)
    play.run()
    steps = journal_steps(read_journal(path).records)
    assert len(steps) == len(play.items)
    assert {step.by for step in steps} == {"method"}
    assert {step.kind for step in steps} >= {"start", "advance", "observe", "totals", "recommend"}
    assert all(not step.reason for step in steps)
    tools = [step for step in steps if step.kind == "tool"]
    assert len(tools) == play.tool_calls
