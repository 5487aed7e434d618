"""The attempts of one call, and the keys under which an endpoint bills them.

An attempt has a key, made from the digest of the call's record, so it is the same after a restart.
Where an endpoint honours such keys, an attempt that may have been billed although no answer came is
made again under the same key: whatever became of it, it is billed once. Everywhere else, and after
every answer, the next attempt has a key of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.agents.messages import ModelReply
from slowlab.agents.outages import AttemptFault
from slowlab.agents.prices import Cost, CostSource

_KEY_LENGTH = 40


class CallAttempts:
    """Where the attempts of one call stand.

    Args:
        digest: of the call's record.
        idempotency: whether the endpoint honours keys.

    Attributes:
        key: of the next attempt, or of the one that is under way.
        number: attempts so far.
        under_way: whether the last one has neither an answer nor a failure.
        faults: why attempts of this run failed; those of earlier runs do not try its patience.
    """

    def __init__(self, digest: str, idempotency: bool) -> None:
        self.number = 0
        self.under_way = False
        self.faults: list[AttemptFault] = []
        self._digest = digest[:_KEY_LENGTH]
        self._idempotency = idempotency
        self._maybe_billed = False
        self.key = self._new_key()

    def begin(self) -> dict[str, Any]:
        """The record of an attempt that is about to be made."""
        self.number += 1
        self.under_way = True
        return {"number": self.number, "key": self.key}

    def follow(self, attempt: Mapping[str, Any]) -> None:
        """Take over a recorded attempt."""
        self.number, self.key = attempt["number"], attempt["key"]
        self.under_way = True

    def fail(self, failure: Mapping[str, Any]) -> bool:
        """Take note of a failure.

        Args:
            failure: its record, see :func:`failure_payload`.

        Returns:
            Whether its cost is final. Otherwise the next attempt is made under the same key.
        """
        self.under_way = False
        answered = failure["reply"] is not None or failure["fault"] == AttemptFault.GARBLED
        if failure["cost_source"] != CostSource.NOT_BILLED:
            self._maybe_billed = True
        if self._idempotency and self._maybe_billed and not answered:
            return False
        self._maybe_billed = False
        self.key = self._new_key()
        return True

    def _new_key(self) -> str:
        """A key that bears the number of the attempt that uses it first."""
        return f"{self._digest}-{self.number + 1}"


def failure_payload(
    number: int, fault: AttemptFault, detail: str, reply: ModelReply | None, cost: Cost
) -> dict[str, Any]:
    """The record of a failed attempt."""
    return {
        "number": number,
        "fault": fault.value,
        "detail": detail,
        "reply": None if reply is None else reply.payload(),
        **_cost_payload(cost),
    }


def reply_payload(
    number: int, reply: ModelReply, cost: Cost, used_although: AttemptFault | None
) -> dict[str, Any]:
    """The record of the answer that is used."""
    return {
        "number": number,
        "reply": reply.payload(),
        **_cost_payload(cost),
        "used_although": None if used_although is None else used_although.value,
    }


def recorded_cost(payload: Mapping[str, Any]) -> Cost:
    """The cost of a recorded answer or failure."""
    return Cost(payload["cost_usd"], CostSource(payload["cost_source"]))


def _cost_payload(cost: Cost) -> dict[str, Any]:
    return {"cost_usd": cost.usd, "cost_source": cost.source.value}
