"""Budgets, each reached; the endgame; loops of identical errors; which policy counts in the end."""

from __future__ import annotations

import itertools
import json

import pytest

from slowlab.agents.assembly import Question
from slowlab.agents.budgets import COMPACT_PROMPT_CHARACTERS
from slowlab.agents.harness import AgentEnding
from slowlab.agents.messages import Role, Stage
from slowlab.campaign.settlement import FallbackReason, PolicySource
from slowlab.config import override
from tests.agents.harness_play import (
    COOL,
    DONE,
    FINISH,
    INITIAL,
    LAST_DAY,
    POLICY,
    RECOMMEND,
    RULES,
    WARM,
    advance,
    campaign,
    in_order,
    play,
    profile,
    start,
    tool,
)

OBSERVE = campaign("observe", unit=0)
BEST = {**OBSERVE, "incumbent": WARM}
REJECTED = campaign("stop", unit=0)
WITHOUT_RESERVE = override(
    RULES, {"budget.reserved_interface_calls": 0, "budget.reserved_decision_calls": 0}
)


def endless(reply, final=RECOMMEND, before=()):
    """A model that repeats one reply for the whole season, and says another one in the end."""
    season = itertools.chain(before, itertools.repeat(reply))

    def answer(stage, call):
        if stage is Stage.INITIAL:
            return INITIAL
        if stage is Stage.DESIGN:
            return DONE
        said = next(season) if stage is Stage.SEASON else final
        return said() if callable(said) else said

    return answer


@pytest.mark.parametrize("rules", [RULES, WITHOUT_RESERVE], ids=["reserve", "no_reserve"])
def test_when_two_calls_are_left_the_campaign_is_closed_with_a_recommendation(rules):
    played = play(endless(OBSERVE), rules=rules)
    calls = rules.budget.interface_calls
    assert played.actions() == ["observe"] * (calls - 2) + ["advance", "recommend"]
    assert played.flags() == ["forced_advance"]
    assert played.noted("flag") == [{"flag": "forced_advance", "detail": "calls"}]
    assert played.stages().count("final") == 1
    assert played.ending is AgentEnding.RECOMMENDED
    settled = played.executor.settle()
    assert settled.policy.model_dump() == WARM
    assert settled.day == LAST_DAY
    assert settled.budget["calls"] == {"used": calls, "max": calls}
    assert settled.rejections == {}


@pytest.mark.parametrize("rules", [RULES, WITHOUT_RESERVE], ids=["reserve", "no_reserve"])
def test_when_one_decision_is_left_the_campaign_is_closed_with_a_recommendation(rules):
    cycle = itertools.cycle([start(0), campaign("stop", unit=0), start(0), REJECTED])
    played = play(endless(lambda: next(cycle)), rules=rules)
    assert played.noted("flag") == [{"flag": "forced_advance", "detail": "decisions"}]
    assert played.ending is AgentEnding.RECOMMENDED
    used = played.executor.settle().budget["decisions"]
    assert used["used"] == used["max"] == rules.budget.decision_calls


def test_rejected_actions_cannot_use_up_what_the_endgame_needs():
    numbers = itertools.count(1)
    wrong = endless(lambda: campaign("observe", unit=100 + next(numbers) % 2))
    played = play(wrong)
    assert played.ending is AgentEnding.RECOMMENDED
    assert played.actions()[-2:] == ["advance", "recommend"]


def test_the_endgame_takes_nothing_but_a_recommendation():
    others = iter([OBSERVE, advance(LAST_DAY), tool("runs"), {"type": "design_complete"}])
    played = play(endless(OBSERVE, final=lambda: next(others, RECOMMEND)))
    assert played.stages().count("final") == 5
    assert [note["code"] for note in played.noted("error")] == ["action", "action", "type", "type"]
    assert played.actions()[-2:] == ["advance", "recommend"]
    told = played.last_messages(Stage.FINAL)
    assert "only your recommendation is accepted" in told[0]["instruction"]
    assert told[0]["latest_result"]["note"].startswith("It is the last day, and only a recomm")
    assert told[0]["state"]["day"] == LAST_DAY
    assert told[1]["latest_result"]["kind"] == "format_error"


def test_on_the_last_day_nothing_has_to_be_advanced():
    played = play(endless(OBSERVE, before=[advance(LAST_DAY)]))
    assert played.actions().count("advance") == 1
    assert played.flags() == []
    assert played.stages()[-1] == "final"
    assert played.ending is AgentEnding.RECOMMENDED


