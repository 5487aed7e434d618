"""What the Bayesian second look starts from: site-level differences and what tests share.

Only tests with a spread are modelled. A test without data, with too few sites, without any spread,
or with the values of another test keeps its row, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.samples import Array, exact_sample

FEWEST_SITES = 3
"""A test with fewer sites has no interval in the confirmatory analysis either."""


class Outcome(StrEnum):
    """What becomes of a test.

    Attributes:
        MODELLED: it is in the model.
        SAME: its values, or their negatives, are those of an earlier test, whose posterior it has.
        ALL_EQUAL: all sites have one value, so that there is nothing to model.
        TOO_FEW: fewer than :data:`FEWEST_SITES` sites.
        NO_DATA: no site has a value.
    """

    MODELLED = "modelled"
    SAME = "same"
    ALL_EQUAL = "all_equal"
    TOO_FEW = "too_few"
    NO_DATA = "no_data"


@dataclass(frozen=True)
class Sorted:
    """A test and what becomes of it.

    Attributes:
        name: name of the test.
        outcome: what becomes of it.
        value: the common value of all sites, EUR/m2, where they are all equal.
        twin: the earlier test with the same values, where there is one.
        sign: 1, or -1 where the values are the negatives of the twin's.
    """

    name: str
    outcome: Outcome
    value: float | None = None
    twin: str | None = None
    sign: int = 1


@dataclass(frozen=True, eq=False)
class LookData:
    """Differences of the modelled tests.

    Attributes:
        tests: names of the modelled tests, in the declared order.
        questions: question of each of them.
        sites: numbers of all sites with a value, ascending.
        values: ``[site, test]`` differences, EUR/m2; NaN where a site has none.
        cells: names of the cells that at least two modelled tests have in common.
        loadings: ``[test, cell]`` 1 where a cell is added, -1 where it is subtracted, else 0.
        outcomes: every declared test, in order.
    """

    tests: tuple[str, ...]
    questions: tuple[str, ...]
    sites: tuple[int, ...]
    values: Array
    cells: tuple[str, ...]
    loadings: Array
    outcomes: tuple[Sorted, ...]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sufficient statistics of sites that have the same tests.

    Attributes:
        present: ``[pattern, test]`` 1.0 where the sites have the test, else 0.0.
        counts: ``[pattern]`` sites.
        means: ``[pattern, test]`` means of their differences, EUR/m2; 0 for absent tests.
        scatter: ``[pattern, test, test]`` sums of products of deviations; 0 for absent tests.
    """

    present: Array
    counts: Array
    means: Array
    scatter: Array


def look_data(tests: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> LookData:
    """Sort the tests and collect the differences of those that are modelled.

    Args:
        tests: section ``tests`` of the numbers of a study.
        names: tests to look at, in the declared order; one that is not there has no data.
    """
    outcomes: list[Sorted] = []
    columns: dict[str, dict[int, float]] = {}
    for name in names:
        found = tests.get(name, {"sites": [], "differences": []})
        values = dict(zip(found["sites"], found["differences"], strict=True))
        outcome = _sort(name, values, columns)
        outcomes.append(outcome)
        if outcome.outcome is Outcome.MODELLED:
            columns[name] = values
    sites = tuple(sorted({site for values in columns.values() for site in values}))
    table = [[values.get(site, np.nan) for values in columns.values()] for site in sites]
    cells, loadings = _shared_cells({name: tests[name] for name in columns})
    return LookData(
        tests=tuple(columns),
        questions=tuple(str(tests[name]["question"]) for name in columns),
        sites=sites,
        values=np.array(table, dtype=np.float64).reshape(len(sites), len(columns)),
        cells=cells,
        loadings=loadings,
        outcomes=tuple(outcomes),
    )


def moments(values: Array) -> Moments:
    """Means and scatter of sites with the same tests; enough for a normal model.

    Args:
        values: ``[site, test]`` differences; NaN where a site has none.
    """
    present = np.isfinite(values)
    patterns = np.unique(present, axis=0)[::-1]
    counts, means, scatter = [], [], []
    for pattern in patterns:
        rows = np.where(pattern, values[(present == pattern).all(axis=1)], 0.0)
        mean = rows.mean(axis=0)
        counts.append(len(rows))
        means.append(mean)
        scatter.append((rows - mean).T @ (rows - mean))
    return Moments(
        patterns.astype(np.float64), np.array(counts, float), np.array(means), np.array(scatter)
    )


def _sort(
    name: str, values: Mapping[int, float], earlier: Mapping[str, Mapping[int, float]]
) -> Sorted:
    if not values:
        return Sorted(name, Outcome.NO_DATA)
    sample = exact_sample(list(values.values()))
    if len(values) < FEWEST_SITES:
        return Sorted(name, Outcome.TOO_FEW)
    if sample.all_equal:
        return Sorted(name, Outcome.ALL_EQUAL, value=sample.mean)
    for twin, others in earlier.items():
        for sign in (1, -1):
            if others.keys() == values.keys() and all(
                round(sign * others[site] - value, 9) == 0.0 for site, value in values.items()
            ):
                return Sorted(name, Outcome.SAME, twin=twin, sign=sign)
    return Sorted(name, Outcome.MODELLED)


def _shared_cells(
    tests: Mapping[str, Mapping[str, Any]],
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    sides = [(list(test["plus"]), list(test["minus"])) for test in tests.values()]
    used = [cell for plus, minus in sides for cell in dict.fromkeys(plus + minus)]
    shared = tuple(sorted({cell for cell in used if used.count(cell) > 1}))
    loadings = [
        [float(plus.count(cell) - minus.count(cell)) for cell in shared] for plus, minus in sides
    ]
    return shared, np.array(loadings, dtype=np.float64).reshape(len(tests), len(shared))
