"""The form of ``published.json``: the published results, block by block.

``corrected`` and ``original`` are the two analyses of the published study. Where a number enters a
comparison its block has a form of its own; the rest must at least be finite numbers and text.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from slowlab.config import ConfigModel

type Figures = float | str | bool | list[Figures] | dict[str, Figures]
"""Numbers under names; not finite ones are refused."""

Share = Annotated[float, Field(ge=0, le=1)]
Pair = tuple[float, float]
MeanInterval = tuple[float, float, float]


class Source(ConfigModel):
    """Where the numbers come from."""

    paper: str
    repository: str
    licence: str
    note: str


class Estimate(ConfigModel):
    """One published test. ``mde_80pct``: difference detectable with a power of 0.8, EUR/m2."""

    n: int = Field(ge=1)
    mean: float
    ci95_bca: Pair
    p_sign_flip: Share
    p_adjusted: Share | None = None
    p_bh_joint17: Share | None = None
    p_bh_without_e3: Share | None = None
    sd: float | None = Field(default=None, ge=0)
    mde_80pct: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Estimate:
        if not self.ci95_bca[0] <= self.mean <= self.ci95_bca[1]:
            raise ValueError("the interval does not hold the mean")
        return self


class Estimates(ConfigModel):
    """Tests by name."""

    source: str
    tests: dict[str, Estimate]


class Family(ConfigModel):
    """A family of tests in both analyses."""

    family: str
    corrected: Estimates
    original: Estimates


class MeanScores(ConfigModel):
    """Mean scores, EUR/m2, by method and then feedback mode."""

    source: str
    values: dict[str, dict[str, float]]


class MeanScoresTable(ConfigModel):
    """Mean scores in both analyses."""

    corrected: MeanScores
    original: MeanScores


class YearMeans(ConfigModel):
    """Means by test, one for each evaluation year, EUR/m2."""

    source: str
    means: dict[str, list[float]]


class ByYear(ConfigModel):
    """Primary tests within evaluation years."""

    years: list[str]
    sites_per_year: list[int]
    corrected: YearMeans
    original: YearMeans

    @model_validator(mode="after")
    def _lengths(self) -> ByYear:
        rows = [*self.corrected.means.values(), *self.original.means.values()]
        if any(len(row) != len(self.years) for row in [self.sites_per_year, *rows]):
            raise ValueError("one value for each year")
        return self


class ReaderSwap(ConfigModel):
    """Gains of readers over the method that collected the evidence."""

    source: str
    by_source: dict[str, dict[str, Estimate]]
    pooled_over_sites: dict[str, Estimate]
    history_utility_mean_reader_score: dict[str, dict[str, tuple[float, float, float]]] | None = (
        None
    )


class ReaderSwaps(ConfigModel):
    """Reader swaps in both analyses."""

    layout: str
    packets_per_source: int
    distinct_sites: int
    corrected: ReaderSwap
    original: ReaderSwap


class Related(ConfigModel):
    """Properties of related benchmarks; one answer a column."""

    source: str
    columns: list[str]
    rows: dict[str, list[Literal["yes", "partly", "no", "n/a", "not reported"]]]


class Setting(ConfigModel):
    """Mean scores, EUR/m2, and tests under one setting of the side walls' heat exchange."""

    means: dict[str, float]
    differences: dict[str, Estimate] | None = None


class BoundaryRun(ConfigModel):
    """All settings of one analysis."""

    source: str
    settings: dict[str, Setting]


class Boundary(ConfigModel):
    """Sensitivity to the side walls' heat exchange."""

    sites: list[int]
    note: str
    ranking_changed_vs_main: dict[str, dict[str, bool]]
    corrected: BoundaryRun
    original: BoundaryRun


class DryMatterRun(ConfigModel):
    """Primary tests by dry-matter fraction of fruit."""

    source: str
    tests: dict[str, dict[str, Estimate]]


class DryMatter(ConfigModel):
    """Sensitivity to the dry-matter fraction of fruit."""

    corrected: DryMatterRun
    original: DryMatterRun


class Design(ConfigModel):
    """Sizes of the published study."""

    test_sites: int
    repeats_per_model: int
    baseline_seeds: int
    evaluation_years_per_site: int
    llm_branched_campaigns: int
    baseline_campaigns: int
    campaigns_counted: int
    scored_recommendations: int
    evaluation_runs: int
    crops_per_evaluation_run: int
    e3_packets: int
    e3_model_readings: int
    e3_evaluations: int
    sesoi: float
    sign_flips: int
    bootstrap_resamples: int
    analysis_seed: int


class PublishedResults(ConfigModel):
    """All published results that are shown beside our own."""

    format: Literal["slowlab-published-results-1"]
    source: Source
    units: str
    names: dict[str, str]
    design: Design
    table1_related: Related
    table2_mean_scores: MeanScoresTable
    table3_primary: Family
    table3_secondary: Family
    primary_by_evaluation_year: ByYear
    missing_data: dict[str, Figures]
    e3_reader_swap: ReaderSwaps
    resources_per_crop: dict[str, Figures]
    boundary_sensitivity: Boundary
    dry_matter_sensitivity: DryMatter
    headroom: dict[str, Figures]
    baseline_radius_selection: dict[str, Figures]
    fixed_reference_selection: dict[str, Figures]
    kernel_fit: dict[str, Figures]
    process_predictor_validation: dict[str, Figures]
    pilot: dict[str, Figures]
    process_feedback: dict[str, Figures]
    accounting: dict[str, Figures]
    validity: dict[str, Figures]

    @model_validator(mode="after")
    def _known_names(self) -> PublishedResults:
        for name in ("corrected", "original"):
            tests = getattr(self.table3_primary, name).tests
            if set(tests) != set(getattr(self.primary_by_evaluation_year, name).means):
                raise ValueError(f"{name}: primary tests and their yearly means differ")
            if any(test.p_adjusted is None for test in tests.values()):
                raise ValueError(f"{name}: a primary test lacks its adjusted p-value")
        return self
