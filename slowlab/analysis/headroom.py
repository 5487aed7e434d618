"""Headroom: what the best policy known of each site gains over the reference, and who reaches it.

All methods are compared on the sites whose best policy was sought. The best policies were chosen in
other weather years than those that score them, so their gain is not flattered by the choice; what
the choice flattered is shown as optimism. Nothing here is tested. Source of the question and of the
published numbers: SlowLab, headroom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.bca import bca_interval
from slowlab.analysis.paired import Cell, contrast, make_cell
from slowlab.analysis.samples import Array, exact_mean
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_published import comparable, published_headroom
from slowlab.analysis.study_scores import mean_and_error, number, ratio_interval

BEST_KNOWN = "best known policy"
_SEED = 200_000
"""Offset of the seeds of these intervals from the study's base seed."""


def best_known_cell(inputs: AnalysisInputs) -> Cell | None:
    """Scores of the best policies known, EUR/m2, on the study's sites; None where not sought."""
    if inputs.oracle is None:
        return None
    known = inputs.oracle.dropna(subset=["score_eur_m2"])
    known = known[known["site"].isin(inputs.study.sites)].sort_values("site")
    return make_cell(BEST_KNOWN, known["site"].tolist(), known[["score_eur_m2"]].to_numpy())


def headroom_numbers(
    inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]
) -> dict[str, Any] | None:
    """Gains over the reference of the best policies known and of every method, same sites.

    Args:
        inputs: the study; its ``oracle`` has the columns of
            :data:`slowlab.evaluation.best_known.BEST_KNOWN_SCHEMA`.
        cells: scores by method and condition.

    Returns:
        None where no best policies were sought.
    """
    best = best_known_cell(inputs)
    if best is None or inputs.oracle is None:
        return None
    study, shown = inputs.study, comparable(inputs.contract)
    reference = cells.get(study.main_cell(study.reference))
    whole = _gains(best, reference)
    rows = {
        item.name: _method(inputs, cells[study.main_cell(item.name)], reference, best, place)
        for place, item in enumerate(study.methods, start=1)
        if item.name != study.reference and study.main_cell(item.name) in cells
    }
    published = published_headroom() if shown else None
    for item in study.methods:
        if item.name in rows:
            gains = {} if published is None else published["methods"]
            rows[item.name]["published"] = gains.get(item.published or "")
    return {
        "reference": study.reference,
        "sites": sorted(whole),
        "best_known": _estimate(inputs, whole, 0),
        "methods": rows,
        **_search_numbers(inputs.oracle, study.sites, whole),
        "published": published,
    }


def _search_numbers(
    oracle: pd.DataFrame, sites: Sequence[int], gains: Mapping[int, float]
) -> dict[str, Any]:
    """What the searches say about themselves."""
    mine = oracle[oracle["site"].isin(sites)].sort_values("site")
    found = mine.dropna(subset=["score_eur_m2"])
    errors = dict(zip(found["site"], found["error_eur_m2"], strict=True))
    repeats = (found["second_score_eur_m2"] - found["score_eur_m2"]).to_numpy()
    twice = np.isfinite(repeats)
    first = found.iloc[0] if len(found) else None
    parts = ("evaluation_error_eur_m2", "search_error_eur_m2", "error_eur_m2")
    return {
        "sought": len(mine),
        "missing": dict(sorted(Counter(mine["reason"][mine["reason"] != ""]).items())),
        "optimism": mean_and_error(found["optimism_eur_m2"].to_numpy()),
        "errors": {name: None if first is None else number(first[name]) for name in parts},
        "without_headroom": [site for site, gain in sorted(gains.items()) if gain <= errors[site]],
        "origins": dict(sorted(Counter(found["origin"]).items())),
        "search_repeat": {
            "sites": found["site"][twice].tolist(),
            "differences": [number(value) for value in repeats[twice]],
            **mean_and_error(repeats[twice]),
        },
    }


def _method(
    inputs: AnalysisInputs, cell: Cell, reference: Cell | None, best: Cell, place: int
) -> dict[str, Any]:
    """Gain of one method, and its share of the headroom over the same sites."""
    gains, whole = _gains(cell, reference), _gains(best, reference)
    gains = {site: gain for site, gain in gains.items() if site in whole}
    possible = np.array([whole[site] for site in gains])
    gained = np.array(list(gains.values()))
    usable = bool(gains) and exact_mean(possible) > 0
    low, high = None, None
    if usable:
        spec = spec_of(inputs)
        low, high = ratio_interval(gained, possible, spec, spec.base_seed + _SEED)
    return {
        **_estimate(inputs, gains, place),
        "share": number(exact_mean(gained) / exact_mean(possible)) if usable else None,
        "share_low": number(low),
        "share_high": number(high),
        "above_best_known": int((gained > possible).sum()),
    }


def _gains(cell: Cell, reference: Cell | None) -> dict[int, float]:
    """Differences to the reference by site; none without a reference."""
    if reference is None:
        return {}
    found = contrast([cell], [reference])
    return dict(zip(found.sites, found.values.tolist(), strict=True))


def _estimate(inputs: AnalysisInputs, gains: Mapping[int, float], place: int) -> dict[str, Any]:
    """Mean of some gains with its BCa interval."""
    spec, values = spec_of(inputs), _array(gains)
    seed = inputs.study.base_seed + _SEED + place
    found = bca_interval(values, seed, level=spec.confidence, resamples=spec.resamples)
    return {
        "n_sites": len(values),
        "estimate": number(found.mean),
        "ci_low": number(found.low),
        "ci_high": number(found.high),
        "ci_kind": found.kind.value,
    }


def _array(gains: Mapping[int, float]) -> Array:
    return np.array(list(gains.values()), dtype=np.float64)