def short_of_characters(characters):
    """Budgets under which characters run out soon."""
    return profile(
        prompt_characters=characters,
        characters_per_prompt=20_000,
        endgame_reserve_characters=40_000,
    )


def test_when_characters_run_out_a_compact_prompt_asks_for_the_recommendation():
    used = short_of_characters(300_000)
    played = play(endless({**OBSERVE, "notes": "remember", "incumbent": COOL}), used)
    assert played.flags() == ["context_exhausted", "forced_advance"]
    assert played.noted("flag")[1]["detail"] == "prompt_characters"
    assert played.ending is AgentEnding.RECOMMENDED
    (final,) = played.calls(Stage.FINAL)
    assert final.characters <= COMPACT_PROMPT_CHARACTERS
    assert final.characters < min(call.characters for call in played.calls(Stage.SEASON))
    assert json.loads(final.messages[2].content) == {"notes": "remember", "incumbent": COOL}
    left = [
        told["state"]["left"]["prompt_characters"] for told in played.last_messages(Stage.SEASON)
    ]
    assert min(left) >= used.budgets.endgame_reserve_characters
    assert played.harness.counts.prompt_characters <= 300_000


def test_the_compact_prompt_is_short_enough_with_all_that_it_can_hold():
    """Sixteen crops, four states, the longest notes, the last result an error."""
    played = play(endless(OBSERVE), short_of_characters(300_000))
    crop = {
        "unit": 3,
        "run_index": 16,
        "start_day": 182.99652777777777,
        "closed": True,
        "reason": "temperature_safety",
        "end_day": 364.99652777777777,
        "policy": {name: value + 0.123456 for name, value in POLICY.items()},
        "margin_eur_m2": -12.345678,
    }
    (told,) = played.last_messages(Stage.FINAL)
    told["state"]["crops"] = [crop] * 16
    error = {"kind": "format_error", "error": {"reason": "policy", "message": "x" * 1_000}}
    question = Question(Stage.FINAL, told["state"], told["instruction"])
    (final,) = played.calls(Stage.FINAL)
    system = len(final.messages[0].content)
    remarks = len(json.dumps({"notes": "x" * 2_000, "incumbent": crop["policy"]}))
    assert system + remarks + len(question.text(error)) + 200 < COMPACT_PROMPT_CHARACTERS


def test_without_room_for_any_prompt_the_ladder_decides():
    used = short_of_characters(300_000)
    played = play(endless(BEST, final="no answer" * 100), used)
    assert played.ending is AgentEnding.INCUMBENT
    assert played.harness.counts.prompt_characters <= 300_000
    assert played.stages().count("final") >= 1


def test_after_all_model_calls_the_campaign_is_advanced_and_the_fallback_counts():
    played = play(endless(tool("runs")), profile(model_calls=20))
    assert len(played.stages()) == 20
    assert "final" not in played.stages()
    assert played.flags() == ["forced_advance"]
    assert played.noted("flag")[0]["detail"] == "model_calls"
    assert played.actions() == ["advance"]
    assert played.ending is AgentEnding.NO_RECOMMENDATION
    settled = played.executor.settle()
    assert settled.policy.model_dump() == COOL
    assert settled.source is PolicySource.INITIAL_RECOMMENDATION
    assert settled.fallback_reason is FallbackReason.MISSING_RECOMMENDATION


def test_model_calls_that_run_out_in_the_design_end_the_campaign_too():
    played = play([tool("runs")] * 9, profile(model_calls=10))
    assert played.stages() == ["initial"] + ["design"] * 9
    assert played.actions() == ["advance"]
    assert played.ending is AgentEnding.NO_RECOMMENDATION


def test_model_calls_that_run_out_at_once_leave_the_fixed_policy():
    played = play(lambda stage, call: "hm", profile(model_calls=2))
    assert played.stages() == ["initial", "initial"]
    assert played.noted("initial") == [{"policy": None, "attempts": 2}]
    assert played.executor.settle().source is PolicySource.FIXED_POLICY


def test_the_last_incumbent_is_recommended_by_the_harness_and_flagged():
    before = [{**OBSERVE, "incumbent": COOL}, BEST, {**OBSERVE, "reason": "no word of it"}]
    played = play(endless(tool("runs"), before=before), profile(model_calls=20))
    assert played.flags() == ["forced_advance", "incumbent_recommended"]
    assert played.ending is AgentEnding.INCUMBENT
    assert played.actions()[-2:] == ["advance", "recommend"]
    settled = played.executor.settle()
    assert settled.policy.model_dump() == WARM
    assert settled.source is PolicySource.RECOMMENDATION
    assert played.noted("exchange")[-1]["reason"] is None
    assert played.noted("ending")[0]["counts"]["flags"] == played.flags()


