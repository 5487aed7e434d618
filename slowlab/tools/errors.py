"""Errors of the analysis tools, as an agent sees them.

A tool error costs a tool call and nothing else; it says what was wrong and what is allowed, and
never repeats text that was received.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.campaign.errors import ErrorInfo, Reply

TOOL_ERROR = "tool_error"
"""The kind of every error of a tool, beside the kinds of the action interface."""


class ToolReason(StrEnum):
    """Why a tool gave no result.

    ``unknown_tool``: there is none of that name in this feedback mode. ``arguments``: missing,
    unexpected or of the wrong form. ``policy``: not a valid policy. ``unit``, ``variable``,
    ``window``, ``no_such_crop``: names something that does not exist. ``too_few_crops``: not enough
    normally completed crops with totals that were read. ``not_growing``, ``too_young``: no crop
    whose outcome is predicted. ``no_readings``: what the tool needs was not read yet.
    ``no_candidates``: the fixed fields leave no policy. ``calls_used_up``: the budget is gone.
    """

    UNKNOWN_TOOL = "unknown_tool"
    ARGUMENTS = "arguments"
    POLICY = "policy"
    UNIT = "unit"
    VARIABLE = "variable"
    WINDOW = "window"
    NO_SUCH_CROP = "no_such_crop"
    TOO_FEW_CROPS = "too_few_crops"
    NOT_GROWING = "not_growing"
    TOO_YOUNG = "too_young"
    NO_READINGS = "no_readings"
    NO_CANDIDATES = "no_candidates"
    CALLS_USED_UP = "calls_used_up"


class ToolError(ValueError):
    """A tool that gives no result.

    Attributes:
        reason: the rule that was broken, one of :class:`ToolReason`.
        message: what was wrong and what is allowed.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = str(reason)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.reason, self.message)

    def reply(self) -> Reply:
        """The error as the answer to a tool call."""
        return Reply.failure(ToolErrorInfo(self.reason, self.message))


@dataclass(frozen=True, init=False)
class ToolErrorInfo(ErrorInfo):
    """An error of a tool as an agent sees it; ``kind`` and ``reason`` are plain text."""

    kind: str
    reason: str

    def __init__(self, reason: str, message: str) -> None:
        values = {"kind": TOOL_ERROR, "reason": reason, "message": message, "budget": None}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def payload(self) -> dict[str, Any]:
        """Plain data with a canonical JSON form."""
        return {"kind": self.kind, "reason": self.reason, "message": self.message}
