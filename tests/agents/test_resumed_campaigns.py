"""Campaigns that are played again: nothing is asked twice, and no byte differs."""

import pytest

from slowlab.agents.transcript import read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.journal_format import head_path
from tests.agents.played import MODES, play, transcript_path
from tests.agents.replays import replay, run
from tests.campaign.fake_facility import Hidden


def test_a_live_campaign_keeps_what_is_equal_and_asks_the_rest_anew(folder, other_words):
    path = transcript_path(folder, "endpoint")
    old = path.read_bytes()
    answered = sum(r.kind is TranscriptKind.REPLY for r in read_transcript(path).records)
    client = play(folder, "endpoint")
    assert 0 < client.sent < answered
    assert path.with_name("site-003.endpoint.transcript.superseded-1.jsonl").read_bytes() == old
    assert replay(path).mismatches == ()


@pytest.mark.parametrize("calls", [0, 3, 7])
def test_an_interrupted_campaign_is_replayed_as_far_as_it_goes(tmp_path, played, calls):
    mode = "initial" if calls < 4 else "endpoint"
    if mode != "initial":
        play(tmp_path, "initial")
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, mode, stops_after=calls)
    path = transcript_path(tmp_path, mode)
    report = replay(path)
    assert report.mismatches == ()
    assert report.followed == report.records
    assert report.notes == (
        f"interrupted after record {report.records}: the next record would be: reply",
    )
    assert "interrupted after record" in run(path)[1]
    client = play(tmp_path, mode)
    assert client.sent > 0
    whole = transcript_path(played, mode)
    assert path.read_bytes() == whole.read_bytes()
    assert head_path(path).read_bytes() == head_path(whole).read_bytes()


def test_a_finished_campaign_is_followed_without_a_call(folder, played):
    for mode in ("initial", "endpoint"):
        assert play(folder, mode).sent == 0
        path = transcript_path(folder, mode)
        assert path.read_bytes() == transcript_path(played, mode).read_bytes()


def test_twin_facilities_have_equal_transcripts(tmp_path, played):
    hidden = Hidden(transpiration=333.25, poles=77, seed=6_060_842_157_319_001, standby_heat=2.7)
    for mode in ("initial", "endpoint"):
        play(tmp_path, mode, hidden=hidden)
        path = transcript_path(tmp_path, mode)
        assert path.read_bytes() == transcript_path(played, mode).read_bytes()


def test_branches_part_at_the_assignment(played):
    contents = [read_transcript(transcript_path(played, mode)).records for mode in MODES]
    beginning, full, endpoint = contents
    count = len(beginning)
    assert full[:count] == endpoint[:count] == beginning
    assert full[count].kind is endpoint[count].kind is TranscriptKind.ASSIGNMENT
    assert full[count].payload["feedback"] == "full"
