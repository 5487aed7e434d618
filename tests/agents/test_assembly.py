"""Putting prompts together: what is shown, in which order, and how long it may be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.agents.assembly import (
    PromptTooLongError,
    Question,
    campaign_prompt,
    compact_prompt,
)
from slowlab.agents.memory import Conversation, Turn
from slowlab.agents.messages import Role, Stage
from slowlab.canonical import canonical_json
from slowlab.world.policy import Policy
from tests.agents.harness_play import POLICY, profile

SYSTEM, OPENING = "s" * 1_000, "The campaign so far."
QUESTION = Question(Stage.SEASON, {"day": 3.0, "left": {"calls": 5}}, "Go on.")
SMALL = {
    "characters_per_prompt": 16_000,
    "prompt_margin_characters": 6_000,
    "endgame_reserve_characters": 36_000,
}


def turn(number, length=10, **changes):
    """A turn whose result is as long as is asked for."""
    result = {"kind": "tool_result", "result": {"number": number, "text": "x" * length}}
    return Turn({"type": "tool", "name": "runs", "step": number}, result, "runs", **changes)


def talk(*turns, notes=None, incumbent=None):
    conversation = Conversation()
    conversation.turns = list(turns)
    conversation.notes = notes
    conversation.incumbent = incumbent
    return conversation


def prompt(conversation, used=None):
    return campaign_prompt(SYSTEM, OPENING, conversation, QUESTION, used or profile())


def results(messages):
    """Results in the user's turns, oldest first."""
    users = [json.loads(m.content) for m in messages[2:] if m.role is Role.USER]
    return [*users[:-1], users[-1]["latest_result"]]


def test_before_the_first_turn_there_is_only_the_question():
    messages = prompt(talk())
    assert [m.role.value for m in messages] == ["system", "user"]
    assert json.loads(messages[1].content) == {
        "stage": "season",
        "state": {"day": 3.0, "left": {"calls": 5}},
        "latest_result": None,
        "instruction": "Go on.",
    }


def test_order_and_roles():
    messages = prompt(talk(turn(1), turn(2), turn(3)))
    assert [m.role.value for m in messages] == ["system", *["user", "assistant"] * 3, "user"]
    assert messages[0].content == SYSTEM
    assert messages[1].content == OPENING
    said = [json.loads(m.content)["step"] for m in messages if m.role is Role.ASSISTANT]
    assert said == [1, 2, 3]
    assert [result["result"]["number"] for result in results(messages)] == [1, 2, 3]
    assert messages[-1].content == QUESTION.text(turn(3).result)


def test_the_six_latest_results_are_in_full_and_older_long_ones_are_notes():
    shown = results(prompt(talk(*(turn(n, 400) for n in range(10)))))
    assert ["result" in result for result in shown] == [False] * 4 + [True] * 6
    assert shown[0] == {"kind": "tool_result", "note": "the result of runs, no longer shown"}


def test_older_results_of_up_to_300_characters_stay():
    edge = len(canonical_json(turn(0, 0).result))
    turns = [turn(0, 300 - edge), turn(1, 301 - edge), *(turn(n) for n in range(2, 9))]
    shown = results(prompt(talk(*turns)))
    assert ["result" in result for result in shown] == [True, False] + [True] * 7


def test_notes_and_incumbent_stand_with_the_latest_step_only():
    best = Policy(**POLICY)
    messages = prompt(talk(turn(1), turn(2), notes="remember", incumbent=best))
    first, last = (json.loads(m.content) for m in messages if m.role is Role.ASSISTANT)
    assert first == {"type": "tool", "name": "runs", "step": 1}
    assert last == {
        "type": "tool",
        "name": "runs",
        "step": 2,
        "notes": "remember",
        "incumbent": POLICY,
    }
    raw = Turn("what was said", turn(2).result)
    messages = prompt(talk(turn(1), raw, notes="remember"))
    assert messages[-2].content == 'what was said\n{"notes":"remember"}'


def test_turns_are_shown_newest_first_as_far_as_they_fit():
    used = profile(**SMALL)
    messages = prompt(talk(*(turn(n, 250) for n in range(100))), used)
    said = [json.loads(m.content)["step"] for m in messages if m.role is Role.ASSISTANT]
    assert said == list(range(100 - len(said), 100))
    length = sum(len(m.content) for m in messages)
    one_more = len(turn(1, 250).words()) + len(canonical_json(turn(1, 250).result))
    assert length <= used.budgets.room < length + one_more + 3


def test_a_recent_result_that_does_not_fit_in_full_becomes_a_note():
    used = profile(**SMALL)
    shown = results(prompt(talk(turn(1), turn(2, 9_000), turn(3), turn(4)), used))
    assert ["result" in result for result in shown] == [True, False, True, True]


