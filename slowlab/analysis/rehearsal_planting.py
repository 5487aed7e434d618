"""Simulated scores in which the effects are known, to see how often they are found.

Site scores are drawn from a normal distribution with the covariance of the cells of a finished
study, and its means are replaced by shifts of cells that give every test exactly the planted
effect. The deviation of each test's differences is then known, and so is the stated power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowlab.analysis.families import ContrastSpec
from slowlab.analysis.rehearsal_scramble import ScoreGrid, Stack, contrast_matrix
from slowlab.analysis.samples import Array

PLANT_STREAM = 0x91A
"""Second word of the generators' seeds; the third is the number of the rehearsal."""

_FEWEST_SITES = 3


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """Normal scores of cells, as far as the tests need them.

    Attributes:
        tests: names of the tests.
        weights: ``[test, cell]`` of the tests.
        roots: ``[row, cell]``; its product with itself is the covariance of a site's scores.
        sds: ``[test]`` deviations of the tests' site differences, EUR/m2.
    """

    tests: tuple[str, ...]
    weights: Array
    roots: Array
    sds: Array

    def shifts(self, effects: Array) -> Array:
        """``[cell]`` smallest shifts of the cells that give each test its effect, EUR/m2.

        Raises:
            ValueError: no shifts do, as one test follows from others.
        """
        shifts = np.linalg.pinv(self.weights) @ effects
        if not np.allclose(self.weights @ shifts, effects, atol=1e-9):
            raise ValueError("the effects of the tests cannot be chosen freely")
        return shifts


def score_model(grid: ScoreGrid, tests: Sequence[ContrastSpec]) -> ScoreModel:
    """The covariance of a finished study's cells, over sites that no test lacks.

    Args:
        grid: its scores.
        tests: tests made of cells of the grid.

    Raises:
        ValueError: fewer than three such sites, or a test is not made of the grid's cells.
    """
    weights = contrast_matrix(grid, tests)
    used = np.flatnonzero((weights != 0.0).any(axis=0))
    means = grid.means[:, used]
    means = means[np.isfinite(means).all(axis=1)]
    if len(means) < _FEWEST_SITES:
        raise ValueError(f"planting needs {_FEWEST_SITES} sites with scores in all cells")
    roots = (means - means.mean(axis=0)) / np.sqrt(len(means) - 1)
    weights = weights[:, used]
    sds = np.sqrt(((roots @ weights.T) ** 2).sum(axis=0))
    return ScoreModel(tuple(test.name for test in tests), weights, roots, sds)


def simulate_scores(model: ScoreModel, sites: int, base_seed: int, rehearsals: int) -> Array:
    """``[rehearsal, site, cell]`` scores without effects, EUR/m2.

    Args:
        model: the covariance.
        sites: number of sites.
        base_seed: first word of the seeds.
        rehearsals: number of rehearsals.
    """
    scores = np.empty((rehearsals, sites, model.roots.shape[1]))
    for number in range(rehearsals):
        generator = np.random.default_rng([base_seed, PLANT_STREAM, number])
        scores[number] = generator.standard_normal((sites, len(model.roots))) @ model.roots
    return scores


def plant(model: ScoreModel, scores: Array, effects: Array) -> Stack:
    """Add known effects to simulated scores and take the tests' differences.

    Args:
        model: behind the scores.
        scores: ``[rehearsal, site, cell]`` scores without effects.
        effects: ``[test]`` effects to plant, EUR/m2.

    Raises:
        ValueError: these effects cannot all be planted.
    """
    differences = (scores + model.shifts(effects)) @ model.weights.T
    return {name: differences[:, :, place] for place, name in enumerate(model.tests)}
