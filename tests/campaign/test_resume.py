"""Resuming a campaign after any death of the process."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from slowlab.campaign import journal as journal_module
from slowlab.campaign.journal import Durability, Journal, JournalError, RecordKind, read_journal
from slowlab.campaign.journal_format import JournalStatus, head_path
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.campaign.replay import catch_up
from slowlab.campaign.session import FailureKind
from tests.campaign.sessions import (
    END,
    POLICY,
    FakeStepping,
    advance,
    cut,
    fake_session,
    files,
    opener,
    play,
    script,
    short_spec,
    start,
)

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def recorded(campaign, tmp_path):
    """Plays a script on a fake facility with a journal; returns the result."""

    def play_with(path, actions, **fake):
        stepping = FakeStepping()
        with Journal.open(path, durability=Durability.PROCESS) as journal:
            session = fake_session(campaign(**fake), stepping, journal)
            (result,) = run_pool([Entry("a", session, play(actions))])
        return result

    return play_with


class KilledError(BaseException):
    """Stands for the death of the process: nothing is cleaned up on its way."""


def die_at(monkeypatch, fatal, how):
    """Let the process die before, within or after its n-th write of a line or a head."""
    writes = 0
    line, head = journal_module.write_fully, journal_module.atomic_write_bytes

    def dying(real):
        def step(target, content, **options):
            nonlocal writes
            writes += 1
            if writes > fatal:
                raise KilledError  # a dead process writes nothing
            if writes == fatal:
                if how == "half" and real is line:
                    real(target, content[: len(content) // 2])
                if how == "after":
                    real(target, content, **options)
                raise KilledError
            return real(target, content, **options)

        return step

    monkeypatch.setattr(journal_module, "write_fully", dying(line))
    monkeypatch.setattr(journal_module, "atomic_write_bytes", dying(head))


ACTIONS = [
    start(0),
    start(1, day_temperature_c=23.0),
    {"action": "advance", "day": float("inf")},
    advance(90),
    {"action": "observe", "unit": 0, "variable": "co2_ppm", "start_day": 89},
    advance(END),
    {"action": "observe", "unit": 0},
    {"action": "recommend", "policy": POLICY},
]


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_at_any_write_and_run_again(recorded, campaign, tmp_path, monkeypatch, how):
    """Both ways to resume lead to the end state of a run that was never interrupted."""
    whole = recorded(tmp_path / "whole", ACTIONS)
    count = len(read_journal(tmp_path / "whole").records)
    for fatal in range(1, 2 * count + 2):
        path, copy = tmp_path / f"{fatal}", tmp_path / f"{fatal}copy"
        die_at(monkeypatch, fatal, how)
        with pytest.raises(KilledError):
            recorded(path, ACTIONS)
        monkeypatch.undo()
        for source, target in ((path, copy), (head_path(path), head_path(copy))):
            if source.exists():
                target.write_bytes(source.read_bytes())
        again = recorded(path, ACTIONS)
        assert (again.settlement, files(path)[0]) == (
            whole.settlement,
            files(tmp_path / "whole")[0],
        )
        assert finish_from_journal(copy, campaign) == whole.settlement
        assert files(copy)[0] == files(tmp_path / "whole")[0]


def finish_from_journal(path, campaign):
    """Resume as a server does: run what is recorded, then what an agent would still send."""
    with Journal.open(path, durability=Durability.PROCESS) as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        resumed = catch_up(session, journal)
        known = [r for r in journal.recorded if r.kind in (RecordKind.REQUEST, RecordKind.REFUSED)]
        if known and known[-1].kind is RecordKind.REQUEST:
            assert resumed.last_action == known[-1].payload
            assert resumed.last_reply["ok"]
        for action in ACTIONS[len(known) :]:
            session.dispatch(action)
        return session.settle()


def test_a_real_campaign_resumed_after_every_record(tmp_path):
    """Journals cut after every record are resumed in lockstep; all end alike."""
    whole = tmp_path / "whole"

    def entry(path):
        session = opener().open(short_spec(4), Journal.open(path))
        return Entry(path.name, session, play(script(12)))

    (expected,) = run_pool([entry(whole)])
    count = len(read_journal(whole).records)
    cuts = [cut(whole, tmp_path / f"{records}", records) for records in range(count + 1)]
    results = run_pool([entry(path) for path in cuts])
    assert {result.ending for result in results} == {Ending.SETTLED}
    assert all(result.settlement == expected.settlement for result in results)
    assert {path.read_bytes() for path in cuts} == {whole.read_bytes()}


def test_a_process_killed_in_the_middle_is_resumed(tmp_path):
    """SIGKILL while an advance is under way."""
    code = textwrap.dedent(
        """
        import os, signal, sys
        from slowlab.campaign.journal import Journal
        from slowlab.campaign.pool import Entry, run_pool
        from tests.campaign.sessions import opener, play, script, short_spec
        session = opener().open(short_spec(4), Journal.open(sys.argv[1]))
        days = []
        def on_day(done, total):
            days.append(done)
            if len(days) == 4:
                os.kill(os.getpid(), signal.SIGKILL)
        run_pool([Entry("a", session, play(script(12)))], on_day=on_day)
        """
    )
    path = tmp_path / "a"
    command = [sys.executable, "-c", code, str(path)]
    died = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert read_journal(path).status is JournalStatus.WAITING
    for target in (path, tmp_path / "whole"):
        session = opener().open(short_spec(4), Journal.open(target))
        run_pool([Entry("a", session, play(script(12)))])
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_method_that_takes_another_course_is_stopped(campaign, recorded, tmp_path):
    path = tmp_path / "a"
    recorded(path, ACTIONS)
    before = files(path)
    other = [ACTIONS[0], start(2), *ACTIONS[2:]]
    result = recorded(path, other)
    assert result.ending is Ending.INFRASTRUCTURE_FAILURE
    assert result.failure.kind is FailureKind.DIVERGED
    assert f"{path}:4: " in result.failure.detail
    assert files(path) == before
    result = recorded(path, ACTIONS, growth=1.01)
    assert result.failure.kind is FailureKind.DIVERGED
    assert files(path) == before


def test_another_campaign_does_not_follow_a_journal(tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        opener().open(short_spec(1), journal)
    with Journal.open(tmp_path / "a") as journal, pytest.raises(JournalError, match="header"):
        opener().open(short_spec(2), journal)
