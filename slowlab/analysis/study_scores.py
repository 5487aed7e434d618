"""Mean scores, scores by year, resources per crop and shares of what can be gained.

Every number is a mean over sites of means over repeats; a site with something missing is left out
and counted, never zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.paired import Cell, RepeatRule, contrast, site_means
from slowlab.analysis.samples import Array, exact_mean, exact_sample, round_result
from slowlab.analysis.scores import CellKey, ScoreDesign, cells_from_scores, contrast_by_year
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_published import comparable, published_mean, published_resources
from slowlab.evaluation.score import ScoreStatus

RESOURCES = ("heat_kwh_m2", "light_kwh_m2", "co2_kg_m2", "harvest_kg_m2")
"""What a crop uses and gives in scoring runs."""


def number(value: float | None) -> float | None:
    """A finite number rounded to 1e-9, None for anything else."""
    if value is None or not np.isfinite(value):
        return None
    return round_result(value)


def mean_and_error(values: Array) -> dict[str, Any]:
    """Number, mean and standard error of site values; None where undefined.

    Args:
        values: ``[site]`` finite values.
    """
    if not len(values):
        return {"n_sites": 0, "mean": None, "se": None}
    sample = exact_sample(values)
    error = sample.sd / np.sqrt(sample.n) if sample.n > 1 else None
    return {"n_sites": sample.n, "mean": number(sample.mean), "se": number(error)}


def mean_scores(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any]:
    """Mean score of each method under each of its conditions, EUR/m2, with what is missing."""
    study, shown = inputs.study, comparable(inputs.contract)
    table: dict[str, Any] = {item.name: {} for item in study.methods}
    for method, feedback in study.cells():
        cell = cells[method, feedback]
        means, _ = site_means(cell, inputs.repeat_rule)
        faults = Counter(reason.value for row in cell.missing for reason in row if reason)
        table[method][feedback] = {
            **mean_and_error(means[np.isfinite(means)]),
            "repeats": cell.scores.shape[1],
            "recommendations": int(np.isfinite(cell.scores).sum()),
            "missing": dict(sorted(faults.items())),
            "published": published_mean(study, method, feedback) if shown else None,
        }
    return table


def scores_by_year(inputs: AnalysisInputs) -> dict[str, Any]:
    """Mean score within each scoring year, over the sites that were scored in it."""
    scores, study, design = inputs.own_scores, inputs.study, inputs.design
    present = set(zip(scores["method"], scores["feedback"], strict=True))
    return {
        method: {
            feedback: _year_rows(scores, [(method, feedback)], [], design, inputs.repeat_rule)
            for name, feedback in study.cells()
            if name == method and (name, feedback) in present
        }
        for method in (item.name for item in study.methods)
    }


def contrast_years(
    inputs: AnalysisInputs, plus: list[CellKey], minus: list[CellKey]
) -> list[dict[str, Any]]:
    """A contrast within each scoring year; empty where one of its cells was never run."""
    scores = inputs.own_scores
    present = set(zip(scores["method"], scores["feedback"], strict=True))
    if not plus or not {*plus, *minus} <= present:
        return []
    return _year_rows(scores, plus, minus, inputs.design, inputs.repeat_rule)


def _year_rows(
    scores: pd.DataFrame,
    plus: list[CellKey],
    minus: list[CellKey],
    design: ScoreDesign,
    rule: RepeatRule,
) -> list[dict[str, Any]]:
    keys = [*plus, *minus]
    named = pd.MultiIndex.from_frame(scores[["method", "feedback"]]).isin(keys)
    chosen = scores[named]
    repeats = {key: (design.repeats or {})[key] for key in keys}
    years = contrast_by_year(
        chosen, plus, minus, ScoreDesign(design.years, design.plantings, None, repeats), rule
    )
    return [
        {"year": str(row.year), "n_sites": int(row.n_sites), "mean": number(row.mean)}
        for row in years.itertuples()
    ]


def resources(inputs: AnalysisInputs) -> dict[str, Any]:
    """Heat, light, CO2 and harvest per crop in scoring runs, by method and condition."""
    study, shown = inputs.study, comparable(inputs.contract)
    table: dict[str, Any] = {item.name: {} for item in study.methods}
    for method, feedback in study.cells():
        row: dict[str, Any] = {"n_sites": 0}
        for name in RESOURCES:
            values = _resource_means(inputs, (method, feedback), name)
            found = mean_and_error(values)
            row["n_sites"] = found["n_sites"]
            row[name], row[f"{name}_se"] = found["mean"], found["se"]
        row["published"] = published_resources(study, method, feedback) if shown else None
        table[method][feedback] = row
    return table


def _resource_means(inputs: AnalysisInputs, key: CellKey, name: str) -> Array:
    """``[site]`` means of one resource, by the same rules as scores."""
    scores, design = inputs.own_scores, inputs.design
    chosen = scores[(scores["method"] == key[0]) & (scores["feedback"] == key[1])]
    if chosen.empty:
        return np.empty(0)
    scored = chosen["status"] == ScoreStatus.SCORED
    as_score = chosen.assign(margin_eur_m2=chosen[name].where(scored, np.nan))
    only = ScoreDesign(design.years, design.plantings, design.sites, {key: design.repeats[key]})
    means, _ = site_means(cells_from_scores(as_score, only)[key], inputs.repeat_rule)
    return means[np.isfinite(means)]


def common_shares(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any] | None:
    """What part of the best single policy's gain over the reference each method reaches.

    A share is the ratio of two mean gains over the same sites. Its interval is a percentile
    bootstrap over sites, left out unless the single policy's gain is above zero in all of its
    central 95 %: a ratio to something near zero says nothing.

    Returns:
        None where the study names no such method; a share is None where the single policy gains
        nothing.
    """
    study = inputs.study
    if study.common is None:
        return None
    base, common = study.main_cell(study.reference), study.main_cell(study.common)
    rows = {}
    for item in study.methods:
        key = study.main_cell(item.name)
        if key in cells and item.name not in (study.reference, study.common):
            rows[item.name] = _share(inputs, cells, key, common, base)
    whole = contrast([cells[common]], [cells[base]], inputs.repeat_rule)
    gain = exact_mean(whole.values) if whole.sites else None
    return {
        "common": study.common,
        "reference": study.reference,
        "gain_eur_m2": number(gain),
        "n_sites": len(whole.sites),
        "methods": rows,
    }


def _share(
    inputs: AnalysisInputs,
    cells: Mapping[CellKey, Cell],
    key: CellKey,
    common: CellKey,
    base: CellKey,
) -> dict[str, Any]:
    spec = spec_of(inputs)
    own = contrast([cells[key]], [cells[base]], inputs.repeat_rule)
    whole = contrast([cells[common]], [cells[base]], inputs.repeat_rule)
    sites = sorted(set(own.sites) & set(whole.sites))
    undefined = {"n_sites": len(sites), "share": None, "low": None, "high": None}
    if not sites:
        return undefined
    gained = np.array([dict(zip(own.sites, own.values, strict=True))[s] for s in sites])
    possible = np.array([dict(zip(whole.sites, whole.values, strict=True))[s] for s in sites])
    if exact_mean(possible) <= 0:
        return undefined
    share = exact_mean(gained) / exact_mean(possible)
    low, high = ratio_interval(gained, possible, spec, spec.base_seed)
    return {"n_sites": len(sites), "share": number(share), "low": number(low), "high": number(high)}


def ratio_interval(
    above: Array, below: Array, spec: AnalysisSpec, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """Central part of the ratio of means over resampled sites; none near a zero denominator.

    Args:
        above: ``[site]`` values of the numerator.
        below: ``[site]`` values of the denominator, same sites.
        spec: names the confidence and the number of resamples.
        seed: of the resamples.
    """
    if len(above) < 3:
        return None, None
    rng = np.random.default_rng([seed, 0x5A])
    draws = rng.integers(0, len(above), size=(spec.measures.share_resamples, len(above)))
    tails = (1.0 - spec.confidence) / 2.0, (1.0 + spec.confidence) / 2.0
    bottom = below[draws].mean(axis=1)
    if np.quantile(bottom, tails[0]) <= 0:
        return None, None
    low, high = np.quantile(above[draws].mean(axis=1) / bottom, tails)
    return float(low), float(high)
