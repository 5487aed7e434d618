"""What the analysis of a study starts from: its description and its tables.

The description names methods and comparisons; it holds no score. Everything that is analysed is
declared here before the tables are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from slowlab.analysis.declared import KnowledgePair
from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.multiplicity import Adjustment
from slowlab.analysis.paired import RepeatRule
from slowlab.analysis.scores import CellKey, ScoreDesign
from slowlab.config import ConfigModel
from slowlab.world.contract import Contract
from slowlab.world.site_distribution import SiteDistribution

FULL, ENDPOINT, NO_FEEDBACK = "full", "endpoint", "none"
INITIAL = "initial"
"""The condition of what a language model recommends before any experiment."""
READER = "reader"
"""First part of the method's name in scores of readers: ``reader:<reader>:<source>``."""

Question = Literal["e1", "e2", "initial", "gain", "feedback", "knowledge", "reader"]
"""``e1``: a method less the baseline; ``e2``: full less endpoint feedback; ``initial``: a language
model's last recommendation less its first; ``gain``: over the reference without experiments;
``feedback``: what two methods gain by feedback, one less the other, among language models and the
baseline; ``knowledge``: what a method gains by being told something; ``reader``: a reader less the
method that collected the evidence."""


STAND_IN_WORD = "stand-in"


class _Named(ConfigModel):
    """What has a label, and may stand in for something else."""

    name: str = Field(min_length=1, description="Name in the tables.")
    label: str = Field(min_length=1, description="Name in figures.")
    stand_in: bool = Field(default=False, description="Whether it stands in for something else.")

    @property
    def shown(self) -> str:
        """The label; of a stand-in it always says so."""
        said = STAND_IN_WORD in self.label.casefold()
        return self.label if said or not self.stand_in else f"{self.label} ({STAND_IN_WORD})"


class MethodInfo(_Named):
    """One method of the study."""

    experiments: bool = Field(description="Whether it runs campaigns.")
    model: str | None = Field(
        default=None, description="Language model that decides; None for a numerical method."
    )
    harness: str | None = Field(
        default=None, description="Harness profile of the model; None without a model."
    )
    predecessor: str | None = Field(
        default=None, description="Language model that its own takes the place of, if any."
    )
    published: str | None = Field(
        default=None, description="Its name among the published results, if it is there."
    )


class ReaderInfo(_Named):
    """One reader of finished campaigns."""

    identity_sources: tuple[str, ...] = Field(
        default=(), description="Methods whose own last step it is; left out of pooled means."
    )
    model: str | None = Field(
        default=None, description="Language model that decides; None for a numerical reader."
    )
    published: str | None = Field(default=None, description="Its published name, if any.")


class FamilyPlan(ConfigModel):
    """Which questions are adjusted together, and how."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="Name of the family.")
    questions: tuple[Question, ...] = Field(min_length=1, description="Its questions, in order.")
    adjustment: Adjustment = Field(description="How its p-values are adjusted.")


PAPER_FAMILIES = (
    FamilyPlan(name="primary", questions=("e1", "e2"), adjustment=Adjustment.HOLM),
    FamilyPlan(
        name="secondary",
        questions=("initial", "gain", "feedback", "knowledge", "reader"),
        adjustment=Adjustment.BENJAMINI_HOCHBERG,
    ),
)
"""Holm over E1 and E2, Benjamini-Hochberg over the rest. Source: SlowLab, statistics."""


class StudyDescription(ConfigModel):
    """A study as its analysis sees it."""

    study: str = Field(min_length=1, description="Name of the study.")
    purpose: str = Field(default="rehearsal", description="What it is for.")
    partition: str = Field(min_length=1, description="Partition of its sites.")
    sites: tuple[int, ...] = Field(min_length=1, description="Numbers of its sites, ascending.")
    repeats: int = Field(ge=1, description="Campaigns per site and condition.")
    feedback: tuple[str, ...] = Field(min_length=1, description="Feedback conditions.")
    methods: tuple[MethodInfo, ...] = Field(min_length=1, description="Methods, in their order.")
    readers: tuple[ReaderInfo, ...] = Field(default=(), description="Readers, in their order.")
    reader_sources: tuple[str, ...] | None = Field(
        default=None, description="Methods whose evidence is read; None for all that experiment."
    )
    baseline: str = Field(description="Method that the others are compared with.")
    reference: str = Field(description="Method without experiments for gains.")
    common: str | None = Field(default=None, description="Method with the best single policy.")
    knowledge: tuple[KnowledgePair, ...] = Field(
        default=(), description="Comparisons of knowledge."
    )
    example_method: str = Field(description="Method whose first campaign is drawn.")
    timeline_methods: tuple[str, ...] = Field(
        default=(), description="Methods whose first campaigns are drawn side by side."
    )
    weather: str = Field(default="synthetic", description="Source of weather years.")
    marks: tuple[str, ...] = Field(
        default=(), description="Words that every figure and table must bear, such as `DRAFT`."
    )
    families: tuple[FamilyPlan, ...] = Field(
        default=PAPER_FAMILIES, min_length=1, description="Families of tests."
    )
    base_seed: int = Field(default=20261004, ge=0, description="Seed of flips and resamples.")
    sesoi_eur_m2: float = Field(default=2.0, gt=0, description="Smallest effect of interest.")
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="Level of the tests.")
    flips: int = Field(default=100_000, ge=1, description="Random sign patterns of a test.")
    resamples: int = Field(default=10_000, ge=1, description="Bootstrap samples of an interval.")
    repeat_rule: RepeatRule = Field(
        default=RepeatRule.COMPLETE, description="Which repeats make a site's mean."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [item.name for item in self.methods]
        wanted = [self.baseline, self.reference, self.example_method, *self.timeline_methods]
        wanted += [name for pair in self.knowledge for name in (pair.given, pair.without)]
        wanted += [] if self.common is None else [self.common]
        wanted += self.reader_sources or ()
        unknown = sorted(set(wanted) - set(names))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not among the methods {', '.join(names)}")
        for what, listed in (("methods", names), ("readers", [item.name for item in self.readers])):
            if len(set(listed)) != len(listed):
                raise ValueError(f"{what} are listed twice")
        asked = [question for family in self.families for question in family.questions]
        if len(set(asked)) != len(asked):
            raise ValueError("a question stands in two families")
        return self

    def method(self, name: str) -> MethodInfo:
        """One method.

        Raises:
            KeyError: there is none of that name.
        """
        return {item.name: item for item in self.methods}[name]

    def main_cell(self, name: str) -> CellKey:
        """Method and feedback of its main result: full feedback, or none without campaigns."""
        return name, FULL if self.method(name).experiments else NO_FEEDBACK

    def cells(self) -> tuple[CellKey, ...]:
        """Every method under every condition that it has, in their order."""
        return tuple((item.name, mode) for item in self.methods for mode in self.modes(item))

    def modes(self, item: MethodInfo) -> tuple[str, ...]:
        """Conditions of a method: the study's, then before any experiment; or none at all."""
        if not item.experiments:
            return (NO_FEEDBACK,)
        return (*self.feedback, INITIAL) if item.model else self.feedback

    @property
    def source_feedback(self) -> str:
        """Condition of the campaigns whose evidence is given to readers: the first one."""
        return self.feedback[0]

    @property
    def experimenting(self) -> tuple[MethodInfo, ...]:
        """Methods that run campaigns."""
        return tuple(item for item in self.methods if item.experiments)

    @property
    def language_models(self) -> tuple[MethodInfo, ...]:
        """Methods in which a language model decides."""
        return tuple(item for item in self.methods if item.model)

    @property
    def sources(self) -> tuple[MethodInfo, ...]:
        """Methods whose evidence is given to readers."""
        named = self.reader_sources
        return tuple(item for item in self.experimenting if named is None or item.name in named)


