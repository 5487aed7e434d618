"""Replay: every recorded byte is checked."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from slowlab.campaign.errors import Reply
from slowlab.campaign.journal import Journal, RecordKind, read_journal
from slowlab.campaign.journal_format import head_path
from slowlab.campaign.opening import OpeningError, spec_from_header
from slowlab.campaign.pool import Entry, run_pool
from slowlab.campaign.replay import replay_journals
from slowlab.campaign.session import ToolCall
from slowlab.cli import app
from slowlab.world.task import Feedback
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
        session = open_session(SimpleNamespace(kind=RecordKind.HEADER), journal)
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
