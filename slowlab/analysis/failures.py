"""Failure classes of all campaigns of a study, counted, with the evidence of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from slowlab.analysis.campaign_facts import CampaignFacts, Name
from slowlab.analysis.failure_classes import Failure, FailureClass, classify
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs

RECORDS_NAMED = 5
"""So many records are named as evidence; the others are counted."""


def failure_numbers(inputs: AnalysisInputs, facts: Mapping[Name, CampaignFacts]) -> dict[str, Any]:
    """Classes of all planned campaigns.

    Args:
        inputs: the study.
        facts: its planned campaigns.

    Returns:
        ``classes`` in the order of their rules, ``counts`` by method, condition and class (every
        campaign counts once), and ``failed``: each campaign with a class, with its evidence.
    """
    study = inputs.study
    found = {name: classify(item, inputs.contract) for name, item in facts.items()}
    return {
        "classes": [kind.value for kind in FailureClass],
        "most_share": spec_of(inputs).measures.most_share,
        "counts": {
            item.name: {mode: _counts(found, item.name, mode) for mode in study.feedback}
            for item in study.experimenting
        },
        "failed": [
            _row(name, failure)
            for name, failure in found.items()
            if failure.kind is not FailureClass.NONE
        ],
    }


def _counts(found: Mapping[Name, Failure], method: str, mode: str) -> dict[str, int]:
    counts = Counter(item.kind for name, item in found.items() if name[1:3] == (method, mode))
    return {kind.value: counts[kind] for kind in FailureClass}


def _row(name: Name, failure: Failure) -> dict[str, Any]:
    site, method, feedback, repeat = name
    return {
        "site": site,
        "method": method,
        "feedback": feedback,
        "repeat": repeat,
        "class": failure.kind.value,
        "evidence": failure.evidence,
        "records": list(failure.records[:RECORDS_NAMED]),
        "n_records": len(failure.records),
    }
