"""The pool: lockstep, typed endings, and results that depend on a campaign alone."""

from __future__ import annotations

import threading
import time

import pytest

from slowlab.campaign import session as session_module
from slowlab.campaign.errors import FROZEN, Reply
from slowlab.campaign.journal import Durability, Journal, read_journal
from slowlab.campaign.journal_format import JournalStatus, RecordKind
from slowlab.campaign.pool import Ending, Entry, PoolProgress, run_pool
from slowlab.campaign.session import FailureKind, Session, ToolCall
from slowlab.campaign.settlement import CampaignStatus, PolicySource
from slowlab.world.task import Feedback
from tests.campaign.sessions import (
    END,
    POLICY,
    FakeStepping,
    advance,
    fake_session,
    opener,
    play,
    script,
    short_spec,
    start,
)


@pytest.fixture
def stepping():
    return FakeStepping()


@pytest.fixture
def entry(campaign, stepping):
    """Makes entries on fake facilities; keywords go to the facility."""

    def make(name, actions, *, journal=None, tools=None, **fake):
        steps = actions if not isinstance(actions, list) else play(actions)
        session = fake_session(campaign(**fake), stepping, journal)
        return Entry(name, session, steps, tools)

    return make


def test_a_campaign_runs_to_its_settlement(entry):
    replies = []
    (result,) = run_pool([entry("a", play(script(END), replies))])
    assert result.ending is Ending.SETTLED
    assert result.settlement.status is CampaignStatus.FINISHED
    assert result.settlement.policy.model_dump() == POLICY
    assert result.requests == len(script(END)) == len(replies)
    assert [reply["ok"] for reply in replies].count(False) == 3
    assert result.failure is None
    assert result.error is None


def test_what_costs_no_time_is_answered_at_once_and_time_passes_together(entry, stepping):
    run_pool([entry(f"{n}", script(END)) for n in range(5)])
    assert stepping.together == [5, 5, 5]


def test_campaigns_with_other_targets_and_lengths_share_a_step(entry, stepping):
    results = run_pool(
        [
            entry("long", [advance(day) for day in (100, 200, 300, 365)]),
            entry("short", [advance(365)]),
            entry("none", []),
        ]
    )
    assert stepping.together == [2, 1, 1, 1]
    assert [result.name for result in results] == ["long", "short", "none"]
    assert [result.settlement.day for result in results] == [365, 365, 0]


def test_campaigns_of_different_kinds_are_stepped_apart(campaign):
    kinds = [FakeStepping(1), FakeStepping(2)]
    run_pool(
        [Entry(str(n), fake_session(campaign(), kinds[n % 2]), play(script(END))) for n in range(4)]
    )
    assert [kind.together for kind in kinds] == [[2, 2, 2], [2, 2, 2]]


def test_results_depend_on_a_campaign_alone(campaign, tmp_path):
    """Alone, among others, in another order, with many workers: the same journals."""

    def run(folder, names, **options):
        stepping, entries = FakeStepping(), []
        for name in names:
            journal = Journal.open(tmp_path / folder / name, durability=Durability.PROCESS)
            session = fake_session(campaign(growth=1 + int(name) / 10), stepping, journal)
            entries.append(Entry(name, session, play(script(END, warmth=20 + int(name)))))
        results = run_pool(entries, **options)
        written = {name: (tmp_path / folder / name).read_bytes() for name in names}
        return {result.name: result.settlement for result in results}, written

    names = ["0", "1", "2"]
    settlements, journals = run("all", names)
    assert len(set(journals.values())) == 3
    assert run("back", names[::-1]) == (settlements, journals)
    assert run("threads", names, workers=3, time_limit_s=60) == (settlements, journals)
    for name in names:
        alone, written = run(f"alone{name}", [name])
        assert alone[name] == settlements[name]
        assert written[name] == journals[name]


def failing_method(fault):
    yield start(0)
    yield advance(20)
    raise fault


@pytest.mark.parametrize("fault", [ValueError("no idea"), RecursionError(), StopIteration(3)])
def test_an_exception_ends_only_its_campaign(entry, tmp_path, fault):
    with Journal.open(tmp_path / "a") as journal:
        bad = entry("bad", failing_method(fault), journal=journal)
        results = run_pool([entry("good", script(END)), bad, entry("other", script(END))])
    endings = [result.ending for result in results]
    assert endings == [Ending.SETTLED, Ending.METHOD_ERROR, Ending.SETTLED]
    assert results[1].settlement is None
    assert type(fault).__name__ in results[1].error
    assert results[0].settlement == results[2].settlement
    assert read_journal(tmp_path / "a").status is JournalStatus.OPEN


