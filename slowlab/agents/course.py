"""The course of a language model's campaign, the same when it is played and when it is replayed.

Source: SlowLab, harness, stages 0 to 3.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

from slowlab.campaign.errors import Reply
from slowlab.campaign.session import ToolCall
from slowlab.methods._base import Campaign, Steps
from slowlab.world.policy import Policy


class CourseHarness(Protocol):
    """What a course needs of a harness."""

    def initial(self) -> Policy | None:
        """Ask for the recommendation before any experiment."""

    def design(self) -> Steps:
        """Let the day-0 design be made."""

    def assigned(self) -> None:
        """Tell the feedback condition, which the campaign's task now names."""

    def season(self) -> Steps:
        """Let the campaign be run to its end."""


def course(
    harness: CourseHarness,
    campaign: Campaign,
    *,
    freeze_initial: Callable[[Policy], None],
    assign: Callable[[], Mapping[str, Any] | None],
) -> Generator[Mapping[str, Any] | ToolCall, Reply, Any]:
    """The whole course: initial recommendation, day-0 design, feedback condition, season.

    The caller keeps the campaign's history up to date between two yields
    (:func:`slowlab.methods._base.watched`).

    Args:
        harness: asks the model.
        campaign: what it sees; its task does not name a condition yet.
        freeze_initial: takes the recommendation from before the experiments, where there is one.
        assign: assigns the condition and returns the task that names it; None where the course ends
            with the design, for branches to go on from.

    Returns:
        How the season ended; None where the course ended with the design.
    """
    policy = harness.initial()
    if policy is not None:
        freeze_initial(policy)
    yield from harness.design()
    task = assign()
    if task is None:
        return None
    campaign.history.assign(task)
    harness.assigned()
    return (yield from harness.season())
