"""The interface of a method, and all that a method can reach.

A method that experiments is a generator: it yields actions (plain data, see the task's ``actions``)
and tool calls, and receives the reply to each. It sees a :class:`Campaign`, which holds the public
task and the history of its own exchanges and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slowlab.campaign.actions import read_payload
from slowlab.campaign.errors import ActionRejected, Reply
from slowlab.campaign.history import History
from slowlab.campaign.session import ToolCall
from slowlab.config import ConfigModel
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.tools.public_task import policy_bounds
from slowlab.world.policy import Policy, PolicyBounds

Steps = Generator[Mapping[str, Any] | ToolCall, Reply, Any]
"""A method at work: yields actions and tool calls, receives replies. What it returns is a remark
about how it ended, or None."""


class MethodError(ValueError):
    """A method that cannot be had: it does not exist, is registered twice, or cannot be imported.

    The message says what there is.
    """


@dataclass(frozen=True)
class Campaign:
    """What a method sees of its campaign.

    Attributes:
        history: the public task and everything seen so far; kept up to date between two yields.
    """

    history: History

    @property
    def task(self) -> Mapping[str, Any]:
        """The public description of the task."""
        return self.history.task

    @property
    def units(self) -> range:
        """Numbers of the compartments."""
        return range(self.task["compartments"]["count"])

    @property
    def calendar(self) -> Mapping[str, Any]:
        """Days of the campaign, of a crop and of cleaning, and the latest start."""
        return self.task["calendar"]

    @property
    def second_start_day(self) -> int:
        """First day on which a compartment that was planted on day 0 can be planted again."""
        return self.calendar["crop_days"] + self.calendar["cleaning_days"]

    @property
    def reads_records(self) -> bool:
        """Whether records of growing crops can be read."""
        return self.task["feedback"]["mode"] in ("full", "delayed")

    @property
    def bounds(self) -> PolicyBounds:
        """Bounds of the six policy fields, taken by name."""
        return policy_bounds(self.task)


class Method(ABC):
    """A method that runs a campaign.

    Attributes:
        settings: its checked settings.
        artifacts: what the development stage has left for all methods.
    """

    Settings: ClassVar[type[ConfigModel]] = ConfigModel
    """Model of the settings that a study file may give."""
    experiments: ClassVar[bool] = True
    """Whether it runs a campaign at all; see :class:`StaticMethod`."""
    uses_artifacts: ClassVar[tuple[str, ...]] = ()
    """Names of the artifacts it reads; a change of one of them reruns the method."""

    def __init__(self, settings: ConfigModel, artifacts: ArtifactFolder) -> None:
        self.settings = settings
        self.artifacts = artifacts

    @abstractmethod
    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Run the campaign.

        Args:
            campaign: the public view.
            rng: the only source of random numbers; it is the same in all feedback conditions of a
                repeat.
        """


class StaticMethod(Method):
    """A method that recommends without any experiment."""

    experiments = False

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Do nothing."""
        yield from ()

    @abstractmethod
    def recommend(self, task: Mapping[str, Any]) -> Policy:
        """The policy for a site, from its public task alone."""


def watched(steps: Steps, history: History) -> Steps:
    """The same steps; every exchange enters the history before the method goes on.

    Returns:
        What the steps return.
    """
    try:
        item = next(steps)
        while True:
            reply = yield item
            if not isinstance(item, ToolCall):
                history.add(_as_carried_out(item), reply.payload())
            item = steps.send(reply)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


def _as_carried_out(item: object) -> dict[str, Any] | None:
    """An action as the executor keeps it, or None where it could not be read."""
    try:
        kind, fields = read_payload(item)
    except ActionRejected:
        return None
    return {"action": kind.value, **fields}
