"""Reading replies: one rule, every fault a code, no text of the model in a message."""

from __future__ import annotations

import json
import pickle

import pytest

from slowlab.agents.memory import NOTHING_SAID, kept_text
from slowlab.agents.messages import FunctionCall, ModelReply, Stage
from slowlab.agents.parser import ReplyError, ReplyFault, function_names, parse_call, parse_text
from slowlab.agents.reply_forms import ReplyType, reply_forms
from slowlab.canonical import canonical_json, loads_strict
from slowlab.world.task import Feedback, task_description
from tests.agents.harness_play import POLICY, RULES, SENSORS, profile

TASK = task_description(RULES, SENSORS, RULES.economics.default_prices, Feedback.FULL)
FORMS = {stage: reply_forms(stage, TASK, profile()) for stage in Stage}
SEASON = FORMS[Stage.SEASON]
WAIT = {"type": "campaign", "action": {"action": "advance", "day": 30}}
GOOD = json.dumps(WAIT)


def read(text, stage=Stage.SEASON):
    return parse_text(text, FORMS[stage])


def fault(text, stage=Stage.SEASON):
    with pytest.raises(ReplyError) as caught:
        read(text, stage)
    return caught.value.code


def fault_of(reply, stage=Stage.SEASON):
    return fault(json.dumps(reply), stage)


