"""From the table of scores to the cells that are compared.

The table has one row for each recommendation, scoring year and planting. The score of a repeat is
the mean over its scoring years of the means over the plantings; it is missing unless every one of
them is there and was scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from slowlab.analysis.paired import Cell, MissingReason, RepeatRule, contrast
from slowlab.analysis.samples import exact_mean

type CellKey = tuple[str, str]
"""Method and feedback mode."""

type Rows = dict[str, list[tuple[str, float]]]
"""Status and margin of the plantings of one recommendation, by scoring year."""

SCORED = "scored"
ROW_KEY = ("site", "method", "feedback", "repeat", "year", "planting_day")
COLUMNS = (*ROW_KEY, "status", "margin_eur_m2")
_STATUSES = (SCORED, MissingReason.CAMPAIGN_FAILED, MissingReason.RUN_FAILED)


@dataclass(frozen=True)
class ScoreDesign:
    """What a complete table of scores holds.

    Attributes:
        years: scoring years of each site.
        plantings: plantings in each year.
        sites: sites of the study; None for all that stand in the table.
        repeats: planned number of repeats by method and feedback mode; a cell that is not named
            has as many as the largest repeat number in the table says.
    """

    years: int
    plantings: int
    sites: tuple[int, ...] | None = None
    repeats: Mapping[CellKey, int] | None = None


def cells_from_scores(table: pd.DataFrame, design: ScoreDesign) -> dict[CellKey, Cell]:
    """Average years and plantings, and name what is missing.

    Args:
        table: rows with the columns :data:`COLUMNS`; further columns are ignored.
        design: what a complete table holds.

    Returns:
        A cell for each method and feedback mode of the table or of the design's repeats, in
        alphabetical order, over all sites of the study.

    Raises:
        ValueError: a column is missing, a row stands twice, a status is unknown, a scored row has
            no finite margin, or there are more repeats, years or plantings than the design says.
    """
    _check(table)
    sites = design.sites or tuple(sorted({int(site) for site in table["site"]}))
    groups = _recommendations(table)
    known = {(method, feedback) for method, feedback, _, _ in groups}
    planned = dict(design.repeats or {})
    cells = {}
    for key in sorted(known | set(planned)):
        labels = [repeat for *cell, _, repeat in groups if tuple(cell) == key]
        count = planned.get(key, max(labels, default=0) + 1)
        if max(labels, default=0) >= count:
            raise ValueError(f"{'/'.join(key)}: more than {count} repeats")
        found = [[groups.get((*key, site, r)) for r in range(count)] for site in sites]
        cells[key] = _cell(key, sites, found, design)
    return cells


def contrast_by_year(
    table: pd.DataFrame,
    plus: Sequence[CellKey],
    minus: Sequence[CellKey],
    design: ScoreDesign,
    rule: RepeatRule = RepeatRule.COMPLETE,
) -> pd.DataFrame:
    """A contrast within each scoring year, over the sites that were scored in it.

    Args:
        table: rows as for :func:`cells_from_scores`.
        plus: cells that are added.
        minus: cells that are subtracted.
        design: what a complete table holds.
        rule: which repeats make a site's mean.

    Returns:
        Rows ``year``, ``n_sites``, ``mean`` (EUR/m2; NaN without sites). The mean over years
        weighted with ``n_sites`` is the overall mean if every site has equally many years.
    """
    rows = []
    for year, part in table.groupby("year", sort=True):
        within = ScoreDesign(1, design.plantings, None, design.repeats)
        cells = cells_from_scores(part, within)
        found = contrast([cells[key] for key in plus], [cells[key] for key in minus], rule)
        mean = exact_mean(found.values) if found.sites else np.nan
        rows.append({"year": year, "n_sites": len(found.sites), "mean": mean})
    return pd.DataFrame(rows, columns=["year", "n_sites", "mean"])


def mean_over_years(means: Sequence[float], sites_per_year: Sequence[int]) -> float:
    """The mean over site-years from the means within years.

    Args:
        means: ``[year]`` means over the sites of each year.
        sites_per_year: ``[year]`` numbers of sites, some above 0.
    """
    weights = np.asarray(sites_per_year, dtype=np.float64)
    return float(np.dot(weights, np.asarray(means, dtype=np.float64)) / weights.sum())


def _cell(
    key: CellKey,
    sites: tuple[int, ...],
    found: list[list[Rows | None]],
    design: ScoreDesign,
) -> Cell:
    outcomes = [[_score(rows, design) for rows in row] for row in found]
    scores = np.array([[np.nan if isinstance(s, str) else s for s in row] for row in outcomes])
    missing = tuple(tuple(s if isinstance(s, str) else None for s in row) for row in outcomes)
    return Cell("/".join(key), sites, scores.reshape(len(sites), -1), missing)


def _recommendations(table: pd.DataFrame) -> dict[tuple[str, str, int, int], Rows]:
    """Status and margin of each row by year, by recommendation."""
    groups: dict[tuple[str, str, int, int], Rows] = {}
    columns = ("method", "feedback", "site", "repeat", "year", "status", "margin_eur_m2")
    for *key, year, status, margin in zip(*(table[name].tolist() for name in columns), strict=True):
        groups.setdefault(tuple(key), {}).setdefault(year, []).append((status, margin))
    return groups


def _score(rows: Rows | None, design: ScoreDesign) -> float | MissingReason:
    """The score of one repeat, or why there is none."""
    if rows is None:
        return MissingReason.NOT_RUN
    failed = sorted(status for year in rows.values() for status, _ in year if status != SCORED)
    if failed:
        return MissingReason(failed[0])
    years = [np.array([margin for _, margin in year]) for year in rows.values()]
    if len(years) > design.years or max(map(len, years)) > design.plantings:
        raise ValueError("more years or plantings than the design says")
    if len(years) < design.years or min(map(len, years)) < design.plantings:
        return MissingReason.INCOMPLETE_EVALUATION
    return exact_mean(np.array([exact_mean(year) for year in years]))


def _check(table: pd.DataFrame) -> None:
    absent = [name for name in COLUMNS if name not in table]
    if absent:
        raise ValueError(f"the table of scores lacks {', '.join(absent)}")
    twice = table.duplicated(list(ROW_KEY))
    if twice.any():
        raise ValueError(f"row {int(np.flatnonzero(twice)[0])} of the scores stands twice")
    unknown = sorted(set(table["status"]) - {str(status) for status in _STATUSES})
    if unknown:
        raise ValueError(f"unknown status {unknown[0]!r} in the table of scores")
    margins = table.loc[table["status"] == SCORED, "margin_eur_m2"].to_numpy(dtype=np.float64)
    if not np.isfinite(margins).all():
        raise ValueError("a scored row has no finite margin")
