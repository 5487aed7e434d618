"""Taking a step in the campaign, and recording what came of it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol

from slowlab.agents.harness_limits import HarnessCounts
from slowlab.agents.messages import ModelCall, ModelReply, Stage
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.errors import ErrorKind, Reply
from slowlab.campaign.session import ToolCall

Acted = Generator[Mapping[str, Any] | ToolCall, Reply, Reply]
"""A step: it is yielded, its reply is received and returned."""

_STOPPED = (ErrorKind.INFRASTRUCTURE_FAILURE, ErrorKind.PROTOCOL_ERROR)


class HarnessDialogue(Protocol):
    """The conversation with a model."""

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        """Ask the model."""

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        """Record something that is no call."""


class CampaignStoppedError(RuntimeError):
    """The campaign takes no more actions: a technical failure, or it is closed."""


class Acting:
    """Takes steps for a model or for the harness itself.

    A reply that says that the campaign has stopped is not recorded: it is no part of the campaign.

    Args:
        dialogue: where steps are recorded.
        counts: where they are counted.
    """

    def __init__(self, dialogue: HarnessDialogue, counts: HarnessCounts) -> None:
        self._dialogue = dialogue
        self._counts = counts

    def act(self, action: Mapping[str, Any], reason: str | None = None) -> Acted:
        """Send one action to the campaign.

        Args:
            action: plain data.
            reason: the model's own words, or None.

        Raises:
            CampaignStoppedError: the campaign takes no more actions.
        """
        reply = _checked((yield action))
        payload = {"action": dict(action), "reply": reply.payload(), "reason": reason}
        self._dialogue.note(TranscriptKind.EXCHANGE, payload)
        self._counts.invalid_actions += reply.error is not None
        return reply

    def use(self, tool: ToolCall, reason: str | None = None) -> Acted:
        """Use a tool.

        Args:
            tool: its name and arguments.
            reason: the model's own words, or None.

        Raises:
            CampaignStoppedError: the campaign takes no more actions.
        """
        reply = _checked((yield tool))
        payload = {**tool.payload(), "reply": reply.payload(), "reason": reason}
        self._dialogue.note(TranscriptKind.TOOL, payload)
        self._counts.tool_calls += 1
        self._counts.tool_errors += reply.error is not None
        return reply


def is_accepted(reply: Reply) -> bool:
    """Whether a reply takes a recommendation that counts."""
    return reply.ok and (reply.result or {}).get("recommendation") == "accepted"


def _checked(reply: Reply) -> Reply:
    """The reply, if the campaign goes on."""
    if reply.error is not None and reply.error.kind in _STOPPED:
        raise CampaignStoppedError("the campaign takes no more actions")
    return reply
