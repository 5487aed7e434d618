"""The purse: no call passes a cap, nothing is booked twice, nothing is lost by a kill."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.agents.client import ModelClient
from slowlab.agents.messages import Usage
from slowlab.agents.outages import CapReachedError
from slowlab.agents.prices import NOT_BILLED, UNKNOWN_COST, Cost, CostSource
from slowlab.agents.purse import Amount, Caps, Purse, PurseError, UnknownPriceError
from slowlab.campaign.journal import Durability
from tests.agents.fault_server import FaultServer
from tests.agents.model_configs import call, model

SPENDER = Path(__file__).with_name("spender.py")
ROOT = SPENDER.parents[2]
NO_CAPS = Caps()


def quick(path, caps=NO_CAPS):
    """A purse that does not wait for the disk."""
    return Purse.open(path, caps, durability=Durability.PROCESS)


def usd(amount, characters=100):
    return Amount(amount, 1, characters)


def paid(amount):
    return Cost(amount, CostSource.REPORTED)


def try_reserve(purse, key, worst):
    try:
        purse.reserve(key, worst)
    except CapReachedError:
        return False
    return True


def test_a_call_above_the_cap_is_never_sent(tmp_path):
    config = model(price={"input": 0.0, "output": 312.5})  # 64 tokens: 0.02 USD at most
    asked = call()
    worst = Amount(config.worst_case_usd(asked), 1, asked.characters)
    assert worst.usd == pytest.approx(0.02)
    with (
        FaultServer() as server,
        closing(ModelClient(config, server.base_url)) as client,
        Purse.open(tmp_path / "purse", Caps(usd=0.01)) as purse,
    ):

        def book_and_send():
            purse.reserve("k", worst)
            return client.send(asked, "k")

        with pytest.raises(CapReachedError, match=r"cap of USD 0\.01"):
            book_and_send()
        assert server.requests == []
        assert purse.totals().calls == 0
        assert (tmp_path / "purse").read_bytes() == b""


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({"usd": 0.03}, "USD 0.03"),
        ({"calls": 3}, "3 calls"),
        ({"characters": 399}, "399 characters"),
        ({"usd": 9.0, "calls": 3, "characters": 9_999}, "3 calls"),
    ],
)
def test_each_cap_stops_the_fourth_call(tmp_path, caps, said):
    with quick(tmp_path / "purse", Caps(**caps)) as purse:
        for number in range(3):
            purse.reserve(str(number), usd(0.01))
        with pytest.raises(CapReachedError, match=said):
            purse.reserve("3", usd(0.01))
        purse.reserve("0", usd(0.01))  # known: already booked
        assert purse.totals().calls == 3


def test_a_cap_of_ten_times_a_cost_allows_ten_calls(tmp_path):
    with quick(tmp_path / "purse", Caps(usd=1.0)) as purse:
        assert [try_reserve(purse, str(n), usd(0.1)) for n in range(11)] == [True] * 10 + [False]


def test_what_was_not_spent_can_be_spent_again(tmp_path):
    with quick(tmp_path / "purse", Caps(usd=0.03)) as purse:
        for number in range(5):
            purse.reserve(str(number), usd(0.02))
            purse.settle(str(number), paid(0.002))
        assert purse.totals().spent_usd == pytest.approx(0.01)
        purse.reserve("5", usd(0.02))
        assert not try_reserve(purse, "6", usd(0.02))
        purse.settle("5", NOT_BILLED)
        assert try_reserve(purse, "6", usd(0.02))


def test_an_unknown_cost_stays_booked_at_its_worst_and_is_called_unknown(tmp_path):
    with quick(tmp_path / "purse", Caps(usd=0.03)) as purse:
        purse.reserve("a", usd(0.02))
        purse.settle("a", UNKNOWN_COST)
        totals = purse.totals()
        assert (totals.spent_usd, totals.unknown_calls, totals.unknown_usd) == (0.0, 1, 0.02)
        assert "1 calls of unknown cost (at most USD 0.0200)" in totals.sentence()
        assert not try_reserve(purse, "b", usd(0.02))


def test_without_a_price_no_cap_in_usd_can_be_kept(tmp_path):
    unpriced = usd(None)
    with quick(tmp_path / "purse", Caps(usd=100.0)) as purse:
        with pytest.raises(UnknownPriceError, match=r"price of the model is unknown.*models\.yaml"):
            purse.reserve("a", unpriced)
        assert purse.totals().calls == 0
    with quick(tmp_path / "purse", Caps(calls=10)) as purse:
        purse.reserve("a", unpriced)
        purse.settle("a", UNKNOWN_COST)
        assert purse.totals().unknown_usd is None
        assert "no bound: price unknown" in purse.totals().sentence()
    with (
        quick(tmp_path / "purse", Caps(usd=100.0)) as purse,
        pytest.raises(UnknownPriceError, match="asked before"),
    ):
        purse.reserve("b", usd(0.01))


def test_a_free_model_is_counted_and_costs_nothing(tmp_path):
    config = model(price=None, free=True)
    with quick(tmp_path / "purse", Caps(usd=0.0, calls=1)) as purse:
        purse.reserve("a", usd(config.worst_case_usd(call())))
        purse.settle("a", config.cost(Usage()))
        totals = purse.totals()
        assert (totals.spent_usd, totals.unknown_calls, totals.calls) == (0.0, 0, 1)
        assert not try_reserve(purse, "b", usd(0.0))


def test_a_resumed_job_books_nothing_twice(tmp_path):
    def run():
        with quick(tmp_path / "purse") as purse:
            for number in range(5):
                purse.reserve(str(number), usd(0.01))
                purse.settle(str(number), paid(0.004))
                purse.settle(str(number), UNKNOWN_COST)
            return purse.totals(), (tmp_path / "purse").read_bytes()

    assert run() == run()
    assert run()[0].spent_usd == pytest.approx(0.02)


def test_an_attempt_of_unknown_fate_stays_booked_when_it_is_sent_again(tmp_path):
    with quick(tmp_path / "purse", Caps(usd=0.05)) as purse:
        purse.reserve("a", usd(0.02))
        purse.resend("a", usd(0.02))
        totals = purse.totals()
        assert (totals.calls, totals.characters) == (2, 200)
        assert (totals.unknown_calls, totals.reserved_calls) == (1, 1)
        with pytest.raises(CapReachedError):
            purse.resend("a", usd(0.02))
        purse.settle("a", paid(0.001))
        totals = purse.totals()
        assert (totals.spent_usd, totals.unknown_usd) == (0.001, 0.02)
        purse.resend("never reserved, so never sent", usd(0.02))
        assert purse.totals().unknown_calls == 1


def test_a_cost_is_booked_although_the_purse_was_removed_since(tmp_path):
    with quick(tmp_path / "purse") as purse:
        purse.settle("a", paid(0.5))
        assert purse.totals().spent_usd == 0.5


_KEYS = st.sampled_from("abcd")
_AMOUNTS = st.integers(0, 30).map(lambda n: n / 1_000)
_STEPS = st.one_of(
    st.tuples(st.just("reserve"), _KEYS, _AMOUNTS),
    st.tuples(st.just("settle"), _KEYS, st.one_of(st.none(), st.integers(0, 4))),
    st.tuples(st.just("resend"), _KEYS, _AMOUNTS),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), _STEPS), max_size=30))
def test_two_users_of_a_purse_see_one_truth_and_never_pass_the_cap(steps):
    worst_of = {}
    with TemporaryDirectory() as folder:
        path, caps = Path(folder) / "purse", Caps(usd=0.05)
        with quick(path, caps) as first, quick(path, caps) as second:
            for is_first, (what, key, value) in steps:
                _do(first if is_first else second, what, key, value, worst_of)
                totals = first.totals()
                assert totals == second.totals()
                most = totals.spent_usd + totals.unknown_usd + totals.reserved_usd
                assert most <= 0.05 + 1e-12
            with quick(path, caps) as third:
                assert third.totals() == first.totals()


def _do(purse, what, key, value, worst_of):
    """One step; no cost is above what was reserved."""
    if what == "settle":
        if key in worst_of:
            part = None if value is None else worst_of[key] * value / 4
            purse.settle(key, UNKNOWN_COST if part is None else paid(part))
        return
    worst = worst_of.get(key, value)
    try:
        getattr(purse, what)(key, usd(worst))
        worst_of[key] = worst
    except CapReachedError:
        pass


def spend(path, name, cap, count=200):
    command = [sys.executable, str(SPENDER), str(path), name, str(cap), str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def tally(lines):
    """Number of sent attempts, known cost and unknown costs, as a process has told them."""
    told = [line.split() for line in lines]
    costs = [words[2] for words in told if words[0] == "cost"]
    known = sum(float(cost) for cost in costs if cost != "None")
    return sum(words[0] == "sent" for words in told), known, costs.count("None")


def test_processes_that_share_a_purse_never_pass_its_cap(tmp_path):
    path, cap = tmp_path / "purse", 0.6
    jobs = [spend(path, name, cap) for name in ("one", "two", "three")]
    told = [line for job in jobs for line in job.communicate(timeout=60)[0].splitlines()]
    assert [job.returncode for job in jobs] == [0, 0, 0]
    sent, known, unknown = tally(told)
    assert "full" in told
    with Purse.open(path, Caps()) as purse:
        totals = purse.totals()
    assert (totals.calls, totals.unknown_calls, totals.reserved_calls) == (sent, unknown, 0)
    assert totals.spent_usd == pytest.approx(known)
    assert cap - 0.03 < totals.spent_usd + totals.unknown_usd <= cap


def test_a_kill_loses_nothing_that_was_acted_upon(tmp_path):
    path, told = tmp_path / "purse", []
    for round_number in range(4):
        job = spend(path, str(round_number), 1_000, count=100_000)
        for _ in range(10 + 13 * round_number):
            told.append(job.stdout.readline())
        job.send_signal(signal.SIGKILL)
        told += [line for line in job.communicate()[0].splitlines(True) if line.endswith("\n")]
        sent, known, unknown = tally(told)
        with Purse.open(path, Caps()) as purse:
            totals = purse.totals()
        # What a killed process had no time to tell: one reservation or one cost a round.
        assert sent <= totals.calls <= sent + round_number + 1
        assert unknown <= totals.unknown_calls <= unknown + round_number + 1
        assert known - 1e-9 <= totals.spent_usd <= known + 0.01 * (round_number + 1)


def test_a_torn_tail_is_cut_off_wherever_it_ends(tmp_path):
    path = tmp_path / "purse"
    with quick(path) as purse:
        purse.reserve("a", usd(0.01))
        whole = path.read_bytes()
        purse.reserve("b", usd(0.01))
        both = path.read_bytes()
    for length in range(len(whole), len(both)):
        path.write_bytes(both[:length])
        with quick(path) as reader, quick(path) as writer:
            assert reader.totals().calls == 1
            writer.reserve("b", usd(0.01))
            assert path.read_bytes() == both
            assert reader.totals().calls == 2


@contextmanager
def longest_file(size):
    """Let no file grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_books_nothing(tmp_path):
    path = tmp_path / "purse"
    with quick(path, Caps(calls=2)) as purse:
        purse.reserve("a", usd(0.01))
        before = path.read_bytes()
        with longest_file(len(before) + 20), pytest.raises(OSError, match="too large"):
            purse.reserve("b", usd(0.01))
        assert path.read_bytes() == before
        purse.reserve("b", usd(0.01))
        assert purse.totals().calls == 2


