"""Work in threads: results keep their order, and a fault stops what has not begun."""

import threading

import pytest

from slowlab.stages.side_by_side import side_by_side


def test_results_have_the_order_of_the_items_whoever_comes_first():
    turns = [threading.Event() for _ in range(4)]
    turns[3].set()

    def backwards(number):
        assert turns[number].wait(20)
        if number:
            turns[number - 1].set()
        return number * 10

    seen = []
    assert side_by_side(backwards, range(4), 4, seen.append) == [0, 10, 20, 30]
    assert seen == [1, 2, 3, 4]


def test_no_more_threads_than_allowed_and_all_at_the_same_time():
    gate, lock, inside, most = threading.Barrier(3), threading.Lock(), [0], [0]

    def work(number):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        gate.wait(20)  # comes true only where three are at work
        with lock:
            inside[0] -= 1
        return number

    assert side_by_side(work, range(9), 3) == list(range(9))
    assert most == [3]


def test_a_fault_stops_what_has_not_begun_and_waits_for_the_rest():
    begun, ended = [], []
    failed = threading.Event()

    def work(number):
        begun.append(number)
        if number == 1:
            failed.set()
            raise LookupError("number 1")
        assert failed.wait(20)
        ended.append(number)

    with pytest.raises(LookupError, match="number 1"):
        side_by_side(work, range(50), 2)
    assert sorted(ended) == sorted(set(begun) - {1})
    assert len(begun) <= 3


def test_nothing_to_do_is_done():
    assert side_by_side(str, [], 4) == []
