"""Whole campaigns of the stand-ins through the real harness, on the made-up facility."""

import functools
import json

import pytest

from slowlab.agents.harness import AgentEnding
from slowlab.agents.messages import Role
from slowlab.agents.standins import SCRIPTS
from slowlab.world.task import Feedback
from tests.agents.scripted_campaigns import RULES, play_script

SENSIBLE = ("grower", "two_wave", "staggered")


@functools.cache
def played(script, feedback=Feedback.ENDPOINT, harness="digest_notes", seed=7):
    return play_script(script, feedback, harness, seed)


@pytest.mark.parametrize("script", SENSIBLE)
def test_a_sensible_campaign_ends_with_a_recommendation_and_without_an_error(script):
    run = played(script)
    counts = run.harness.counts
    assert run.ending is AgentEnding.RECOMMENDED
    assert counts.format_errors == counts.invalid_actions == counts.tool_errors == 0
    assert counts.flags == []
    assert 20 <= counts.model_calls <= 40
    assert run.noted("initial")[0]["policy"] is not None
    assert run.noted("incumbent")
    assert all("reason" in note for note in run.noted("exchange"))


@pytest.mark.parametrize(("script", "fewest_predictions"), [("grower", 8), ("staggered", 6)])
def test_with_records_it_reads_them_and_has_crops_predicted(script, fewest_predictions):
    run = played(script, Feedback.FULL)
    assert run.ending is AgentEnding.RECOMMENDED
    assert run.tools().count("predict_crop_outcome") >= fewest_predictions
    assert run.tools(ok=False) == []
    assert run.refused() == []
    assert 40 <= run.harness.counts.model_calls <= 70


def test_crops_that_are_planted_later_can_be_predicted_too():
    run = played("staggered", Feedback.FULL)
    crops = {(crop.unit, crop.run_index): crop for crop in run.history.crops()}
    predicted = [
        note["arguments"] for note in run.noted("tool") if note["tool"] == "predict_crop_outcome"
    ]
    days = {crops[each["unit"], each["run_index"]].start_day for each in predicted}
    assert {0.0, 60.0, 182.0} <= days


@pytest.mark.parametrize("script", SENSIBLE)
def test_without_records_nothing_is_asked_of_them(script):
    run = played(script)
    assert not any("variable" in action for action in run.actions())
    assert "predict_crop_outcome" not in run.tools()


def test_the_grower_changes_the_best_crop_and_uses_the_model():
    run = played("grower")
    starts = [action for action in run.actions() if action["action"] == "start"]
    first, second = starts[:4], starts[4:]
    assert len(second) == 4
    assert run.tools() == ["fit_outcome_model", "predict"] * 2
    changes = [
        min(_differences(late["policy"], early["policy"]) for early in first) for late in second
    ]
    assert max(changes) <= 1
    assert len({json.dumps(each["policy"]) for each in second}) == 4


def _differences(one, other):
    return sum(one[name] != other[name] for name in one)


def test_staggered_plantings_are_staggered():
    run = played("staggered")
    days = [crop.start_day for crop in run.history.crops()]
    assert sorted(set(days)) == [0.0, 60.0, 90.0, 182.0]


def test_repeats_differ_and_equal_seeds_do_not():
    again = played.__wrapped__("grower")
    assert again.actions() == played("grower").actions()
    assert played("grower", seed=8).actions() != again.actions()


@pytest.mark.parametrize(
    "harness", ["digest_only", "full_transcript", "function_calls", "json_schema"]
)
@pytest.mark.parametrize("script", ["grower", "verbose"])
def test_every_harness_profile_leads_to_a_recommendation(script, harness):
    run = played(script, harness=harness)
    assert run.ending is AgentEnding.RECOMMENDED
    assert run.harness.counts.format_errors == 0
    assert run.refused() == []


def test_the_time_blind_and_the_over_budget_end_in_the_endgame():
    for script in ("time_blind", "over_budget"):
        run = played(script, harness="digest_only")
        assert run.harness.counts.flags[-1] == "forced_advance"
        assert run.ending is AgentEnding.RECOMMENDED
    run = played("over_budget", harness="digest_only")
    assert run.tools() == ["runs"] * RULES.analysis_tools.calls


@pytest.mark.parametrize("script", ["silent", "malformed", "hostile"])
def test_the_rude_are_counted_and_the_campaign_comes_to_its_end(script):
    run = played(script)
    assert isinstance(run.ending, AgentEnding)
    assert run.harness.counts.format_errors > 10
    assert run.executor.settle().policy is not None


def test_malformed_answers_meet_many_rules():
    codes = {note["code"] for note in played("malformed").noted("error")}
    assert {"number_out_of_range", "duplicate_key", "too_deep", "no_object", "type"} <= codes


def test_no_prompt_repeats_what_the_hostile_has_asked_for():
    run = played("hostile")
    messages = [message for call in run.dialogue.calls for message in call.messages]
    told = {message.content for message in messages if message.role is not Role.ASSISTANT}
    assert not any("read_file" in text or "8402157319" in text for text in told)


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["digest_notes", "digest_only", "full_transcript"])
@pytest.mark.parametrize("feedback", [Feedback.FULL, Feedback.ENDPOINT, Feedback.DELAYED])
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_stand_in_comes_to_an_end(script, feedback, harness):
    assert isinstance(played.__wrapped__(script, feedback, harness).ending, AgentEnding)
