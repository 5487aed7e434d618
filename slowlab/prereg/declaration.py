"""``preregistration/study.yaml``: every number that the confirmatory analysis may use.

It is written before any confirmatory score exists and locked together with the protocol. The study
file under ``config/`` says how the study is run; where both say something, they must agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from slowlab.analysis.declared import NAME, SensitivitySpec
from slowlab.analysis.measure_spec import MeasureSpec
from slowlab.analysis.multiplicity import Adjustment, SizeRule
from slowlab.analysis.paired import RepeatRule
from slowlab.analysis.power import sites_needed
from slowlab.analysis.study_inputs import Question
from slowlab.config import ConfigModel, load_config
from slowlab.prereg.scope import DECLARATION

Positive = Annotated[float, Field(gt=0)]


class TestGroup(ConfigModel):
    """Tests of one question, by what each of them is about."""

    __test__ = False  # not for pytest

    question: Question = Field(description="Question that they answer.")
    about: tuple[str, ...] = Field(
        min_length=1, description="Methods, readers or comparisons: one test each, in this order."
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tests, as in tables."""
        return tuple(f"{self.question}.{subject}" for subject in self.about)


class Family(ConfigModel):
    """Tests whose p-values are adjusted together."""

    name: str = Field(pattern=NAME, description="Name of the family.")
    adjustment: Adjustment = Field(description="How its p-values are adjusted.")
    size_rule: SizeRule = Field(
        default=SizeRule.DECLARED, description="Whether tests without a p-value count in its size."
    )
    seed_offset: int = Field(ge=0, description="Seed of its first test less the base seed.")
    groups: tuple[TestGroup, ...] = Field(min_length=1, description="Its tests, by question.")

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of all its tests, in the order of their seeds."""
        return tuple(name for group in self.groups for name in group.names)

    def level(self, alpha: float) -> float:
        """Level at which power is planned: the first step of Holm's procedure, else alpha."""
        return alpha / len(self.tests) if self.adjustment is Adjustment.HOLM else alpha


class Design(ConfigModel):
    """How much is run; the study file must say the same."""

    partition: str = Field(description="Partition of the sites.")
    sites: int = Field(ge=3, le=1000, description="Sites, N; taken in order without skipping.")
    first_site: int = Field(default=0, ge=0, description="Number of the first site.")
    repeats: int = Field(ge=1, le=100, description="Campaigns per site and condition.")
    feedback: tuple[str, ...] = Field(min_length=1, description="Feedback conditions, in order.")
    baseline: str = Field(pattern=NAME, description="Method that the others are compared with.")
    reference: str = Field(pattern=NAME, description="Method without experiments for gains.")


class Statistics(ConfigModel):
    """Levels, seeds and numbers of draws."""

    sesoi_eur_m2: Positive = Field(description="Smallest effect size of interest, EUR/m2.")
    tost_bounds_eur_m2: tuple[float, float] = Field(
        description="Bounds of the equivalence test, EUR/m2; the effect size with both signs."
    )
    alpha: float = Field(gt=0, lt=0.5, description="Level of every test.")
    confidence: float = Field(gt=0, lt=1, description="Level of the intervals.")
    base_seed: int = Field(ge=0, description="Seed to which the offsets are added.")
    flips: int = Field(ge=100, description="Random sign patterns of a test.")
    resamples: int = Field(ge=100, description="Bootstrap samples of an interval.")
    repeat_rule: RepeatRule = Field(description="Which repeats make a site's mean.")
    sensitivity_repeat_rule: RepeatRule = Field(description="The other rule, for comparison.")

    @model_validator(mode="after")
    def _bounds_are_the_effect_size(self) -> Self:
        if self.tost_bounds_eur_m2 != (-self.sesoi_eur_m2, self.sesoi_eur_m2):
            raise ValueError("tost_bounds_eur_m2 must be the SESOI with both signs")
        return self


class Power(ConfigModel):
    """Why the study has as many sites as it has."""

    target: float = Field(gt=0.5, lt=1, description="Power for the SESOI that is asked for.")
    fewest_sites: int = Field(ge=3, description="Sites that are run whatever the power says.")
    source: str = Field(min_length=1, description="Where the deviations come from.")
    sd_eur_m2: dict[str, Positive] = Field(
        description="Deviation of site differences by test of the first family, EUR/m2."
    )


