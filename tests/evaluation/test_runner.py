"""A runner simulates every run once, keeps what is finished and goes on after an interruption."""

from __future__ import annotations

import pytest

from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.shards import ShardStore
from slowlab.evaluation.years import YearOutcome, scoring_run, screening_run


@pytest.fixture(scope="module")
def runs(contract, sites):
    """Runs of two batches: 18 facilities of four lanes, and 3 of one lane."""
    policies = list(contract.evaluation.candidates.values())
    noisy = [
        scoring_run(contract, site, year, policy)
        for site in sites[:2]
        for year in site.evaluation_years
        for policy in policies
    ]
    return [*noisy, *(screening_run(contract, sites[0].years[0], p) for p in policies)]


def make(contract, sensors, **keywords) -> YearRunner:
    return YearRunner(contract, sensors, **keywords)


@pytest.fixture(scope="module")
def expected(contract, sensors, runs):
    with make(contract, sensors) as runner:
        return runner.run(runs)


def test_equal_runs_are_simulated_once(contract, sensors, runs, expected):
    with make(contract, sensors) as runner:
        assert runner.run([*runs, *runs[::-1]]) == [*expected, *expected[::-1]]
        assert runner.counts.simulated == len(runs)
        assert runner.counts.lane_days == sum(run.lane_days for run in runs)
        assert runner.run(runs[:3]) == expected[:3]
        assert runner.counts.simulated == len(runs)
        assert runner.counts.reused == 3


def test_an_interrupted_request_goes_on_where_it_stopped(
    contract, sensors, runs, expected, tmp_path
):
    class Interrupted(Exception):
        pass

    def stop(done, total):
        raise Interrupted

    store = ShardStore(tmp_path)
    with make(contract, sensors, store=store, progress=stop) as runner, pytest.raises(Interrupted):
        runner.run(runs)
    finished = len(store.load())
    assert 0 < finished < len(runs)
    with make(contract, sensors, store=ShardStore(tmp_path)) as runner:
        assert runner.run(runs) == expected
        assert runner.counts.reused == finished
    with make(contract, sensors, store=ShardStore(tmp_path)) as runner:
        assert runner.run(runs) == expected
        assert runner.counts.simulated == 0


def test_shards_are_the_same_bytes_whatever_the_order(contract, sensors, runs, tmp_path):
    for name, order in (("one", runs), ("two", runs[::-1])):
        with make(contract, sensors, store=ShardStore(tmp_path / name)) as runner:
            runner.run(order)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) == 3


def test_a_damaged_shard_is_simulated_again(contract, sensors, runs, expected, tmp_path):
    with make(contract, sensors, store=ShardStore(tmp_path)) as runner:
        runner.run(runs)
    paths = sorted(tmp_path.iterdir())
    paths[0].write_bytes(paths[0].read_bytes()[:-40])
    paths[1].write_bytes(paths[1].read_bytes().replace(b"completed", b"stopped!!", 1))
    store = ShardStore(tmp_path)
    with make(contract, sensors, store=store) as runner:
        assert store.damaged == [path.name for path in paths[:2]]
        assert runner.run(runs) == expected
        assert 0 < runner.counts.simulated < len(runs)


def test_failed_runs_are_not_kept(contract, sensors, runs, tmp_path, monkeypatch):
    def failing(simulator, source, chunk):
        return [YearOutcome((), "broken")] * len(chunk)

    monkeypatch.setattr("slowlab.evaluation.runner.simulate_together", failing)
    store = ShardStore(tmp_path)
    with make(contract, sensors, store=store) as runner:
        assert {outcome.failure for outcome in runner.run(runs)} == {"broken"}
    assert store.load() == {}


@pytest.mark.slow
def test_processes_change_nothing(contract, sensors, runs, expected):
    with make(contract, sensors, workers=2) as runner:
        assert runner.run(runs) == expected
