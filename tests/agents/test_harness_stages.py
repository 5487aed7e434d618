"""The stages of a campaign: initial recommendation, design, season, and what is recorded."""

from __future__ import annotations

import itertools
import json

import pytest

from slowlab.agents.acting import CampaignStoppedError
from slowlab.agents.harness import AgentEnding, Harness
from slowlab.agents.messages import Stage
from slowlab.campaign.errors import CLOSED, FROZEN
from slowlab.campaign.history import History
from slowlab.campaign.settlement import PolicySource
from slowlab.methods._base import Campaign
from slowlab.world.task import Feedback
from tests.agents.harness_play import (
    COOL,
    DONE,
    FINISH,
    INITIAL,
    LAST_DAY,
    POLICY,
    RECOMMEND,
    WARM,
    FakeDialogue,
    advance,
    campaign,
    in_order,
    play,
    profile,
    start,
    system_task,
    tool,
)

OBSERVE = campaign("observe", unit=0)
WHOLE = [
    start(0),
    tool("runs"),
    DONE,
    {**advance(182), "notes": "half-time", "incumbent": COOL},
    campaign("observe", unit=0, reason="r" * 500),
    start(0, WARM),
    "no answer",
    {**advance(LAST_DAY), "notes": "half-time", "incumbent": COOL},
    tool("predict", policies=[]),
    {**RECOMMEND, "notes": "done", "incumbent": WARM},
]


def test_a_campaign_goes_through_its_stages():
    played = play(WHOLE)
    assert played.stages() == ["initial"] + ["design"] * 3 + ["season"] * 7
    assert played.ending is AgentEnding.RECOMMENDED
    assert played.actions() == [
        "start",
        "advance",
        "observe",
        "start",
        "advance",
        "recommend",
    ]
    settled = played.executor.settle()
    assert settled.source is PolicySource.RECOMMENDATION
    assert settled.policy.model_dump() == WARM
    assert played.harness.counts.payload() == {
        "model_calls": 11,
        "prompt_characters": sum(call.characters for _, call in played.dialogue.asked),
        "format_errors": 1,
        "invalid_actions": 0,
        "tool_calls": 2,
        "tool_errors": 1,
        "notes_updates": 2,
        "incumbents": 2,
        "probes": 0,
        "flags": [],
    }


def test_what_is_recorded_and_in_which_order():
    played = play(WHOLE)
    assert [kind for kind, _ in played.dialogue.notes] == [
        "initial",
        "exchange",
        "tool",
        "assignment",
        "incumbent",
        "exchange",
        "exchange",
        "exchange",
        "error",
        "exchange",
        "tool",
        "incumbent",
        "exchange",
        "ending",
    ]
    assert played.noted("initial") == [{"policy": COOL, "attempts": 1}]
    assert [note["reason"] for note in played.noted("exchange")] == [
        None,
        None,
        "r" * 400,
        None,
        None,
        None,
    ]
    used, predicted = played.noted("tool")
    assert (used["tool"], used["arguments"], used["reply"]["ok"]) == ("runs", {}, True)
    assert predicted["reply"]["error"]["kind"] == "tool_error"
    (error,) = played.noted("error")
    assert (error["kind"], error["code"]) == ("format_error", "no_object")
    assert played.noted("incumbent") == [{"policy": COOL}, {"policy": WARM}]
    (assignment,) = played.noted("assignment")
    assert assignment["feedback"] == "full"
    assert assignment["task"] == played.executor.task()
    counts = played.harness.counts.payload()
    assert played.noted("ending") == [{"ending": "recommended", "counts": counts}]


def test_every_call_carries_seed_and_token_limit():
    calls = [call for _, call in play(in_order(FINISH), seed=11).dialogue.asked]
    assert {(call.seed, call.max_output_tokens) for call in calls} == {(11, 2_048)}
    assert {call.seed for _, call in play(in_order(FINISH), seed=None).dialogue.asked} == {None}
    assert all(call.response_schema is None and call.functions == () for call in calls)


def initial_only(*replies):
    """A campaign whose first replies are given."""
    rest = itertools.chain(replies, itertools.repeat("nothing"))
    done = in_order(FINISH)
    return play(lambda stage, call: next(rest) if stage is Stage.INITIAL else done(stage, call))


def test_the_initial_recommendation_is_asked_again_with_what_was_wrong():
    played = initial_only("Let me think: \ud83d", {**INITIAL, "policy": {}}, INITIAL)
    assert [policy.model_dump() for policy in played.initial] == [COOL]
    assert played.noted("initial") == [{"policy": COOL, "attempts": 3}]
    assert [note["code"] for note in played.noted("error")] == ["no_object", "policy"]
    first, second, third = played.calls(Stage.INITIAL)
    assert [m.role.value for m in third.messages] == [
        "system",
        *["user", "assistant"] * 2,
        "user",
    ]
    assert third.messages[:3] == second.messages[:3]
    assert second.messages[:2] == first.messages
    assert second.messages[2].content == "Let me think: \ufffd"
    again = json.loads(second.messages[3].content)
    assert again["latest_result"]["error"]["reason"] == "no_object"
    assert again["state"]["left"]["model_calls"] == 199
    assert json.loads(first.messages[1].content)["latest_result"] is None


