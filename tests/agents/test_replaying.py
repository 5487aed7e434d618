"""Replays: unaltered ones pass with the real harness, and every kind of difference is found."""

import pytest

from slowlab.agents.campaign_replay import recorded_reply
from slowlab.agents.messages import Stage
from slowlab.agents.replaying import replay_transcript
from slowlab.agents.transcript import Transcript, read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.errors import FROZEN
from slowlab.tools.errors import ToolError, ToolReason
from slowlab.world.task import Feedback
from tests.agents.dialogues import question
from tests.agents.played import MODES, play_all, transcript_path
from tests.agents.public_conversations import replies
from tests.agents.replays import first, replay, rewrite, run


@pytest.mark.parametrize("mode", MODES)
def test_a_real_campaign_comes_out_as_recorded(played, mode):
    report = replay(transcript_path(played, mode))
    assert report.mismatches == ()
    assert report.followed == report.records > 15
    whole = "whole so far, without an end of its own"
    assert report.notes == ((whole,) if mode == "initial" else ())


SOME = [("two_wave", "function_calls"), ("hostile", "digest_only")]
MORE = [
    ("staggered", "json_schema"),
    ("grower", "digest_notes"),
    ("verbose", "full_transcript"),
    ("malformed", "digest_notes"),
    ("silent", "json_schema"),
    ("over_budget", "function_calls"),
    ("time_blind", "digest_notes"),
    ("grower", "local_small"),
]


@pytest.mark.parametrize(
    ("script", "profile"), [*SOME, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_every_stand_in_and_profile_can_be_replayed(tmp_path, script, profile):
    for path in play_all(tmp_path / script, script=script, profile=profile):
        assert replay(path).mismatches == ()


def test_an_altered_answer_with_a_sound_chain_is_found(folder):
    """Whoever writes the chain anew can alter an answer, but then the course does not follow."""

    def other_answer(records):
        asked = next(p for k, p in records if k is TranscriptKind.EXCHANGE)
        asked["action"]["policy"]["co2_target_ppm"] += 1
        return records

    path = rewrite(transcript_path(folder, "full"), other_answer)
    report = replay(path)
    found = report.mismatches[0]
    line = next(
        r.sequence for r in read_transcript(path).records if r.kind is TranscriptKind.EXCHANGE
    )
    assert found.line == line
    assert "exchange: action.policy.co2_target_ppm: recorded" in found.detail


def test_an_altered_result_is_found_in_the_next_prompt(folder):
    def other_result(records):
        first(records, TranscriptKind.EXCHANGE)["reply"]["result"]["run_index"] = 7
        return records

    path = rewrite(transcript_path(folder, "full"), other_result)
    found = replay(path).mismatches[0]
    assert read_transcript(path).records[found.line - 1].kind is TranscriptKind.CALL
    assert "call: message" in found.detail
    assert "'" in found.detail


def test_an_altered_text_of_a_prompt_is_found(folder):
    def other_text(records):
        texts = first(records, TranscriptKind.CALL)["texts"]
        key = next(iter(texts))
        texts[key] += " "
        return records

    found = replay(rewrite(transcript_path(folder, "full"), other_text)).mismatches[0]
    assert (found.line, found.detail) == (2, "1 texts do not fit their names")


def test_another_seed_is_found(folder):
    def other_seed(records):
        first(records, TranscriptKind.CALL)["seed"] = 12
        return records

    path = rewrite(transcript_path(folder, "full"), other_seed)
    (found,) = replay(path).mismatches
    assert (found.line, found.detail) == (2, "call: seed: recorded 12, now 11")


def test_a_missing_record_is_found(folder):
    def without_exchange(records):
        place = [kind for kind, _ in records].index(TranscriptKind.EXCHANGE)
        return [*records[:place], *records[place + 1 :]]

    path = rewrite(transcript_path(folder, "full"), without_exchange)
    assert replay(path).mismatches


def test_a_record_after_the_end_is_found(folder):
    def one_more(records):
        return [*records, (TranscriptKind.FLAG, {"flag": "x", "detail": ""})]

    path = rewrite(transcript_path(folder, "full"), one_more)
    report = replay(path)
    (found,) = report.mismatches
    assert found.line == report.records
    assert found.detail == "the course has ended, but a record (flag) follows"


def test_an_end_that_comes_too_early_is_found(folder):
    def shortened(records):
        place = [kind for kind, _ in records].index(TranscriptKind.ASSIGNMENT)
        return [*records[: place + 1], records[-1]]

    path = rewrite(transcript_path(folder, "full"), shortened)
    (found,) = replay(path).mismatches
    assert "recorded is: ending, now comes: call" in found.detail


def test_changed_prompts_are_found(folder, other_words):
    path = transcript_path(folder, "endpoint")
    report = replay(path)
    records = read_transcript(path).records
    calls = [
        r.sequence
        for r in records
        if r.kind is TranscriptKind.CALL and r.payload["stage"] == Stage.SEASON
    ]
    assert [m.line for m in report.mismatches] == [*calls, report.records]
    assert "ending: counts.prompt_characters" in report.mismatches[-1].detail
    assert "recorded" in report.mismatches[0].detail
    assert "Take the next" in report.mismatches[0].detail
    assert "Do the next" in report.mismatches[0].detail
    assert report.followed == report.records
    code, output = run("--all", folder)
    assert code == 1
    assert f"{path}:{calls[0]}: call: message" in output
    assert "more" in output
    assert replay(transcript_path(folder, "initial")).mismatches == ()


def test_an_empty_transcript_is_said_to_be_empty(tmp_path):
    path = tmp_path / "a.transcript.jsonl"
    path.touch()
    assert replay(path).notes == ("holds no record",)


def test_a_kind_that_nobody_can_replay_is_a_mismatch(tmp_path):
    path = tmp_path / "a.transcript.jsonl"
    Transcript.open(path, {"kind": "dance"}).close()
    (found,) = replay(path).mismatches
    assert found.detail == "no header of a campaign"


def test_a_header_that_describes_no_harness_is_a_mismatch(folder):
    def odd(records):
        records[0][1]["harness"]["memory"]["dreams"] = True
        return records

    path = rewrite(transcript_path(folder, "initial"), odd)
    (found,) = replay(path).mismatches
    assert "could not be run again: ConfigError" in found.detail
    assert "memory.dreams" in found.detail


def test_a_torn_tail_is_noted(folder):
    path = transcript_path(folder, "full")
    path.write_bytes(path.read_bytes()[:-5])
    report = replay(path)
    assert report.mismatches == ()
    assert "an unfinished record" in report.notes[0]


def test_a_call_that_the_firewall_stopped_ends_a_replay(tmp_path):
    path = tmp_path / "a.transcript.jsonl"
    with Transcript.open(path, {"kind": "short"}) as transcript:
        flag = {"flag": "blocked", "detail": "numbers"}
        transcript.put(TranscriptKind.FLAG, flag)

    def player(header, dialogue):
        dialogue.ask(Stage.SEASON, question(1))

    report = replay_transcript(path, {"short": player})
    assert report.mismatches == ()
    assert report.notes == ("interrupted after record 2: the firewall stopped the next call",)


def test_recorded_replies_are_the_replies():
    for feedback in (Feedback.FULL, Feedback.ENDPOINT):
        for _, payload, _ in replies(feedback):
            assert recorded_reply(payload).payload() == payload
    for other in (FROZEN, ToolError(ToolReason.UNIT, "no").reply()):
        assert recorded_reply(other.payload()) == other
