"""Drafts: configurations that are not frozen, and the mark they carry wherever they are shown."""

from __future__ import annotations

from pydantic import Field

from slowlab.config import ConfigModel

DRAFT_MARK = "DRAFT"


class Drafted(ConfigModel):
    """Base of configurations with an identity that may be a draft."""

    id: str = Field(
        pattern=r"^[A-Za-z0-9._-]+$", description="Identity; part of hashes and random streams."
    )
    draft: bool = Field(
        default=False,
        description="Whether this is a draft; it is then marked wherever it is shown.",
    )

    @property
    def label(self) -> str:
        """The identity as it is shown to people, with the draft mark where it applies."""
        return f"{self.id} ({DRAFT_MARK})" if self.draft else self.id


def draft_mark(*configs: Drafted) -> str:
    """The mark for something made with these configurations: ``"DRAFT"``, or empty text."""
    return DRAFT_MARK if any(config.draft for config in configs) else ""
