"""Comparisons that a study declares beside the standard ones."""

from __future__ import annotations

from pydantic import Field

from slowlab.config import ConfigModel

NAME = r"^[a-z][a-z0-9_]{0,47}$"
"""Names of methods, readers and comparisons: they stand in paths and tables."""


class KnowledgePair(ConfigModel):
    """Two methods that differ in one piece of knowledge that they are given."""

    name: str = Field(pattern=NAME, description="Name of the comparison, unique.")
    given: str = Field(pattern=NAME, description="Method that is given the knowledge.")
    without: str = Field(pattern=NAME, description="The same method without it.")