def message(reply, stage=Stage.SEASON):
    with pytest.raises(ReplyError) as caught:
        read(reply if isinstance(reply, str) else json.dumps(reply), stage)
    return caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}  \n",
        f"```json\n{GOOD}\n```",
        f"``` ```json\n{GOOD}\n``` ```",
        f"`````\n```\n{GOOD}\n```\n`````",
        f"I have thought about it.\n\n{GOOD}\n\nThat is all.",
        f"[{GOOD}]",
        f"\ufeff{GOOD}",
        f"\x00{GOOD}\x00",
        f"half an emoji \ud83d {GOOD}",
        json.dumps(WAIT, indent=4),
        GOOD.replace("{", "{\r\n\t"),
    ],
    ids=range(12),
)
def test_what_stands_around_the_one_object_is_ignored(text):
    assert read(text).action == {"action": "advance", "day": 30}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I would rather wait.", "no_object"),
        ("} {", "no_object"),
        ("[" * 100_000, "no_object"),
        ("[]", "no_object"),
        ('"text"', "no_object"),
        ("null", "no_object"),
        (GOOD[: len(GOOD) // 2], "no_object"),
        ('{"a":' * 100_000, "no_object"),
        (f"{GOOD}\n{GOOD}", "syntax"),
        (f"[{GOOD},{GOOD}]", "syntax"),
        (f"{GOOD} and {{so on}}", "syntax"),
        (GOOD.replace('"', "'"), "syntax"),
        (GOOD.replace("}}", ",}}"), "syntax"),
        ('{"type":"campaign","reason":"a\nb"}', "syntax"),
        ('{"type":"campaign","reason":"a\x00b"}', "syntax"),
        ('{"a":' + "[" * 100_000 + "}", "too_large"),
        ('{"a":' + "[" * 60_000 + "}", "too_deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "too_large"),
        ('{"a":' * 17 + "1" + "}" * 17, "too_deep"),
        ('{"a":"' + "x" * 2_000_000 + '"}', "too_large"),
        ('{"a":"\ufeff' + "\u20ac" * 30_000 + '"}', "too_large"),
        ('{"type":"campaign","action":{"action":"advance","day":1e999}}', "number_out_of_range"),
        ('{"type":"campaign","action":{"action":"advance","day":-1E400}}', "number_out_of_range"),
        ('{"type":"campaign","action":{"action":"advance","day":NaN}}', "not_finite"),
        ('{"type":"campaign","action":{"action":"advance","day":-Infinity}}', "not_finite"),
        ('{"a":' + "9" * 5_000 + "}", "number_too_long"),
        ('{"type":"campaign","action":{"action":"advance","day":1,"day":365}}', "duplicate_key"),
        ('{"type":"campaign","\\u0074ype":"tool"}', "duplicate_key"),
        ('{"type":"campaign","reason":"\\ud83d"}', "lone_surrogate"),
        ('{"type":"campaign","reason":"\ud83d"}', "lone_surrogate"),
        ('{"type":"campaign","reason":"\\udc00\\ud83d"}', "lone_surrogate"),
        ('{"\ufeff": 1}', "type"),
        ("{}", "type"),
    ],
    ids=range(35),
)
def test_everything_else_is_a_coded_fault(text, code):
    assert fault(text) == code


def test_a_fault_of_the_text_never_raises_anything_else_and_never_repeats_it():
    for text in ('{"SECRET-MARK":', '{"SECRET-MARK" "x"}', '{"SECRET-MARK":1,"SECRET-MARK":2}'):
        assert "SECRET" not in message(text)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"type": "dance"}, "type"),
        ({"type": 3}, "type"),
        ({"type": ["campaign"]}, "type"),
        ({"type": None}, "type"),
        ({"action": {"action": "advance", "day": 1}}, "type"),
        ({"type": "campaign"}, "members"),
        ({**WAIT, "thought": "hm"}, "members"),
        ({**WAIT, "policy": POLICY}, "members"),
        ({"type": "campaign", "action": "advance"}, "action"),
        ({"type": "campaign", "action": ["advance"]}, "action"),
        ({"type": "campaign", "action": {"day": 3}}, "action"),
        ({"type": "campaign", "action": {"action": 1}}, "action"),
        ({"type": "campaign", "action": {"action": "read_file"}}, "action"),
        ({"type": "campaign", "action": {"action": "recommend"}}, "action"),
        ({"type": "tool"}, "members"),
        ({"type": "tool", "name": "oracle"}, "tool"),
        ({"type": "tool", "name": 1}, "tool"),
        ({"type": "tool", "name": "runs", "args": []}, "tool"),
        ({"type": "tool", "name": "runs", "args": None}, "tool"),
        ({**WAIT, "reason": 1}, "reason"),
        ({**WAIT, "reason": None}, "reason"),
        ({**WAIT, "notes": ["a"]}, "notes"),
        ({**WAIT, "notes": "x" * 2_001}, "notes_too_long"),
        ({**WAIT, "incumbent": "the best"}, "incumbent"),
        ({**WAIT, "incumbent": None}, "incumbent"),
        ({**WAIT, "incumbent": {**POLICY, "co2_target_ppm": True}}, "incumbent"),
        ({**WAIT, "incumbent": {**POLICY, "co2_target_ppm": "800"}}, "incumbent"),
        ({**WAIT, "incumbent": {**POLICY, "co2_target_ppm": 5_000}}, "incumbent"),
        ({**WAIT, "incumbent": {**POLICY, "night_temperature_c": 21.5}}, "incumbent"),
        ({"type": "design_complete"}, "type"),
        ({"type": "recommendation", "policy": POLICY}, "type"),
    ],
    ids=range(31),
)
def test_members_and_their_types_are_checked(reply, code):
    assert fault_of(reply) == code


def recommend(policy):
    return {"type": "campaign", "action": {"action": "recommend", "policy": policy}}


