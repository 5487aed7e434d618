"""Scores without effects, made from real ones: two ways to scramble them site by site.

*Signs*: under the null hypothesis a site's differences are symmetric about zero, so each site's are
kept or negated at random. Tests that share scores are negated together, which keeps how they go
together. *Labels*: under the stronger hypothesis that nothing matters at all, the cells of a site
are exchangeable, so their labels are dealt anew within each site. Neither moves a score to another
site, and neither changes which sites a test lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.families import ContrastSpec
from slowlab.analysis.paired import Cell, Differences, RepeatRule, site_means
from slowlab.analysis.samples import Array
from slowlab.analysis.scores import CellKey

SIGNS, LABELS = "signs", "labels"
SIGN_STREAM, LABEL_STREAM = 0x516, 0x1AB
"""Second words of the generators' seeds; the third is the number of the rehearsal."""

Stack = dict[str, Array]
"""``[rehearsal, site]`` differences by name of the test."""


@dataclass(frozen=True, eq=False)
class ScoreGrid:
    """Site means of all cells.

    Attributes:
        sites: sites, ascending.
        cells: method and feedback mode of each column.
        means: ``[site, cell]`` means over repeats, EUR/m2; NaN where missing.
    """

    sites: tuple[int, ...]
    cells: tuple[CellKey, ...]
    means: Array


def score_grid(cells: Mapping[CellKey, Cell], rule: RepeatRule) -> ScoreGrid:
    """Average repeats within sites and put all cells side by side.

    Args:
        cells: cells by method and feedback mode.
        rule: which repeats make a site's mean.
    """
    keys = tuple(sorted(cells))
    sites = tuple(sorted({site for key in keys for site in cells[key].sites}))
    means = np.full((len(sites), len(keys)), np.nan)
    for column, key in enumerate(keys):
        rows = np.searchsorted(sites, cells[key].sites)
        means[rows, column] = site_means(cells[key], rule)[0]
    return ScoreGrid(sites, keys, means)


def contrast_matrix(grid: ScoreGrid, tests: Sequence[ContrastSpec]) -> Array:
    """``[test, cell]`` weights: 1 for cells that are added, -1 for those that are subtracted.

    Raises:
        ValueError: a test without cells, or with a cell that the grid lacks.
    """
    weights = np.zeros((len(tests), len(grid.cells)))
    for row, test in enumerate(tests):
        if not is_made_of(test, grid.cells):
            raise ValueError(f"{test.name}: not made of the cells at hand")
        for refs, sign in ((test.plus, 1.0), (test.minus, -1.0)):
            for ref in refs:
                weights[row, grid.cells.index(ref.key)] += sign
    return weights


def is_made_of(test: ContrastSpec, cells: Sequence[CellKey]) -> bool:
    """Whether a test has cells and all of them are at hand."""
    refs = (*test.plus, *test.minus)
    return bool(refs) and all(ref.key in cells for ref in refs)


def scramble_signs(
    tests: Sequence[ContrastSpec],
    differences: Mapping[str, Differences],
    base_seed: int,
    rehearsals: int,
) -> Stack:
    """Negate the differences of random sites, together in all tests that share scores.

    Args:
        tests: the tests.
        differences: site-level values by name of the test.
        base_seed: first word of the seeds.
        rehearsals: number of rehearsals.
    """
    groups = sharing_groups(tests)
    sites = sorted({site for test in tests for site in differences[test.name].sites})
    shape = (max(groups.values(), default=-1) + 1, len(sites))
    signs = np.empty((rehearsals, *shape), dtype=np.int8)
    for number in range(rehearsals):
        generator = np.random.default_rng([base_seed, SIGN_STREAM, number])
        signs[number] = 2 * generator.integers(0, 2, size=shape, dtype=np.int8) - 1
    stack = {}
    for test in tests:
        found = differences[test.name]
        columns = np.searchsorted(sites, found.sites)
        stack[test.name] = signs[:, groups[test.name]][:, columns] * found.values
    return stack


def sharing_groups(tests: Sequence[ContrastSpec]) -> dict[str, int]:
    """Number of the group of each test: tests of one group share scores, if by way of others.

    A test whose differences are computed elsewhere may share scores with all.
    """
    groups: list[tuple[set[CellKey], list[str]]] = []
    everything = {ref.key for test in tests for ref in (*test.plus, *test.minus)}
    for test in tests:
        cells = {ref.key for ref in (*test.plus, *test.minus)} or set(everything)
        joined = [group for group in groups if group[0] & cells or not everything]
        groups = [group for group in groups if group not in joined]
        used = cells.union(*(group[0] for group in joined))
        groups.append((used, [*(name for group in joined for name in group[1]), test.name]))
    return {name: number for number, (_, names) in enumerate(groups) for name in names}


def scramble_labels(
    grid: ScoreGrid, tests: Sequence[ContrastSpec], base_seed: int, rehearsals: int
) -> Stack:
    """Deal the labels of the cells of each site anew; a missing score stays where it is missing.

    Args:
        grid: the scores.
        tests: tests made of cells of the grid.
        base_seed: first word of the seeds.
        rehearsals: number of rehearsals.

    Raises:
        ValueError: a test is not made of the grid's cells.
    """
    weights = contrast_matrix(grid, tests)
    complete = [_complete_sites(grid, row) for row in weights]
    stack = {
        test.name: np.empty((rehearsals, len(rows)))
        for test, rows in zip(tests, complete, strict=True)
    }
    for number in range(rehearsals):
        generator = np.random.default_rng([base_seed, LABEL_STREAM, number])
        means = _dealt(grid.means, generator)
        for test, row, sites in zip(tests, weights, complete, strict=True):
            used = np.flatnonzero(row)
            stack[test.name][number] = (means[np.ix_(sites, used)] * row[used]).sum(axis=1)
    return stack


def _complete_sites(grid: ScoreGrid, weights: Array) -> NDArray[np.int64]:
    return np.flatnonzero(np.isfinite(grid.means[:, weights != 0.0]).all(axis=1))


def _dealt(means: Array, generator: np.random.Generator) -> Array:
    """The scores of each site in random order among the cells that have one."""
    order = np.argsort(generator.random(means.shape), axis=1, kind="stable")
    known = np.isfinite(means)
    if known.all():
        return np.take_along_axis(means, order, axis=1)
    dealt = means.copy()
    for site, row in enumerate(order):
        dealt[site, known[site]] = means[site, row[known[site][row]]]
    return dealt
