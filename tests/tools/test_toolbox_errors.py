"""What the analysis tools refuse, and what it costs."""

import json

import pytest

from slowlab.campaign.session import ToolCall
from slowlab.config import override
from slowlab.tools.artifacts import ArtifactError
from slowlab.tools.errors import ToolError
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.moves import advance, observe, ok, start
from tests.tools.campaigns import (
    AIR,
    CANOPY,
    HARVEST,
    NO_ARTIFACTS,
    PLANTED,
    contract,
    error,
    open_campaign,
    played_campaign,
    policy,
    toolbox,
    use,
)

ASKED = policy(day=23.0, night=16.0, co2=950.0).model_dump()


def test_without_records_their_tools_do_not_exist():
    for mode in (Feedback.ENDPOINT, Feedback.UNASSIGNED):
        tools = toolbox(open_campaign(mode).history)
        for name in ("series_summary", "predict_crop_outcome"):
            reason, message = error(tools, name, {"unit": 0, "variable": AIR})
            assert reason == "unknown_tool"
            assert name not in message
    tools = toolbox(played_campaign(Feedback.ENDPOINT).history)
    assert len(use(tools, "runs")["runs"]) == 7
    assert use(tools, "predict", policies=[ASKED])["predictions"]
    assert use(tools, "space_filling_candidates", n=64)["policies"]


BAD = 3 * [ASKED] + [{**ASKED, "night_temperature_c": 30.0}]


@pytest.mark.parametrize(
    ("name", "given", "reason", "said"),
    [
        ("rain_dance", {}, "unknown_tool", "fit_outcome_model"),
        (["runs"], {}, "unknown_tool", "runs"),
        ("runs", {"unit": 0}, "arguments", "arguments: none"),
        ("runs", [], "arguments", "an object"),
        ("fit_outcome_model", {"restarts": 9}, "arguments", "1 unexpected"),
        ("predict", {}, "arguments", "policies is missing"),
        ("predict", {"policies": []}, "arguments", "1 to 32"),
        ("predict", {"policies": [ASKED] * 33}, "arguments", "1 to 32"),
        ("predict", {"policies": ASKED}, "arguments", "a list"),
        ("predict", {"policies": BAD}, "policy", "policy 4 is invalid"),
        ("predict", {"policies": [[1, 2, 3, 4, 5, 6]]}, "policy", "six numbers"),
        ("predict", {"policies": [ASKED], "planting_day": 365}, "arguments", "0 to 364"),
        ("predict", {"policies": [ASKED], "planting_day": "0"}, "arguments", "0 to 364"),
        ("space_filling_candidates", {}, "arguments", "n is missing"),
        ("space_filling_candidates", {"n": 65}, "arguments", "1 to 64"),
        ("space_filling_candidates", {"n": 2.0}, "arguments", "whole number"),
        ("space_filling_candidates", {"n": True}, "arguments", "whole number"),
        ("space_filling_candidates", {"n": 2, "fixed": {"co2": 1}}, "arguments", "at most five"),
        ("space_filling_candidates", {"n": 2, "fixed": ASKED}, "arguments", "at most five"),
        (
            "space_filling_candidates",
            {"n": 2, "fixed": {"co2_target_ppm": 9999}},
            "policy",
            "400 to 1200 ppm",
        ),
        (
            "space_filling_candidates",
            {"n": 2, "fixed": {"day_temperature_c": 18, "night_temperature_c": 20}},
            "no_candidates",
            "fix fewer",
        ),
        ("series_summary", {"unit": 0}, "arguments", "variable is missing"),
        ("series_summary", {"unit": 4, "variable": AIR}, "unit", "0 to 3"),
        ("series_summary", {"unit": True, "variable": AIR}, "unit", "0 to 3"),
        ("series_summary", {"unit": 0, "variable": "margin"}, "variable", AIR),
        ("series_summary", {"unit": 0, "variable": [AIR]}, "variable", AIR),
        ("series_summary", {"unit": 2, "variable": AIR}, "no_readings", "observe it first"),
        (
            "series_summary",
            {"unit": 0, "variable": AIR, "start_day": 9, "end_day": 3},
            "window",
            "1 to 400 days",
        ),
        (
            "series_summary",
            {"unit": 0, "variable": AIR, "start_day": 0.5},
            "arguments",
            "whole number from 0 to 365",
        ),
        ("predict_crop_outcome", {"unit": 0}, "arguments", "run_index is missing"),
        ("predict_crop_outcome", {"unit": -1, "run_index": 1}, "unit", "0 to 3"),
        ("predict_crop_outcome", {"unit": 0, "run_index": 0}, "no_such_crop", "from 1"),
        ("predict_crop_outcome", {"unit": 3, "run_index": 2}, "no_such_crop", "no crop"),
        ("predict_crop_outcome", {"unit": 0, "run_index": 1}, "not_growing", "growing"),
        ("predict_crop_outcome", {"unit": 2, "run_index": 2}, "no_readings", CANOPY),
    ],
)
def test_errors_are_typed_and_say_what_is_allowed(tools, name, given, reason, said):
    before = tools.used
    told = error(tools, name, given)
    assert told[0] == reason
    assert said in told[1]
    assert tools.used == before + 1