@pytest.fixture
def patience(monkeypatch):
    """A session that takes fifty actions."""
    monkeypatch.setattr(session_module, "REQUEST_LIMIT", 50)
    return 50


def test_a_method_that_fails_at_once_or_will_not_close(entry, patience):
    def at_once():
        raise OSError("nothing to read")
        yield

    def stubborn():
        try:
            while True:
                yield {"action": "observe", "unit": 0}
        finally:
            raise RuntimeError("not now")

    results = run_pool([entry("once", at_once()), entry("stubborn", stubborn())])
    assert [r.ending for r in results] == [Ending.METHOD_ERROR, Ending.REQUEST_LIMIT]


def test_a_method_that_never_ends_is_stopped_by_a_count(entry, patience):
    def for_ever():
        while True:
            yield {"action": "dance"}

    (result,) = run_pool([entry("a", for_ever())])
    assert result.ending is Ending.REQUEST_LIMIT
    assert result.requests == patience
    assert result.settlement.source is PolicySource.FIXED_POLICY


def test_a_failing_facility_is_missing_data_and_spares_the_others(entry, tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        bad = entry("bad", script(END), journal=journal, fails_at=100 * 288)
        results = run_pool([entry("good", script(END)), bad])
    assert results[0].ending is Ending.SETTLED
    assert results[1].ending is Ending.INFRASTRUCTURE_FAILURE
    assert results[1].failure.kind is FailureKind.FACILITY
    assert results[1].settlement.policy is None
    content = read_journal(tmp_path / "a")
    assert content.status is JournalStatus.FAILED
    assert content.records[-1].kind is RecordKind.SETTLEMENT
    assert "secret detail" not in repr([r.payload for r in content.records[:-1]])


def test_an_exception_in_stepping_is_pinned_on_its_campaign(entry, stepping, tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        entries = [entry("a", script(END)), entry("bad", script(END), journal=journal)]
        entries.append(entry("c", script(END)))
        stepping.faults.add(id(entries[1].session.facility))
        results = run_pool(entries)
    assert [r.ending for r in results] == [
        Ending.SETTLED,
        Ending.INFRASTRUCTURE_FAILURE,
        Ending.SETTLED,
    ]
    assert results[1].failure.kind is FailureKind.STEPPING
    assert "12.345678" in results[1].failure.detail
    assert results[1].settlement is None
    assert results[0].settlement == results[2].settlement
    content = read_journal(tmp_path / "a")
    assert content.status is JournalStatus.WAITING  # it can be resumed
    assert b"12.345678" not in (tmp_path / "a").read_bytes()


def test_an_exception_in_the_executor_freezes_and_tells_nothing(entry, monkeypatch):
    replies = []
    made = entry("a", play(script(END), replies))

    def broken():
        raise KeyError("/home/somebody/secret")

    monkeypatch.setattr(made.session.executor, "finish", broken)
    (result,) = run_pool([made])
    assert result.failure.kind is FailureKind.EXECUTOR
    assert "secret" in result.failure.detail
    assert made.session.dispatch(advance(3)) is FROZEN
    assert made.session.settle() is None
    assert "secret" not in repr(replies)


def test_a_full_disk_is_an_infrastructure_failure(entry, tmp_path, monkeypatch):
    from slowlab.campaign import journal as journal_module

    def full(descriptor, content):
        raise OSError(28, "No space left on device")

    journal = Journal.open(tmp_path / "a")
    made = entry("a", script(END), journal=journal)
    monkeypatch.setattr(journal_module, "write_fully", full)
    (result,) = run_pool([made])
    assert result.ending is Ending.INFRASTRUCTURE_FAILURE
    assert result.failure.kind is FailureKind.JOURNAL


def test_a_method_that_hangs_is_missing_data(entry, tmp_path):
    """Wall-clock ends a campaign only as an infrastructure failure, and the journal stays sound."""
    released = threading.Event()

    def hangs():
        yield start(0)
        released.wait(20)
        yield advance(5)

    journal = Journal.open(tmp_path / "a")
    entries = [entry("hangs", hangs(), journal=journal), entry("good", script(END))]
    begun = time.monotonic()
    results = run_pool(entries, workers=2, time_limit_s=2)
    assert time.monotonic() - begun < 15
    released.set()
    assert [r.ending for r in results] == [Ending.INFRASTRUCTURE_FAILURE, Ending.SETTLED]
    assert results[0].failure.kind is FailureKind.TIME_LIMIT
    assert results[0].settlement is None
    time.sleep(0.1)
    assert len(read_journal(tmp_path / "a").records) == 3


def test_one_worker_with_a_time_limit_goes_on_after_a_hanging_method(entry):
    released = threading.Event()

    def hangs():
        released.wait(20)
        yield advance(5)

    results = run_pool([entry("hangs", hangs()), entry("good", script(END))], time_limit_s=2)
    released.set()
    assert [r.ending for r in results] == [Ending.INFRASTRUCTURE_FAILURE, Ending.SETTLED]


def test_methods_that_wait_for_something_outside_wait_together(entry):
    gate = threading.Barrier(4)

    def asks():
        gate.wait(20)  # none gets through alone
        yield advance(365)

    results = run_pool([entry(f"{n}", asks()) for n in range(4)], workers=4)
    assert all(result.ending is Ending.SETTLED for result in results)


def test_tools_are_answered_without_time_and_recorded(entry, tmp_path):
    seen = []

    def tools(call):
        seen.append(call)
        return Reply.success({"margin": 3.5})

    def method():
        reply = yield ToolCall("predict", {"policies": [POLICY]})
        assert reply.result == {"margin": 3.5}
        yield advance(365)

    with Journal.open(tmp_path / "a") as journal:
        (result,) = run_pool([entry("a", method(), journal=journal, tools=tools)])
    assert result.ending is Ending.SETTLED
    assert seen == [ToolCall("predict", {"policies": [POLICY]})]
    kinds = [record.kind for record in read_journal(tmp_path / "a").records]
    assert kinds[1:3] == [RecordKind.TOOL_REQUEST, RecordKind.TOOL_REPLY]


def test_progress_is_told_after_every_joint_step(entry):
    told, days = [], []
    run_pool(
        [entry("a", [advance(100), advance(365)]), entry("b", [advance(365)])],
        progress=told.append,
        on_day=lambda done, total: days.append(done),
    )
    assert told == [
        PoolProgress(2, 0, 465 * 288),
        PoolProgress(2, 1, 730 * 288),
        PoolProgress(2, 2, 730 * 288),
    ]
    assert len(days) == 3


def test_an_interrupt_closes_journals_and_methods(entry, tmp_path, stepping, monkeypatch):
    closed = []

    def method():
        try:
            yield advance(3)
        finally:
            closed.append(True)

    def interrupted(*_):
        raise KeyboardInterrupt

    journal = Journal.open(tmp_path / "a")
    monkeypatch.setattr(stepping, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_pool([entry("a", method(), journal=journal)])
    assert closed == [True]
    Journal.open(tmp_path / "a").close()  # the lock is free


def test_names_are_unique(entry):
    with pytest.raises(ValueError, match="share a name"):
        run_pool([entry("a", []), entry("a", [])])
    assert run_pool([]) == []


def test_a_real_campaign_alone_and_among_others_and_after_others():
    """The same bytes whatever ran beside it or before it in this process."""

    def run(sites):
        entries = []
        for site in sites:
            session = opener().open(short_spec(site, Feedback.FULL))
            entries.append(Entry(str(site), session, play(script(12, warmth=20 + site))))
        results = run_pool(entries)
        facts = {
            r.name: (r.settlement, e.session.executor.history.sha256())
            for r, e in zip(results, entries, strict=True)
        }
        assert all(r.ending is Ending.SETTLED for r in results)
        return facts

    together = run([0, 1, 2])
    assert run([2, 0]) == {name: together[name] for name in ("2", "0")}
    assert run([1]) == {"1": together["1"]}


def test_a_session_refuses_misuse(campaign, stepping):
    session = Session(campaign(), stepping=stepping)
    with pytest.raises(RuntimeError, match="no advance"):
        session.finish()
    session.begin(advance(3))
    with pytest.raises(RuntimeError, match="not finished"):
        session.begin(advance(4))


def test_what_a_method_returns_is_kept(entry):
    def method():
        yield advance(365)
        return "content"

    def never_ends():
        while True:
            yield advance(365)

    results = run_pool([entry("a", method()), entry("b", never_ends())])
    assert [result.returned for result in results] == ["content", None]
