"""Sections of a study file for what is scored beside the methods: best-known policies, side walls.

A study without a section runs without its stage.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slowlab.analysis.declared import NAME
from slowlab.config import ConfigModel

Exchange = Annotated[float, Field(ge=0, le=10)]


class OracleSearch(ConfigModel):
    """What one search for the best policy of a site spends."""

    sobol: int = Field(default=16, ge=0, le=1024, description="Space-filling policies at first.")
    rounds: int = Field(default=6, ge=0, le=100, description="Rounds of proposals after those.")
    population: int = Field(default=12, ge=1, le=1024, description="Policies of one round.")
    finalists: int = Field(
        default=4, ge=1, le=100, description="Screened policies that reach the selection years."
    )
    selection_years: int = Field(
        default=3, ge=1, le=50, description="Years in which they are compared; none is scored."
    )
    seed: int = Field(
        default=0, ge=0, description="Seed of the first searches; second ones take the next."
    )


class OracleSection(ConfigModel):
    """The best policy known of each site, found by searches in the simulator."""

    sites: int | None = Field(
        default=None, ge=2, description="Sites that are searched, drawn; null for all."
    )
    repeated: int = Field(
        default=8, ge=2, description="Of these, sites searched twice for the search error; drawn."
    )
    search: OracleSearch = Field(default=OracleSearch(), description="What a search spends.")


class SideWallSection(ConfigModel):
    """Scores with other side walls than those that were drawn; no campaign is run again."""

    sites: int | None = Field(
        default=16, ge=1, description="Sites that are scored again, drawn; null for all."
    )
    exchange_w_m2_k: tuple[Exchange, ...] = Field(
        default=(0.0, 4.0), min_length=1, description="Exchange of all side walls, W/m2 wall/K."
    )
    methods: tuple[Annotated[str, Field(pattern=NAME)], ...] | None = Field(
        default=None,
        min_length=1,
        description="Methods; null for all that run campaigns. Baseline and reference always.",
    )