@pytest.mark.parametrize(
    "policy",
    [
        "whatever scores best",
        None,
        {},
        {**POLICY, "extra": 1},
        {**POLICY, "day_temperature_c": True},
        {**POLICY, "day_temperature_c": "21"},
        {**POLICY, "day_temperature_c": 99},
        {**POLICY, "night_temperature_c": 21.5},
        dict(list(POLICY.items())[:5]),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("stage", [Stage.INITIAL, Stage.SEASON, Stage.FINAL, Stage.PROBE])
def test_a_recommended_policy_that_could_not_count_is_a_fault(policy, stage):
    kinds = {Stage.INITIAL: "initial_recommendation", Stage.PROBE: "recommendation"}
    kind = kinds.get(stage)
    reply = recommend(policy) if kind is None else {"type": kind, "policy": policy}
    assert fault_of(reply, stage) == ReplyFault.POLICY


def test_fields_of_other_actions_are_left_to_the_campaign():
    for action in (
        {"action": "start", "unit": True, "policy": {}},
        {"action": "start", "unit": "1"},
        {"action": "advance", "day": "30"},
        {"action": "observe", "unit": -1, "private": True},
    ):
        assert read(json.dumps({"type": "campaign", "action": action})).action == action


def test_stages_take_their_own_replies_only():
    policy = {"policy": POLICY}
    replies = {
        "start": {"type": "campaign", "action": {"action": "start", "unit": 0, **policy}},
        "advance": WAIT,
        "recommend": recommend(POLICY),
        "tool": {"type": "tool", "name": "runs", "args": {}},
        "design_complete": {"type": "design_complete"},
        "initial_recommendation": {"type": "initial_recommendation", **policy},
        "recommendation": {"type": "recommendation", **policy},
    }
    allowed = {
        Stage.INITIAL: {"initial_recommendation"},
        Stage.DESIGN: {"start", "tool", "design_complete"},
        Stage.SEASON: {"start", "advance", "recommend", "tool"},
        Stage.FINAL: {"recommend"},
        Stage.PROBE: {"recommendation"},
        Stage.READING: {"recommendation"},
    }
    for stage, forms in FORMS.items():
        taken = set()
        for name, reply in replies.items():
            try:
                parse_text(json.dumps(reply), forms)
            except ReplyError:
                continue
            taken.add(name)
        assert taken == allowed[stage], stage


def test_what_an_answer_holds():
    decision = read(
        json.dumps(
            {
                "type": "tool",
                "name": "predict",
                "args": {"policies": [POLICY]},
                "reason": "r" * 1_000,
                "notes": "n" * 2_000,
                "incumbent": dict(reversed(POLICY.items())),
            }
        )
    )
    assert decision.kind is ReplyType.TOOL
    assert (decision.tool.name, decision.tool.arguments) == ("predict", {"policies": [POLICY]})
    assert len(decision.reason) == 1_000
    assert len(decision.notes) == 2_000
    assert decision.incumbent.model_dump() == POLICY
    assert decision.policy is decision.action is None


def test_arguments_of_a_tool_may_be_left_out():
    assert read('{"type":"tool","name":"runs"}').tool.arguments == {}


def test_messages_say_what_is_allowed_and_nothing_that_was_received():
    assert message({"type": "MARK"}) == '"type" must be "campaign" or "tool" now'
    assert message({**WAIT, "MARK": 1}) == (
        "1 unexpected member(s); a campaign reply has type, action, reason (optional), "
        "notes (optional), incumbent (optional)"
    )
    assert '"start" or "stop" or "advance"' in message(
        {"type": "campaign", "action": {"action": "MARK"}}
    )
    assert "fit_outcome_model" in message({"type": "tool", "name": "MARK"})
    assert "may have 2000" in message({**WAIT, "notes": "MARK" * 600})
    assert "allowed: 400 to 1200 ppm" in message(
        {**WAIT, "incumbent": {**POLICY, "co2_target_ppm": "MARK"}}
    )
    for reply in (
        {"type": "MARK"},
        {**WAIT, "MARK": 1},
        {"type": "campaign", "action": {"action": "MARK"}},
        {"type": "tool", "name": "MARK"},
        {**WAIT, "incumbent": {**POLICY, "MARK": "MARK"}},
        recommend("MARK"),
    ):
        assert "MARK" not in message(reply)


def test_notes_are_no_member_where_none_are_kept():
    forms = reply_forms(Stage.SEASON, TASK, profile("digest_only"))
    with pytest.raises(ReplyError) as caught:
        parse_text(json.dumps({**WAIT, "notes": "n"}), forms)
    assert caught.value.code is ReplyFault.MEMBERS
    assert "notes" not in caught.value.message


def test_the_order_of_keys_never_matters():
    reply = {**recommend(POLICY), "reason": "r", "incumbent": POLICY}
    backwards = json.dumps(
        {
            "incumbent": dict(reversed(POLICY.items())),
            "reason": "r",
            "action": {"policy": dict(reversed(POLICY.items())), "action": "recommend"},
            "type": "campaign",
        }
    )
    one, other = read(json.dumps(reply)), read(backwards)
    assert canonical_json(one.payload()) == canonical_json(other.payload())
    assert one == other


def test_an_error_crosses_process_boundaries():
    error = pickle.loads(pickle.dumps(ReplyError(ReplyFault.TYPE, "no")))
    assert (error.code, error.message, str(error)) == (ReplyFault.TYPE, "no", "no")


def called(*calls, text=""):
    return ModelReply(text, tuple(FunctionCall(name, arguments) for name, arguments in calls))


def call_fault(reply, stage=Stage.SEASON):
    with pytest.raises(ReplyError) as caught:
        parse_call(reply, FORMS[stage])
    return caught.value.code


def test_one_call_of_a_function_is_an_answer():
    arguments = json.dumps({"unit": 0, "policy": POLICY, "reason": "r", "notes": "n"})
    decision = parse_call(called(("start", arguments), text="ignored {"), SEASON)
    assert decision.action == {"action": "start", "unit": 0, "policy": POLICY}
    assert (decision.reason, decision.notes) == ("r", "n")
    decision = parse_call(called(("predict", json.dumps({"policies": [], "reason": "r"}))), SEASON)
    assert decision.payload() == {"type": "tool", "name": "predict", "args": {"policies": []}}
    assert decision.reason == "r"
    design = FORMS[Stage.DESIGN]
    assert parse_call(called(("design_complete", "{}")), design).kind == "design_complete"
    probe = FORMS[Stage.PROBE]
    recommended = parse_call(called(("recommendation", json.dumps({"policy": POLICY}))), probe)
    assert recommended.policy.model_dump() == POLICY


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (called(), "no_call"),
        (called(text=GOOD), "no_call"),
        (called(("advance", '{"day":1}'), ("advance", '{"day":2}')), "several_calls"),
        (called(*[("advance", "{}")] * 1_000), "several_calls"),
        (called(("read_file", "{}")), "function"),
        (called(("", "{}")), "function"),
        (called(("\ud83d\x00", "{}")), "function"),
        (called(("recommendation", json.dumps({"policy": POLICY}))), "function"),
        (called(("advance", "")), "empty"),
        (called(("advance", "[]")), "no_object"),
        (called(("advance", '{"day":')), "no_object"),
        (called(("advance", '{"day":1}{"day":2}')), "syntax"),
        (called(("advance", '{"day":1,"day":2}')), "duplicate_key"),
        (called(("advance", '{"day":1e999}')), "number_out_of_range"),
        (called(("advance", '{"day":1,"action":"recommend"}')), "members"),
        (called(("advance", '{"day":1,"notes":3}')), "notes"),
        (called(("recommend", '{"policy":{}}')), "policy"),
    ],
    ids=range(17),
)
def test_calls_are_read_by_the_same_rule(reply, code):
    assert call_fault(reply) == code


