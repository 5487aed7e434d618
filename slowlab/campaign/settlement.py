"""The end of a campaign: which policy counts as its recommendation, and why.

An agent may recommend as often as its budget allows on the last day, and the last one counts. An
invalid or missing one is replaced by the fallback: the method's own recommendation from before the
experiments where there is a valid one, else a frozen policy (the contract's fixed reference). The
replacement is flagged and is the method's own result. A technical failure is no result at all: then
there is no policy to score.

Source: SlowLab, scoring.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.campaign.actions import Recommend
from slowlab.world.policy import Policy
from slowlab.world.task import Feedback


class CampaignStatus(StrEnum):
    """Where a campaign stands.

    ``running``: actions are taken. ``finished``: settled on the last day. ``closed``: settled
    before it. ``infrastructure_failure``: frozen by a technical failure; missing data.
    """

    RUNNING = "running"
    FINISHED = "finished"
    CLOSED = "closed"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"


class PolicySource(StrEnum):
    """Whose policy is settled."""

    RECOMMENDATION = "recommendation"
    INITIAL_RECOMMENDATION = "initial_recommendation"
    FIXED_POLICY = "fixed_policy"


class FallbackReason(StrEnum):
    """Why the fallback counts."""

    INVALID_RECOMMENDATION = "invalid_recommendation"
    MISSING_RECOMMENDATION = "missing_recommendation"
    DEADLINE_NOT_REACHED = "deadline_not_reached"


@dataclass(frozen=True)
class Fallback:
    """The policy that counts when there is no valid recommendation.

    Attributes:
        policy: a valid policy.
        source: where it comes from.
    """

    policy: Policy
    source: PolicySource = PolicySource.FIXED_POLICY


def settled_policy(
    last: Recommend | None, fallback: Fallback, *, at_end: bool
) -> tuple[Policy, PolicySource, FallbackReason | None]:
    """The policy that counts, whose it is, and why the fallback counts if it does.

    Args:
        last: the last recommendation that was taken, if any.
        fallback: what counts without a valid one.
        at_end: whether the last day was reached.
    """
    if last is not None and last.policy is not None:
        return last.policy, PolicySource.RECOMMENDATION, None
    if last is not None:
        reason = FallbackReason.INVALID_RECOMMENDATION
    elif at_end:
        reason = FallbackReason.MISSING_RECOMMENDATION
    else:
        reason = FallbackReason.DEADLINE_NOT_REACHED
    return fallback.policy, fallback.source, reason


@dataclass(frozen=True)
class Settlement:
    """The result of a campaign. Private.

    Attributes:
        status: ``finished``, ``closed`` or ``infrastructure_failure``.
        feedback: the mode in which it was run.
        day: its last day.
        policy: the policy to score; None after a technical failure.
        source: whose policy that is; None after a technical failure.
        fallback_reason: why the fallback counts; None where the recommendation does.
        recommendations: number of recommendations that were taken, valid or not.
        budget: used and maximum calls, decisions and starts.
        rejections: number of rejected payloads by reason.
        exchanged: in the shuffled arm, whose totals were shown for each crop that was read, as
            (unit, crop number, source's unit, source's crop number).
        failure: private description of a technical failure, or None.
        private: the facility's own report.
    """

    status: CampaignStatus
    feedback: Feedback
    day: float
    policy: Policy | None
    source: PolicySource | None
    fallback_reason: FallbackReason | None
    recommendations: int
    budget: dict[str, Any]
    rejections: dict[str, int]
    exchanged: tuple[tuple[int, int, int, int], ...]
    failure: str | None
    private: dict[str, Any]

    @property
    def flagged(self) -> bool:
        """Whether the fallback counts."""
        return self.fallback_reason is not None

    def payload(self) -> dict[str, Any]:
        """Plain data with a canonical JSON form."""
        reason, source = self.fallback_reason, self.source
        return {
            "status": self.status.value,
            "feedback": self.feedback.value,
            "day": self.day,
            "policy": None if self.policy is None else self.policy.model_dump(),
            "source": None if source is None else source.value,
            "fallback_reason": None if reason is None else reason.value,
            "recommendations": self.recommendations,
            "budget": self.budget,
            "rejections": self.rejections,
            "exchanged": [list(names) for names in self.exchanged],
            "failure": self.failure,
            "private": self.private,
        }
