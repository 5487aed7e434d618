"""Site-level differences between cells, with every missing value named and counted.

A *cell* is what one method did under one feedback mode. Repeats are averaged within the site first,
so that each site enters a test once and counts the same however many repeats it has. A missing
score is never a number: its site is left out of the difference, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from slowlab.analysis.samples import Array, exact_mean


class RepeatRule(StrEnum):
    """Which repeats make a site's mean.

    Attributes:
        COMPLETE: the site is missing unless all planned repeats have a score (primary analysis).
        AVAILABLE: the mean of the repeats that have one (sensitivity analysis).
    """

    COMPLETE = "complete"
    AVAILABLE = "available"


class MissingReason(StrEnum):
    """Why a score is missing. A method's own failure is scored and never missing.

    Attributes:
        NOT_RUN: there is no record of it.
        CAMPAIGN_FAILED: the campaign ended in an infrastructure failure.
        RUN_FAILED: a scoring run failed numerically.
        INCOMPLETE_EVALUATION: a scoring year or planting is absent.
        NOT_FINITE: a NaN or an infinity without another reason.
    """

    NOT_RUN = "not_run"
    CAMPAIGN_FAILED = "campaign_failed"
    RUN_FAILED = "run_failed"
    INCOMPLETE_EVALUATION = "incomplete_evaluation"
    NOT_FINITE = "not_finite"


@dataclass(frozen=True, eq=False)
class Cell:
    """Scores of one method under one feedback mode.

    Attributes:
        name: label used in reports, as ``prior_bo/full``.
        sites: site of each row, each once.
        scores: ``[site, repeat]`` scores, EUR/m2; NaN exactly where one is missing.
        missing: ``[site][repeat]`` reason where a score is missing, None elsewhere.
    """

    name: str
    sites: tuple[int, ...]
    scores: Array
    missing: tuple[tuple[MissingReason | None, ...], ...]

    def __post_init__(self) -> None:
        shape = self.scores.shape
        if self.scores.ndim != 2 or shape[0] != len(self.sites) or shape[1] < 1:
            raise ValueError(f"{self.name}: scores must be [site, repeat], got {shape}")
        if len(set(self.sites)) != len(self.sites):
            raise ValueError(f"{self.name}: a site stands twice")
        if [len(row) for row in self.missing] != [shape[1]] * shape[0]:
            raise ValueError(f"{self.name}: one reason or None for each score")
        named = np.array([[reason is not None for reason in row] for row in self.missing])
        if not np.array_equal(named.reshape(shape), ~np.isfinite(self.scores)):
            raise ValueError(f"{self.name}: a missing score needs a reason, any other has none")


def make_cell(name: str, sites: Sequence[int], scores: Array) -> Cell:
    """A cell from plain scores, in which NaN or an infinity counts as ``NOT_FINITE``.

    Args:
        name: label of the cell.
        sites: site of each row.
        scores: ``[site, repeat]`` scores, EUR/m2.

    Raises:
        ValueError: the shapes do not match or a site stands twice.
    """
    array = np.asarray(scores, dtype=np.float64)
    finite = np.isfinite(array)
    reasons = tuple(
        tuple(None if good else MissingReason.NOT_FINITE for good in row) for row in finite
    )
    return Cell(name, tuple(sites), np.where(finite, array, np.nan), reasons)


@dataclass(frozen=True)
class Exclusion:
    """A site left out of a difference.

    Attributes:
        site: the site.
        cell: the cell whose score is missing, the first one in the order of the difference.
        reason: the reason of its first missing repeat.
    """

    site: int
    cell: str
    reason: MissingReason


@dataclass(frozen=True, eq=False)
class Differences:
    """Site-level values of a contrast.

    Attributes:
        sites: sites that have a value, ascending.
        values: ``[site]`` values, EUR/m2, all finite.
        excluded: sites left out, ascending.
        repeats: ``[site]`` smallest number of repeats behind a value.
    """

    sites: tuple[int, ...]
    values: Array
    excluded: tuple[Exclusion, ...] = ()
    repeats: tuple[int, ...] = ()

    def exclusion_counts(self) -> dict[str, int]:
        """Number of sites left out, by reason."""
        return dict(Counter(item.reason.value for item in self.excluded))


def site_means(cell: Cell, rule: RepeatRule = RepeatRule.COMPLETE) -> tuple[Array, np.ndarray]:
    """Average the repeats within each site.

    Args:
        cell: the scores.
        rule: which repeats make a mean.

    Returns:
        ``[site]`` means, NaN where missing by the rule, and ``[site]`` numbers of repeats with a
        score.
    """
    known = np.isfinite(cell.scores)
    counts = known.sum(axis=1)
    needed = cell.scores.shape[1] if rule is RepeatRule.COMPLETE else 1
    means = np.full(len(cell.sites), np.nan)
    for row in np.flatnonzero(counts >= needed):
        means[row] = exact_mean(cell.scores[row, known[row]])
    return means, counts


def contrast(
    plus: Sequence[Cell], minus: Sequence[Cell], rule: RepeatRule = RepeatRule.COMPLETE
) -> Differences:
    """Sum of some cells less the sum of others, site by site.

    Two cells make a paired difference; ``plus=[a_full, b_endpoint], minus=[a_endpoint, b_full]`` is
    the difference between two feedback gains. A site needs a mean in every cell. A site that a
    cell does not hold is ``NOT_RUN`` there.

    Args:
        plus: cells that are added.
        minus: cells that are subtracted.
        rule: which repeats make a site's mean.

    Returns:
        The values of all sites of any of the cells that are complete, and the others by name.

    Raises:
        ValueError: no cell is given.
    """
    cells = [*plus, *minus]
    if not cells:
        raise ValueError("a contrast needs at least one cell")
    tables = [_by_site(cell, rule) for cell in cells]
    sites, values, repeats, excluded = [], [], [], []
    for site in sorted(set().union(*(cell.sites for cell in cells))):
        fault = _first_fault(site, cells, tables)
        if fault is not None:
            excluded.append(fault)
            continue
        means = [table[site][0] for table in tables]
        sites.append(site)
        values.append(sum(means[: len(plus)]) - sum(means[len(plus) :]))
        repeats.append(min(table[site][1] for table in tables))
    array = np.array(values, dtype=np.float64)
    return Differences(tuple(sites), array, tuple(excluded), tuple(repeats))


def paired_differences(
    first: Cell, second: Cell, rule: RepeatRule = RepeatRule.COMPLETE
) -> Differences:
    """First less second, site by site; see :func:`contrast`."""
    return contrast([first], [second], rule)


def _by_site(cell: Cell, rule: RepeatRule) -> dict[int, tuple[float, int]]:
    means, counts = site_means(cell, rule)
    return {
        site: (float(mean), int(count))
        for site, mean, count in zip(cell.sites, means, counts, strict=True)
    }


def _first_fault(
    site: int, cells: Sequence[Cell], tables: Sequence[dict[int, tuple[float, int]]]
) -> Exclusion | None:
    """The first cell that has no mean for a site, and why."""
    for cell, table in zip(cells, tables, strict=True):
        if site not in table:
            return Exclusion(site, cell.name, MissingReason.NOT_RUN)
        if np.isnan(table[site][0]):
            row = cell.missing[cell.sites.index(site)]
            return Exclusion(site, cell.name, next(reason for reason in row if reason))
    return None
