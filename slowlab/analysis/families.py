"""Families of tests, declared as data and computed by one rule.

A study file names the families, their tests and their seeds. Nothing is tested that it does not
name, and a test that it names keeps its place in the family when its data are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from slowlab.analysis.declared import SensitivitySpec
from slowlab.analysis.measure_spec import MeasureSpec
from slowlab.analysis.multiplicity import Adjustment, SizeRule
from slowlab.analysis.paired import RepeatRule
from slowlab.config import ConfigModel, validate_config


class CellRef(ConfigModel):
    """One method under one feedback mode."""

    method: str = Field(min_length=1, description="Name of the method.")
    feedback: str = Field(min_length=1, description="Feedback mode, `none` without a campaign.")

    @property
    def key(self) -> tuple[str, str]:
        """Method and feedback mode."""
        return self.method, self.feedback


class ContrastSpec(ConfigModel):
    """One test: some cells less others, site by site.

    A test without cells takes differences that are computed elsewhere, as those of reader swaps.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_.]+$", description="Name of the test, unique.")
    plus: tuple[CellRef, ...] = Field(default=(), description="Cells that are added.")
    minus: tuple[CellRef, ...] = Field(default=(), description="Cells that are subtracted.")
    seed_offset: int | None = Field(
        default=None, ge=0, description="Seed of the test less the base seed, if not by its place."
    )


class FamilySpec(ConfigModel):
    """Tests that are adjusted together."""

    name: str = Field(pattern=r"^[A-Za-z0-9_]+$", description="Name of the family, unique.")
    adjustment: Adjustment = Field(description="How p-values are adjusted.")
    size_rule: SizeRule = Field(
        default=SizeRule.DECLARED, description="Whether tests without a p-value count in the size."
    )
    seed_offset: int = Field(
        ge=0, description="Seed of the first test less the base seed; the next tests count on."
    )
    tests: tuple[ContrastSpec, ...] = Field(description="The tests, in the order of their seeds.")

    def seed(self, base_seed: int, place: int) -> int:
        """Seed of the test at a place, from 0."""
        own = self.tests[place].seed_offset
        return base_seed + (self.seed_offset + place if own is None else own)

    def power_alpha(self, alpha: float) -> float:
        """Level at which power is stated: Bonferroni's first step for Holm, else alpha."""
        divided = self.adjustment is Adjustment.HOLM and self.tests
        return alpha / len(self.tests) if divided else alpha


class AnalysisSpec(ConfigModel):
    """Everything that the statistics of a study may depend on besides the scores."""

    base_seed: int = Field(ge=0, description="Seed to which the offsets are added.")
    sesoi_eur_m2: float = Field(gt=0, description="Smallest effect size of interest, EUR/m2.")
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="Level of every test.")
    power: float = Field(
        default=0.8, gt=0.5, lt=1, description="Power of the minimum detectable difference."
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="Level of the intervals.")
    flips: int = Field(default=100_000, ge=1, description="Random sign patterns of a test.")
    resamples: int = Field(default=10_000, ge=1, description="Bootstrap samples of an interval.")
    repeat_rule: RepeatRule = Field(
        default=RepeatRule.COMPLETE, description="Which repeats make a site's mean."
    )
    sensitivity_repeat_rule: RepeatRule = Field(
        default=RepeatRule.AVAILABLE, description="The other rule, for comparison."
    )
    largest_missing_share: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description="Largest share of sites that a confirmatory test may lack.",
    )
    sensitivity: SensitivitySpec = Field(
        default=SensitivitySpec(), description="Second analyses of the primary tests."
    )
    measures: MeasureSpec = Field(
        default=MeasureSpec(), description="Numbers of the measures beside the tests."
    )
    families: tuple[FamilySpec, ...] = Field(description="The families, in the order reported.")

    @model_validator(mode="after")
    def _unique(self) -> AnalysisSpec:
        names = [family.name for family in self.families]
        names += [test.name for family in self.families for test in family.tests]
        if len(set(names)) != len(names):
            raise ValueError("names of families and tests must be unique")
        seeds = [
            family.seed(self.base_seed, place)
            for family in self.families
            for place in range(len(family.tests))
        ]
        if len(set(seeds)) != len(seeds):
            raise ValueError("two tests have the same seed")
        return self


def parse_analysis(mapping: Mapping[str, Any], source: str = "analysis") -> AnalysisSpec:
    """Check a mapping, as read from YAML or JSON, against :class:`AnalysisSpec`.

    Args:
        mapping: plain data.
        source: name used in messages.

    Raises:
        ConfigError: an unknown key, a wrong type, a repeated name or seed.
    """
    return validate_config(dict(mapping), AnalysisSpec, source)
