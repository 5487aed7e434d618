"""Private scores of recommendations in unseen weather.

A year score is the mean of its plantings' mean margins; a site score is the mean over the scoring
years. A run that failed numerically, or a campaign that ended in an infrastructure failure, has no
score: it is missing, with a reason, and so is the site score. Nothing missing becomes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from slowlab.campaign.settlement import FallbackReason, PolicySource
from slowlab.evaluation.recommendations import (
    Recommendation,
    ResolvedRecommendation,
    require_distinct,
    resolve,
)
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.evaluation.years import YearOutcome, YearRun, scoring_run
from slowlab.world.contract import Contract
from slowlab.world.contract_rules import Planting
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.simulation import CropEnding
from slowlab.world.site import Site

FIXED_REFERENCE = "fixed_reference"
NO_FEEDBACK = "none"


class ScoreStatus(StrEnum):
    """Whether there is a score."""

    SCORED = "scored"
    CAMPAIGN_FAILED = "campaign_failed"
    RUN_FAILED = "run_failed"


_IDENTITY = {
    "site": Column("integer", "-", "number of the site in its partition", low=0),
    "method": Column("text", "-", "name of the method"),
    "feedback": Column("text", "-", "feedback condition; none where there was no campaign"),
    "repeat": Column("integer", "-", "number of the repeat", low=0),
}
_STATUS = {
    "status": Column("text", "-", "whether there is a score", allowed=tuple(ScoreStatus)),
    "reason": Column("text", "-", "why there is none; empty where there is one"),
    "source": Column(
        "text", "-", "whose policy was scored; empty if none was", allowed=("", *PolicySource)
    ),
    "fallback_reason": Column(
        "text",
        "-",
        "why a fallback was scored; empty where the recommendation was",
        allowed=("", *FallbackReason),
    ),
}

SCORE_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "year": Column("text", "-", "label of the scoring year"),
            "planting_day": Column("integer", "day", "day of the planting, from 0", low=0),
            **_STATUS,
            "margin_eur_m2": Column("number", "EUR/m2", "mean margin of its crops", nullable=True),
            "heat_kwh_m2": Column("number", "kWh/m2", "heat per crop", nullable=True),
            "light_kwh_m2": Column("number", "kWh/m2", "lamp electricity per crop", nullable=True),
            "co2_kg_m2": Column("number", "kg/m2", "CO2 dosed per crop", nullable=True),
            "harvest_kg_m2": Column("number", "kg/m2", "fresh harvest per crop", nullable=True),
            "active_days": Column("number", "day", "mean age at the end", nullable=True),
            "crops": Column("integer", "-", "crops of the planting", low=0),
            "crops_stopped": Column("integer", "-", "of these, ended before their time", low=0),
            "lit_pole_ticks": Column("integer", "300 s", "sum over its crops", low=0),
        }
    ),
    key=(*_IDENTITY, "year", "planting_day"),
)
"""One row for each recommendation, scoring year and planting."""

SITE_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            **_STATUS,
            "score_eur_m2": Column("number", "EUR/m2", "mean over the years", nullable=True),
            "between_years_sd_eur_m2": Column(
                "number", "EUR/m2", "standard deviation of the year scores", nullable=True
            ),
            "years": Column("integer", "-", "scoring years", low=0),
            **{
                name: Column("number", "-", "the policy scored", nullable=True)
                for name in POLICY_FIELDS
            },
        }
    ),
    key=tuple(_IDENTITY),
)
"""One row for each recommendation."""


def reference_recommendations(sites: Sequence[Site], contract: Contract) -> list[Recommendation]:
    """The fixed reference on every site, as a method without a campaign."""
    policy = contract.fixed_reference.model_dump()
    return [
        Recommendation(site=s.index, method=FIXED_REFERENCE, feedback=NO_FEEDBACK, policy=policy)
        for s in sites
    ]


def score_recommendations(
    runner: YearRunner, sites: Mapping[int, Site], recommendations: Sequence[Recommendation]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score recommendations on the scoring years of their sites.

    Args:
        runner: simulates; its contract holds the rules.
        sites: private sites by number.
        recommendations: as received, each campaign once.

    Returns:
        A table with one row for each recommendation, year and planting (:data:`SCORE_SCHEMA`), and
        one with one row for each recommendation (:data:`SITE_SCHEMA`). Their order does not depend
        on the order of ``recommendations``.

    Raises:
        RecommendationError: a campaign is listed twice.
        KeyError: a site that was not given.
        WeatherError: a scoring year cannot be had.
    """
    require_distinct(recommendations)
    contract = runner.contract
    resolved = [resolve(item, contract) for item in recommendations]
    wanted: dict[tuple[int, Any, Policy], YearRun] = {}
    for item in resolved:
        site = sites[item.recommendation.site]
        if item.policy is not None:
            for year in site.evaluation_years:
                wanted[site.index, year, item.policy] = scoring_run(
                    contract, site, year, item.policy
                )
    outcomes = dict(zip(wanted, runner.run(list(wanted.values())), strict=True))
    rows, summaries = [], []
    for item in resolved:
        site = sites[item.recommendation.site]
        years = {y: outcomes.get((site.index, y, item.policy)) for y in site.evaluation_years}
        found = [_year_rows(contract, site, item, str(y), o) for y, o in years.items()]
        rows += [row for year in found for row in year]
        summaries.append(_summary(item, found))
    return SCORE_SCHEMA.table(rows), SITE_SCHEMA.table(summaries)


