"""The journal: what it finds, what it mends, and that following it gives the same bytes."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowlab.campaign import journal as journal_module
from slowlab.campaign.journal import (
    Durability,
    Journal,
    JournalError,
    JournalFault,
    RecordKind,
    read_journal,
)
from slowlab.campaign.journal_format import JournalStatus, head_path
from slowlab.canonical import CanonicalError

PAYLOADS = [
    (RecordKind.HEADER, {"format": "slowlab-campaign-1"}),
    (RecordKind.REQUEST, {"action": "advance", "day": 3}),
    (RecordKind.REPLY, {"ok": True, "result": {"day": 3.0, "text": "grün \u2028 \x00 \ufeff 🌱"}}),
    (RecordKind.REQUEST, [1, 2.5, None, True]),
    (RecordKind.REPLY, {"ok": False, "error": {"kind": "invalid_action", "message": "no"}}),
    (RecordKind.SETTLEMENT, {"status": "finished"}),
]


def write(path: Path, payloads=PAYLOADS) -> Path:
    with Journal.open(path) as journal:
        for kind, payload in payloads:
            journal.put(kind, payload)
    return path


def fault_of(path: Path) -> JournalError:
    """The fault, which reader and writer must agree upon, and which changes nothing."""
    before = path.read_bytes()
    with pytest.raises(JournalError) as reading:
        read_journal(path)
    with pytest.raises(JournalError) as writing:
        Journal.open(path)
    assert (reading.value.fault, reading.value.line) == (writing.value.fault, writing.value.line)
    assert path.read_bytes() == before
    return reading.value


def test_what_is_written_is_read(tmp_path):
    content = read_journal(write(tmp_path / "a.journal"))
    assert [(record.kind, record.payload) for record in content.records] == PAYLOADS
    assert [record.sequence for record in content.records] == [1, 2, 3, 4, 5, 6]
    assert content.status is JournalStatus.SETTLED
    assert content.notes == ()
    assert (tmp_path / "a.journal").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["a.journal", "a.journal.head"]


def test_equal_records_give_equal_bytes(tmp_path):
    one, two = write(tmp_path / "a"), write(tmp_path / "b")
    assert one.read_bytes() == two.read_bytes()
    assert head_path(one).read_bytes() == head_path(two).read_bytes()


@pytest.mark.parametrize(
    ("records", "status"),
    [(0, JournalStatus.EMPTY), (1, "open"), (2, "waiting"), (3, "open"), (5, "open")],
)
def test_status_tells_how_far_the_campaign_has_come(tmp_path, records, status):
    assert read_journal(write(tmp_path / "a", PAYLOADS[:records])).status == status


def test_an_infrastructure_failure_is_a_status_of_its_own(tmp_path):
    failed = {"ok": False, "error": {"kind": "infrastructure_failure", "message": "paused"}}
    path = write(tmp_path / "a", [*PAYLOADS[:2], (RecordKind.REPLY, failed)])
    assert read_journal(path).status is JournalStatus.FAILED


def test_every_altered_byte_is_found_in_its_line(tmp_path):
    path = write(tmp_path / "a")
    sound = path.read_bytes()
    starts = [i + 1 for i, byte in enumerate(sound) if byte == ord("\n")]
    for position in range(len(sound) - 1):
        path.write_bytes(sound[:position] + bytes([sound[position] ^ 0x01]) + sound[position + 1 :])
        with pytest.raises(JournalError) as caught:
            read_journal(path)
        line = 1 + sum(start <= position for start in starts)
        assert caught.value.line == line, position


def test_a_cut_at_any_byte_is_found_or_mended(tmp_path):
    path = write(tmp_path / "a")
    sound = path.read_bytes()
    ends = [0] + [i + 1 for i, byte in enumerate(sound) if byte == ord("\n")]
    last_line = ends[-2]
    for length in range(len(sound)):
        path.write_bytes(sound[:length])
        if length > last_line:
            content = read_journal(path)
            assert len(content.records) == len(PAYLOADS) - 1
            assert "line 6: an unfinished record" in content.notes[0]
            assert "had confirmed it" in content.notes[0]
        else:
            with pytest.raises(JournalError) as caught:
                read_journal(path)
            assert caught.value.fault is JournalFault.SHRUNK
            assert caught.value.line == sum(end <= length for end in ends)


def test_a_torn_tail_is_dropped_noted_and_remembered(tmp_path):
    path = write(tmp_path / "a", PAYLOADS[:3])
    sound = path.read_bytes()
    path.write_bytes(sound + b'{"digest":"12')
    assert len(read_journal(path).records) == 3
    assert path.read_bytes() != sound  # reading changes nothing
    with Journal.open(path) as journal:
        assert journal.notes == ("line 4: an unfinished record of 13 bytes was dropped",)
        assert path.read_bytes() == sound
        assert len(journal.recorded) == 3
    assert read_journal(path).notes == ("line 4: an unfinished record of 13 bytes was dropped",)
    with Journal.open(path) as journal:
        for kind, payload in PAYLOADS:
            journal.put(kind, payload)
    assert path.read_bytes() == write(tmp_path / "whole").read_bytes()
    assert len(read_journal(path).notes) == 1


@pytest.mark.parametrize(
    "noise", [b"noise\n", b"\n", b"\xff\xfe\n", b"[" * 10_000 + b"\n", b"{}\n"]
)
def test_noise_is_found_with_its_line(tmp_path, noise):
    path = write(tmp_path / "a")
    path.write_bytes(path.read_bytes() + noise)
    found = fault_of(path)
    assert (found.fault, found.line) == (JournalFault.NOISE, 7)
    assert f"{path}:7: " in str(found)


def test_swapped_repeated_and_missing_lines_are_found(tmp_path):
    path = write(tmp_path / "a")
    lines = path.read_bytes().splitlines(keepends=True)
    for altered, line in [
        ([lines[0], lines[2], lines[1], *lines[3:]], 2),
        ([*lines[:3], lines[2], *lines[3:]], 4),
        ([*lines[:2], *lines[3:]], 3),
        ([*lines[1:]], 1),
    ]:
        path.write_bytes(b"".join(altered))
        found = fault_of(path)
        assert (found.fault, found.line) == (JournalFault.SEQUENCE, line)


def test_a_record_of_another_campaign_does_not_fit_the_chain(tmp_path):
    path = write(tmp_path / "a")
    other = write(tmp_path / "b", [(RecordKind.HEADER, {"format": "x"}), *PAYLOADS[1:]])
    mine, theirs = (file.read_bytes().splitlines(keepends=True) for file in (path, other))
    path.write_bytes(b"".join([*mine[:3], theirs[3], *mine[4:]]))
    found = fault_of(path)
    assert (found.fault, found.line) == (JournalFault.CHAIN, 4)
    path.write_bytes(b"".join(theirs))  # a whole chain, but not the one that the head names
    found = fault_of(path)
    assert (found.fault, found.line) == (JournalFault.HEAD_DIFFERS, 6)


def test_a_record_in_other_words_is_refused(tmp_path):
    path = write(tmp_path / "a")
    path.write_bytes(path.read_bytes().replace(b'"sequence":2', b'"sequence": 2'))
    found = fault_of(path)
    assert (found.fault, found.line) == (JournalFault.NOT_CANONICAL, 2)


def test_the_head_must_be_there_and_sound(tmp_path):
    path = write(tmp_path / "a")
    head = head_path(path).read_bytes()
    for content in (
        b"",
        head[:20],
        head + b" ",
        b'{"count":true,"digest":"","repairs":[]}\n',
        b"[]",
    ):
        head_path(path).write_bytes(content)
        assert fault_of(path).fault is JournalFault.HEAD_DAMAGED
    head_path(path).unlink()
    assert fault_of(path).fault is JournalFault.HEAD_MISSING


def test_a_record_beyond_the_head_is_kept(tmp_path):
    """The process was killed after the line and before the head."""
    path = write(tmp_path / "a", PAYLOADS[:3])
    head = head_path(path).read_bytes()
    write(path, PAYLOADS[:4])
    head_path(path).write_bytes(head)
    with Journal.open(path) as journal:
        assert len(journal.recorded) == 4
    assert head_path(path).read_bytes() != head
    assert read_journal(path).notes == ()


def test_following_compares_and_then_appends(tmp_path):
    path = write(tmp_path / "a", PAYLOADS[:4])
    before = path.read_bytes()
    with Journal.open(path) as journal:
        for kind, payload in PAYLOADS[:4]:
            assert journal.following
            journal.put(kind, payload)
        assert path.read_bytes() == before
        assert not journal.following
        for kind, payload in PAYLOADS[4:]:
            journal.put(kind, payload)
    assert path.read_bytes() == write(tmp_path / "b").read_bytes()


def test_following_another_course_is_stopped_at_the_first_difference(tmp_path):
    path = write(tmp_path / "a")
    before = path.read_bytes()
    with Journal.open(path) as journal:
        journal.put(*PAYLOADS[0])
        with pytest.raises(JournalError, match="the request differs in day") as caught:
            journal.put(RecordKind.REQUEST, {"action": "advance", "day": 4})
        with pytest.raises(JournalError):
            journal.put(RecordKind.REPLY, PAYLOADS[1][1])
    assert (caught.value.fault, caught.value.line) == (JournalFault.MISMATCH, 2)
    assert path.read_bytes() == before
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_true_is_not_one(tmp_path):
    path = write(tmp_path / "a", [(RecordKind.REQUEST, {"unit": True})])
    with Journal.open(path) as journal, pytest.raises(JournalError):
        journal.put(RecordKind.REQUEST, {"unit": 1})


@pytest.mark.parametrize("payload", ["\ud83d", {"\ud800": 1}, float("nan"), {1: 2}, object()])
def test_what_json_cannot_hold_never_reaches_the_file(tmp_path, payload):
    path = tmp_path / "a"
    with Journal.open(path) as journal:
        journal.put(*PAYLOADS[0])
        before = path.read_bytes()
        with pytest.raises(CanonicalError):
            journal.put(RecordKind.REQUEST, payload)
        assert path.read_bytes() == before
        journal.put(*PAYLOADS[1])
    assert len(read_journal(path).records) == 2


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.recursive(TEXT | st.integers(-(2**53), 2**53), st.lists, max_leaves=5)))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None
)
def test_any_text_survives(tmp_path, payloads):
    path = tmp_path / "a"
    path.unlink(missing_ok=True)
    head_path(path).unlink(missing_ok=True)
    write(path, [(RecordKind.REQUEST, payload) for payload in payloads])
    path.read_bytes().decode("utf-8", errors="strict")
    assert [record.payload for record in read_journal(path).records] == payloads


def test_two_megabytes_of_text(tmp_path):
    path = write(tmp_path / "a", [(RecordKind.REQUEST, "ä\x00" * 700_000)])
    assert len(read_journal(path).records[0].payload) == 1_400_000


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path):
    path = tmp_path / "a"
    with Journal.open(path) as journal:
        journal.put(*PAYLOADS[0])
        with pytest.raises(JournalError, match="another process is writing") as caught:
            Journal.open(path)
        assert caught.value.fault is JournalFault.LOCKED
        code = "import sys; from slowlab.campaign.journal import Journal; Journal.open(sys.argv[1])"
        other = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        assert "another process is writing this journal" in other.stderr
        journal.put(*PAYLOADS[1])
        assert len(read_journal(path).records) == 2
    Journal.open(path).close()


def test_a_closed_journal_takes_nothing(tmp_path):
    journal = Journal.open(tmp_path / "a")
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.put(*PAYLOADS[0])


@pytest.mark.parametrize("taken", [0, 7])
def test_a_full_disk_leaves_whole_records(tmp_path, monkeypatch, taken):
    path = tmp_path / "a"
    real = os.write

    def full(descriptor, content):
        if taken:
            real(descriptor, bytes(content[:taken]))
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.open(path) as journal:
        journal.put(*PAYLOADS[0])
        monkeypatch.setattr(journal_module.os, "write", full)
        with pytest.raises(JournalError, match="No space left") as caught:
            journal.put(*PAYLOADS[1])
        assert caught.value.fault is JournalFault.WRITE
        monkeypatch.undo()
    assert len(read_journal(path).records) == 1
    assert read_journal(path).notes == ()
    write(path)
    assert path.read_bytes() == write(tmp_path / "b").read_bytes()


def test_writes_in_pieces_are_put_together(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(journal_module.os, "write", lambda fd, content: real(fd, content[:5]))
    path = write(tmp_path / "a")
    monkeypatch.undo()
    assert path.read_bytes() == write(tmp_path / "b").read_bytes()


def test_durability_does_not_change_the_bytes(tmp_path, monkeypatch):
    path = tmp_path / "a"
    flushed = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(real(descriptor)))
    with Journal.open(path, durability=Durability.PROCESS) as journal:
        opened = len(flushed)
        for kind, payload in PAYLOADS:
            journal.put(kind, payload)
        assert len(flushed) == opened
    assert len(flushed) == opened + 2
    monkeypatch.undo()
    other = write(tmp_path / "b")
    assert path.read_bytes() == other.read_bytes()
    assert head_path(path).read_bytes() == head_path(other).read_bytes()


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from slowlab.campaign import journal, journal_format
    from slowlab import io
    path, fatal, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    writes = 0

    def dies(real):
        def step(*arguments, **options):
            global writes
            writes += 1
            if writes != fatal:
                return real(*arguments, **options)
            if how == "half" and real is WRITE:
                real(arguments[0], bytes(arguments[1][: len(arguments[1]) // 2]))
            if how == "after":
                real(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        return step

    WRITE = journal.os.write
    HEAD = journal.atomic_write_bytes
    journal.write_fully = lambda fd, content: dies(WRITE)(fd, content)
    journal.atomic_write_bytes = dies(HEAD)
    payloads = eval(sys.stdin.read())
    with journal.Journal.open(path) as j:
        for kind, payload in payloads:
            j.put(journal.RecordKind(kind), payload)
    """
)


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_at_any_write_and_resumed(tmp_path, how):
    """SIGKILL before, in the middle of and after every write of line and head."""
    whole = write(tmp_path / "whole").read_bytes()
    payloads = repr([(str(kind), payload) for kind, payload in PAYLOADS])
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    path = tmp_path / "a"
    for fatal in range(1, 2 + 2 * len(PAYLOADS)):  # the first head, then line and head of each
        path.unlink(missing_ok=True)
        head_path(path).unlink(missing_ok=True)
        command = [sys.executable, str(script), str(path), str(fatal), how]
        died = subprocess.run(command, input=payloads, capture_output=True, text=True, check=False)
        assert died.returncode == -signal.SIGKILL, died.stderr
        write(path)
        assert path.read_bytes() == whole
    assert not list(tmp_path.glob(".*part*"))