def test_a_function_cannot_name_another_type():
    assert call_fault(called(("design_complete", '{"type":"tool"}')), Stage.DESIGN) == "members"


def test_functions_have_unique_names():
    for forms in FORMS.values():
        names = function_names(forms)
        assert len(set(names)) == len(names) >= 1


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (ModelReply(""), NOTHING_SAID),
        (ModelReply(" \n"), NOTHING_SAID),
        (ModelReply("plain text\n\twith \u20ac"), "plain text\n\twith \u20ac"),
        (ModelReply("half \ud83d half"), "half \ufffd half"),
        (ModelReply("two halves \ud83d\ude00"), "two halves \U0001f600"),
        (ModelReply("nul \x00 bell \x07"), "nul \ufffd bell \ufffd"),
        (called(("f", "{\x00")), '[{"args":"{\ufffd","name":"f"}]'),
        (called(("f", "1"), text="so:"), 'so:\n[{"args":"1","name":"f"}]'),
    ],
    ids=range(8),
)
def test_a_reply_that_is_no_answer_is_kept_as_valid_text(reply, kept):
    assert kept_text(reply, 2_000) == kept


def test_of_a_long_reply_the_beginning_is_kept():
    assert kept_text(ModelReply("abc" * 1_000_000), 2_000) == ("abc" * 1_000)[:2_000]
    many = called(*[("name" * 500, "x" * 100_000)] * 500, text="t" * 5_000)
    kept = kept_text(many, 2_000)
    assert len(kept) == 2_000
    assert loads_strict(canonical_json({"text": kept}))["text"] == kept