def test_after_three_attempts_there_is_no_initial_recommendation():
    played = initial_only()
    assert played.initial == []
    assert played.noted("initial") == [{"policy": None, "attempts": 3}]
    assert len(played.calls(Stage.INITIAL)) == 3
    assert [m.role.value for m in played.calls(Stage.DESIGN)[0].messages] == ["system", "user"]


def test_the_conversation_begins_with_the_initial_recommendation():
    first = play(in_order(FINISH)).calls(Stage.DESIGN)[0]
    assert json.loads(first.messages[2].content) == INITIAL
    assert "kept" in json.loads(first.messages[3].content)["latest_result"]["note"]


@pytest.mark.parametrize(
    ("design", "calls"),
    [
        ([DONE], 1),
        ([start(0), start(1), start(2), start(3)], 4),
        ([start(0), start(0), start(1), start(2), DONE], 5),
        ([tool("runs"), start(3), DONE], 3),
        ([tool("space_filling_candidates", n=n) for n in range(1, 25)], 24),
        ([advance(3), OBSERVE, RECOMMEND, {"type": "recommendation", "policy": POLICY}, DONE], 5),
    ],
    ids=["declared", "all_planted", "one_refused", "tool", "budget", "not_allowed"],
)
def test_the_design_ends_when_declared_or_planted_or_after_its_calls(design, calls):
    played = play([*design, *FINISH])
    assert played.stages().count("design") == calls
    assert played.ending is AgentEnding.RECOMMENDED


def test_what_the_design_does_not_take_never_reaches_the_campaign():
    played = play([advance(3), OBSERVE, RECOMMEND, campaign("stop", unit=0), DONE, *FINISH])
    assert played.actions() == ["advance", "recommend"]
    assert [note["code"] for note in played.noted("error")] == ["action"] * 4
    assert 'only actions now are \\"start\\"' in played.calls(Stage.DESIGN)[1].messages[-1].content


def test_the_design_tells_how_many_replies_are_left_for_it():
    texts = [
        told["instruction"] for told in play([start(0), DONE, *FINISH]).last_messages(Stage.DESIGN)
    ]
    assert "At most 24 more" in texts[0]
    assert "At most 23 more" in texts[1]


def test_the_assigned_condition_is_told_and_the_system_message_changes():
    played = play([start(0), DONE, *FINISH], feedback=Feedback.ENDPOINT)
    design, season = played.calls(Stage.DESIGN)[0], played.calls(Stage.SEASON)[0]
    assert system_task(design)["feedback"]["mode"] == "assigned after the day-0 design"
    assert system_task(season)["feedback"]["mode"] == "endpoint"
    latest = json.loads(season.messages[-1].content)["latest_result"]
    assert latest["note"].startswith("The day-0 design is complete.")
    assert "feedback mode of this campaign is endpoint" in latest["note"]
    systems = {call.messages[0] for call in played.calls(Stage.SEASON)}
    assert len(systems) == 1


def test_a_design_that_planted_everything_is_told_the_condition_with_its_last_start():
    played = play([start(unit) for unit in range(4)] + FINISH)
    latest = played.last_messages(Stage.SEASON)[0]["latest_result"]
    assert latest["result"]["unit"] == 3
    assert "feedback mode" in latest["note"]


def test_both_conditions_inherit_the_same_beginning():
    """Conversation, notes and counts at the first turn of the season differ in the mode alone."""
    beginning = [{**start(0), "notes": "n"}, tool("runs"), DONE, *FINISH]
    full, endpoint = (play(beginning, feedback=mode) for mode in (Feedback.FULL, Feedback.ENDPOINT))
    assert full.calls(Stage.DESIGN) == endpoint.calls(Stage.DESIGN)
    one, other = full.calls(Stage.SEASON)[0], endpoint.calls(Stage.SEASON)[0]
    assert one.messages[1:-1] == other.messages[1:-1]
    told = [json.loads(call.messages[-1].content) for call in (one, other)]
    characters = [t["state"]["left"].pop("prompt_characters") for t in told]
    assert characters[0] == characters[1]
    for each, mode in zip(told, ("full", "endpoint"), strict=True):
        note = each["latest_result"]["note"]
        each["latest_result"]["note"] = note.replace(f"is {mode}:", "is this:")
    assert told[0] == told[1]