def test_too_few_completed_crops_are_an_error():
    run = open_campaign()
    for unit, item in enumerate(PLANTED):
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(20)))
    ok(run.dispatch({"action": "stop", "unit": 3}))
    ok(run.dispatch(advance(180)))
    for unit in (0, 1, 3):
        ok(run.dispatch(observe(unit)))
    tools = toolbox(run.history)
    for name, given in (("fit_outcome_model", {}), ("predict", {"policies": [ASKED]})):
        reason, message = error(tools, name, given)
        assert reason == "too_few_crops"
        assert "there are 2" in message
    ok(run.dispatch(observe(2)))
    assert use(tools, "fit_outcome_model")["completed_crops"] == 3


def test_a_crop_that_is_too_young_is_not_predicted(artifacts):
    run = open_campaign()
    ok(run.dispatch(start(1, ASKED)))
    tools = toolbox(run.history, artifacts=artifacts)
    call = {"unit": 1, "run_index": 1}
    for day, reason in ((5, "too_young"), (11, None)):
        ok(run.dispatch(advance(day)))
        for name in (HARVEST, CANOPY):
            ok(run.dispatch(observe(1, variable=name, resolution="daily")))
        if reason is None:
            assert use(tools, "predict_crop_outcome", **call)["age_days"] >= 10
        else:
            assert error(tools, "predict_crop_outcome", call)[0] == reason


def test_a_contract_may_ask_for_older_crops_than_the_predictor(artifacts):
    rules = override(contract(), {"analysis_tools.min_crop_age_days": 30})
    run = played_campaign(rules=rules)
    tools = toolbox(run.history, artifacts=artifacts, limits=rules.analysis_tools)
    reason, message = error(tools, "predict_crop_outcome", {"unit": 0, "run_index": 2})
    assert (reason, "at least 30 days" in message) == ("too_young", True)


def test_received_texts_are_never_repeated(tools):
    secret = "SECRET-CANARY"
    for name, given in (
        (secret, {}),
        ("runs", {secret: 1}),
        ("predict", {"policies": [{**ASKED, secret: 1}]}),
        ("predict", {"policies": [{**ASKED, "co2_target_ppm": secret}]}),
        ("space_filling_candidates", {"n": secret, "fixed": {secret: secret}}),
        ("space_filling_candidates", {"n": 1, "fixed": {secret: secret}}),
        ("series_summary", {"unit": 0, "variable": secret}),
        ("predict_crop_outcome", {"unit": secret, "run_index": secret}),
    ):
        assert secret not in error(tools, name, given)[1]


def test_failed_calls_count_and_the_budget_ends():
    rules = override(contract(), {"analysis_tools.calls": 3})
    run = played_campaign(rules=rules)
    tools = toolbox(run.history, limits=rules.analysis_tools)
    use(tools, "runs")
    error(tools, "runs", {"x": 1})
    error(tools, "nothing", {})
    assert (tools.used, tools.left) == (3, 0)
    assert error(tools, "runs", {}) == ("calls_used_up", "all 3 tool calls are used")
    assert tools.used == 3
    with pytest.raises(ValueError, match="limits of the campaign's contract"):
        toolbox(run.history)


def test_the_task_announces_the_limits_that_are_kept():
    changes = {"policies_per_predict": 2, "candidates": 3, "min_completed_crops": 5}
    rules = override(contract(), {f"analysis_tools.{key}": n for key, n in changes.items()})
    run = played_campaign(rules=rules)
    tools = toolbox(run.history, limits=rules.analysis_tools)
    told = {row["tool"]: json.dumps(row) for row in run.history.task["analysis_tools"]}
    assert "1 to 2 policies" in told["predict"]
    assert "1 to 2 " in error(tools, "predict", {"policies": [ASKED] * 3})[1]
    assert "1 to 3" in told["space_filling_candidates"]
    assert "1 to 3" in error(tools, "space_filling_candidates", {"n": 4})[1]
    assert "at least 5 completed" in told["fit_outcome_model"]
    assert error(tools, "fit_outcome_model", {})[1].startswith("5 normally completed")


def test_a_missing_predictor_is_not_the_agents_fault(history):
    with pytest.raises(ArtifactError):
        Toolbox(history, NO_ARTIFACTS, 1)(
            ToolCall("predict_crop_outcome", {"unit": 0, "run_index": 2})
        )


def test_tool_errors_are_plain_data_and_can_be_sent():
    reply = ToolError("window", "too long").reply()
    assert reply.payload() == {
        "ok": False,
        "error": {"kind": "tool_error", "reason": "window", "message": "too long"},
    }
    assert len(reply.sha256()) == 64
