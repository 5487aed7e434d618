"""The pool with several workers: nobody waits for a slow thinker, and no byte depends on it."""

from __future__ import annotations

import threading
import time
from collections import Counter

import numpy as np
import pytest

from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability, Journal
from slowlab.campaign.pool import Ending, Entry, PoolProgress, run_pool
from slowlab.campaign.session import FailureKind
from slowlab.methods._base import Campaign, watched
from slowlab.methods._registry import build_method
from slowlab.tools.toolbox import Toolbox
from slowlab.world.task import Feedback
from tests.campaign.sessions import (
    END,
    FakeStepping,
    advance,
    fake_session,
    opener,
    play,
    script,
    short_spec,
    start,
)
from tests.readers.played import write_artifacts

PATIENT_S = 20


@pytest.fixture
def stepping():
    return FakeStepping()


@pytest.fixture
def entry(campaign, stepping):
    """Makes entries on fake facilities; keywords go to the facility."""

    def make(name, steps, *, kind=stepping, journal=None, **fake):
        return Entry(name, fake_session(campaign(**fake), kind, journal), steps)

    return make


def test_a_campaign_goes_on_while_another_one_thinks(entry):
    """The first waits until the second has come to its end, day after day."""
    over = threading.Event()

    def waits():
        yield start(0)
        assert over.wait(PATIENT_S)
        yield advance(END)

    def goes_on():
        for day in range(1, END + 1):
            yield advance(day)
        over.set()

    results = run_pool([entry("waits", waits()), entry("goes on", goes_on())], workers=2)
    assert [r.ending for r in results] == [Ending.SETTLED] * 2, results[0].error
    assert [r.settlement.day for r in results] == [END] * 2


def test_campaigns_that_wait_for_one_another_in_turn_come_to_their_ends(entry):
    """With a thread for each, whoever waits for time gets it, though the other still thinks."""
    moved = [threading.Event() for _ in range(6)]

    def method(turn):
        for number in range(turn, len(moved), 2):
            if number:
                assert moved[number - 1].wait(PATIENT_S)
            yield advance(10 * (number + 1))
            moved[number].set()

    results = run_pool([entry(str(turn), method(turn)) for turn in (0, 1)], workers=2)
    assert [result.ending for result in results] == [Ending.SETTLED] * 2, results
    assert [result.settlement.day for result in results] == [50, 60]


def test_a_newcomer_joins_on_the_way_of_another_campaign(entry, stepping, monkeypatch):
    """A long way is not gone in one piece: who comes meanwhile is stepped at the next day."""
    under_way, both = threading.Event(), []
    step = stepping.advance

    def watch(requests, on_day=None):
        step(requests, on_day)
        if requests[0][0].tick >= 10 * 288:
            under_way.set()
        both.append(len(requests))
        time.sleep(0.001)  # as long as it takes a thread to come by

    monkeypatch.setattr(stepping, "advance", watch)

    def newcomer():
        assert under_way.wait(PATIENT_S)
        yield advance(5)

    results = run_pool([entry("long", play([advance(END)])), entry("new", newcomer())], workers=2)
    assert [result.ending for result in results] == [Ending.SETTLED] * 2
    assert both.count(2) == 5
    assert both[:9] == [1] * 9
    assert both[-1] == 1


def test_a_step_holds_no_more_campaigns_than_fit_and_each_gets_its_turn(entry, stepping):
    stepping.campaigns_at_once = 3
    names = [str(number) for number in range(8)]
    results = run_pool([entry(name, play([advance(30)])) for name in names], workers=8)
    assert [result.settlement.day for result in results] == [30] * 8
    assert max(stepping.together) == 3
    assert sum(stepping.together) == 8 * 30


def test_campaigns_of_different_kinds_are_stepped_apart(entry):
    kinds = [FakeStepping(1), FakeStepping(2)]
    entries = [entry(str(n), play([advance(END)]), kind=kinds[n % 2]) for n in range(4)]
    results = run_pool(entries, workers=4)
    assert [result.ending for result in results] == [Ending.SETTLED] * 4
    assert [sum(kind.together) for kind in kinds] == [2 * END] * 2


def test_a_campaign_is_thought_about_or_stepped_but_never_both(entry, stepping, monkeypatch):
    inside: Counter[int] = Counter()
    clashes, step = [], stepping.advance

    def enter(campaign, change):
        inside[campaign] += change
        if inside[campaign] > 1:
            clashes.append(campaign)

    def watched_step(requests, on_day=None):
        for facility, _ in requests:
            enter(id(facility), 1)
        step(requests, on_day)
        for facility, _ in requests:
            enter(id(facility), -1)

    def method(own):
        for day in range(1, 40):
            enter(own[0], 1)
            time.sleep(0.0002)
            enter(own[0], -1)
            yield advance(day)

    monkeypatch.setattr(stepping, "advance", watched_step)
    owns = [[] for _ in range(6)]
    entries = [entry(str(n), method(own)) for n, own in enumerate(owns)]
    for own, made in zip(owns, entries, strict=True):
        own.append(id(made.session.facility))
    assert all(r.ending is Ending.SETTLED for r in run_pool(entries, workers=4))
    assert clashes == []


