"""Resuming after any death of the process, and checking every recorded byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import UserDict
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from slowlab.campaign import journal as journal_module
from slowlab.campaign.errors import Reason, Reply
from slowlab.campaign.journal import Durability, Journal, JournalError, RecordKind, read_journal
from slowlab.campaign.journal_format import JournalStatus, head_path
from slowlab.campaign.opening import OpeningError, spec_from_header
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.campaign.replay import catch_up, replay_journals
from slowlab.campaign.session import FailureKind, ToolCall
from slowlab.cli import app
from slowlab.world.task import Feedback
from tests.campaign.sessions import (
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

END = 365
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def recorded(campaign, tmp_path):
    """Plays a script on a fake facility with a journal; returns journal and result."""

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


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The journal of a short campaign of every feedback mode."""
    folder = tmp_path_factory.mktemp("journals")
    entries = []
    for site, feedback in enumerate([Feedback.FULL, Feedback.ENDPOINT, Feedback.SHUFFLED]):
        session = opener().open(short_spec(site, feedback), Journal.open(folder / feedback))
        entries.append(Entry(feedback, session, play(script(12))))
    run_pool(entries)
    return folder


def reports(*paths):
    contents = {path: read_journal(path) for path in paths}
    return replay_journals(
        contents, lambda header, recorder: opener().open(spec_from_header(header.payload), recorder)
    )


def test_replay_finds_nothing_in_sound_journals(real):
    before = [files(path) for path in sorted(real.iterdir()) if path.suffix != ".head"]
    found = reports(*(real / mode for mode in ("full", "endpoint", "shuffled")))
    for report in found:
        assert report.passed
        assert report.records == len(read_journal(report.path).records)
        assert report.compared == report.records - 1  # the action that was no JSON
        assert len(report.notes) == 1
    assert [files(path) for path in sorted(real.iterdir()) if path.suffix != ".head"] == before


def rewritten(path, target, change):
    """A journal whose records were changed by somebody who keeps the chain whole."""
    with Journal.open(target) as journal:
        for record in read_journal(path).records:
            journal.put(record.kind, change(record.sequence, record.payload))
    return target


def test_replay_finds_a_changed_reply_though_the_chain_is_whole(real, tmp_path):
    def change(line, payload):
        if line != 11:
            return payload
        assert payload["result"]["day"] == 2.0
        statuses = payload["result"]["statuses"]
        return {"ok": True, "result": payload["result"] | {"statuses": statuses[::-1]}}

    (report,) = reports(rewritten(real / "full", tmp_path / "a", change))
    assert [mismatch.line for mismatch in report.mismatches] == [11]
    assert "result.statuses[0]" in report.mismatches[0].sentence()
    assert not report.passed


def test_replay_on_another_build_is_a_remark(real, tmp_path):
    def change(line, payload):
        if "build" in payload:
            return payload | {"build": payload["build"] | {"source": "0" * 64}}
        if "private" in payload:
            private = payload["private"]
            build = private["build"] | {"source": "0" * 64}
            return payload | {"private": private | {"build": build}}
        return payload

    (report,) = reports(rewritten(real / "endpoint", tmp_path / "a", change))
    assert report.passed
    assert "recorded by another build: source differ" in report.notes


def test_replay_of_another_site_fails(real, tmp_path):
    def change(line, payload):
        if "campaign" not in payload:
            return payload
        return payload | {"campaign": payload["campaign"] | {"site": 7}}

    (report,) = reports(rewritten(real / "full", tmp_path / "a", change))
    assert not report.passed
    assert report.mismatches[0].line == 1


def test_replay_of_an_unfinished_campaign(real, tmp_path):
    for count in (1, 2, 9, 10):
        (report,) = reports(cut(real / "full", tmp_path / f"{count}", count))
        assert report.passed
        assert (report.records, report.compared) == (count, count)