def test_a_recommendation_beats_the_incumbent_and_the_initial_one():
    played = play(endless(OBSERVE, before=[{**OBSERVE, "incumbent": COOL}]))
    assert played.ending is AgentEnding.RECOMMENDED
    assert played.executor.settle().policy.model_dump() == WARM


def test_an_invalid_incumbent_is_no_incumbent():
    wrong = {**OBSERVE, "incumbent": {**WARM, "day_temperature_c": 99}}
    played = play(endless(tool("runs"), before=[wrong]), profile(model_calls=20))
    assert played.noted("error")[0]["code"] == "incumbent"
    assert played.harness.incumbent is None
    assert played.ending is AgentEnding.NO_RECOMMENDATION


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        ("I cannot decide.", "format_errors"),
        ({"type": "dance"}, "format_errors"),
        (REJECTED, "invalid_actions"),
        (tool("fit_outcome_model"), "tool_errors"),
    ],
    ids=["no_object", "type", "action", "tool"],
)
def test_identical_errors_end_the_season(reply, counted):
    played = play(endless(reply), profile(identical_errors=5))
    assert played.harness.counts.payload()[counted] == 5
    assert played.flags() == ["identical_errors", "forced_advance"]
    assert played.noted("flag") == [
        {"flag": "identical_errors", "detail": "season"},
        {"flag": "forced_advance", "detail": "identical_errors"},
    ]
    assert played.stages().count("season") == 5
    assert played.stages().count("final") == 1
    assert played.ending is AgentEnding.RECOMMENDED


def test_identical_errors_in_the_endgame_end_the_campaign():
    played = play(endless("hm", final="hm"), profile(identical_errors=5))
    assert played.stages().count("final") == 5
    assert played.flags() == ["identical_errors", "forced_advance", "identical_errors"]
    assert played.ending is AgentEnding.NO_RECOMMENDATION
    played = play(endless("hm", final="hm", before=[BEST]), profile(identical_errors=5))
    assert played.ending is AgentEnding.INCUMBENT


def test_identical_errors_in_the_design_end_the_design_only():
    finish = in_order(FINISH)

    def answer(stage, call):
        return "hm" if stage is Stage.DESIGN else finish(stage, call)

    played = play(answer, profile(identical_errors=5))
    assert played.stages().count("design") == 5
    assert played.flags() == ["identical_errors"]
    assert played.noted("flag")[0]["detail"] == "design"
    assert played.ending is AgentEnding.RECOMMENDED


def test_errors_that_differ_or_are_interrupted_do_not_end_the_season():
    mixed = ["hm", {"type": "dance"}] * 6 + ["hm", "hm", "hm", "hm", OBSERVE] * 3
    played = play(in_order([*mixed, *FINISH]), profile(identical_errors=5))
    assert played.flags() == []
    assert played.harness.counts.format_errors == 24
    assert played.ending is AgentEnding.RECOMMENDED


def test_a_model_that_only_errs_ends_within_its_calls():
    played = play(lambda stage, call: f"{stage} hm")
    assert len(played.stages()) < 40
    assert played.ending is AgentEnding.NO_RECOMMENDATION
    assert played.executor.settle().day == LAST_DAY


def test_format_errors_keep_the_reply_and_cost_a_model_call():
    played = play(in_order(["x" * 5_000, *FINISH]))
    messages = played.calls(Stage.SEASON)[1].messages
    said = [m.content for m in messages if m.role is Role.ASSISTANT][-1]
    assert said == "x" * 2_000
    left = [told["state"]["left"] for told in played.last_messages(Stage.SEASON)]
    assert left[0]["model_calls"] - left[1]["model_calls"] == 1
    assert left[0]["calls"] == left[1]["calls"]


def test_tool_calls_run_out_and_the_season_goes_on():
    replies = itertools.chain([tool("runs")] * 64, [tool("runs")] * 2, FINISH)
    played = play(in_order(replies))
    assert played.harness.counts.tool_errors == 2
    assert played.last_messages(Stage.SEASON)[65]["state"]["left"]["tool_calls"] == 0
    last = played.last_messages(Stage.SEASON)[65]["latest_result"]
    assert (last["kind"], last["error"]["reason"]) == ("tool_error", "calls_used_up")
    assert played.ending is AgentEnding.RECOMMENDED
