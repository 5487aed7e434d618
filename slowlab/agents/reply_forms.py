"""Which replies a stage takes: the one place that parser, schemas and prompts go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.profile import HarnessProfile
from slowlab.campaign.budget import ActionKind
from slowlab.tools.public_task import policy_bounds, tool_names
from slowlab.world.policy import PolicyBounds


class ReplyType(StrEnum):
    """The member ``type`` of a reply."""

    CAMPAIGN = "campaign"
    TOOL = "tool"
    DESIGN_COMPLETE = "design_complete"
    INITIAL_RECOMMENDATION = "initial_recommendation"
    RECOMMENDATION = "recommendation"


RECOMMENDATIONS = (ReplyType.INITIAL_RECOMMENDATION, ReplyType.RECOMMENDATION)
"""Replies that are a policy and nothing else; they are asked for apart from the campaign."""

_STAGE_TYPES = {
    Stage.INITIAL: (ReplyType.INITIAL_RECOMMENDATION,),
    Stage.DESIGN: (ReplyType.CAMPAIGN, ReplyType.TOOL, ReplyType.DESIGN_COMPLETE),
    Stage.SEASON: (ReplyType.CAMPAIGN, ReplyType.TOOL),
    Stage.FINAL: (ReplyType.CAMPAIGN,),
    Stage.PROBE: (ReplyType.RECOMMENDATION,),
    Stage.READING: (ReplyType.RECOMMENDATION,),
}
_REQUIRED = {
    ReplyType.CAMPAIGN: ("type", "action"),
    ReplyType.TOOL: ("type", "name"),
    ReplyType.DESIGN_COMPLETE: ("type",),
    ReplyType.INITIAL_RECOMMENDATION: ("type", "policy"),
    ReplyType.RECOMMENDATION: ("type", "policy"),
}


@dataclass(frozen=True)
class ReplyForms:
    """What a reply may be at one moment of a campaign.

    Attributes:
        types: allowed values of ``type``.
        actions: campaign actions that are allowed.
        tools: analysis tools that the task announces, sorted.
        notes_characters: longest notes; None where none are kept.
        bounds: of the policy fields.
    """

    types: tuple[ReplyType, ...]
    actions: tuple[ActionKind, ...]
    tools: tuple[str, ...]
    notes_characters: int | None
    bounds: PolicyBounds

    def required(self, kind: ReplyType) -> tuple[str, ...]:
        """Members that a reply of a type must have."""
        return _REQUIRED[kind]

    def optional(self, kind: ReplyType) -> tuple[str, ...]:
        """Members that it may have."""
        arguments = ("args",) if kind is ReplyType.TOOL else ()
        return (*arguments, *self.remarks(kind))

    def remarks(self, kind: ReplyType) -> tuple[str, ...]:
        """Optional members that say something beside the step itself."""
        if kind in RECOMMENDATIONS:
            return ("reason",)
        notes = () if self.notes_characters is None else ("notes",)
        return ("reason", *notes, "incumbent")


def reply_forms(stage: Stage, task: Mapping[str, Any], profile: HarnessProfile) -> ReplyForms:
    """What a reply may be in a stage.

    Args:
        stage: where in the campaign.
        task: the public task.
        profile: the harness profile.
    """
    types = _STAGE_TYPES[stage]
    notes = profile.budgets.notes_characters if profile.memory.notes else None
    return ReplyForms(
        types=types,
        actions=_actions(stage, task),
        tools=tool_names(task) if ReplyType.TOOL in types else (),
        notes_characters=notes,
        bounds=policy_bounds(task),
    )


def _actions(stage: Stage, task: Mapping[str, Any]) -> tuple[ActionKind, ...]:
    """Actions of a stage, in the order of the task."""
    if stage is Stage.DESIGN:
        return (ActionKind.START,)
    if stage is Stage.FINAL:
        return (ActionKind.RECOMMEND,)
    if stage is Stage.SEASON:
        return tuple(ActionKind(row["action"]) for row in task["actions"])
    return ()