def test_replay_passes_over_tools_and_repeats_the_assignment(campaign, tmp_path):
    """Branching: the mode is assigned after the day-0 design and replayed in its place."""

    def method():
        yield ToolCall("predict", {"n": 1})
        yield start(1)
        yield advance(END)

    def open_session(header, recorder):
        session = fake_session(campaign(Feedback.UNASSIGNED), FakeStepping(), recorder)
        assert header.kind is RecordKind.HEADER
        return session

    path = tmp_path / "a"
    with Journal.open(path) as journal:
        session = open_session(None or type("H", (), {"kind": RecordKind.HEADER}), journal)
        assert session.freeze_initial_recommendation(POLICY | {"day_temperature_c": 99}) is not None
        assert session.freeze_initial_recommendation(object()) is not None
        assert session.freeze_initial_recommendation(POLICY) is None
        session.dispatch(start(0))
        assert session.assign_feedback(Feedback.ENDPOINT)
        tools = lambda call: Reply.success({"answer": 42})  # noqa: E731
        (result,) = run_pool([Entry("a", session, method(), tools)])
    assert result.settlement.source == "initial_recommendation"
    (report,) = replay_journals({path: read_journal(path)}, open_session)
    assert report.passed
    assert report.records - report.compared == 2


def test_a_prefix_gives_the_same_bytes_in_every_mode(campaign, tmp_path):
    """Whatever is sent before the branch, the Full and the Endpoint process answer it alike."""
    prefix = [start(0), start(0), {"action": "stop", "unit": 2}, {"action": "observe", "unit": 0}]
    written = []
    for mode in (Feedback.FULL, Feedback.ENDPOINT):
        path = tmp_path / mode
        with Journal.open(path) as journal:
            session = fake_session(campaign(Feedback.UNASSIGNED), FakeStepping(), journal)
            for action in prefix:
                session.dispatch(action)
            session.assign_feedback(mode)
            session.dispatch({"action": "observe", "unit": 0, "variable": "co2_ppm"})
        written.append(path.read_bytes().splitlines())
    same = 2 + 2 * len(prefix) - 1
    assert written[0][:same] == written[1][:same]
    assert written[0][same:] != written[1][same:]


def test_a_header_of_something_else_is_refused():
    with pytest.raises(OpeningError, match="no header"):
        spec_from_header({"format": "else"})


def command(*arguments):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def test_the_command_prints_its_count(real, monkeypatch):
    monkeypatch.setattr("slowlab.campaign.opening.Opener.make", lambda *_: opener())
    result = command(real / "full")
    assert result.exit_code == 0
    count = len(read_journal(real / "full").records)
    assert result.stdout.splitlines()[-1] == f"replayed {count} records, 0 mismatches"
    result = command(real / "full", real / "endpoint")
    assert result.exit_code == 0
    assert result.stdout.count(" 0 mismatches") == 2


def test_the_command_fails_on_a_mismatch_and_on_damage(real, tmp_path, monkeypatch):
    monkeypatch.setattr("slowlab.campaign.opening.Opener.make", lambda *_: opener())
    changed = rewritten(
        real / "full", tmp_path / "a", lambda n, p: p | {"ok": False} if n == 3 else p
    )
    result = command(changed)
    assert result.exit_code == 1
    assert "line 3: the reply differs in " in result.stdout
    assert "1 mismatches" in result.stdout

    damaged = tmp_path / "b"
    damaged.write_bytes((real / "full").read_bytes().replace(b'"unit":1', b'"unit":2', 1))
    head_path(damaged).write_bytes(head_path(real / "full").read_bytes())
    result = command(damaged)
    assert result.exit_code == 1
    assert f"damaged: {damaged}:4: " in result.stderr
    assert command(tmp_path / "absent").exit_code == 2
    (tmp_path / "empty").touch()
    assert command(tmp_path / "empty").exit_code == 2


def test_the_command_notes_a_torn_tail(real, tmp_path, monkeypatch):
    monkeypatch.setattr("slowlab.campaign.opening.Opener.make", lambda *_: opener())
    torn = cut(real / "full", tmp_path / "torn", 3)
    with torn.open("ab") as file:
        file.write(b'{"digest":"00')
    result = command(torn)
    assert result.exit_code == 0
    assert "note: line 4: an unfinished record of 13 bytes was dropped" in result.stdout
    assert "replayed 3 records, 0 mismatches" in result.stdout


