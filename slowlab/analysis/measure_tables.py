"""Tables of the measures in :mod:`slowlab.analysis.measures` and ``stability``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.measures import (
    AnchorFault,
    anchored_scores,
    average_at_k,
    best_at_k,
    mid_anchored_scores,
    worst_at_k,
)
from slowlab.analysis.paired import Cell, RepeatRule, site_means
from slowlab.analysis.samples import Array, exact_mean
from slowlab.analysis.stability import stability, variance_components
from slowlab.evaluation.tables import Column, TableSchema


def _number(unit: str, meaning: str) -> Column:
    return Column("number", unit, meaning, nullable=True)


def _count(meaning: str) -> Column:
    return Column("integer", "-", meaning, low=0)


REPEAT_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "cell": Column("text", "-", "method and feedback mode"),
            "k": _count("attempts of Best@k and Worst@k"),
            "sites": _count("sites with a score"),
            "sites_with_k": _count("sites with k scores or more"),
            "average_at_k": _number("score", "mean over sites of Avg@k"),
            "best_at_k": _number("score", "mean over sites of Best@k"),
            "worst_at_k": _number("score", "mean over sites of Worst@k"),
            "repeated_sites": _count("sites with two scores or more"),
            "few_repeats": Column("text", "-", "some have only two", allowed=("yes", "no")),
            "mean_sd": _number("score", "mean within-site deviation"),
            "pooled_sd": _number("score", "root of the pooled within-site variance"),
            "mean_range": _number("score", "mean within-site range"),
            "mean_cv": _number("-", "mean of deviation over absolute mean"),
            "cv_sites": _count("sites behind it"),
            "mean_sd_over_best": _number("-", "mean of deviation over absolute best"),
            "best_sites": _count("sites behind it"),
            "site_variance": _number("score^2", "variance between sites"),
            "repeat_variance": _number("score^2", "variance between repeats"),
            "site_share": _number("-", "share of the variance between sites"),
        }
    ),
    key=("cell",),
)
"""One row a cell: what k attempts score, and how stable they are."""

ANCHORED_SCHEMA = TableSchema(
    MappingProxyType(
        {
            "cell": Column("text", "-", "method and feedback mode"),
            "site": _count("number of the site"),
            "score_eur_m2": _number("EUR/m2", "mean over repeats"),
            "anchored": _number("-", "reference 0, oracle 1, signed"),
            "clipped": _number("-", "the same cut to [0, 1]"),
            "mid_anchored": _number("-", "reference 0, baseline 1/2, oracle 1"),
            "fault": Column("text", "-", "why there is none", allowed=("", *AnchorFault)),
            "mid_fault": Column("text", "-", "why there is none", allowed=("", *AnchorFault)),
        }
    ),
    key=("cell", "site"),
)
"""One row a cell and site: scores on the common scale."""


def repeat_table(cells: Sequence[Cell], k: int, floor: float) -> pd.DataFrame:
    """What k attempts score and how much repeats differ, for each cell.

    Args:
        cells: the cells.
        k: number of attempts, at least 1.
        floor: means up to this absolute value count as near 0, in the unit of the scores.

    Returns:
        The table of :data:`REPEAT_SCHEMA`.
    """
    return REPEAT_SCHEMA.table([_repeat_row(cell, k, floor) for cell in cells])


def anchored_table(
    cells: Sequence[Cell],
    reference: Mapping[int, float],
    baseline: Mapping[int, float],
    oracle: Mapping[int, float],
    evaluation_error: float | Mapping[int, float],
    rule: RepeatRule = RepeatRule.COMPLETE,
) -> pd.DataFrame:
    """Scores on the common scale for each cell and site.

    Args:
        cells: the cells; their repeats are averaged first.
        reference: margin of the policy without experiments by site, EUR/m2.
        baseline: margin of the numerical baseline by site.
        oracle: margin of the best policy known by site.
        evaluation_error: error of a difference of two margins, EUR/m2; one for all sites, or by
            site for those with an oracle.
        rule: which repeats make a site's mean.

    Returns:
        The table of :data:`ANCHORED_SCHEMA`; a site without an anchor has no anchored score.
    """
    rows = []
    for cell in cells:
        scores, _ = site_means(cell, rule)
        low, middle, high = (
            np.array([anchor.get(site, np.nan) for site in cell.sites], dtype=np.float64)
            for anchor in (reference, baseline, oracle)
        )
        error = _errors(evaluation_error, cell.sites)
        full = anchored_scores(scores, low, high, error)
        mid = mid_anchored_scores(scores, low, middle, high, error)
        rows += [
            {
                "cell": cell.name,
                "site": site,
                "score_eur_m2": scores[row],
                "anchored": full.values[row],
                "clipped": full.clipped[row],
                "mid_anchored": mid.values[row],
                "fault": _text(full.faults[row]),
                "mid_fault": _text(mid.faults[row]),
            }
            for row, site in enumerate(cell.sites)
        ]
    return ANCHORED_SCHEMA.table(rows)


def _repeat_row(cell: Cell, k: int, floor: float) -> dict[str, Any]:
    average, best = average_at_k(cell.scores), best_at_k(cell.scores, k)
    spread = stability(cell.scores, floor)
    variance = variance_components(cell.scores)
    return {
        "cell": cell.name,
        "k": k,
        "sites": int(np.isfinite(average).sum()),
        "sites_with_k": int(np.isfinite(best).sum()),
        "average_at_k": _mean(average),
        "best_at_k": _mean(best),
        "worst_at_k": _mean(worst_at_k(cell.scores, k)),
        "repeated_sites": spread.sites,
        "few_repeats": "yes" if spread.few_repeats else "no",
        "mean_sd": spread.mean_sd,
        "pooled_sd": spread.pooled_sd,
        "mean_range": spread.mean_range,
        "mean_cv": spread.mean_cv,
        "cv_sites": spread.cv_sites,
        "mean_sd_over_best": spread.mean_sd_over_best,
        "best_sites": spread.best_sites,
        "site_variance": variance.site,
        "repeat_variance": variance.repeat,
        "site_share": variance.site_share,
    }


def _errors(error: float | Mapping[int, float], sites: Sequence[int]) -> float | Array:
    """Errors as the measures take them; where there is no oracle, none is needed."""
    if not isinstance(error, Mapping):
        return error
    return np.array([error.get(site, 0.0) for site in sites], dtype=np.float64)


def _mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return exact_mean(known) if known.size else None


def _text(fault: AnchorFault | None) -> str:
    return "" if fault is None else fault.value