def test_the_full_transcript_makes_no_notes_of_results():
    used = profile("full_transcript", **SMALL)
    shown = results(prompt(talk(*(turn(n, 400) for n in range(12))), used))
    assert len(shown) == 12
    assert all("result" in result for result in shown)
    shown = results(prompt(talk(turn(1), turn(2, 9_000), turn(3), turn(4)), used))
    assert [result["result"]["number"] for result in shown] == [3, 4]


def test_the_digest_alone_shows_the_latest_turn_only():
    messages = prompt(talk(turn(1), turn(2), turn(3)), profile("digest_only"))
    assert [m.role.value for m in messages] == ["system", "user", "assistant", "user"]
    assert [result["result"]["number"] for result in results(messages)] == [3]


def test_of_an_oversized_latest_result_rows_are_left_out_and_it_says_so():
    used = profile(**SMALL)
    rows = [{"day": day, "mean": 20.123456} for day in range(1_000)]
    result = {"kind": "result", "result": {"records": {"rows": rows}}}
    messages = prompt(talk(turn(1), Turn({"type": "campaign"}, result)), used)
    latest = results(messages)[-1]
    shown = latest["result"]["records"]["rows"]
    assert 0 < len(shown) < 1_000
    assert shown == rows[-len(shown) :]
    assert latest["note"] == f"only the latest {len(shown)} of 1000 rows fit in here"
    assert sum(len(m.content) for m in messages) <= used.budgets.room


def test_a_long_step_of_the_model_gives_way():
    used = profile(**SMALL)
    long = Turn({"type": "tool", "name": "predict", "args": "x" * 20_000}, turn(1).result)
    messages = prompt(talk(long, notes="remember"), used)
    assert messages[-2].content == '{"notes":"remember"}'
    assert prompt(talk(long), used)[-2].content == "(a long reply, no longer shown)"
    assert results(messages)[-1] == turn(1).result


def test_where_prompts_are_short_the_latest_crops_are_listed_as_far_as_they_fit():
    used = profile(**SMALL)
    crops = [
        {"unit": number // 2, "start_day": 182.0 * (number % 2), "text": "x" * 700}
        for number in range(16)
    ]
    question = Question(Stage.SEASON, {"day": 3.0, "crops": crops}, "Go on.")
    for turns in ([], [turn(1)], [turn(1), turn(2, 5_000)]):
        messages = campaign_prompt(SYSTEM, OPENING, talk(*turns), question, used)
        assert sum(len(m.content) for m in messages) <= used.budgets.room
        state = json.loads(messages[-1].content)["state"]
        shown = state["crops"]
        assert 0 < len(shown) < 16
        later = [crop for crop in crops if crop["start_day"] > 0]
        assert [crop for crop in shown if crop["start_day"] > 0] == later[-len(shown) :]
        assert shown == [crop for crop in crops if crop in shown]
        assert state["note"] == f"only the latest {len(shown)} of 16 crops fit in here"
    wide = campaign_prompt(SYSTEM, OPENING, talk(turn(1)), question, profile())
    assert json.loads(wide[-1].content)["state"] == {"day": 3.0, "crops": crops}


def test_budgets_without_room_for_the_least_are_an_error_that_says_which():
    with pytest.raises(PromptTooLongError, match=r"raise budgets\.characters_per_prompt"):
        campaign_prompt("s" * 10_000, OPENING, talk(turn(1)), QUESTION, profile(**SMALL))


def test_the_compact_prompt_holds_notes_and_an_error_and_no_turns():
    failed = Turn("nonsense", {"kind": "format_error", "error": {"message": "no"}})
    messages = compact_prompt("short", OPENING, talk(turn(1), failed, notes="n"), QUESTION)
    assert [m.content for m in messages[:3]] == ["short", OPENING, '{"notes":"n"}']
    assert json.loads(messages[3].content)["latest_result"] == failed.result
    messages = compact_prompt("short", OPENING, talk(turn(1)), QUESTION)
    assert [m.content for m in messages] == ["short", QUESTION.text(None)]


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.booleans()), max_size=40),
    st.booleans(),
    st.sampled_from(["digest_notes", "full_transcript", "digest_only"]),
)
def test_a_prompt_is_never_too_long_and_takes_turns(turns, notes, name):
    used = profile(name, **SMALL)
    made = [
        Turn("raw " * 50, turn(n, length).result) if raw else turn(n, length)
        for n, (length, raw) in enumerate(turns)
    ]
    messages = prompt(talk(*made, notes="n" * 2_000 if notes else None), used)
    assert sum(len(m.content) for m in messages) <= used.budgets.room
    roles = [m.role.value for m in messages]
    assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]
    if made:
        assert messages[1].content == OPENING
        assert json.loads(messages[-1].content)["latest_result"]["kind"] == "tool_result"
