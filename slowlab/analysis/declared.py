"""Comparisons and second analyses that a study declares beside the standard ones."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slowlab.config import ConfigModel

NAME = r"^[a-z][a-z0-9_]{0,47}$"
"""Names of methods, readers and comparisons: they stand in paths and tables."""


class KnowledgePair(ConfigModel):
    """Two methods that differ in one piece of knowledge that they are given."""

    name: str = Field(pattern=NAME, description="Name of the comparison, unique.")
    given: str = Field(pattern=NAME, description="Method that is given the knowledge.")
    without: str = Field(pattern=NAME, description="The same method without it.")


RandomEffect = Literal["site", "repeat", "campaign_year", "scoring_year", "site_year"]
"""``site``: a site's own difference; ``repeat``: of a repeat within a site; ``campaign_year`` and
``scoring_year``: of the weather years, crossed with sites; ``site_year``: of a scoring year within
a site."""


class MixedModelSpec(ConfigModel):
    """The linear mixed model beside the primary tests."""

    effects: tuple[RandomEffect, ...] = Field(
        default=("site", "repeat", "campaign_year", "scoring_year", "site_year"),
        min_length=1,
        description="Random effects; one that the data cannot tell from those before is left out.",
    )
    fewest_levels: int = Field(
        default=3, ge=2, description="An effect with fewer levels is left out."
    )


class SensitivitySpec(ConfigModel):
    """Analyses of the same scores that show what the primary tests rest on; they decide nothing."""

    dry_matter_fractions: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        default=(0.05, 0.07),
        description="Dry matter in fresh fruit, as fractions, with which margins are recomputed.",
    )
    mixed_model: MixedModelSpec = Field(
        default=MixedModelSpec(), description="The mixed model beside the primary tests."
    )
