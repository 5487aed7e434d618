"""Leading a recorded campaign again: the real harness, recorded answers, no simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slowlab.agents.course import CourseHarness, course
from slowlab.agents.replaying import Player, ReplayDialogue, TranscriptEndError
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.errors import ErrorInfo, ErrorKind, Reason, Reply
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.config import validate_config
from slowlab.methods._base import Campaign, Steps, watched
from slowlab.tools.errors import TOOL_ERROR, ToolErrorInfo
from slowlab.world.policy import Policy

Build = Callable[[Mapping[str, Any], ReplayDialogue, Campaign], CourseHarness]
"""Makes the harness of a recorded campaign from its header."""


def build_harness(
    header: Mapping[str, Any], dialogue: ReplayDialogue, campaign: Campaign
) -> CourseHarness:
    """The harness that a header describes.

    Raises:
        ConfigError: the header describes none that exists today.
        KeyError: something is missing in it.
    """
    from slowlab.agents.harness import Harness
    from slowlab.agents.profile import HarnessProfile

    profile = validate_config(header["harness"], HarnessProfile, "header: harness")
    reference = header["reference"]
    return Harness(
        profile,
        dialogue,
        campaign,
        header["generation_seed"],
        None if reference is None else Policy(**reference),
    )


def campaign_player(build: Build = build_harness) -> Player:
    """Who leads campaigns again.

    Args:
        build: makes the harness.
    """

    def play(header: Mapping[str, Any], dialogue: ReplayDialogue) -> None:
        campaign = Campaign(History(header["task"]))
        harness = build(header, dialogue, campaign)
        steps = course(
            harness,
            campaign,
            freeze_initial=lambda policy: None,
            assign=lambda: _assigned_task(dialogue),
        )
        _drive(watched(steps, campaign.history), dialogue)

    return play


def recorded_reply(payload: Mapping[str, Any]) -> Reply:
    """The reply whose plain data was recorded."""
    if payload["ok"]:
        return Reply.success(payload["result"])
    error = payload["error"]
    if error["kind"] == TOOL_ERROR:
        return Reply.failure(ToolErrorInfo(error["reason"], error["message"]))
    kind, reason = ErrorKind(error["kind"]), Reason(error["reason"])
    return Reply.failure(ErrorInfo(kind, reason, error["message"], error.get("budget")))


def _drive(steps: Steps, dialogue: ReplayDialogue) -> None:
    """Give every action and tool call its recorded reply."""
    try:
        item = next(steps)
        while True:
            kind = TranscriptKind.TOOL if isinstance(item, ToolCall) else TranscriptKind.EXCHANGE
            item = steps.send(recorded_reply(dialogue.upcoming(kind)["reply"]))
    except StopIteration:
        return
    finally:
        steps.close()


def _assigned_task(dialogue: ReplayDialogue) -> Mapping[str, Any] | None:
    """The task that names the condition; None where the transcript ends before."""
    try:
        return dialogue.upcoming(TranscriptKind.ASSIGNMENT)["task"]
    except TranscriptEndError:
        return None