def test_nothing_secret_is_in_what_an_agent_gets(real):
    """Requests and replies name neither site nor seed nor year; header and settlement do."""
    content = read_journal(real / "full")
    site = opener().site(short_spec(0))
    public = repr([r.payload for r in content.records if r.kind is RecordKind.REPLY])
    private = repr([r.payload for r in content.records])
    for secret in (str(site.noise_seed), str(site.campaign_year), "site_sha256", "development"):
        assert secret in private
        assert secret not in public
    assert os.stat(real / "full").st_mode & 0o077 == 0


class CountingTools:
    """Answers with the number of the call, so that a lost call is seen."""

    def __init__(self):
        self.calls = 0

    def __call__(self, call):
        self.calls += 1
        return Reply.success({"call": self.calls, "tool": call.name})


def test_tools_are_brought_to_where_they_stood(campaign, tmp_path):
    """A resumed campaign goes on with tools that remember; without tools, uses are passed over."""
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        tools = CountingTools()
        for item in (start(0), advance(10)):
            session.dispatch(item)
            session.use_tool(ToolCall("runs", {}), tools)
    for tools in (CountingTools(), None):
        with Journal.open(tmp_path / "a") as journal:
            session = fake_session(campaign(), FakeStepping(), journal)
            assert catch_up(session, journal, tools=tools).actions == 2
            assert session.failure is None
            assert not journal.following
            assert session.requests == (4 if tools else 2)
    assert tools is None


def test_tools_that_answer_otherwise_freeze_a_resumed_campaign(campaign, tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        session.use_tool(ToolCall("runs", {}), CountingTools())
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        catch_up(session, journal, tools=lambda call: Reply.success({"call": 7}))
    assert session.failure.kind is FailureKind.DIVERGED


class BrokenMapping(UserDict):
    """Arguments that cannot be read."""

    def __iter__(self):
        raise RuntimeError


def calls_that_are_no_plain_data():
    """Tool calls that no journal can hold."""
    itself = []
    itself += [itself, itself]
    values = (float("nan"), np.int64(1), object(), "\ud800", 10**400, {1: 2}, itself)
    arguments = [{"n": value} for value in values]
    arguments += [{1: 2}, [("n", 1)], None, BrokenMapping(n=1)]
    return [ToolCall("runs", item) for item in arguments] + [ToolCall(7, {})]


def test_a_tool_call_that_is_no_plain_data_is_refused(campaign, tmp_path):
    """It is an error of the method: the campaign goes on, and can be resumed and replayed."""
    bad, tools = calls_that_are_no_plain_data(), CountingTools()
    with Journal.open(tmp_path / "a", durability=Durability.PROCESS) as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        for item in (start(0), advance(10)):
            session.dispatch(item)
            for call in bad:
                reply = session.use_tool(call, tools)
                assert not reply.ok
                assert reply.error.reason is Reason.MALFORMED
            assert session.use_tool(ToolCall("runs", {}), tools).ok
        assert session.failure is None
        assert tools.calls == 2
        assert session.settle().rejections == {}
    content = read_journal(tmp_path / "a")
    before_the_end = len(content.records) - 1
    for tools in (CountingTools(), None):
        path = cut(tmp_path / "a", tmp_path / f"cut-{tools is None}", before_the_end)
        with Journal.open(path, durability=Durability.PROCESS) as journal:
            session = fake_session(campaign(), FakeStepping(), journal)
            assert catch_up(session, journal, tools=tools).actions == 2
            assert session.failure is None
            assert not journal.following
            assert session.dispatch(advance(20)).ok

    def opened(header, comparison):
        return fake_session(campaign(), FakeStepping(), comparison)

    (report,) = replay_journals({tmp_path / "a": content}, opened)
    assert report.passed


def test_a_method_may_go_on_after_a_tool_call_that_is_no_plain_data(campaign):
    def method():
        reply = yield ToolCall("runs", {"n": float("inf")})
        assert reply.error.reason is Reason.MALFORMED
        yield advance(END)

    session = fake_session(campaign(), FakeStepping())
    (result,) = run_pool([Entry("a", session, method(), tools=CountingTools())])
    assert result.ending is Ending.SETTLED
