"""Schemas and functions say what the parser takes, stage by stage and mode by mode."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from slowlab.agents.messages import FunctionCall, ModelReply, Stage
from slowlab.agents.parser import function_names, parse_call, parse_text
from slowlab.agents.reply_examples import reply_examples
from slowlab.agents.reply_forms import reply_forms
from slowlab.agents.reply_schema import functions, response_schema
from slowlab.canonical import canonical_json
from slowlab.world.task import Feedback, task_description
from tests.agents.harness_play import POLICY, RULES, SENSORS, as_function, profile

PRICES = RULES.economics.default_prices
TASKS = {mode: task_description(RULES, SENSORS, PRICES, mode) for mode in Feedback}
EVERYWHERE = [(stage, mode) for stage in Stage for mode in Feedback]


def validator(stage, mode=Feedback.FULL, used=None):
    schema = response_schema(stage, TASKS[mode], used or profile("json_schema"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize(("stage", "mode"), EVERYWHERE)
def test_examples_fit_the_schema_and_are_answers(stage, mode):
    forms = reply_forms(stage, TASKS[mode], profile())
    examples = reply_examples(stage, TASKS[mode], forms)
    assert examples
    for line in examples:
        validator(stage, mode).validate(json.loads(line))
        decision = parse_text(line, forms)
        assert decision.kind.value == json.loads(line)["type"]


@pytest.mark.parametrize(("stage", "mode"), EVERYWHERE)
def test_functions_are_those_that_the_parser_knows_and_take_the_examples(stage, mode):
    task, used = TASKS[mode], profile("function_calls")
    forms = reply_forms(stage, task, used)
    offered = {each["name"]: each for each in functions(stage, task, used)}
    assert tuple(offered) == function_names(forms)
    for each in offered.values():
        assert set(each) == {"name", "description", "parameters"}
        assert each["description"]
        Draft202012Validator.check_schema(each["parameters"])
    for line in reply_examples(stage, task, forms):
        (call,) = as_function(json.loads(line)).function_calls
        Draft202012Validator(offered[call.name]["parameters"]).validate(json.loads(call.arguments))
        assert parse_call(ModelReply("", (call,)), forms) == parse_text(line, forms)


@pytest.mark.parametrize(
    "reply",
    [
        {"type": "dance"},
        {"type": "campaign", "action": {"action": "advance", "day": "30"}},
        {"type": "campaign", "action": {"action": "advance", "day": 366}},
        {"type": "campaign", "action": {"action": "advance"}},
        {"type": "campaign", "action": {"action": "start", "unit": 4, "policy": POLICY}},
        {"type": "campaign", "action": {"action": "start", "unit": True, "policy": POLICY}},
        {"type": "campaign", "action": {"action": "start", "unit": 0, "policy": {}}},
        {"type": "campaign", "action": {"action": "stop", "unit": 0, "more": 1}},
        {"type": "campaign", "action": {"action": "observe", "unit": 0, "variable": "truth"}},
        {"type": "tool", "name": "oracle", "args": {}},
        {"type": "tool", "name": "predict"},
        {"type": "tool", "name": "predict", "args": {"policies": []}},
        {"type": "tool", "name": "runs", "args": {"x": 1}},
        {"type": "campaign", "action": {"action": "stop", "unit": 0}, "notes": "x" * 2_001},
        {"type": "campaign", "action": {"action": "stop", "unit": 0}, "thought": "x"},
        {"type": "design_complete"},
    ],
    ids=range(16),
)
def test_what_would_be_refused_does_not_fit(reply):
    assert not validator(Stage.SEASON).is_valid(reply)


def test_a_schema_holds_the_bounds_of_the_task():
    initial = validator(Stage.INITIAL)
    for field in TASKS[Feedback.FULL]["policy"]["fields"]:
        for bound, outside in ((field["min"], -0.01), (field["max"], 0.01)):
            reply = {"type": "initial_recommendation", "policy": {**POLICY, field["name"]: bound}}
            assert initial.is_valid(reply)
            reply["policy"][field["name"]] = bound + outside
            assert not initial.is_valid(reply)


@pytest.mark.parametrize("stage", list(Stage))
def test_the_endpoint_mode_is_offered_nothing_that_cannot_work_there(stage):
    offered = canonical_json(functions(stage, TASKS[Feedback.ENDPOINT], profile()))
    schema = canonical_json(response_schema(stage, TASKS[Feedback.ENDPOINT], profile()))
    for word in ("record", "daily", "variable", "channel", "predict_crop_outcome", "series"):
        assert word not in offered
        assert word not in schema


def test_the_full_mode_is_offered_reads_of_records():
    offered = {
        each["name"]: each for each in functions(Stage.SEASON, TASKS[Feedback.FULL], profile())
    }
    fields = offered["observe"]["parameters"]["properties"]
    assert {"unit", "run_index", "variable", "start_day", "end_day", "resolution"} < set(fields)
    assert "air_temperature_c" in fields["variable"]["enum"]
    assert offered["observe"]["parameters"]["required"] == ["unit"]


def test_without_notes_there_is_no_member_for_them():
    schema = response_schema(Stage.SEASON, TASKS[Feedback.FULL], profile("digest_only"))
    assert '"notes"' not in canonical_json(schema)
    assert '"incumbent"' in canonical_json(schema)


def test_a_call_without_arguments_fits_where_none_are_needed():
    runs = {"type": "tool", "name": "runs"}
    assert validator(Stage.SEASON).is_valid(runs)
    forms = reply_forms(Stage.SEASON, TASKS[Feedback.FULL], profile())
    assert parse_call(ModelReply("", (FunctionCall("runs", "{}"),)), forms).tool.name == "runs"


def test_schemas_do_not_depend_on_the_order_in_which_a_task_came():
    task = TASKS[Feedback.FULL]
    received = json.loads(canonical_json(task))
    for stage in Stage:
        straight, sorted_keys = (functions(stage, each, profile()) for each in (task, received))
        assert json.dumps(straight) == json.dumps(sorted_keys)
        one, other = (response_schema(stage, each, profile()) for each in (task, received))
        assert json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize("stage", Stage)
def test_whole_numbers_are_asked_for_where_the_profile_says_so(stage):
    used = profile("json_schema", whole_numbers=True)
    schema = response_schema(stage, TASKS[Feedback.FULL], used)
    assert '"number"' not in canonical_json(schema)
    whole = {name: round(value) for name, value in POLICY.items()}
    kinds = {
        Stage.INITIAL: {"type": "initial_recommendation", "policy": whole},
        Stage.DESIGN: {"type": "campaign", "action": {"action": "start", "unit": 0}},
        Stage.FINAL: {"type": "campaign", "action": {"action": "recommend"}},
        Stage.SEASON: {"type": "campaign", "action": {"action": "recommend"}},
    }
    reply = kinds.get(stage, {"type": "recommendation", "policy": whole})
    holder = reply.get("action", reply)
    check = validator(stage, used=used)
    for value, fits in ((18, True), (26, True), (17, False), (27, False), (21.5, False)):
        holder["policy"] = {**whole, "night_temperature_c": 16, "day_temperature_c": value}
        assert check.is_valid(reply) is fits