def test_fewer_workers_than_campaigns_bring_all_to_their_ends(entry):
    results = run_pool([entry(str(n), play(script(END))) for n in range(7)], workers=2)
    assert [result.ending for result in results] == [Ending.SETTLED] * 7


def test_faults_end_only_their_own_campaign(entry, stepping):
    def raises():
        yield advance(20)
        raise ValueError("no idea")

    entries = [
        entry("good", play(script(END))),
        entry("method", raises()),
        entry("stepping", play(script(END))),
        entry("facility", play(script(END)), fails_at=100 * 288 + 7),
    ]
    stepping.faults.add(id(entries[2].session.facility))
    good, method, stepped, facility = run_pool(entries, workers=4)
    assert good.ending is Ending.SETTLED
    assert method.ending is Ending.METHOD_ERROR
    assert "no idea" in method.error
    assert stepped.failure.kind is FailureKind.STEPPING
    assert facility.failure.kind is FailureKind.FACILITY
    assert facility.settlement.policy is None


def test_a_facility_whose_clock_stands_still_is_a_failure_and_no_endless_loop(entry, monkeypatch):
    stuck = entry("stuck", play([advance(30)]))
    monkeypatch.setattr(stuck.session.facility, "advance", lambda tick: None, raising=False)
    bad, good = run_pool([stuck, entry("good", play([advance(30)]))], workers=2)
    assert bad.ending is Ending.INFRASTRUCTURE_FAILURE
    assert good.ending is Ending.SETTLED


def test_a_hanging_method_costs_a_worker_and_nothing_else(entry):
    released = threading.Event()

    def hangs():
        yield advance(5)
        released.wait(PATIENT_S)
        yield advance(10)

    entries = [entry("hangs", hangs()), *(entry(str(n), play(script(END))) for n in range(3))]
    results = run_pool(entries, workers=2, time_limit_s=1)
    released.set()
    assert results[0].failure.kind is FailureKind.TIME_LIMIT
    assert [result.ending for result in results[1:]] == [Ending.SETTLED] * 3


class Stopped(BaseException):
    """What is no exception of a method: an interrupt, for example."""


@pytest.mark.parametrize("place", ["method", "stepping"])
def test_an_interrupt_ends_the_pool_and_frees_the_journals(entry, tmp_path, monkeypatch, place):
    def stopped(*_):
        raise Stopped

    def method():
        yield advance(3)
        stopped()

    journal = Journal.open(tmp_path / "a")
    made = entry("a", method(), journal=journal)
    if place == "stepping":
        monkeypatch.setattr(made.session.stepping, "advance", stopped)
    with pytest.raises(Stopped):
        run_pool([made, entry("b", play(script(END)))], workers=2)
    Journal.open(tmp_path / "a").close()  # the lock is free


def test_progress_only_grows_and_ends_with_everything(entry):
    told = []
    entries = [entry(str(n), play([advance(100), advance(END)])) for n in range(3)]
    run_pool(entries, workers=3, progress=told.append)
    ticks = [item.ticks for item in told]
    assert ticks == sorted(ticks)
    assert told[-1] == PoolProgress(3, 3, 3 * END * 288)


def test_journals_on_the_real_facility_are_those_of_lockstep(tmp_path):
    """Stepped in other pieces and other company; sleeping methods mix up the order."""

    def unhurried(steps, number):
        reply = None
        while True:
            time.sleep(0.005 * (number % 3))
            try:
                reply = yield next(steps) if reply is None else steps.send(reply)
            except StopIteration:
                return

    def run(folder, **options):
        entries = []
        for site in range(3):
            journal = Journal.open(tmp_path / folder / str(site), durability=Durability.PROCESS)
            session = opener().open(short_spec(site, Feedback.FULL), journal)
            steps = play(script(12, warmth=20 + site))
            entries.append(Entry(str(site), session, unhurried(steps, site)))
        results = run_pool(entries, **options)
        assert [result.ending for result in results] == [Ending.SETTLED] * 3
        journals = [(tmp_path / folder / str(site)).read_bytes() for site in range(3)]
        return [result.settlement for result in results], journals

    assert run("threads", workers=3) == run("lockstep")


def test_methods_with_tools_do_the_same_in_threads_as_one_after_the_other(campaign, tmp_path):
    """Fits and searches of several campaigns at the same time share nothing that changes."""
    artifacts = write_artifacts(tmp_path)

    def run(workers):
        entries, histories = [], []
        for number, name in enumerate(["prior_bo", "global_bo"]):
            executor = campaign(growth=1 + number / 10)
            history = History(executor.task())
            method = build_method(name, {}, artifacts)
            steps = method.play(Campaign(history), np.random.default_rng(number))
            session = fake_session(executor, FakeStepping())
            tools = Toolbox(history, artifacts, number)
            entries.append(Entry(str(number), session, watched(steps, history), tools))
            histories.append(history)
        results = run_pool(entries, workers=workers)
        assert [result.ending for result in results] == [Ending.SETTLED] * 2, results[0].error
        return [history.sha256() for history in histories]

    assert run(2) == run(1)
