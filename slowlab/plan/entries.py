"""Methods and readers as a study file lists them."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from slowlab.analysis.declared import NAME
from slowlab.config import ConfigModel

DEFAULT_HARNESS = "digest_notes"
"""The harness profile of the published study."""


def named_entry(item: object) -> object:
    """A bare name stands for an entry with its default settings."""
    return {"name": item} if isinstance(item, str) else item


class Entry(ConfigModel):
    """What a method and a reader of a study have in common."""

    name: str = Field(pattern=NAME, description="Name in paths, tables and seeds; unique.")
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Language model in models.yaml that decides; null for a numerical one.",
    )
    harness: str | None = Field(
        default=None,
        pattern=NAME,
        description="Harness profile of a model, a file in harness/; null for digest_notes.",
    )
    label: str | None = Field(
        default=None, min_length=1, max_length=40, description="Name in figures; null: the name."
    )
    settings: dict[str, Any] = Field(default={}, description="Settings by name.")
    stand_in: bool = Field(
        default=False, description="Whether it stands in for something else; marked everywhere."
    )

    @model_validator(mode="after")
    def _harness_of_a_model(self) -> Self:
        if self.harness is not None and self.model is None:
            raise ValueError("a harness belongs to a model")
        if self.model is not None and self.settings:
            raise ValueError("a model has a harness profile and no settings")
        return self

    @property
    def profile(self) -> str:
        """Name of the harness profile."""
        return self.harness or DEFAULT_HARNESS

    @property
    def shown(self) -> str:
        """The name in figures."""
        return self.label or self.name.replace("_", " ")


class MethodEntry(Entry):
    """One method of a study: a name alone, or a name with what differs from the defaults."""

    method: str | None = Field(
        default=None, description="Registered method behind it; null where it is the name."
    )
    command: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        strict=False,
        description="Program that plays instead, see docs/add-a-method.md; null for a method.",
    )
    time_limit_s: float = Field(
        default=60.0, gt=0, le=86_400, description="Longest thinking time of a command, s."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.command is not None and (self.method is not None or self.settings):
            raise ValueError("a command has neither method nor settings")
        if self.model is not None and (self.method is not None or self.command is not None):
            raise ValueError("a model has neither method nor command")
        return self

    @property
    def registered_name(self) -> str:
        """The registered method behind the entry."""
        return self.method or self.name


class ReaderEntry(Entry):
    """One reader of a study: a name alone, or a name with what differs from the defaults."""

    reader: str | None = Field(
        default=None, description="Registered reader behind it; null where it is the name."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.model is not None and self.reader is not None:
            raise ValueError("a model is a reader of its own")
        return self

    @property
    def registered_name(self) -> str:
        """The registered reader behind the entry."""
        return self.reader or self.name
