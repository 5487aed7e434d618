"""What a campaign may use, and what it has used.

Calls, decisions and starts are counted as in SlowLab's action interface: every action uses a call;
start, stop and recommend also use a decision; a start that succeeds uses a start. A rejected action
uses a call, and a decision if its kind does.

The reserve is ours. Until a valid recommendation has been given, the last calls and decisions of
the contract's reserve (2 and 1) can be used by two closing actions only: an advance to the end of
the campaign, and a recommendation there. Other actions are refused without charge as soon as only
the reserve is left, and a rejected action is never charged to it. So an agent that spends every
call it can still reaches the end and recommends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.world.contract_rules import Budget


class ActionKind(StrEnum):
    """The five actions."""

    START = "start"
    STOP = "stop"
    ADVANCE = "advance"
    OBSERVE = "observe"
    RECOMMEND = "recommend"

    @property
    def is_decision(self) -> bool:
        """Whether the action uses a decision."""
        return self in (ActionKind.START, ActionKind.STOP, ActionKind.RECOMMEND)


@dataclass(frozen=True)
class Usage:
    """Calls, decisions and starts used so far."""

    calls: int = 0
    decisions: int = 0
    starts: int = 0


class BudgetAccount:
    """The budget of one campaign.

    Args:
        limits: the contract's budget.

    Attributes:
        usage: what has been used.
        released: whether the reserve has been released by a valid recommendation.
    """

    def __init__(self, limits: Budget) -> None:
        self._limits = limits
        self.usage = Usage()
        self.released = False

    @property
    def free_calls(self) -> int:
        """Calls that any action may use, counted from the campaign's start."""
        kept = 0 if self.released else self._limits.reserved_interface_calls
        return self._limits.interface_calls - kept

    @property
    def free_decisions(self) -> int:
        """Decisions that any action may use, counted from the campaign's start."""
        kept = 0 if self.released else self._limits.reserved_decision_calls
        return self._limits.decision_calls - kept

    def check(self, kind: ActionKind, *, closing: bool) -> None:
        """Refuse an action for which nothing is left.

        Args:
            kind: which action.
            closing: whether it is the advance to the end or a recommendation there.

        Raises:
            ActionRejected: calls, decisions or starts are used up or reserved.
        """
        used, limits = self.usage, self._limits
        if used.calls >= limits.interface_calls:
            raise ActionRejected(
                Reason.CALLS_USED_UP, f"all {limits.interface_calls} calls are used"
            )
        if not closing and used.calls >= self.free_calls:
            raise ActionRejected(Reason.CALLS_RESERVED, f"the calls that are left are {_KEPT}")
        if kind.is_decision and used.decisions >= limits.decision_calls:
            raise ActionRejected(
                Reason.DECISIONS_USED_UP, f"all {limits.decision_calls} decision calls are used"
            )
        if kind.is_decision and not closing and used.decisions >= self.free_decisions:
            raise ActionRejected(
                Reason.DECISIONS_RESERVED,
                "the decision calls that are left are kept for the recommendation on the last day",
            )
        if kind is ActionKind.START and used.starts >= limits.starts:
            raise ActionRejected(Reason.STARTS_USED_UP, f"all {limits.starts} starts are used")

    def charge(self, kind: ActionKind) -> None:
        """Book an action that is carried out."""
        used = self.usage
        self.usage = Usage(
            calls=used.calls + 1,
            decisions=used.decisions + kind.is_decision,
            starts=used.starts + (kind is ActionKind.START),
        )

    def charge_rejection(self, kind: ActionKind) -> None:
        """Book a rejected action; the reserve is never touched."""
        used = self.usage
        if used.calls >= self.free_calls:
            return
        decision = kind.is_decision and used.decisions < self.free_decisions
        self.usage = replace(used, calls=used.calls + 1, decisions=used.decisions + decision)

    def report(self) -> dict[str, Any]:
        """Used and maximum calls, decisions and starts, as every reply carries them."""
        used, limits = self.usage, self._limits
        return {
            "calls": {"used": used.calls, "max": limits.interface_calls},
            "decisions": {"used": used.decisions, "max": limits.decision_calls},
            "starts": {"used": used.starts, "max": limits.starts},
        }


_KEPT = "kept for the advance to the last day and the recommendation there"
