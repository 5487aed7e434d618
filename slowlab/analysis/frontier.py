"""What methods cost and what they score, and which of them no other one beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from slowlab.analysis.campaign_facts import CampaignFacts, Name
from slowlab.analysis.paired import Cell, contrast, site_means
from slowlab.analysis.samples import exact_mean
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_inputs import AnalysisInputs, MethodInfo
from slowlab.analysis.study_scores import mean_and_error, number


class CostKnown(StrEnum):
    """How much is known of what a method's campaigns cost.

    Attributes:
        NO_MODEL: it asks no language model, which costs nothing.
        ALL: every attempt has a known cost.
        PART: the sum over known ones is less than what it cost.
        NOTHING: nothing is known.
    """

    NO_MODEL = "no_model"
    ALL = "all"
    PART = "part"
    NOTHING = "nothing"


def cost_frontier(
    inputs: AnalysisInputs, cells: Mapping[CellKey, Cell], facts: Mapping[Name, CampaignFacts]
) -> list[dict[str, Any]]:
    """Cost of a campaign and score of every method in its main condition, in the study's order.

    A method is on the frontier if no other one costs at most as much and scores at least as much,
    one of them strictly. Only methods whose cost is fully known are compared; for the others
    ``on_frontier`` is None and ``usd_per_campaign`` a lower bound, or None.
    """
    rows = [
        _cost_row(inputs, item, cells, facts)
        for item in inputs.study.methods
        if inputs.study.main_cell(item.name) in cells
    ]
    sure = [row for row in rows if _comparable(row)]
    for row in sure:
        row["on_frontier"] = not any(_beats(other, row) for other in sure)
    return rows


def generation_deltas(
    inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]
) -> list[dict[str, Any]]:
    """Every language model less its predecessor under the same harness, site by site, EUR/m2.

    A model whose predecessor is named but not in the study has no difference, and ``before`` is
    None.
    """
    study, rows = inputs.study, []
    for item in study.language_models:
        if item.predecessor is None:
            continue
        before = [
            other
            for other in study.language_models
            if (other.model, other.harness) == (item.predecessor, item.harness)
        ]
        rows += [_delta(inputs, cells, item, other) for other in before or [None]]
    return rows


def _cost_row(
    inputs: AnalysisInputs,
    item: MethodInfo,
    cells: Mapping[CellKey, Cell],
    facts: Mapping[Name, CampaignFacts],
) -> dict[str, Any]:
    key = inputs.study.main_cell(item.name)
    means, _ = site_means(cells[key], inputs.repeat_rule)
    found = mean_and_error(means[np.isfinite(means)])
    known, cost = CostKnown.NO_MODEL, 0.0
    if item.model:
        known, cost = _cost([fact for name, fact in facts.items() if name[1:3] == key])
    return {
        "method": item.name,
        "feedback": key[1],
        "stand_in": item.stand_in,
        "usd_per_campaign": number(cost),
        "cost_known": known.value,
        "mean_score": found["mean"],
        "n_sites": found["n_sites"],
        "on_frontier": None,
    }


def _cost(facts: Sequence[CampaignFacts]) -> tuple[CostKnown, float | None]:
    """Mean cost of campaigns with the beginning that their branches share, USD."""
    asked = [fact.agent for fact in facts if fact.agent is not None]
    costs = [float(row["cost_usd"]) for row in asked if np.isfinite(row["cost_usd"])]
    if not costs:
        return CostKnown.NOTHING, None
    gaps = sum(int(row["attempts_of_unknown_cost"]) for row in asked)
    known = CostKnown.ALL if len(costs) == len(facts) and not gaps else CostKnown.PART
    return known, exact_mean(np.array(costs))


def _comparable(row: Mapping[str, Any]) -> bool:
    return (
        row["cost_known"] in (CostKnown.ALL, CostKnown.NO_MODEL) and row["mean_score"] is not None
    )


def _beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    better = (
        other["usd_per_campaign"] - one["usd_per_campaign"],
        one["mean_score"] - other["mean_score"],
    )
    return min(better) >= 0.0 and max(better) > 0.0


def _delta(
    inputs: AnalysisInputs,
    cells: Mapping[CellKey, Cell],
    item: MethodInfo,
    before: MethodInfo | None,
) -> dict[str, Any]:
    study, key = inputs.study, inputs.study.main_cell(item.name)
    values = np.empty(0)
    if before is not None and {key, study.main_cell(before.name)} <= set(cells):
        old = cells[study.main_cell(before.name)]
        values = contrast([cells[key]], [old], inputs.repeat_rule).values
    return {
        "method": item.name,
        "before": None if before is None else before.name,
        "model": item.model,
        "predecessor": item.predecessor,
        "harness": item.harness,
        "feedback": key[1],
        "stand_in": item.stand_in or (before is not None and before.stand_in),
        **mean_and_error(values),
    }
