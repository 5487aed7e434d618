"""A study's leaderboard: methods by their mean score, under one lock and one way of scoring.

Scores of two boards may be compared only where both keys are equal, so the keys stand in every row
that is shown. A method without a score of every planned attempt has no rank: its mean would be one
over other sites than those of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from slowlab.analysis.paired import Cell
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.canonical import canonical_sha256

type Attempts = Mapping[str, Mapping[str, Any]]
"""What k attempts are worth, by method and condition."""


def leaderboard(
    inputs: AnalysisInputs, cells: Mapping[CellKey, Cell], attempts: Attempts
) -> dict[str, Any]:
    """Methods in the order of Avg@k, those that tie in the order of Best@k.

    Args:
        inputs: the study.
        cells: its scores by method and condition.
        attempts: by method and condition, as in :mod:`slowlab.analysis.attempts`.

    Returns:
        ``lock`` (None for an exploratory study), ``scoring_id``, see :func:`scoring_id`, and
        ``rows``: ranked ones first, then those that are incomplete, in the study's order. Equal
        scores share a rank.
    """
    study = inputs.study
    mains = {item.name: study.main_cell(item.name) for item in study.methods}
    rows = [
        _row(name, cells[key], attempts[name][key[1]])
        for name, key in mains.items()
        if key in cells
    ]
    ranked = sorted((row for row in rows if row["complete"]), key=_place)
    for row in ranked:
        row["rank"] = 1 + sum(_place(other) < _place(row) for other in ranked)
    return {
        "lock": inputs.lock,
        "scoring_id": scoring_id(inputs),
        "rows": ranked + [row for row in rows if not row["complete"]],
    }


def scoring_id(inputs: AnalysisInputs) -> str:
    """Twelve hexadecimal digits of a hash over everything that decides what a score means.

    That is the version of SlowLab, the contract, what is random about sites, the weather, and which
    sites of which partition were scored.
    """
    study = inputs.study
    return canonical_sha256(
        {
            "slowlab": version("slowlab"),
            "contract": inputs.contract.model_dump(mode="json"),
            "distribution": inputs.distribution.model_dump(mode="json"),
            "weather": study.weather,
            "partition": study.partition,
            "sites": list(study.sites),
        }
    )[:12]


def _row(name: str, cell: Cell, attempts: Mapping[str, Any]) -> dict[str, Any]:
    known = np.isfinite(cell.scores)
    return {
        "rank": None,
        "method": name,
        "feedback": cell.name.rpartition("/")[2],
        "complete": bool(known.all()),
        "n_sites": int(known.any(axis=1).sum()),
        "scored": int(known.sum()),
        "planned": int(known.size),
        "k": attempts["k"],
        "average_at_k": attempts["average_at_k"],
        "best_at_k": attempts["best_at_k"],
    }


def _place(row: Mapping[str, Any]) -> tuple[float, float]:
    return -row["average_at_k"], -row["best_at_k"]
