"""Profiles that change one thing: the form of a reply; and stand-ins that play whole campaigns."""

from __future__ import annotations

import json

import pytest

from slowlab.agents.firewall import Firewall
from slowlab.agents.harness import AgentEnding
from slowlab.agents.messages import FunctionCall, ModelReply, Role, Stage
from slowlab.agents.reply_schema import functions, response_schema
from slowlab.agents.standins.conversation import Conversation
from slowlab.agents.standins.registry import SCRIPTS
from slowlab.world.task import Feedback
from tests.agents.harness_play import (
    DONE,
    FINISH,
    LAST_DAY,
    WARM,
    advance,
    as_function,
    campaign,
    in_order,
    play,
    profile,
    start,
    tool,
)

STEPS = [
    start(0),
    tool("runs", reason="to see"),
    DONE,
    {**advance(182), "notes": "half", "incumbent": WARM},
    campaign("observe", unit=0, reason="totals"),
    *FINISH,
]


def calls(steps):
    """The same steps as function calls."""
    rest = iter(steps)
    return lambda stage, call: as_function(
        {"type": "initial_recommendation", "policy": WARM} if stage is Stage.INITIAL else next(rest)
    )


def test_function_calls_lead_through_the_same_campaign_as_text():
    by_calls = play(calls(STEPS), profile("function_calls"))
    by_text = play(STEPS)
    assert by_calls.ending is AgentEnding.RECOMMENDED
    assert by_calls.noted("exchange") == by_text.noted("exchange")
    assert by_calls.noted("tool") == by_text.noted("tool")
    assert by_calls.noted("incumbent") == by_text.noted("incumbent")
    task = by_calls.executor.task()
    (season, *_) = by_calls.calls(Stage.SEASON)
    assert season.functions == functions(Stage.SEASON, task, profile("function_calls"))
    names = [each["name"] for each in by_calls.calls(Stage.DESIGN)[0].functions]
    assert names == [
        "start",
        "fit_outcome_model",
        "predict",
        "runs",
        "space_filling_candidates",
        "design_complete",
    ]
    said = [json.loads(m.content) for m in season.messages if m.role is Role.ASSISTANT]
    assert said[1:] == STEPS[:3]


def test_in_the_form_with_functions_text_is_no_answer_and_is_kept():
    wrong = [
        "I would rather wait.",
        json.dumps(advance(30)),
        ModelReply("", (FunctionCall("advance", '{"day":'),)),
        ModelReply("", (FunctionCall("advance", '{"day":1}'), FunctionCall("advance", "{}"))),
    ]
    steps = iter([*wrong, *map(as_function, FINISH)])
    answers = in_order([])

    def answer(stage, call):
        if stage is Stage.SEASON:
            return next(steps)
        return as_function(answers(stage, call))

    played = play(answer, profile("function_calls"))
    codes = [note["code"] for note in played.noted("error")]
    assert codes == ["no_call", "no_call", "no_object", "several_calls"]
    last = played.calls(Stage.SEASON)[-2]
    said = [m.content for m in last.messages if m.role is Role.ASSISTANT]
    assert said[-4] == "I would rather wait."
    assert said[-2] == '[{"args":"{\\"day\\":","name":"advance"}]'
    assert played.ending is AgentEnding.RECOMMENDED


def test_the_instruction_names_the_only_function_there_is():
    played = play(lambda stage, call: "hm", profile("function_calls"))
    assert (
        "Call the function initial_recommendation."
        in (played.last_messages(Stage.INITIAL)[0]["instruction"])
    )
    assert "Call the function recommend." in played.last_messages(Stage.FINAL)[0]["instruction"]
    assert "Call exactly one function." in played.last_messages(Stage.SEASON)[0]["instruction"]


def test_a_schema_is_sent_with_every_call_and_fits_its_stage():
    used = profile("json_schema")
    played = play(STEPS, used)
    task = played.executor.task()
    for call in played.calls(Stage.SEASON):
        assert call.response_schema == response_schema(Stage.SEASON, task, used)
    (initial,) = played.calls(Stage.INITIAL)
    assert initial.response_schema["properties"]["type"]["enum"] == ["initial_recommendation"]
    assert played.noted("exchange") == play(STEPS).noted("exchange")


def stand_in(name):
    """A stand-in as a model that is asked without a server."""
    script = SCRIPTS[name]

    def answer(stage, call):
        messages = [message.payload() for message in call.messages]
        said = script(Conversation.read(messages, call.seed))
        if call.functions and said.decision is not None:
            return as_function(said.decision)
        return said.text

    return answer


@pytest.mark.parametrize("name", sorted(SCRIPTS))
@pytest.mark.parametrize(
    "mode", [pytest.param(Feedback.FULL, marks=pytest.mark.slow), Feedback.ENDPOINT]
)
def test_every_stand_in_reaches_the_last_day(name, mode):
    firewall = Firewall()
    used = profile(prompt_characters=1_000_000, model_calls=100)
    played = play(stand_in(name), used, feedback=mode)
    counts = played.harness.counts
    settled = played.executor.settle()
    assert settled.day == LAST_DAY
    assert counts.model_calls == len(played.stages()) <= 100
    assert counts.prompt_characters <= 1_000_000
    recommended = played.ending is not AgentEnding.NO_RECOMMENDATION
    assert (settled.fallback_reason is None) == recommended
    for _, call in played.dialogue.asked:
        assert call.characters <= used.budgets.room
        firewall.check_call(call)


@pytest.mark.parametrize("name", ["full_transcript", "digest_only", "function_calls"])
def test_a_sensible_stand_in_ends_with_a_recommendation_under_every_profile(name):
    played = play(stand_in("two_wave"), profile(name), feedback=Feedback.ENDPOINT)
    assert played.ending is AgentEnding.RECOMMENDED
