"""The primary tests once more with a linear mixed model, beside the confirmatory tests.

The values are differences within a site, repeat and scoring year, in which everything that the
cells share cancels: the site's level, the year's weather, the evaluation. What is left varies with
the site, with the repeat within it, with the campaign's and the scoring year's weather, and with
the scoring year within the site. Every value that exists counts, also of a site that lacks others.
The model assumes normal effects; the sign-flip test does not and stays the one that decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from slowlab.analysis.families import AnalysisSpec, CellRef, ContrastSpec
from slowlab.analysis.multiplicity import adjust
from slowlab.analysis.reml import (
    FitStatus,
    RandomEffectsFit,
    fit_random_effects,
    separable_effects,
)
from slowlab.analysis.samples import round_p
from slowlab.analysis.scores import SCORED
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import NO_FEEDBACK, AnalysisInputs
from slowlab.analysis.study_scores import number

FEWEST_SITES = 3
FEW_LEVELS, NOT_SEPARABLE, UNKNOWN = "few_levels", "not_separable", "unknown"
"""Why an effect is left out: fewer levels than declared; its variance cannot be told from those of
the effects before it; the tables do not say the level."""

_KEY = ["site", "repeat", "year"]


def mixed_model_numbers(inputs: AnalysisInputs, tests: Mapping[str, Any]) -> dict[str, Any]:
    """Mixed models of all tests of the first family.

    Args:
        inputs: the study.
        tests: the confirmatory results by name, as in the numbers.

    Returns:
        ``effects`` and ``fewest_levels`` as declared; by test ``status`` (see
        :class:`slowlab.analysis.reml.FitStatus`), ``n_sites``, ``n_values``, ``estimate``, ``se``,
        ``freedom``, ``ci_low``, ``ci_high`` (t), ``p``, ``p_adjusted`` within the family,
        ``significant``, ``variances`` by effect ((EUR/m2)^2), ``left_out`` with the reasons, and
        ``disagrees``: which of ``sign`` and ``significance`` are not those of the sign-flip test.
    """
    spec = spec_of(inputs)
    wanted = spec.sensitivity.mixed_model
    family = spec.families[0] if spec.families else None
    declared = () if family is None else family.tests
    years = _year_scores(inputs)
    rows = {test.name: _fitted(inputs, spec, year_differences(years, test)) for test in declared}
    if family is not None:
        found = [row["p"] for row in rows.values()]
        for row, p in zip(
            rows.values(), adjust(found, family.adjustment, family.size_rule), strict=True
        ):
            row["p_adjusted"] = number(float(p))
            row["significant"] = None if row["p_adjusted"] is None else bool(p < spec.alpha)
    for name, row in rows.items():
        row["disagrees"] = _disagreements(row, tests[name])
    return {
        "effects": list(wanted.effects),
        "fewest_levels": wanted.fewest_levels,
        "tests": rows,
    }


def year_differences(years: pd.DataFrame, test: ContrastSpec) -> pd.DataFrame:
    """Values of a contrast within site, repeat and scoring year.

    A cell without campaigns has one repeat, which stands beside every repeat of the others.

    Args:
        years: ``method``, ``feedback``, ``site``, ``repeat``, ``year`` and ``score`` (EUR/m2).
        test: names the cells.

    Returns:
        ``site``, ``repeat``, ``year``, ``value``, in this order; only where every cell has a score.
    """
    signed = [(ref, 1.0) for ref in test.plus] + [(ref, -1.0) for ref in test.minus]
    signed.sort(key=lambda item: item[0].feedback == NO_FEEDBACK)  # these have no repeats
    total: pd.DataFrame | None = None
    for ref, sign in signed:
        part = _cell(years, ref)
        part["score"] *= sign
        if total is None:
            total = part.rename(columns={"score": "value"})
            continue
        alone = ref.feedback == NO_FEEDBACK
        key = ["site", "year"] if alone else _KEY
        both = total.merge(part[[*key, "score"]], on=key)
        total = both.assign(value=both["value"] + both["score"]).drop(columns="score")
    if total is None:
        total = pd.DataFrame(columns=[*_KEY, "value"])
    return total.sort_values(_KEY).reset_index(drop=True)


def _year_scores(inputs: AnalysisInputs) -> pd.DataFrame:
    """Scores of a recommendation in a scoring year in which every planting was scored."""
    scores = inputs.own_scores
    groups = ["method", "feedback", *_KEY]
    scored = scores[scores["status"] == SCORED].sort_values([*groups, "planting_day"])
    found = scored.groupby(groups)["margin_eur_m2"].agg(["mean", "size"]).reset_index()
    whole = found["size"] == len(inputs.contract.evaluation.plantings)
    return found[whole].rename(columns={"mean": "score"}).drop(columns="size")


def _cell(years: pd.DataFrame, ref: CellRef) -> pd.DataFrame:
    chosen = (years["method"] == ref.method) & (years["feedback"] == ref.feedback)
    return years.loc[chosen, [*_KEY, "score"]].copy()


def _levels(inputs: AnalysisInputs, values: pd.DataFrame) -> dict[str, pd.Series | None]:
    """Number of the level of each effect for each value; None where the tables do not say it."""
    campaign: pd.Series | None = None
    if inputs.site_facts is not None:
        years = inputs.site_facts.set_index("site")["campaign_year"]
        campaign = values["site"].map(years)
        campaign = None if campaign.isna().any() else _numbered(campaign)
    return {
        "site": values["site"],
        "repeat": _numbered(values["site"], values["repeat"]),
        "campaign_year": campaign,
        "scoring_year": _numbered(values["year"]),
        "site_year": _numbered(values["site"], values["year"]),
    }


def _numbered(*columns: pd.Series) -> pd.Series:
    """Levels of one column, or of several together, as numbers."""
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return pd.Series([places[key] for key in keys], dtype="int64")


def _fitted(inputs: AnalysisInputs, spec: AnalysisSpec, values: pd.DataFrame) -> dict[str, Any]:
    """The model of one test."""
    wanted = spec.sensitivity.mixed_model
    sites = int(values["site"].nunique())
    known, left_out = {}, {}
    levels = _levels(inputs, values)
    for name in wanted.effects:
        found = levels[name]
        if found is None or found.nunique() < wanted.fewest_levels:
            left_out[name] = UNKNOWN if found is None else FEW_LEVELS
        else:
            known[name] = found
    kept = separable_effects(known)
    left_out |= {name: NOT_SEPARABLE for name in known if name not in kept}
    if sites < FEWEST_SITES:
        fit = RandomEffectsFit(FitStatus.TOO_FEW)
    else:
        fit = fit_random_effects(values["value"], {name: known[name] for name in kept})
    return {
        "status": fit.status.value,
        "n_sites": sites,
        "n_values": len(values),
        **_estimate(fit, spec.confidence),
        "variances": {name: number(value) for name, value in (fit.variances or {}).items()},
        "left_out": {name: left_out[name] for name in wanted.effects if name in left_out},
    }


def _estimate(fit: RandomEffectsFit, confidence: float) -> dict[str, Any]:
    low = high = p = None
    if fit.mean is not None and fit.error and fit.freedom:
        reach = float(stdtrit(fit.freedom, 0.5 + confidence / 2.0)) * fit.error
        low, high = fit.mean - reach, fit.mean + reach
        p = round_p(2.0 * float(stdtr(fit.freedom, -abs(fit.mean) / fit.error)))
    return {
        "estimate": number(fit.mean),
        "se": number(fit.error),
        "freedom": number(fit.freedom),
        "ci_low": number(low),
        "ci_high": number(high),
        "p": p,
    }


def _disagreements(row: Mapping[str, Any], test: Mapping[str, Any]) -> list[str] | None:
    """What differs from the sign-flip test; None where either has no result."""
    first, other = row["estimate"], test["estimate"]
    if first is None or other is None:
        return None
    found: Sequence[tuple[str, bool]] = [("sign", bool(np.sign(first) * np.sign(other) < 0))]
    if row["significant"] is not None and test["significant"] != "undefined":
        differs = row["significant"] != (test["significant"] == "yes")
        found = [*found, ("significance", differs)]
    return [what for what, differs in found if differs]


def share_of(variances: Mapping[str, float], name: str) -> float | None:
    """Share of one effect in the sum of all variances; None without spread."""
    total = math.fsum(variances.values())
    return variances[name] / total if total > 0.0 and name in variances else None
