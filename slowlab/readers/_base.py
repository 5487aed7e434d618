"""The interface of a reader: from the packet of a finished campaign to a recommendation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from slowlab.config import ConfigModel
from slowlab.readers.packets import Packet
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world.policy import Policy


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

    @abstractmethod
    def recommend(self, packet: Packet) -> Policy:
        """The policy for the packet's site.

        Args:
            packet: what the campaign has seen.
        """
