"""Transcripts: found faults, following, setting aside, branches."""

import logging
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowlab.agents.messages import Message, ModelCall, Role, Stage
from slowlab.agents.transcript import Transcript, fork, read_transcript
from slowlab.agents.transcript_format import (
    TranscriptKind,
    call_payload,
    find_transcripts,
    recorded_call,
    recorded_texts,
    superseded_path,
    text_key,
)
from slowlab.campaign.journal import (
    Journal,
    JournalError,
    JournalFault,
    RecordKind,
    read_journal,
)
from slowlab.campaign.journal_format import head_path
from slowlab.canonical import canonical_json
from tests.agents.dialogues import HEADER, question

FLAGS = [(TranscriptKind.FLAG, {"flag": "test", "detail": f"{n}"}) for n in range(4)]


def write(path, flags=FLAGS, header=HEADER):
    with Transcript.open(path, header) as transcript:
        for kind, payload in flags:
            transcript.put(kind, payload)
    return path


def kinds(path):
    return [str(record.kind) for record in read_transcript(path).records]


def details(path):
    records = read_transcript(path).records
    return [r.payload["detail"] for r in records if r.kind is TranscriptKind.FLAG]


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def test_the_header_is_the_first_record(tmp_path):
    path = write(tmp_path / "a", [])
    (record,) = read_transcript(path).records
    assert record.kind is TranscriptKind.HEADER
    assert record.payload == {"format": "slowlab-transcript-1", **HEADER}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_text_is_kept_once(tmp_path):
    path = tmp_path / "a"
    first, second = question(1), question(2)
    with Transcript.open(path, HEADER) as transcript:
        for call in (first, second, first):
            payload = call_payload(Stage.SEASON, call, transcript.texts)
            transcript.put(TranscriptKind.CALL, payload)
    calls = [r.payload for r in read_transcript(path).records[1:]]
    assert [len(call["texts"]) for call in calls] == [3, 1, 0]
    assert calls[0]["characters"] == sum(len(m.content) for m in first.messages)
    texts = recorded_texts(read_transcript(path).records)
    assert [recorded_call(call, texts) for call in calls] == [first, second, first]


