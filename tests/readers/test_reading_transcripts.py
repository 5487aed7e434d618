"""Transcripts of readings: resumed without asking twice, and run again without a model."""

from contextlib import ExitStack

import pytest

from slowlab.agents.books import Caps
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.purse import Purse
from slowlab.agents.replaying import replay_transcript
from slowlab.agents.transcript import Transcript, read_transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.settlement import FallbackReason
from slowlab.readers._base import Reading
from slowlab.readers.language_model import LanguageModelReader
from slowlab.readers.packet_view import VIEW_KEYS
from slowlab.readers.packets import Packet
from slowlab.readers.reading_transcripts import READING, reading_header, replay_reading
from tests.agents.dialogues import ScriptedClient, reply
from tests.agents.model_configs import model
from tests.readers.played import fallback, packet_of
from tests.readers.readings import ANSWER, SEED, profile_of, recommended
from tests.tools.campaigns import played_campaign

SAID = ["I would grow it warmer.", '{"type":"recommendation"}', recommended(reason="Best so far.")]


@pytest.fixture(scope="module")
def packet():
    return packet_of(played_campaign().history)


def header(packet, **changes):
    config = model(idempotency=True)
    names = {"study": "tests", "partition": "development", "site": 3, "source": "search"}
    return reading_header(packet, profile_of(**changes), config.public(), SEED, **names)


def read(folder, packet, client, **changes) -> Reading:
    """One reading with a real transcript and a real purse."""
    profile = profile_of(**changes)
    with ExitStack() as stack:
        purse = stack.enter_context(Purse.open(folder / "purse", Caps()))
        transcript = Transcript.open(folder / "a.transcript.jsonl", header(packet, **changes))
        config, firewall = model(idempotency=True), Firewall(keys=VIEW_KEYS)
        dialogue = Dialogue(transcript, config, client, purse, firewall)
        stack.callback(dialogue.close)
        return LanguageModelReader(profile, dialogue, SEED).read(packet)


def client(*said) -> ScriptedClient:
    return ScriptedClient([reply(text) for text in said])


def replayed(path):
    return replay_transcript(path, {READING: replay_reading})


def test_a_transcript_holds_the_packet_every_answer_and_the_end(packet, tmp_path):
    assert read(tmp_path, packet, client(*SAID)) == Reading(ANSWER)
    records = read_transcript(tmp_path / "a.transcript.jsonl").records
    first = records[0].payload
    assert (first["kind"], first["source"], first["generation_seed"]) == (READING, "search", SEED)
    assert Packet.model_validate(first["packet"], strict=False) == packet
    kinds = [record.kind for record in records]
    assert kinds.count(TranscriptKind.REPLY) == 3
    assert kinds.count(TranscriptKind.ERROR) == 2
    assert records[-1].kind is TranscriptKind.ENDING
    assert records[-1].payload["policy"] == ANSWER.model_dump()


def test_a_reading_that_was_interrupted_anywhere_goes_on_and_asks_nothing_twice(packet, tmp_path):
    whole = tmp_path / "whole"
    read(whole, packet, client(*SAID))
    path = whole / "a.transcript.jsonl"
    records = read_transcript(path).records
    for count in range(1, len(records) + 1):
        folder = tmp_path / f"cut-{count}"
        folder.mkdir()
        cut_at(path, folder / "a.transcript.jsonl", count)
        known = sum(record.kind is TranscriptKind.REPLY for record in records[:count])
        asked = client(*SAID[known:])
        assert read(folder, packet, asked) == Reading(ANSWER)
        assert len(asked.sent) == 3 - known
        assert (folder / "a.transcript.jsonl").read_bytes() == path.read_bytes()


def cut_at(path, target, count):
    """A copy of a transcript as it was after so many records."""
    lines = path.read_bytes().splitlines(keepends=True)[:count]
    with Transcript.open(target, read_transcript(path).records[0].payload) as transcript:
        for record in read_transcript(path).records[1:count]:
            transcript.put(record.kind, record.payload)
    assert target.read_bytes() == b"".join(lines)


def test_a_reading_is_run_again_from_its_transcript_alone(packet, tmp_path):
    read(tmp_path, packet, client(*SAID))
    report = replayed(tmp_path / "a.transcript.jsonl")
    assert (report.mismatches, report.notes) == ((), ())
    assert report.followed == report.records


def test_a_reading_without_an_answer_is_run_again_too(packet, tmp_path):
    reading = read(tmp_path, packet, client("a", "b", "c"))
    assert reading == Reading(fallback(), FallbackReason.INVALID_RECOMMENDATION)
    assert replayed(tmp_path / "a.transcript.jsonl").mismatches == ()


def test_another_course_is_found_with_its_line(packet, tmp_path, monkeypatch):
    """A prompt that is made otherwise today differs in the record of the call."""
    read(tmp_path, packet, client(*SAID))
    monkeypatch.setattr(
        "slowlab.readers.language_model.packet_view",
        lambda packet, characters: {"day": packet.day, "crops": [], "readings": []},
    )
    report = replayed(tmp_path / "a.transcript.jsonl")
    assert report.mismatches
    assert report.mismatches[0].line == 2


def test_another_packet_sets_the_old_answers_aside(packet, tmp_path):
    read(tmp_path, packet, client(*SAID))
    data = packet.model_dump(mode="json")
    other = Packet.model_validate({**data, "day": 201.0}, strict=False)
    asked = client(recommended(fallback()))
    assert read(tmp_path, other, asked) == Reading(fallback())
    assert len(asked.sent) == 1
    assert list(tmp_path.glob("*superseded-1.jsonl"))
    assert replayed(tmp_path / "a.transcript.jsonl").mismatches == ()