def test_state_and_results_are_told():
    played = play([start(0), DONE, advance(182), OBSERVE, start(1), *FINISH])
    told = played.last_messages(Stage.SEASON)
    assert told[1]["latest_result"]["kind"] == "result"
    assert told[1]["latest_result"]["result"]["day"] == 182
    assert told[1]["state"]["crops"][0]["margin_eur_m2"] is None
    crop = told[2]["latest_result"]["result"]["crop"]
    assert told[2]["state"]["crops"][0]["margin_eur_m2"] == crop["margin_eur_m2"]
    assert told[2]["state"]["left"] == {
        "calls": 128 - 3,
        "decisions": 32 - 1,
        "starts": 16 - 1,
        "tool_calls": 64,
        "model_calls": 200 - 5,
        "prompt_characters": 5_000_000 - sum(c.characters for _, c in played.dialogue.asked[:5]),
    }
    assert told[3]["state"]["left"]["starts"] == 14
    assert set(told[0]["state"]) == {
        "day",
        "days_left",
        "budget",
        "compartments",
        "crops",
        "left",
    }


def test_invalid_actions_and_tool_errors_come_back_as_such():
    played = play([DONE, campaign("stop", unit=0), advance("30"), tool("predict"), *FINISH])
    kinds = [told["latest_result"]["kind"] for told in played.last_messages(Stage.SEASON)]
    assert kinds == ["notice", "invalid_action", "invalid_action", "tool_error", "result"]
    assert played.harness.counts.invalid_actions == 2
    assert played.harness.counts.tool_errors == 1
    assert played.last_messages(Stage.SEASON)[3]["state"]["left"]["tool_calls"] == 63


def test_an_answer_with_long_notes_does_nothing_and_keeps_the_earlier_ones():
    first = {**OBSERVE, "notes": "keep me"}
    long = {**advance(30), "notes": "x" * 2_001}
    played = play([DONE, first, long, *FINISH])
    assert played.actions() == ["observe", "advance", "recommend"]
    (error,) = played.noted("error")
    assert error["code"] == "notes_too_long"
    said = played.calls(Stage.SEASON)[2].messages[-2].content
    assert said.startswith('{"type": "campaign"')
    assert said.endswith('{"notes":"keep me"}')


def test_empty_notes_replace_notes():
    played = play([DONE, {**OBSERVE, "notes": "old"}, {**OBSERVE, "notes": ""}, *FINISH])
    assert '"notes":"old"' in played.calls(Stage.SEASON)[1].messages[-2].content
    assert '"notes":""' in played.calls(Stage.SEASON)[2].messages[-2].content
    assert played.harness.counts.notes_updates == 2


def test_a_recommendation_before_the_last_day_costs_and_does_not_end_the_season():
    played = play([DONE, RECOMMEND, *FINISH])
    assert played.actions() == ["recommend", "advance", "recommend"]
    assert played.harness.counts.invalid_actions == 1
    assert played.last_messages(Stage.SEASON)[1]["state"]["left"]["decisions"] == 31


def test_the_last_day_is_told():
    told = play([DONE, *FINISH]).last_messages(Stage.SEASON)
    assert told[0]["instruction"].startswith("Take the next step.")
    assert told[1]["instruction"].startswith("It is the last day.")


@pytest.mark.parametrize("reply", [FROZEN, CLOSED])
def test_a_campaign_that_has_stopped_is_not_recorded_further(reply):
    task = play(in_order(FINISH)).executor.task()
    dialogue = FakeDialogue(in_order([advance(30)]))
    harness = Harness(profile(), dialogue, Campaign(History(task)), 1)
    steps = harness.season()
    assert next(steps) == {"action": "advance", "day": 30}
    with pytest.raises(CampaignStoppedError):
        steps.send(reply)
    assert dialogue.notes == []


def test_an_outage_ends_the_harness_where_it_stands():
    def answer(stage, call):
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        play(answer)


def test_of_a_long_reason_400_characters_are_kept_and_shown():
    long = "why " * 300

    def answer(stage, call):
        said = {Stage.INITIAL: INITIAL, Stage.DESIGN: DONE}.get(stage)
        if stage is Stage.PROBE:
            said = {"type": "recommendation", "policy": COOL}
        return {**(said or next(season)), "reason": long}

    season = iter([OBSERVE, *FINISH])
    played = play(answer, profile(probe_days=[0]))
    (probe,) = played.noted("probe")
    assert probe["reason"] == long[:400]
    assert {note["reason"] for note in played.noted("exchange")} == {long[:400]}
    said = [json.loads(m.content) for m in played.calls(Stage.SEASON)[-1].messages[2::2]]
    assert {step["reason"] for step in said if "reason" in step} == {long[:400]}
    assert len(said) >= 3


def test_the_system_message_says_what_the_stage_takes():
    played = play([DONE, *FINISH])
    design, season = (played.calls(s)[0].messages[0].content for s in (Stage.DESIGN, Stage.SEASON))
    assert "Day 0 comes first" in design
    assert '"type": "design_complete"' in design
    assert '"action" (start)' in design
    assert "Day 0 comes first" not in season
    assert "design_complete" not in season
    assert '"action" (start, stop, advance, observe, recommend)' in season
