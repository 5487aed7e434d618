"""The primary tests once more under other dry-matter fractions of the fruit, without simulation.

The simulator grows dry matter. Another fraction changes the fresh harvest by the inverse ratio,
and with it sales and handling, so each planting's margin changes by
``harvest * (fraction used / other fraction - 1) * (fruit price - handling)``. Policies stay: no
campaign is run again. Source: SlowLab, sensitivity; the same rule for one crop is
:func:`slowlab.world.economics.margin_at_dry_matter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.published import load_published
from slowlab.analysis.results import family_results
from slowlab.analysis.scores import cells_from_scores
from slowlab.analysis.study_families import declared_tests, spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_published import comparable
from slowlab.analysis.study_scores import number
from slowlab.world.economics import FixedCosts

_FRUIT = "fruit_eur_per_kg_fresh"
_READINGS = ("sign", "significant", "unadjusted", "verdict")


def dry_matter_numbers(inputs: AnalysisInputs, tests: Mapping[str, Any]) -> dict[str, Any] | None:
    """All tests of the first family at every declared fraction.

    Seeds, repeats and adjustment are those of the confirmatory tests.

    Args:
        inputs: the study.
        tests: the confirmatory results by name, as in the numbers.

    Returns:
        ``drawn``: the fraction of the scores; ``fractions``: by fraction as text and by test the
        results, ``changes`` (which of the estimate's sign, the significance before and after
        adjustment and the verdict are others than at the drawn fraction) and the published result;
        ``sentence``. None where the sites' prices are not known.
    """
    facts, spec = inputs.site_facts, spec_of(inputs)
    if facts is None or not spec.families:
        return None
    costs = inputs.contract.economics.fixed_costs
    prices = dict(zip(facts["site"].tolist(), facts[_FRUIT].tolist(), strict=True))
    first = spec.model_copy(update={"families": spec.families[:1]})
    fractions = {
        f"{fraction:g}": _at(inputs, first, scores_at(inputs.own_scores, prices, fraction, costs))
        for fraction in sorted(spec.sensitivity.dry_matter_fractions)
    }
    for fraction, results in fractions.items():
        for name, row in results.items():
            row["changes"] = _changes(row, tests[name], spec.alpha)
            row["published"] = _published(inputs, fraction, name)
    return {
        "drawn": costs.fruit_dry_matter_fraction,
        "fractions": fractions,
        "sentence": sentence(fractions, tests, costs.fruit_dry_matter_fraction, spec.alpha),
    }


def scores_at(
    scores: pd.DataFrame, prices: Mapping[int, float], fraction: float, costs: FixedCosts
) -> pd.DataFrame:
    """Scores as they would be with another dry-matter fraction of the fruit.

    Args:
        scores: in the form of :data:`slowlab.evaluation.score.SCORE_SCHEMA`.
        prices: fruit price by site, EUR/kg fresh.
        fraction: the other fraction, above 0.
        costs: of the contract, with the fraction of the scores.

    Raises:
        KeyError: a site without a price.
    """
    price = pd.Series([prices[site] for site in scores["site"].tolist()], index=scores.index)
    extra = costs.fruit_dry_matter_fraction / fraction - 1.0
    gained = scores["harvest_kg_m2"] * extra * (price - costs.harvest_handling_eur_per_kg)
    harvest = scores["harvest_kg_m2"] * (1.0 + extra)
    return scores.assign(margin_eur_m2=scores["margin_eur_m2"] + gained, harvest_kg_m2=harvest)


def sentence(
    fractions: Mapping[str, Mapping[str, Any]],
    tests: Mapping[str, Any],
    drawn: float,
    alpha: float,
) -> str:
    """What changes with the fraction, in words, from the results alone.

    Args:
        fractions: results with ``changes`` by fraction and test.
        tests: the confirmatory results by name.
        drawn: fraction of the scores.
        alpha: level of the tests.
    """
    parts = []
    for fraction, results in fractions.items():
        changed = [
            f"{name} ({_shown(row)}): {'; '.join(_words(row, tests[name], alpha))}"
            for name, row in results.items()
            if row["changes"]
        ]
        if changed:
            parts.append(f"At {fraction} these primary tests read otherwise: {', '.join(changed)}.")
        else:
            parts.append(
                f"At {fraction} every primary test has the same sign, the same significance "
                "before and after adjustment, and the same verdict."
            )
    return f"Compared with the drawn dry-matter fraction of {drawn:g}: " + " ".join(parts)


def _at(inputs: AnalysisInputs, spec: AnalysisSpec, scores: pd.DataFrame) -> dict[str, Any]:
    table, _ = family_results(spec, cells_from_scores(scores, inputs.design))
    kept = ("estimate", "ci_low", "ci_high", "p", "p_adjusted")
    return {
        str(row["test"]): {
            "n_sites": int(row["n_sites"]),
            **{name: number(float(row[name])) for name in kept},
            "significant": str(row["significant"]),
            "verdict": str(row["verdict"]),
        }
        for row in table.to_dict("records")
    }


def _reading(row: Mapping[str, Any], alpha: float) -> dict[str, Any]:
    estimate, p = row["estimate"], row["p"]
    return {
        "sign": None if estimate is None else (estimate > 0) - (estimate < 0),
        "significant": row["significant"],
        "unadjusted": None if p is None else p < alpha,
        "verdict": row["verdict"],
    }


def _changes(row: Mapping[str, Any], test: Mapping[str, Any], alpha: float) -> list[str]:
    one, other = _reading(row, alpha), _reading(test, alpha)
    return [what for what in _READINGS if one[what] != other[what]]


def _words(row: Mapping[str, Any], test: Mapping[str, Any], alpha: float) -> list[str]:
    """Every change in words."""
    below = "below" if _reading(row, alpha)["unadjusted"] else "not below"
    words = {
        "sign": "the estimate has the other sign",
        "significant": "significant after adjustment"
        if row["significant"] == "yes"
        else "not significant after adjustment",
        "unadjusted": f"unadjusted p {below} {alpha:g}",
        "verdict": f"verdict {row['verdict']} instead of {test['verdict']}",
    }
    return [words[what] for what in row["changes"]]


def _shown(row: Mapping[str, Any]) -> str:
    return (
        f"{two_decimals(row['estimate'])} [{two_decimals(row['ci_low'])}, "
        f"{two_decimals(row['ci_high'])}], p {p_text(row['p'])}, "
        f"adjusted {p_text(row['p_adjusted'])}"
    )


def _published(inputs: AnalysisInputs, fraction: str, name: str) -> dict[str, Any] | None:
    """The published result at the same fraction; its p-value is not adjusted."""
    if not comparable(inputs.contract):
        return None
    names = {test.contrast.name: test.published for test in declared_tests(inputs.study)}
    tests = load_published().dry_matter_sensitivity.corrected.tests.get(fraction, {})
    found = tests.get(names.get(name) or "")
    if found is None:
        return None
    return {
        "estimate": found.mean,
        "ci_low": found.ci95_bca[0],
        "ci_high": found.ci95_bca[1],
        "p": found.p_sign_flip,
    }
