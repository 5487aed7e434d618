"""Counts of transcripts: right, complete, and never 0 for what is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.agents.messages import Usage
from slowlab.agents.page import render_page
from slowlab.agents.predictor_use import ReadingsSoFar
from slowlab.agents.summary import (
    COUNTS,
    FLAGS,
    SHARED,
    SUMS,
    shared_records,
    transcript_counts,
    transcript_ending,
    transcript_feedback,
    transcript_header,
    transcript_task,
)
from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from tests.agents.stand_in_campaigns import play_stand_in
from tests.agents.synthetic_transcript import (
    CANOPY,
    HARVEST,
    POLICY,
    PREDICT,
    Scribe,
    branches,
    campaign,
)


def counts_of(path):
    return transcript_counts(read_transcript(path).records)


@pytest.fixture
def scribe(tmp_path):
    with Scribe(tmp_path / "a.transcript.jsonl") as made:
        yield made


@pytest.mark.parametrize("feedback", ["full", "endpoint"])
def test_counts_are_those_counted_by_hand(tmp_path, feedback) -> None:
    path = tmp_path / "a.transcript.jsonl"
    by_hand = campaign(path, feedback)
    found = counts_of(path)
    assert {name: found[name] for name in by_hand} == dict(by_hand)
    assert set(found) == {*COUNTS, *SUMS}
    assert found["attempts"] == found["answers"] + found["failed_attempts"]
    faults = ("timed_out", "rate_limited", "server_error")
    assert [found[f"failed_{fault}"] for fault in faults] == [1, 1, 1]
    assert (
        sum(found[name] for name in COUNTS if name.startswith("calls_")) == by_hand["model_calls"]
    )
    assert (found["invalid_actions"], found["incumbents"], found["identical_errors"]) == (1, 1, 1)


def test_reads_rows_and_predictions(tmp_path) -> None:
    full, endpoint = tmp_path / "f.transcript.jsonl", tmp_path / "e.transcript.jsonl"
    campaign(full), campaign(endpoint, "endpoint")
    found = counts_of(full)
    assert (found["observe_calls"], found["daily_rows"], found["raw_records"]) == (4, 62, 0)
    assert (found["tool_calls"], found["tool_errors"]) == (2, 1)
    assert (found["predictor_attempts"], found["predictor_outputs"]) == (2, 1)
    assert found["predictor_with_readings"] == 1
    assert found["predictor_outputs_with_readings"] == 1
    assert counts_of(endpoint)["predictor_attempts"] == 0


def test_what_is_unknown_is_not_zero(scribe) -> None:
    scribe.ask("{}", usage=Usage(), cost=None)
    scribe.ask("{}", usage=Usage(prompt_tokens=7), cost=None, failed=("timed_out",))
    found = counts_of(scribe.path)
    assert (found["cost_usd"], found["attempts_of_unknown_cost"]) == (None, 3)
    assert (found["prompt_tokens"], found["completion_tokens"]) == (7, None)
    assert found["answers_of_unknown_length"] == 2


def test_known_costs_are_summed_beside_the_unknown_ones(scribe) -> None:
    scribe.ask("{}", cost=0.25)
    scribe.ask("{}", cost=None)
    scribe.ask("{}", cost=0.5)
    found = counts_of(scribe.path)
    assert (found["cost_usd"], found["attempts_of_unknown_cost"]) == (0.75, 1)
    assert found["prompt_tokens"] == 1500


def test_what_was_not_billed_does_not_make_an_unknown_cost_known(scribe) -> None:
    free = {"fault": "connection_lost", "detail": "", "reply": None, "cost_usd": 0.0}
    scribe.note(TranscriptKind.ATTEMPT, {"number": 1, "key": "a"})
    failed = {"number": 1, "cost_source": "not_billed"} | free
    scribe.note(TranscriptKind.FAILED_ATTEMPT, failed)
    assert counts_of(scribe.path)["cost_usd"] == 0
    scribe.note(TranscriptKind.ATTEMPT, {"number": 2, "key": "b"})
    found = counts_of(scribe.path)
    assert (found["cost_usd"], found["attempts_of_unknown_cost"]) == (None, 1)


def test_attempts_under_one_key_are_billed_once(scribe) -> None:
    lost = {"number": 1, "fault": "timed_out", "detail": "", "reply": None}
    unknown = {"cost_usd": None, "cost_source": "unknown"}
    for number in (1, 2):
        scribe.note(TranscriptKind.ATTEMPT, {"number": number, "key": "same"})
        scribe.note(TranscriptKind.FAILED_ATTEMPT, lost | unknown)
    assert counts_of(scribe.path)["attempts_of_unknown_cost"] == 1
    scribe.note(TranscriptKind.ATTEMPT, {"number": 3, "key": "another"})
    assert counts_of(scribe.path)["attempts_of_unknown_cost"] == 2


def test_an_attempt_under_way_counts_as_unknown(scribe) -> None:
    scribe.note(TranscriptKind.ATTEMPT, {"number": 1, "key": "k"})
    found = counts_of(scribe.path)
    assert (found["attempts"], found["cost_usd"]) == (1, None)
    assert found["attempts_of_unknown_cost"] == 1


def test_notes_count_where_the_answer_was_used(scribe) -> None:
    noted = '{"type":"design_complete","notes":"warm is better"}'
    scribe.ask("so: " + noted)
    scribe.garble(noted[:-1] + ',"notes":"twice"}')
    scribe.garble(noted)
    scribe.ask('{"notes":7}')
    scribe.ask('{"a":1}')
    assert counts_of(scribe.path)["notes_updates"] == 1
    scribe.ask(noted)
    assert counts_of(scribe.path)["notes_updates"] == 1, "the same notes are no update"
    scribe.ask('{"type":"design_complete","notes":"warm is worse"}')
    assert counts_of(scribe.path)["notes_updates"] == 2


def test_both_branches_share_what_was_before_the_condition(tmp_path) -> None:
    paths = branches(tmp_path)
    begun = counts_of(paths["initial"])
    for feedback in ("full", "endpoint"):
        records = read_transcript(paths[feedback]).records
        shared = transcript_counts(shared_records(records))
        assert {name: shared[name] for name in SHARED} == {name: begun[name] for name in SHARED}
        assert transcript_feedback(records) == feedback
        assert transcript_ending(records) == "recommended"
        assert transcript_task(records)["feedback"]["mode"] == feedback


def test_a_transcript_that_has_hardly_begun(scribe) -> None:
    records = read_transcript(scribe.path).records
    assert transcript_header(records)["method"] == "grower"
    assert (transcript_ending(records), transcript_feedback(records)) == ("", "")
    assert counts_of(scribe.path)["model_calls"] == 0
    assert transcript_counts([])["records"] == 0
    assert transcript_task([]) is None


def attempt(scribe, unit=0, run_index=1):
    """Ask for a prediction: whether enough was read, and whether there was one."""
    before = counts_of(scribe.path)
    ok = scribe.use(PREDICT, unit=unit, run_index=run_index)["ok"]
    after = counts_of(scribe.path)
    return bool(after["predictor_with_readings"] - before["predictor_with_readings"]), ok


@pytest.fixture
def growing(scribe):
    """A crop planted on day 0, with full feedback."""
    scribe.exchange({"action": "start", "unit": 0, "policy": POLICY})
    scribe.assign()
    return scribe


@pytest.mark.parametrize(
    ("day", "channels", "enough"),
    [
        (9, (HARVEST, CANOPY), False),
        (10, (HARVEST, CANOPY), True),
        (40, (HARVEST,), False),
        (40, (CANOPY,), False),
        (40, (), False),
        (40, (HARVEST, CANOPY, "heating_energy", "lighting_energy", "co2_dosed"), True),
    ],
)
def test_enough_readings_of_a_crop_of_day_0(growing, day, channels, enough) -> None:
    growing.exchange({"action": "advance", "day": day})
    if channels:
        growing.read(0, *channels)
    assert attempt(growing) == (enough, enough)


def test_harvest_and_canopy_must_belong_together(growing) -> None:
    growing.exchange({"action": "advance", "day": 30})
    growing.read(0, CANOPY)
    growing.exchange({"action": "advance", "day": 33})
    growing.read(0, HARVEST)
    assert attempt(growing) == (False, False)
    growing.read(0, CANOPY)
    assert attempt(growing) == (True, True)


def test_raw_readings_are_readings(growing) -> None:
    growing.exchange({"action": "advance", "day": 25})
    growing.read(0, HARVEST, CANOPY, resolution="raw", start_day=24)
    assert attempt(growing) == (True, True)


def test_a_later_crop_needs_its_meter_at_planting(scribe) -> None:
    scribe.assign()
    scribe.exchange({"action": "advance", "day": 50})
    for unit in (0, 1):
        scribe.exchange({"action": "start", "unit": unit, "policy": POLICY})
    scribe.read(1, HARVEST, resolution="raw", start_day=49.75)
    scribe.exchange({"action": "advance", "day": 80})
    for unit in (0, 1):
        scribe.read(unit, HARVEST, CANOPY, start_day=70)
    assert attempt(scribe, 0) == (False, False)
    assert attempt(scribe, 1) == (True, True)
    scribe.read(0, HARVEST, start_day=50)
    assert attempt(scribe, 0) == (True, True)


def test_only_a_growing_crop_of_ones_own_can_be_predicted(growing) -> None:
    growing.exchange({"action": "advance", "day": 40})
    growing.read(0, HARVEST, CANOPY)
    assert attempt(growing, 1) == (False, False)
    assert attempt(growing, 0, 2) == (False, False)
    growing.exchange({"action": "stop", "unit": 0})
    growing.exchange({"action": "advance", "day": 41})
    assert attempt(growing) == (False, False)


def test_a_reading_that_a_tool_cannot_see_shows_up(growing) -> None:
    """The judgement does not come from the store behind the tools."""
    growing.exchange({"action": "advance", "day": 40})
    growing.read(0, HARVEST, CANOPY)
    growing.tools.history._daily.clear()
    assert attempt(growing) == (True, False)


@given(unit=st.integers() | st.text() | st.none() | st.booleans(), run=st.integers() | st.none())
def test_wrong_arguments_are_never_enough(unit, run) -> None:
    assert not ReadingsSoFar.of_rules().enough(unit, run)


@pytest.mark.parametrize(
    ("script", "feedback"),
    [
        ("grower", "endpoint"),
        pytest.param("grower", "full", marks=pytest.mark.slow),
        pytest.param("malformed", "endpoint", marks=pytest.mark.slow),
        pytest.param("hostile", "endpoint", marks=pytest.mark.slow),
    ],
)
def test_a_transcript_counts_what_its_harness_counted(tmp_path, script, feedback) -> None:
    path, harness = play_stand_in(script, tmp_path, feedback)
    found, counted = counts_of(path), harness.counts.payload()
    flags = counted.pop("flags")
    assert {name: found[name] for name in counted} == counted
    assert {name: found[name] for name in FLAGS} == {name: flags.count(name) for name in FLAGS}
    assert found["predictor_outputs_with_readings"] == found["predictor_with_readings"]
    assert (found["predictor_attempts"] > 0) == (feedback == "full")
    assert render_page(read_transcript(path).records).count('class="turn') == found["model_calls"]
