"""What the language models of a study asked, answered and cost, and how they used the predictor.

Counts come from the transcripts, one row a campaign. Both branches of a campaign begin with the
same exchanges: in totals these count once, in means per campaign they belong to each branch.
Nothing unknown becomes zero: tokens and money are summed over what is known, and what is not is
counted beside them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from slowlab.agents.outages import AttemptFault
from slowlab.agents.summary import FLAGS, SHARED
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_published import comparable, published_accounting
from slowlab.analysis.study_scores import number
from slowlab.campaign.settlement import CampaignStatus

MEANS = (
    "model_calls",
    "prompt_characters",
    "prompt_tokens",
    "completion_tokens",
    "answers_of_unknown_length",
    "cost_usd",
    "attempts_of_unknown_cost",
    "failed_attempts",
    "format_errors",
    "invalid_actions",
    "tool_calls",
    "tool_errors",
    "observe_calls",
    "raw_records",
    "daily_rows",
    "notes_updates",
)
"""Counts of which the mean per campaign is shown."""

_CAMPAIGN = ["site", "method", "feedback", "repeat"]
_START = ["site", "method", "repeat"]


def agent_numbers(inputs: AnalysisInputs) -> dict[str, Any] | None:
    """Everything that is counted of language models.

    Returns:
        None for a study without a language model: totals over all campaigns, and by method its
        totals, and by condition means, flags, ends and the use of the predictor.
    """
    study = inputs.study
    if not study.language_models:
        return None
    table, shown = _own_rows(inputs), comparable(inputs.contract)
    return {
        "predictor_gate": spec_of(inputs).measures.predictor_gate,
        "totals": totals(table),
        "methods": {
            item.name: {
                "model": item.model,
                "harness": item.harness,
                "published": published_accounting(item.published) if shown else None,
                "totals": totals(table[table["method"] == item.name]),
                "conditions": {
                    mode: condition_numbers(inputs, table, item.name, mode)
                    for mode in study.feedback
                },
            }
            for item in study.language_models
        },
    }


def totals(table: pd.DataFrame) -> dict[str, Any]:
    """Sums over campaigns, with what their branches share counted once.

    Args:
        table: rows of campaigns, as in ``slowlab.stages.agent_table``.

    Returns:
        ``campaigns``, every name of ``SHARED`` (None for tokens and money of which nothing is
        known), and in place of its faults ``faults``: failed attempts by fault.
    """
    sums: dict[str, Any] = {"campaigns": len(table)}
    for name in SHARED:
        whole, shared = table[name].fillna(0.0), table[f"shared_{name}"].fillna(0.0)
        begun = shared.groupby([table[key] for key in _START]).max()
        total = math.fsum([*(whole - shared), *begun])
        known = table[name].notna().any()
        sums[name] = (number(total) if name == "cost_usd" else round(total)) if known else None
    faults = {fault.value: sums.pop(f"failed_{fault}") for fault in AttemptFault}
    return {**sums, "faults": faults}


def condition_numbers(
    inputs: AnalysisInputs, table: pd.DataFrame, method: str, feedback: str
) -> dict[str, Any]:
    """One method under one condition; campaigns that failed technically are left out."""
    rows = table[(table["method"] == method) & (table["feedback"] == feedback)]
    sound = _sound_names(inputs)
    rows = rows[[name in sound for name in rows[_CAMPAIGN].itertuples(index=False, name=None)]]
    return {
        "campaigns": len(rows),
        "mean_per_campaign": {name: _known_mean(rows[name]) for name in MEANS},
        "campaigns_with": {name: int((rows[name] > 0).sum()) for name in FLAGS},
        "endings": {str(key): int(count) for key, count in _sorted_counts(rows["ending"])},
        "predictor": predictor_numbers(rows, spec_of(inputs).measures.predictor_gate),
    }


def predictor_numbers(rows: pd.DataFrame, gate: float) -> dict[str, Any]:
    """Attempts at a prediction, those with enough readings, and how many of these were answered.

    Args:
        rows: campaigns of a language model.
        gate: least share of the attempts with enough readings that must be answered.

    Returns:
        Counts, the ``share`` answered of the attempts with enough readings (None without any) and
        whether it reaches the gate.
    """
    attempts, ready, outputs, answered = (
        int(rows[name].sum())
        for name in (
            "predictor_attempts",
            "predictor_with_readings",
            "predictor_outputs",
            "predictor_outputs_with_readings",
        )
    )
    share = answered / ready if ready else None
    return {
        "attempts": attempts,
        "with_readings": ready,
        "outputs": outputs,
        "outputs_with_readings": answered,
        "share": number(share),
        "reaches_gate": None if share is None else share >= gate,
    }


def _own_rows(inputs: AnalysisInputs) -> pd.DataFrame:
    """Rows of the study's own language models on its sites, in the order of campaigns."""
    if inputs.agents is None:
        raise ValueError("the study has language models, but no table of their campaigns was given")
    table, names = inputs.agents, [item.name for item in inputs.study.language_models]
    chosen = table["method"].isin(names) & table["site"].isin(inputs.study.sites)
    chosen &= table["feedback"].isin(inputs.study.feedback)
    return table[chosen].sort_values(_CAMPAIGN, ignore_index=True)


def _sound_names(inputs: AnalysisInputs) -> set[tuple[Any, ...]]:
    campaigns = inputs.campaigns
    sound = campaigns["status"].isin([CampaignStatus.FINISHED, CampaignStatus.CLOSED])
    return set(campaigns.loc[sound, _CAMPAIGN].itertuples(index=False, name=None))


def _known_mean(values: pd.Series) -> float | None:
    known = values.dropna().to_numpy(np.float64)
    return number(math.fsum(known) / known.size) if known.size else None


def _sorted_counts(values: pd.Series) -> list[tuple[Any, Any]]:
    return sorted(values.value_counts().items())
