"""What k campaigns on a site are worth, how much they differ, and who beats whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.measure_tables import repeat_table
from slowlab.analysis.measures import best_at_k, dominance, self_selected_at_k, worst_at_k
from slowlab.analysis.paired import Cell, site_means
from slowlab.analysis.samples import Array, exact_mean
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_scores import number

SHUFFLED = "shuffled"
"""Condition in which campaigns are shown other crops' totals, which no table holds."""


def attempt_numbers(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any]:
    """Scores of k attempts and their stability, by method and condition, EUR/m2.

    An attempt is one campaign; k goes from 1 to the planned repeats. The attempt that an agent
    would choose itself is that in which it read the highest margin of a crop.

    Returns:
        ``near_zero_eur_m2``: size up to which a mean is no denominator; by method and condition
        what :func:`slowlab.analysis.measure_tables.repeat_table` says of all repeats together, and
        ``by_k``. A condition in which nothing was read has no self-selected score.
    """
    floor = _size(spec_of(inputs), spec_of(inputs).measures.near_zero_eur_m2)
    seen = _best_read(inputs)
    table: dict[str, Any] = {item.name: {} for item in inputs.study.methods}
    for key in inputs.study.cells():
        cell, (method, mode) = cells[key], key
        known = [
            [seen.get((site, *key, repeat), np.nan) for repeat in range(cell.scores.shape[1])]
            for site in cell.sites
        ]
        table[method][mode] = {**_all_repeats(cell, floor), "by_k": _by_k(cell, np.array(known))}
    return {"near_zero_eur_m2": floor, "methods": table}


def dominance_numbers(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any]:
    """How often each method beats each other one in its main condition.

    Differences within the declared band are ties, by default the smallest effect of interest.

    Returns:
        ``tie_band_eur_m2``, ``methods`` in order, ``pairwise`` shares and ``sites``, row beats
        column, and the ``overall`` mean of each row.
    """
    study = inputs.study
    band = _size(spec_of(inputs), spec_of(inputs).measures.tie_band_eur_m2)
    names = [item.name for item in study.methods if study.main_cell(item.name) in cells]
    means = [site_means(cells[study.main_cell(name)], inputs.repeat_rule)[0] for name in names]
    found = dominance(np.array(means), band)
    return {
        "tie_band_eur_m2": band,
        "methods": names,
        "pairwise": [[number(value) for value in row] for row in found.pairwise],
        "sites": found.sites.tolist(),
        "overall": [number(value) for value in found.overall],
    }


def _size(spec: AnalysisSpec, declared: float | None) -> float:
    """A declared size, or the smallest effect of interest, EUR/m2."""
    return spec.sesoi_eur_m2 if declared is None else declared


def _best_read(inputs: AnalysisInputs) -> dict[tuple[Any, ...], float]:
    """Highest margin that each campaign read of one of its own crops, by its name."""
    crops = inputs.crops
    read = crops["totals_read_day"].notna() & crops["margin_eur_m2"].notna()
    read &= crops["feedback"] != SHUFFLED
    best = crops[read].groupby(["site", "method", "feedback", "repeat"])["margin_eur_m2"].max()
    return {tuple(name): float(value) for name, value in best.items()}


def _all_repeats(cell: Cell, floor: float) -> dict[str, Any]:
    row = repeat_table([cell], cell.scores.shape[1], floor).to_dict("records")[0]
    return {
        str(name): number(value) if isinstance(value, float) else value
        for name, value in row.items()
        if name != "cell"
    }


def _by_k(cell: Cell, seen: Array) -> list[dict[str, Any]]:
    """Best, worst and self-selected score of every number of attempts."""
    rows = []
    read = np.isfinite(np.where(np.isfinite(cell.scores), seen, np.nan)).any(axis=1)
    for k in range(1, cell.scores.shape[1] + 1):
        best = best_at_k(cell.scores, k)
        chosen = np.where(read, self_selected_at_k(cell.scores, seen, k), np.nan)
        rows.append(
            {
                "k": k,
                "n_sites": int(np.isfinite(best).sum()),
                "best": _mean(best),
                "worst": _mean(worst_at_k(cell.scores, k)),
                "self_selected": _mean(chosen),
                "self_selected_n_sites": int(np.isfinite(chosen).sum()),
            }
        )
    return rows


def _mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return number(exact_mean(known)) if known.size else None
