"""When a failed attempt is made again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.agents.outages import AttemptFault
from slowlab.agents.retries import RetryPolicy

PASSING = (
    AttemptFault.RATE_LIMITED,
    AttemptFault.SERVER_ERROR,
    AttemptFault.CONNECTION_LOST,
    AttemptFault.CUT_BODY,
    AttemptFault.GARBLED,
)
FAULTS = st.sampled_from(list(AttemptFault))


def waits(policy, fault, retry_after_s=None):
    """Waits of a call whose attempts all fail the same way."""
    found, earlier = [], []
    while (wait := policy.next_wait_s(fault, earlier, retry_after_s)) is not None:
        found.append(wait)
        earlier.append(fault)
    return found


@pytest.mark.parametrize("fault", PASSING)
def test_what_may_pass_is_tried_five_times_with_growing_waits(fault):
    assert waits(RetryPolicy(), fault) == [2, 4, 8, 16]
    assert waits(RetryPolicy(attempts=8), fault) == [2, 4, 8, 16, 32, 32, 32]


def test_a_time_out_is_tried_again_at_once():
    assert waits(RetryPolicy(), AttemptFault.TIMED_OUT) == [0, 0, 0, 0]


def test_what_was_refused_is_never_tried_again():
    assert waits(RetryPolicy(attempts=20), AttemptFault.REFUSED) == []


@pytest.mark.parametrize(
    ("fault", "key"),
    [
        (AttemptFault.LENGTH_STOP, "length_stops"),
        (AttemptFault.EMPTY, "empty_answers"),
        (AttemptFault.WRONG_MODEL, "wrong_servers"),
        (AttemptFault.WRONG_PROVIDER, "wrong_servers"),
    ],
)
def test_an_answer_without_use_is_tried_again_a_little(fault, key):
    assert len(waits(RetryPolicy(), fault)) == 1
    assert len(waits(RetryPolicy(**{key: 0}), fault)) == 0
    assert len(waits(RetryPolicy(**{key: 2}), fault)) == 2


def test_the_endpoint_may_ask_for_a_longer_wait_up_to_a_cap():
    policy = RetryPolicy(retry_after_cap_s=60)
    assert waits(policy, AttemptFault.RATE_LIMITED, 10) == [10, 10, 10, 16]
    assert waits(policy, AttemptFault.SERVER_ERROR, 86_400) == [60, 60, 60, 60]
    assert waits(policy, AttemptFault.RATE_LIMITED, 0) == [2, 4, 8, 16]


@given(st.lists(FAULTS, max_size=30))
def test_no_call_is_tried_more_often_than_allowed(faults):
    policy, earlier = RetryPolicy(), []
    for fault in faults:
        wait = policy.next_wait_s(fault, earlier)
        earlier.append(fault)
        if wait is None:
            break
        assert wait >= 0
    assert len(earlier) <= policy.attempts
    if earlier and policy.next_wait_s(earlier[-1], earlier[:-1]) is None:
        exhausted = len(earlier) == policy.attempts
        assert exhausted or earlier[-1] not in (*PASSING, AttemptFault.TIMED_OUT)