@dataclass(frozen=True, eq=False)
class AnalysisInputs:
    """A finished study.

    Attributes:
        study: its description.
        scores: one row a recommendation, year and planting
            (:data:`slowlab.evaluation.score.SCORE_SCHEMA`).
        sites: one row a recommendation (:data:`slowlab.evaluation.score.SITE_SCHEMA`).
        campaigns: one row a campaign; this, ``crops`` and ``reads`` as in
            ``slowlab.stages.campaign_table``.
        crops: one row a crop.
        reads: one row a read.
        contract: rules of the task.
        distribution: what is random about a site.
        readings: scores of readers' recommendations, in the form of ``scores``; None without.
        hashes: SHA-256 of the inputs, by name.
        lock: identity of the preregistration's lock; None where there is none.
        agents: one row a campaign of a language model, as in ``slowlab.stages.agent_table``; None
            without language models.
        steps: one row a step of such a campaign, and of the example campaign, whoever played it;
            None without.
        declared: families and numbers of the preregistration; None where nothing was locked, and
            the study's own count.
        site_facts: public prices and weather years of each site, as in
            ``slowlab.stages.site_table``; None where they are not known.
        oracle: the best policy known of each site, as in ``slowlab.evaluation.best_known``; None
            where it was not sought.
        side_wall: scores with other side walls, as in ``slowlab.evaluation.side_wall``; None
            without.
    """

    study: StudyDescription
    scores: pd.DataFrame
    sites: pd.DataFrame
    campaigns: pd.DataFrame
    crops: pd.DataFrame
    reads: pd.DataFrame
    contract: Contract
    distribution: SiteDistribution
    readings: pd.DataFrame | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    lock: str | None = None
    agents: pd.DataFrame | None = None
    steps: pd.DataFrame | None = None
    declared: AnalysisSpec | None = None
    oracle: pd.DataFrame | None = None
    site_facts: pd.DataFrame | None = None
    side_wall: pd.DataFrame | None = None

    @property
    def repeat_rule(self) -> RepeatRule:
        """Which repeats make a site's mean: as declared, else as the study says."""
        return self.study.repeat_rule if self.declared is None else self.declared.repeat_rule

    @property
    def design(self) -> ScoreDesign:
        """What a complete table of scores holds."""
        study = self.study
        repeats = {
            (name, mode): 1 if mode == NO_FEEDBACK else study.repeats
            for name, mode in study.cells()
        }
        return ScoreDesign(
            years=self.distribution.evaluation_years,
            plantings=len(self.contract.evaluation.plantings),
            sites=study.sites,
            repeats=repeats,
        )

    @cached_property
    def own_scores(self) -> pd.DataFrame:
        """Scores of the study's methods on its sites; everything else is left out."""
        scores, study = self.scores, self.study
        named = pd.MultiIndex.from_frame(scores[["method", "feedback"]]).isin(study.cells())
        return scores[named & scores["site"].isin(study.sites)].reset_index(drop=True)
