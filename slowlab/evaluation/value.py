"""What experiments are worth: how much of what can be gained only learning the site gives.

Four ways to choose a policy are scored on the same sites and unseen years: the fixed reference, the
best single policy for all development sites, the policy that development sites suggest at the
site's public prices, and the best-known policy of the site itself. What lies between the last two
is all that experiments on a site could add. The searches on the development sites are the more
thorough ones, so that effort of search is not mistaken for learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.evaluation.common import CommonPolicy, search_common
from slowlab.evaluation.oracle import OracleSettings, SiteOptimum, find_optima
from slowlab.evaluation.recommendations import Recommendation
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import (
    FIXED_REFERENCE,
    NO_FEEDBACK,
    ScoreStatus,
    reference_recommendations,
    score_recommendations,
)
from slowlab.evaluation.search import SearchSettings, cold_corner
from slowlab.evaluation.statistics import PairedDifference, paired_difference, ratio_of_means
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS, Policy, encode, to_unit
from slowlab.world.site import Site

Array = NDArray[np.float64]
Stage = Callable[[str], None]

CORNER = "cold_corner"
COMMON = "best_single_policy"
BY_PRICES = "best_by_prices"
BEST = "best_of_site"
BEST_AGAIN = "best_of_site_again"
EDGE = 0.05
"""A policy lies at a bound when it is nearer to it than this share of the box."""


@dataclass(frozen=True)
class ValueSettings:
    """What is spent.

    Attributes:
        common: search on the development sites.
        oracle: search on every site.
        repeated: sites that are searched a second time with other draws, for the search error.
    """

    common: SearchSettings = field(
        default_factory=lambda: SearchSettings(sobol=64, rounds=6, population=24)
    )
    oracle: OracleSettings = field(
        default_factory=lambda: OracleSettings(
            search=SearchSettings(sobol=16, rounds=6, population=12)
        )
    )
    repeated: int = 4

    def plain(self) -> dict[str, Any]:
        """For provenance."""
        return {
            "common": self.common.plain(),
            "oracle": self.oracle.plain(),
            "repeated": self.repeated,
        }


@dataclass(frozen=True)
class Step:
    """One difference between two ways to choose a policy.

    Attributes:
        name: machine-readable name.
        meaning: in words.
        difference: over sites and years, EUR/m2 per crop.
        share: of the headroom (best of site above the fixed reference).
        share_se: its standard error over sites (jackknife).
    """

    name: str
    meaning: str
    difference: PairedDifference
    share: float
    share_se: float


@dataclass(frozen=True)
class FieldSummary:
    """Where the best-known policies lie in one field.

    Attributes:
        field: the decision variable.
        mean, sd: of the best-known policies, in the field's unit.
        at_low, at_high: share of sites at the lower and the upper bound.
        common: value of the best single policy.
    """

    field: str
    mean: float
    sd: float
    at_low: float
    at_high: float
    common: float


@dataclass(frozen=True)
class ValueReport:
    """Everything that the comparison found.

    Attributes:
        contract: rules; a draft is marked wherever this is shown.
        draft: whether contract or site distribution is a draft.
        partition: name of the partition of the sites.
        sites: numbers of the sites that are compared.
        left_out: sites without a score of every method, with the reason.
        means: mean score of every method over the sites, EUR/m2 per crop.
        mean_errors: their standard errors over sites.
        steps: the differences.
        fields: where the best-known policies lie.
        optimism: selection gain minus scoring gain of the best-known policies, mean over sites.
        optimism_se: its standard error over sites.
        search_repeat: second search minus first, for the sites searched twice, EUR/m2.
        common: search on the development sites.
        optima: best-known policies.
        scores, site_scores: the tables of :mod:`slowlab.evaluation.score`.
        settings: what was spent.
    """

    contract: Contract
    draft: bool
    partition: str
    sites: tuple[int, ...]
    left_out: dict[int, str]
    means: dict[str, float]
    mean_errors: dict[str, float]
    steps: tuple[Step, ...]
    fields: tuple[FieldSummary, ...]
    optimism: float
    optimism_se: float
    search_repeat: tuple[float, ...]
    common: CommonPolicy
    optima: tuple[SiteOptimum, ...]
    scores: pd.DataFrame
    site_scores: pd.DataFrame
    settings: ValueSettings

    def step(self, name: str) -> Step:
        """One step by name; raises StopIteration for another name."""
        return next(item for item in self.steps if item.name == name)


_STEPS = (
    ("common", COMMON, FIXED_REFERENCE, "single policy - reference"),
    ("prices", BY_PRICES, COMMON, "by prices - single policy"),
    ("learning", BEST, BY_PRICES, "only learning: best - by prices"),
    ("headroom", BEST, FIXED_REFERENCE, "headroom: best - reference"),
    ("site_specific", BEST, COMMON, "best - single policy"),
    ("corner", CORNER, FIXED_REFERENCE, "cold corner - reference"),
)


def value_of_experiments(
    runner: YearRunner,
    development: Sequence[Site],
    sites: Sequence[Site],
    settings: ValueSettings,
    *,
    common: CommonPolicy | None = None,
    candidates: Mapping[int, Sequence[Policy]] | None = None,
    stage: Stage = lambda text: None,
) -> ValueReport:
    """Compare the four ways to choose a policy.

    Args:
        runner: simulates.
        development: sites on which the common policy and the rule by prices are found.
        sites: other sites, on which everything is scored.
        settings: what is spent.
        common: result of an earlier search on development sites, to be used instead of a new one.
        candidates: further policies that the search of a site must consider, by site.
        stage: called with what is being done.

    Raises:
        SiteError: too few spare years, or a run of a search failed numerically.
    """
    if common is None:
        stage(f"one policy for {len(development)} development sites")
        common = search_common(runner, development, settings.common)
    stage(f"best policy of each of {len(sites)} sites")
    chosen = {site.index: common.archive.best_at(site.prices) for site in sites}
    optima = _optima(runner, sites, settings.oracle, common, chosen, candidates or {})
    stage("the same again for some sites")
    other = _other_draws(settings.oracle)
    repeated = sites[: settings.repeated]
    again = _optima(runner, repeated, other, common, chosen, candidates or {}) if repeated else []
    stage("scores in unseen years")
    recommended = [
        *reference_recommendations(sites, runner.contract),
        *_as_method(CORNER, {s.index: cold_corner(runner.contract.policy) for s in sites}),
        *_as_method(COMMON, {site.index: common.policy for site in sites}),
        *_as_method(BY_PRICES, chosen),
        *_as_method(BEST, {item.site: item.policy for item in optima}),
        *_as_method(BEST_AGAIN, {item.site: item.policy for item in again}),
    ]
    by_number = {site.index: site for site in sites}
    scores, summaries = score_recommendations(runner, by_number, recommended)
    return _report(runner.contract, sites, settings, common, optima, scores, summaries)


def _optima(
    runner: YearRunner,
    sites: Sequence[Site],
    settings: OracleSettings,
    common: CommonPolicy,
    chosen: Mapping[int, Policy],
    candidates: Mapping[int, Sequence[Policy]],
) -> list[SiteOptimum]:
    """Searches that start from what development sites suggest."""
    certain = {s.index: [common.policy, chosen[s.index]] for s in sites}
    first = {
        s.index: [*candidates.get(s.index, ()), *certain[s.index], *common.portfolio] for s in sites
    }
    return find_optima(runner, sites, settings, candidates=first, finalists=certain)


def _other_draws(settings: OracleSettings) -> OracleSettings:
    """The same search with other random draws."""
    plain = settings.search.plain()
    search = SearchSettings(**plain | {"seed": settings.search.seed + 1})
    return OracleSettings(search, settings.finalists, settings.selection_years, settings.distinct)


def _as_method(name: str, policies: Mapping[int, Policy]) -> list[Recommendation]:
    return [
        Recommendation(site=site, method=name, feedback=NO_FEEDBACK, policy=policy.model_dump())
        for site, policy in policies.items()
    ]


def _report(
    contract: Contract,
    sites: Sequence[Site],
    settings: ValueSettings,
    common: CommonPolicy,
    optima: Sequence[SiteOptimum],
    scores: pd.DataFrame,
    summaries: pd.DataFrame,
) -> ValueReport:
    unscored = summaries[summaries["status"] != ScoreStatus.SCORED]
    left_out = dict(zip(unscored["site"].tolist(), unscored["reason"].tolist(), strict=True))
    kept = [site for site in sites if site.index not in left_out]
    wide = summaries.pivot(index="site", columns="method", values="score_eur_m2")
    wide = wide.loc[[site.index for site in kept]]
    methods = (FIXED_REFERENCE, CORNER, COMMON, BY_PRICES, BEST)
    best = [item for item in optima if item.site not in left_out]
    gains = (wide[BEST] - wide[FIXED_REFERENCE]).to_numpy()
    optimism = np.array([o.optimism(gain) for o, gain in zip(best, gains, strict=True)])
    again = (wide[BEST_AGAIN] - wide[BEST]).dropna() if BEST_AGAIN in wide else pd.Series()
    return ValueReport(
        contract=contract,
        draft=contract.draft or any(site.draft for site in sites),
        partition=sites[0].partition,
        sites=tuple(site.index for site in kept),
        left_out=left_out,
        means={name: float(wide[name].mean()) for name in methods},
        mean_errors={name: float(wide[name].sem()) for name in methods},
        steps=_steps(contract, kept, scores),
        fields=_fields(contract, best, common.policy),
        optimism=float(optimism.mean()),
        optimism_se=float(optimism.std(ddof=1) / np.sqrt(len(optimism))),
        search_repeat=tuple(again.tolist()),
        common=common,
        optima=tuple(optima),
        scores=scores,
        site_scores=summaries,
        settings=settings,
    )


def _steps(contract: Contract, sites: Sequence[Site], scores: pd.DataFrame) -> tuple[Step, ...]:
    """All differences with their errors."""
    numbers = [site.index for site in sites]
    mine = scores[scores["site"].isin(numbers)]
    years = mine.groupby(["method", "site", "year"])["margin_eur_m2"].mean()
    smallest = contract.evaluation.smallest_effect_of_interest_eur_m2

    def difference(one: str, two: str) -> pd.Series:
        return years.loc[one] - years.loc[two]

    def per_site(values: pd.Series) -> Array:
        return values.groupby("site").mean().loc[numbers].to_numpy()

    headroom = per_site(difference(BEST, FIXED_REFERENCE))
    steps = []
    for name, one, two, meaning in _STEPS:
        values = difference(one, two).sort_index()
        share, share_se = ratio_of_means(per_site(values), headroom)
        labels = values.index.get_level_values
        found = paired_difference(
            values.to_numpy(), labels("site").to_numpy(), labels("year").to_numpy(), smallest
        )
        steps.append(Step(name, meaning, found, share, share_se))
    return tuple(steps)


def _fields(
    contract: Contract, optima: Sequence[SiteOptimum], common: Policy
) -> tuple[FieldSummary, ...]:
    """Where the best-known policies lie in the box."""
    encoded = encode([item.policy for item in optima])
    unit = to_unit(encoded, contract.policy)
    return tuple(
        FieldSummary(
            field=name,
            mean=float(encoded.column(name).mean()),
            sd=float(encoded.column(name).std(ddof=1)) if len(optima) > 1 else 0.0,
            at_low=float((unit[:, k] < EDGE).mean()),
            at_high=float((unit[:, k] > 1.0 - EDGE).mean()),
            common=getattr(common, name),
        )
        for k, name in enumerate(POLICY_FIELDS)
    )


def as_plain(report: ValueReport) -> dict[str, Any]:
    """The report without its tables, as plain data for JSON."""
    return {
        "format": "slowlab-value-1",
        "contract": report.contract.id,
        "draft": report.draft,
        "partition": report.partition,
        "sites": list(report.sites),
        "left_out": {str(site): reason for site, reason in report.left_out.items()},
        "mean_score_eur_m2": report.means,
        "mean_score_se_eur_m2": report.mean_errors,
        "steps": [asdict(step) for step in report.steps],
        "best_policies": [asdict(item) for item in report.fields],
        "optimism_eur_m2": report.optimism,
        "optimism_se_eur_m2": report.optimism_se,
        "search_repeat_eur_m2": list(report.search_repeat),
        "best_single_policy": report.common.policy.model_dump(),
        "development": report.common.provenance,
        "settings": report.settings.plain(),
        "optima": [
            {
                "site": item.site,
                "policy": item.policy.model_dump(),
                "screened": item.screened,
                "selection_gain_eur_m2": item.selection_gain,
                "screening_year": str(item.screening_year),
                "selection_years": [str(year) for year in item.selection_years],
            }
            for item in report.optima
        ],
    }