class Gates(ConfigModel):
    """What must hold before a result is shown as confirmatory."""

    rehearsals: int = Field(
        ge=100, description="Analyses of scores without effects, and of scores with planted ones."
    )
    rehearsal_flips: int = Field(
        ge=100, description="Sign patterns of a test where each rehearsal needs its own sums."
    )
    largest_familywise_error: float = Field(
        gt=0, lt=1, description="Largest share of them with a finding in the first family."
    )
    largest_power_shortfall: float = Field(
        gt=0,
        lt=1,
        description="Largest stated power less the upper bound of the share of effects found.",
    )
    largest_r_hat: float = Field(gt=1, description="Largest R-hat of the Bayesian model.")
    smallest_ess: int = Field(ge=100, description="Smallest effective sample size, bulk and tail.")
    most_divergences: int = Field(ge=0, description="Most divergent transitions.")
    largest_missing_share: float = Field(
        ge=0, lt=1, description="Largest share of sites that a primary test may lack."
    )


class SecondLookPriors(ConfigModel):
    """Scales of the priors of the Bayesian analysis; the model stands in docs/second-look.md."""

    effect_scale_eur_m2: float = Field(gt=0, le=100, description="Half-normal, of true effects.")
    shared_scale_eur_m2: float = Field(
        gt=0, le=100, description="Half-normal, of what tests share on a site."
    )
    spread_median_eur_m2: float = Field(
        gt=0, le=100, description="Median of the spread of differences between sites."
    )
    spread_log_sd: float = Field(
        gt=0, le=10, description="Log-normal, of the spread of differences between sites."
    )


class SecondLook(ConfigModel):
    """The Bayesian analysis beside the confirmatory one; it decides nothing."""

    rope_eur_m2: tuple[float, float] = Field(description="Region of practical equivalence, EUR/m2.")
    chains: int = Field(ge=2, description="Chains.")
    warm_up: int = Field(ge=100, description="Draws of each chain that are thrown away.")
    draws: int = Field(ge=100, description="Draws of each chain that are kept.")
    target_accept: float = Field(gt=0.5, lt=1, description="Acceptance that steps are tuned to.")
    probability: float = Field(gt=0, lt=1, description="Probability within the shown intervals.")
    seed: int = Field(ge=0, description="Seed of the sampler.")
    priors: SecondLookPriors = Field(description="Scales of the priors.")
    other_effect_scales: tuple[
        Annotated[float, Field(gt=0, lt=1)], Annotated[float, Field(gt=1, le=10)]
    ] = Field(description="Factors on the scale of effects with which results are given again.")


class Declaration(ConfigModel):
    """All numbers of the confirmatory analysis."""

    draft: bool = Field(description="Whether it is still being written; a draft is never locked.")
    study: str = Field(pattern=r"^[a-z][a-z0-9-]{0,31}$", description="Name of the study.")
    config: str = Field(
        pattern=r"^config/[A-Za-z0-9._-]+\.yaml$", description="Its study file, from the root."
    )
    design: Design = Field(description="How much is run.")
    statistics: Statistics = Field(description="Levels, seeds, draws.")
    families: tuple[Family, ...] = Field(
        min_length=1, description="Families of tests; the first one is the primary one."
    )
    exploratory: Adjustment = Field(
        description="Adjustment of tests that no family names; they are shown apart."
    )
    power: Power = Field(description="Why there are as many sites.")
    gates: Gates = Field(description="What must hold before results are shown as confirmatory.")
    sensitivity: SensitivitySpec = Field(description="Second analyses of the primary tests.")
    second_look: SecondLook = Field(description="The Bayesian analysis.")
    measures: MeasureSpec = Field(
        default=MeasureSpec(), description="Numbers of the measures beside the tests."
    )

    @model_validator(mode="after")
    def _tests_are_sound(self) -> Self:
        names = [name for family in self.families for name in family.tests]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"families: {twice[0]} is declared twice")
        offsets = [
            family.seed_offset + place
            for family in self.families
            for place in range(len(family.tests))
        ]
        if len(set(offsets)) != len(offsets):
            raise ValueError("families: two tests have the same seed")
        unknown = sorted(set(self.power.sd_eur_m2) - set(self.families[0].tests))
        if unknown:
            raise ValueError(f"power.sd_eur_m2: {unknown[0]} is no test of the first family")
        if self.second_look.rope_eur_m2 != self.statistics.tost_bounds_eur_m2:
            raise ValueError("second_look.rope_eur_m2 must be statistics.tost_bounds_eur_m2")
        return self

    def sites_needed(self) -> dict[str, int]:
        """Sites that each primary test with a known deviation needs for the power asked for.

        Raises:
            ValueError: more than a million sites.
        """
        level = self.families[0].level(self.statistics.alpha)
        sesoi, target = self.statistics.sesoi_eur_m2, self.power.target
        return {
            test: sites_needed(sesoi, sd, level, target)
            for test, sd in self.power.sd_eur_m2.items()
        }


def load_declaration(root: Path) -> Declaration:
    """Read ``preregistration/study.yaml`` of a repository.

    Raises:
        ConfigError: the file is missing or does not fit; names line, key and what is allowed.
    """
    return load_config(root / DECLARATION, Declaration)
