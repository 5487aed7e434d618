"""How often the intervals of simulated studies hold the true mean, and shares in general."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.rehearsal_intervals import FEWEST_VALUES, many_bca_intervals
from slowlab.analysis.rehearsal_planting import ScoreModel, plant
from slowlab.analysis.samples import Array, round_result


def coverage_of_intervals(
    spec: AnalysisSpec, model: ScoreModel, scores: Array
) -> list[dict[str, Any]]:
    """How often the interval of a test of the first family holds the true mean, which is 0 here.

    An interval moves with its differences, so planted effects would change nothing.

    Args:
        spec: holds level, seeds and number of resamples.
        model: behind the scores.
        scores: ``[rehearsal, site, cell]`` simulated scores without effects.

    Returns:
        For each test the share of intervals that hold 0, with its own interval, and the shares that
        lie ``above`` and ``below``; none with fewer than three sites.
    """
    if scores.shape[1] < FEWEST_VALUES:
        return []
    family, stack = spec.families[0], plant(model, scores, np.zeros(len(model.tests)))
    rows = []
    for place, test in enumerate(family.tests):
        if test.name not in stack:
            continue
        found = many_bca_intervals(
            stack[test.name], family.seed(spec.base_seed, place), spec.confidence, spec.resamples
        )
        low, high = np.array([(item.low, item.high) for item in found], dtype=np.float64).T
        holds = (low <= 0.0) & (high >= 0.0)
        rows.append(
            {
                "test": test.name,
                "sites": scores.shape[1],
                "level": spec.confidence,
                **share_with_interval(int(holds.sum()), len(holds), spec.confidence),
                "above": round_result((low > 0.0).mean()),
                "below": round_result((high < 0.0).mean()),
                "mean_width": round_result((high - low).mean()),
            }
        )
    return rows


def share_with_interval(hits: int, count: int, level: float) -> dict[str, Any]:
    """A share with its Clopper-Pearson interval.

    Args:
        hits: how often it happened.
        count: how often it could have, at least 1.
        level: confidence level.
    """
    tail = (1.0 - level) / 2.0
    low = betaincinv(hits, count - hits + 1, tail) if hits else 0.0
    high = betaincinv(hits + 1, count - hits, 1.0 - tail) if hits < count else 1.0
    return {
        "hits": hits,
        "rehearsals": count,
        "share": round_result(hits / count),
        "low": round_result(low),
        "high": round_result(high),
    }
