"""Replies of the executor and the errors that they may carry.

A reply is either a result or an error, never both, and has one canonical byte form. Messages say
what was wrong and what is allowed; they never repeat text that was received.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.canonical import canonical_bytes, canonical_sha256


class ErrorKind(StrEnum):
    """The three kinds of error that an agent can meet (SlowLab, action interface)."""

    INVALID_ACTION = "invalid_action"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"
    PROTOCOL_ERROR = "protocol_error"


class Reason(StrEnum):
    """Why an action was not carried out."""

    MALFORMED = "malformed"
    NOT_AN_ACTION = "not_an_action"
    UNKNOWN_ACTION = "unknown_action"
    FIELDS = "fields"
    UNIT = "unit"
    POLICY = "policy"
    DAY = "day"
    REWIND = "rewind"
    BEYOND_END = "beyond_end"
    FEEDBACK_UNASSIGNED = "feedback_unassigned"
    LATE_START = "late_start"
    NOT_IDLE = "not_idle"
    NOTHING_TO_STOP = "nothing_to_stop"
    NO_SUCH_CROP = "no_such_crop"
    VARIABLE = "variable"
    RESOLUTION = "resolution"
    WINDOW = "window"
    WINDOW_TOO_LONG = "window_too_long"
    NOT_RELEASED = "not_released"
    BEFORE_DEADLINE = "before_deadline"
    CALLS_USED_UP = "calls_used_up"
    CALLS_RESERVED = "calls_reserved"
    DECISIONS_USED_UP = "decisions_used_up"
    DECISIONS_RESERVED = "decisions_reserved"
    STARTS_USED_UP = "starts_used_up"
    TECHNICAL_FAILURE = "technical_failure"
    CAMPAIGN_CLOSED = "campaign_closed"


class ActionRejected(ValueError):
    """An action that is refused; nothing has changed.

    Attributes:
        reason: the rule that was broken.
        message: what was wrong and what is allowed.
        charged: whether the rejection uses budget; False for what is no action at all.
    """

    def __init__(self, reason: Reason, message: str, *, charged: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.charged = charged

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return _rejected, (self.reason, self.message, self.charged)


def _rejected(reason: Reason, message: str, charged: bool) -> ActionRejected:
    return ActionRejected(reason, message, charged=charged)


@dataclass(frozen=True)
class ErrorInfo:
    """An error as an agent sees it.

    Attributes:
        kind: what kind of error.
        reason: the rule that was broken.
        message: what was wrong and what is allowed.
        budget: used and maximum calls, decisions and starts after the rejection; None where there
            is no campaign to speak of.
    """

    kind: ErrorKind
    reason: Reason
    message: str
    budget: dict[str, Any] | None = None

    def payload(self) -> dict[str, Any]:
        """Plain data with a canonical JSON form."""
        known = {"kind": self.kind.value, "reason": self.reason.value, "message": self.message}
        return known if self.budget is None else {**known, "budget": self.budget}


@dataclass(frozen=True)
class Reply:
    """The executor's answer to one payload.

    Attributes:
        ok: whether the action was carried out.
        result: what it returned, where ok.
        error: why it was not carried out, where not ok.
    """

    ok: bool
    result: dict[str, Any] | None = None
    error: ErrorInfo | None = None

    @classmethod
    def success(cls, result: dict[str, Any]) -> Reply:
        """The reply to an action that was carried out."""
        return cls(True, result)

    @classmethod
    def failure(cls, error: ErrorInfo) -> Reply:
        """The reply to anything that was not carried out."""
        return cls(False, None, error)

    def payload(self) -> dict[str, Any]:
        """Plain data with a canonical JSON form."""
        if self.error is not None:
            return {"ok": False, "error": self.error.payload()}
        return {"ok": True, "result": self.result}

    def canonical(self) -> bytes:
        """The reply as canonical JSON in UTF-8."""
        return canonical_bytes(self.payload())

    def sha256(self) -> str:
        """SHA-256, in hexadecimal, of :meth:`canonical`."""
        return canonical_sha256(self.payload())


FROZEN = Reply.failure(
    ErrorInfo(
        ErrorKind.INFRASTRUCTURE_FAILURE,
        Reason.TECHNICAL_FAILURE,
        "a technical failure has paused the campaign; it is not counted against you",
    )
)
"""The answer to everything after a technical failure; it tells nothing about the cause."""

CLOSED = Reply.failure(
    ErrorInfo(ErrorKind.PROTOCOL_ERROR, Reason.CAMPAIGN_CLOSED, "the campaign is closed")
)
"""The answer to everything after the settlement."""
