"""Branching after the day-0 design: one prefix, two campaigns that go different ways.

The prefix (starts, reads of states, rejected actions) is carried out once, in a campaign whose
feedback mode is not assigned yet. A second campaign on an equal facility replays it, and every
reply must have the same bytes; otherwise that campaign is frozen as a technical failure. Time
cannot pass in the prefix and no record can be read in it, so nothing in it depends on the mode.
What the prefix used counts in both campaigns. Nothing is shared between them but the bytes.

Source: SlowLab, branching Full/Endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowlab.campaign.errors import Reply
from slowlab.campaign.executor import Executor
from slowlab.campaign.session import canonical_text


@dataclass(frozen=True)
class PrefixStep:
    """One exchange of a prefix.

    Attributes:
        payload: what was sent, in its one written form; the thing itself if it was not acceptable.
        reply_sha256: SHA-256 of the canonical reply.
    """

    payload: object
    reply_sha256: str


def prefix_step(payload: object, reply: Reply) -> PrefixStep:
    """Keep one exchange of a prefix.

    Args:
        payload: what was sent.
        reply: what was answered.
    """
    written = canonical_text(payload)
    return PrefixStep(payload if written is None else written, reply.sha256())


def first_difference(
    dispatch: Callable[[object], Reply], steps: Sequence[PrefixStep]
) -> int | None:
    """Repeat a prefix and stop at the first reply with other bytes.

    Args:
        dispatch: takes a payload and answers it, for a fresh campaign.
        steps: the prefix, in order.

    Returns:
        Number of the step that differs, from 1, or None.
    """
    for number, step in enumerate(steps, start=1):
        if dispatch(step.payload).sha256() != step.reply_sha256:
            return number
    return None


def replay_prefix(executor: Executor, steps: Sequence[PrefixStep]) -> bool:
    """Repeat a prefix in a fresh campaign, and freeze the campaign if a reply differs.

    Args:
        executor: a campaign without a feedback mode, at tick 0.
        steps: the prefix, in order.

    Returns:
        Whether every reply had the same bytes.
    """
    different = first_difference(executor.dispatch, steps)
    if different is not None:
        executor.fail(f"the reply to step {different} of the prefix differs")
    return different is None
