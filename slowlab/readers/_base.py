"""The interface of a reader: from the packet of a finished campaign to a recommendation.

Numerical readers derive from :class:`Reader`. A language model has a dialogue instead of artifacts
and settings, see :mod:`slowlab.readers.language_model`; both give a :class:`Reading`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from slowlab.campaign.settlement import FallbackReason
from slowlab.config import ConfigModel
from slowlab.readers.packets import Packet
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world.policy import Policy


@dataclass(frozen=True)
class Reading:
    """What a reader made of a packet.

    Attributes:
        policy: what is scored for it.
        fallback_reason: why that is the packet's fallback, where the reader's answers were no use;
            None where it is the reader's own recommendation.
    """

    policy: Policy
    fallback_reason: FallbackReason | None = None


class Reader(ABC):
    """Reads what somebody else's campaign has seen, and recommends one policy.

    A recommendation depends on the packet, the settings and the artifacts alone, and not on the
    numbers of the compartments.

    Attributes:
        settings: its checked settings.
        artifacts: what the development stage has left.
    """

    Settings: ClassVar[type[ConfigModel]] = ConfigModel
    """Model of the settings that a study file may give."""
    uses_artifacts: ClassVar[tuple[str, ...]] = ()
    """Names of the artifacts it reads; a change of one of them reruns the reader."""
    identity_sources: ClassVar[tuple[str, ...]] = ()
    """Methods whose own last step this reader is. On their packets it can gain nothing, so an
    analysis leaves these cells out. Settings may matter: see :meth:`repeats_last_step_of`."""

    def __init__(self, settings: ConfigModel, artifacts: ArtifactFolder) -> None:
        self.settings = settings
        self.artifacts = artifacts

    @classmethod
    def repeats_last_step_of(cls, method: str, settings: Mapping[str, Any]) -> bool:
        """Whether a method ends with what this reader does, so that nothing can be gained.

        Args:
            method: name under which the method is registered.
            settings: its settings as the study gives them.
        """
        return method in cls.identity_sources

    def read(self, packet: Packet) -> Reading:
        """Read a packet; a numerical reader always has a recommendation of its own.

        Args:
            packet: what the campaign has seen.
        """
        return Reading(self.recommend(packet))

    @abstractmethod
    def recommend(self, packet: Packet) -> Policy:
        """The policy for the packet's site.

        Args:
            packet: what the campaign has seen.
        """