@pytest.mark.parametrize(
    "noise",
    [
        b"noise",
        b"{}",
        b'{"event":"reserve","key":"x","usd":-1,"calls":1,"characters":1}',
        b'{"event":"reserve","key":"x","usd":"1","calls":1,"characters":1}',
        b'{"event":"settle","key":"x"}',
        b'{"event":"resend","key":"x"}',
        b'{"event":"gift","key":"x","usd":1.0}',
    ],
)
def test_a_damaged_purse_is_refused_with_its_line(tmp_path, noise):
    path = tmp_path / "purse"
    with quick(path) as purse:
        purse.reserve("a", usd(0.01))
    path.write_bytes(path.read_bytes() + noise + b"\n" + path.read_bytes())
    with pytest.raises(PurseError, match=r"purse:2: "):
        quick(path)


def test_a_purse_that_is_removed_or_cut_in_use_stops_everything(tmp_path):
    path = tmp_path / "purse"
    for harm in (path.unlink, lambda: os.truncate(path, 0), lambda: _replace(path)):
        path.unlink(missing_ok=True)
        with quick(path) as purse:
            purse.reserve("a", usd(0.01))
            harm()
            with pytest.raises(PurseError, match="removed, replaced or cut"):
                purse.reserve("b", usd(0.01))


def _replace(path):
    path.rename(path.with_suffix(".old"))
    path.touch()


def test_threads_share_a_purse(tmp_path):
    path = tmp_path / "purse"
    with quick(path, Caps(calls=150)) as purse:

        def work(name):
            for number in range(30):
                if try_reserve(purse, f"{name}-{number}", usd(0.01)):
                    purse.settle(f"{name}-{number}", paid(0.001))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        totals = purse.totals()
    assert (totals.calls, totals.reserved_calls) == (150, 0)
    assert totals.spent_usd == pytest.approx(0.15)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 300


def test_entries_hold_where_a_cost_comes_from(tmp_path):
    with quick(tmp_path / "purse") as purse:
        purse.reserve("a", usd(0.01))
        purse.settle("a", Cost(0.001, CostSource.PRICE_TABLE))
    lines = (tmp_path / "purse").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1]) == {
        "event": "settle",
        "key": "a",
        "usd": 0.001,
        "source": "price_table",
    }


def test_a_closed_purse_books_nothing(tmp_path):
    purse = quick(tmp_path / "purse")
    purse.close()
    purse.close()
    with pytest.raises(PurseError, match="closed"):
        purse.totals()