def _year_rows(
    contract: Contract,
    site: Site,
    item: ResolvedRecommendation,
    year: str,
    outcome: YearOutcome | None,
) -> list[dict[str, Any]]:
    """One row for each planting."""
    status, reason = _status(item, outcome)
    common = {
        **_identity(item),
        "year": year,
        "status": status.value,
        "reason": reason,
        **_flags(item),
    }
    return [
        common
        | {"planting_day": planting.day}
        | _account(contract, site, planting, outcome, status)
        for planting in contract.evaluation.plantings
    ]


def _status(item: ResolvedRecommendation, outcome: YearOutcome | None) -> tuple[ScoreStatus, str]:
    if outcome is None:
        why = item.recommendation.failure or "infrastructure failure of the campaign"
        return ScoreStatus.CAMPAIGN_FAILED, why
    if outcome.failure is not None:
        return ScoreStatus.RUN_FAILED, outcome.failure
    return ScoreStatus.SCORED, ""


_NUMBERS = (
    "margin_eur_m2",
    "heat_kwh_m2",
    "light_kwh_m2",
    "co2_kg_m2",
    "harvest_kg_m2",
    "active_days",
)


def _account(
    contract: Contract,
    site: Site,
    planting: Planting,
    outcome: YearOutcome | None,
    status: ScoreStatus,
) -> dict[str, Any]:
    """Means over the crops of one planting; missing numbers where there is no score."""
    if outcome is None or status is not ScoreStatus.SCORED:
        return dict.fromkeys(_NUMBERS) | {"crops": 0, "crops_stopped": 0, "lit_pole_ticks": 0}
    costs = contract.economics.fixed_costs
    crops = [crop for crop in outcome.crops if crop.planted_day == planting.day]
    totals = [crop.totals(costs) for crop in crops]
    means = {n: float(np.mean([getattr(t, n) for t in totals])) for n in _NUMBERS[1:]}
    margins = [crop.statement(site.prices, costs).margin for crop in crops]
    return {
        "margin_eur_m2": float(np.mean(margins)),
        **means,
        "crops": len(crops),
        "crops_stopped": sum(crop.ending is not CropEnding.COMPLETED for crop in crops),
        "lit_pole_ticks": sum(crop.lit_pole_ticks for crop in crops),
    }


def _summary(
    item: ResolvedRecommendation, years: Sequence[Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Site score: the mean over the years of the means over the plantings."""
    bad = next((rows[0] for rows in years if rows[0]["status"] != ScoreStatus.SCORED), None)
    first = bad or years[0][0]
    scores = [] if bad else [np.mean([row["margin_eur_m2"] for row in rows]) for rows in years]
    policy = item.policy.model_dump() if item.policy is not None else dict.fromkeys(POLICY_FIELDS)
    return {
        **_identity(item),
        "status": first["status"],
        "reason": first["reason"],
        **_flags(item),
        "score_eur_m2": float(np.mean(scores)) if scores else None,
        "between_years_sd_eur_m2": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        "years": len(scores),
        **policy,
    }


def _identity(item: ResolvedRecommendation) -> dict[str, Any]:
    return dict(zip(_IDENTITY, item.recommendation.identity, strict=True))


def _flags(item: ResolvedRecommendation) -> dict[str, str]:
    named = {"source": item.source, "fallback_reason": item.fallback_reason}
    return {name: "" if flag is None else flag.value for name, flag in named.items()}