def test_schema_and_functions_are_kept_as_texts():
    schema = {"type": "object", "properties": {"day": {"type": "number"}}}
    functions = ({"name": "advance", "parameters": schema},)
    call = ModelCall((Message(Role.USER, "hi"),), 8, None, schema, functions)
    payload = call_payload(Stage.DESIGN, call, ())
    assert payload["response_schema_sha256"] == text_key(canonical_json(schema))
    assert recorded_call(payload, payload["texts"]) == call


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.lists(st.lists(TEXT, min_size=1, max_size=4), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_every_prompt_can_be_put_together_again(tmp_path, prompts):
    path = tmp_path / "a"
    path.unlink(missing_ok=True)
    head_path(path).unlink(missing_ok=True)
    calls = [ModelCall(tuple(Message(Role.USER, t) for t in texts), 8) for texts in prompts]
    with Transcript.open(path, HEADER) as transcript:
        for call in calls:
            payload = call_payload(Stage.SEASON, call, transcript.texts)
            transcript.put(TranscriptKind.CALL, payload)
    records = read_transcript(path).records
    texts = recorded_texts(records)
    assert [recorded_call(r.payload, texts) for r in records[1:]] == calls


@pytest.mark.parametrize(
    ("spoil", "fault", "line"),
    [
        (lambda rows: [rows[0], rows[2], rows[1], *rows[3:]], JournalFault.SEQUENCE, 2),
        (lambda rows: [*rows[:2], rows[2].replace(b'"1"', b'"7"'), *rows[3:]], "chain", 3),
        (lambda rows: [*rows[:3], b"noise\n", *rows[3:]], JournalFault.NOISE, 4),
        (lambda rows: [*rows[:2], *rows[3:]], JournalFault.SEQUENCE, 3),
        (lambda rows: rows[:-1], JournalFault.SHRUNK, 5),
        (lambda rows: rows[:-2], JournalFault.SHRUNK, 4),
    ],
)
def test_damage_is_found_with_its_line(tmp_path, spoil, fault, line):
    path = write(tmp_path / "a")
    path.write_bytes(b"".join(spoil(lines(path))))
    for use in (read_transcript, lambda p: Transcript.open(p, HEADER)):
        with pytest.raises(JournalError) as caught:
            use(path)
        assert (caught.value.fault, caught.value.line) == (fault, line)


def test_a_torn_tail_is_dropped_noted_and_written_again(tmp_path):
    path, whole = write(tmp_path / "a"), write(tmp_path / "b")
    path.write_bytes(path.read_bytes()[:-10])
    assert "line 5: an unfinished record" in read_transcript(path).notes[0]
    write(path)
    assert path.read_bytes() == whole.read_bytes()


def test_a_journal_is_no_transcript_and_the_other_way_round(tmp_path):
    with Journal.open(tmp_path / "j") as journal:
        journal.put(RecordKind.HEADER, {"format": "slowlab-transcript-1"})
    for use, path in [(read_transcript, tmp_path / "j"), (read_journal, write(tmp_path / "t"))]:
        with pytest.raises(JournalError):
            use(path)


def test_one_writer_at_a_time(tmp_path):
    opened = Transcript.open(tmp_path / "a", HEADER)
    with opened, pytest.raises(JournalError, match="another process is writing this transcript"):
        Transcript.open(tmp_path / "a", HEADER)
    with pytest.raises(JournalError, match="the transcript is closed"):
        opened.put(*FLAGS[0])


def test_an_equal_course_is_followed_and_continued(tmp_path):
    path, whole = write(tmp_path / "a", FLAGS[:2]), write(tmp_path / "b")
    with Transcript.open(path, HEADER) as transcript:
        assert transcript.expected.payload["detail"] == "0"
        transcript.put(*FLAGS[0])
        assert transcript.take().payload["detail"] == "1"
        assert transcript.expected is None
        with pytest.raises(LookupError, match="nothing more is recorded"):
            transcript.take()
        for flag in FLAGS[2:]:
            transcript.put(*flag)
    assert path.read_bytes() == whole.read_bytes()
    assert head_path(path).read_bytes() == head_path(whole).read_bytes()


def test_another_course_sets_the_old_one_aside(tmp_path, caplog):
    path = tmp_path / "site.transcript.jsonl"
    reply = (TranscriptKind.REPLY, {"number": 1})
    write(path, [*FLAGS[:2], reply, FLAGS[2], reply])
    old = path.read_bytes()
    other = (TranscriptKind.FLAG, {"flag": "test", "detail": "another"})
    with caplog.at_level(logging.WARNING), Transcript.open(path, HEADER) as transcript:
        transcript.put(*FLAGS[0])
        transcript.put(*other)
        assert transcript.superseded_calls == 2
        assert transcript.expected is None
        transcript.put(*FLAGS[3])
    assert details(path) == ["0", "another", "3"]
    kept = superseded_path(path, 1)
    assert kept.read_bytes() == old
    assert len(read_transcript(kept).records) == 6
    assert "4 records with 2 answered calls are superseded" in caplog.text
    assert f"{path}:3: the flag differs in detail" in caplog.text
    fresh = write(tmp_path / "fresh", [FLAGS[0], other, FLAGS[3]])
    assert path.read_bytes() == fresh.read_bytes()
    assert find_transcripts(tmp_path) == [path]


def test_every_other_course_is_kept(tmp_path):
    path = tmp_path / "a"
    for detail in ("x", "y", "z", "y"):
        write(path, [(TranscriptKind.FLAG, {"flag": "test", "detail": detail})])
    kept = [details(superseded_path(path, n)) for n in (1, 2, 3)]
    assert kept == [["x"], ["y"], ["z"]]
    assert details(path) == ["y"]
    assert not superseded_path(path, 4).exists()


def test_another_header_sets_everything_aside(tmp_path):
    path = write(tmp_path / "a")
    write(path, FLAGS[:1], {**HEADER, "study": "another"})
    assert details(path) == ["0"]
    assert details(superseded_path(path, 1)) == ["0", "1", "2", "3"]


class KilledError(BaseException):
    """Stands for the death of the process."""


@pytest.mark.parametrize("fatal", range(1, 7))
def test_killed_while_setting_aside(tmp_path, monkeypatch, fatal):
    """Whatever step the death comes before, the next run ends with the same files."""
    other = [FLAGS[0], (TranscriptKind.FLAG, {"flag": "test", "detail": "another"})]
    whole = tmp_path / "whole" / "a"
    write(whole)
    write(whole, other)
    path = write(tmp_path / "killed" / "a")
    steps = 0

    def dying(real):
        def step(*arguments, **options):
            nonlocal steps
            steps += 1
            if steps >= fatal:
                raise KilledError
            return real(*arguments, **options)

        return step

    monkeypatch.setattr(os, "replace", dying(os.replace))
    monkeypatch.setattr(os, "ftruncate", dying(os.ftruncate))
    transcript = None
    try:
        transcript = Transcript.open(path, HEADER)
        for flag in other:
            transcript.put(*flag)
    except KilledError:
        pass
    finally:
        monkeypatch.undo()
        if transcript is not None:
            os.close(transcript._journal._descriptor)
            transcript._journal._descriptor = None
    assert fatal > 5 or steps == fatal
    write(path, other)
    names = sorted(p.name for p in whole.parent.iterdir())
    assert sorted(p.name for p in path.parent.iterdir()) == names
    for name in names:
        assert (path.parent / name).read_bytes() == (whole.parent / name).read_bytes()


def test_a_branch_begins_with_the_records_of_what_it_leaves(tmp_path):
    prefix, branch = write(tmp_path / "p", FLAGS[:2]), tmp_path / "b"
    fork(prefix, branch)
    assert branch.read_bytes() == prefix.read_bytes()
    write(branch)
    longer = branch.read_bytes()
    fork(prefix, branch)
    assert branch.read_bytes() == longer
    assert list(tmp_path.glob("*superseded*")) == []


def test_a_branch_of_another_beginning_is_set_aside(tmp_path):
    prefix, branch = write(tmp_path / "p", FLAGS[:2]), write(tmp_path / "b", FLAGS[:1] + FLAGS[2:])
    fork(prefix, branch)
    assert branch.read_bytes() == prefix.read_bytes()
    assert details(superseded_path(branch, 1)) == ["0", "2", "3"]


def test_an_interrupted_fork_is_finished(tmp_path):
    prefix, branch = write(tmp_path / "p"), write(tmp_path / "b", FLAGS[:1])
    fork(prefix, branch)
    assert branch.read_bytes() == prefix.read_bytes()
    assert head_path(branch).read_bytes() == head_path(prefix).read_bytes()


def test_a_damaged_beginning_is_not_forked(tmp_path):
    prefix = write(tmp_path / "p")
    prefix.write_bytes(b"".join(lines(prefix)[:-1]))
    with pytest.raises(JournalError, match="only 4 are left"):
        fork(prefix, tmp_path / "b")
    assert not (tmp_path / "b").exists()
