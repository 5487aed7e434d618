"""All numbers of a study in one document, from which every table and figure is made.

Nothing that is shown is computed anywhere else. The document is plain data with a canonical JSON
form: missing numbers are null, and equal inputs give equal bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd

from slowlab.analysis.agents import agent_numbers
from slowlab.analysis.autolab import autolab_numbers
from slowlab.analysis.diagnostics import diagnostics
from slowlab.analysis.environment_table import environment_rows
from slowlab.analysis.example_steps import example_steps
from slowlab.analysis.missing_data import missing_data_numbers
from slowlab.analysis.numbers_file import FORMAT
from slowlab.analysis.paired import Cell, Differences
from slowlab.analysis.results import ContrastResult, family_results
from slowlab.analysis.samples import round_result
from slowlab.analysis.scores import CellKey, cells_from_scores
from slowlab.analysis.study_families import DeclaredTest, declared_tests, spec_of
from slowlab.analysis.study_inputs import AnalysisInputs, StudyDescription
from slowlab.analysis.study_published import comparable, published_test
from slowlab.analysis.study_readers import pooled_gains, reader_numbers, swap_gains
from slowlab.analysis.study_scores import (
    common_shares,
    contrast_years,
    mean_scores,
    number,
    resources,
    scores_by_year,
)
from slowlab.analysis.timeline import example_timelines


def build_numbers(inputs: AnalysisInputs) -> dict[str, Any]:
    """Every number of a study.

    Args:
        inputs: its description and tables.

    Returns:
        Plain data, see the keys below; money in EUR per m2 of floor and crop.

    Raises:
        ValueError: the tables do not fit the description, for example more repeats than planned.
    """
    cells = cells_from_scores(inputs.own_scores, inputs.design)
    swaps = swap_gains(inputs, cells)
    given = _given(inputs, swaps)
    spec, tested = spec_of(inputs), family_results(spec_of(inputs), cells, given)
    return {
        "format": FORMAT,
        "study": _study(inputs),
        "methods": _methods(inputs.study, cells),
        "means": mean_scores(inputs, cells),
        "families": _families(inputs),
        "tests": _tests(inputs, *tested),
        "missing_data": missing_data_numbers(
            spec, tested[0], cells, given, len(inputs.study.sites)
        ),
        "scores_by_year": scores_by_year(inputs),
        "resources": resources(inputs),
        "common_gain": common_shares(inputs, cells),
        "timelines": example_timelines(inputs),
        "example_steps": example_steps(inputs),
        "agents": agent_numbers(inputs),
        "autolab": autolab_numbers(inputs, cells),
        "readers": reader_numbers(inputs, swaps),
        "diagnostics": diagnostics(inputs),
        "campaigns": _campaigns(inputs),
        "environment": environment_rows(
            inputs.contract, inputs.distribution, inputs.study.weather, inputs.study.feedback
        ),
        "provenance": {
            "slowlab": version("slowlab"),
            "inputs": dict(inputs.hashes),
            "lock": inputs.lock,
        },
    }


def _study(inputs: AnalysisInputs) -> dict[str, Any]:
    study, rules, sites = inputs.study, inputs.contract, inputs.distribution
    return {
        "name": study.study,
        "purpose": study.purpose,
        "partition": study.partition,
        "sites": list(study.sites),
        "n_sites": len(study.sites),
        "repeats": study.repeats,
        "feedback": list(study.feedback),
        "contract": rules.id,
        "distribution": sites.id,
        "weather": study.weather,
        "marks": list(study.marks),
        "exploratory": inputs.lock is None,
        "baseline": study.baseline,
        "reference": study.reference,
        "common": study.common,
        "sesoi_eur_m2": study.sesoi_eur_m2,
        "alpha": study.alpha,
        "base_seed": study.base_seed,
        "scoring_years_per_site": sites.evaluation_years,
        "published_shown": comparable(rules),
    }


def _methods(study: StudyDescription, cells: Mapping[CellKey, Cell]) -> list[dict[str, Any]]:
    """Methods in the study's order; one without a single score is marked as missing."""
    rows = []
    for item in study.methods:
        known = [cells[key] for key in study.cells() if key[0] == item.name]
        scored = any(reason is None for cell in known for row in cell.missing for reason in row)
        rows.append(
            {
                "name": item.name,
                "label": item.shown,
                "experiments": item.experiments,
                "stand_in": item.stand_in,
                "model": item.model,
                "harness": item.harness,
                "baseline": item.name == study.baseline,
                "reference": item.name == study.reference,
                "feedback": study.main_cell(item.name)[1],
                "missing": not scored,
            }
        )
    return rows


def _families(inputs: AnalysisInputs) -> list[dict[str, Any]]:
    """Families with their tests, and the questions that these answer."""
    questions = {test.contrast.name: test.question for test in declared_tests(inputs.study)}
    found = []
    for family in spec_of(inputs).families:
        tests = [contrast.name for contrast in family.tests]
        found.append(
            {
                "name": family.name,
                "adjustment": family.adjustment.value,
                "questions": list(dict.fromkeys(questions[name] for name in tests)),
                "tests": tests,
            }
        )
    return found


def _given(inputs: AnalysisInputs, swaps: Mapping[Any, Any]) -> dict[str, Differences]:
    """Values of the declared tests that are not made of cells."""
    names = {test.contrast.name for test in declared_tests(inputs.study)}
    pooled = pooled_gains(inputs, dict(swaps))
    return {name: values for name, values in pooled.items() if name in names}


def _tests(
    inputs: AnalysisInputs, table: pd.DataFrame, results: Mapping[str, ContrastResult]
) -> dict[str, Any]:
    """All declared tests by name: statistics, site-level differences, published test beside it."""
    declared = declared_tests(inputs.study)
    rows = {str(row["test"]): row for row in table.to_dict("records")}
    return {
        test.contrast.name: _test(inputs, test, rows[test.contrast.name], results)
        for test in declared
    }


def _test(
    inputs: AnalysisInputs,
    test: DeclaredTest,
    row: Mapping[str, Any],
    results: Mapping[str, ContrastResult],
) -> dict[str, Any]:
    found = results[test.contrast.name].differences
    plus, minus = ([ref.key for ref in side] for side in (test.contrast.plus, test.contrast.minus))
    return {
        "question": test.question,
        "subject": test.subject,
        "label": test.label,
        "plus": ["/".join(key) for key in plus],
        "minus": ["/".join(key) for key in minus],
        **{name: _plain(value) for name, value in row.items() if name not in ("test", "place")},
        "sites": list(found.sites),
        "differences": [round_result(value) for value in found.values],
        "by_year": contrast_years(inputs, plus, minus),
        "published": published_test(test.published) if comparable(inputs.contract) else None,
    }


def _plain(value: Any) -> Any:
    """A value of a table's cell as plain data: missing numbers are None."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    whole = isinstance(value, int) or getattr(value, "dtype", None) == "int64"
    return int(value) if whole else number(float(value))


def _campaigns(inputs: AnalysisInputs) -> dict[str, Any]:
    """Planned and finished campaigns of every method and condition, endings and fallbacks."""
    study, table = inputs.study, inputs.campaigns
    table = table[table["site"].isin(study.sites)]
    planned = len(study.sites) * study.repeats
    rows = []
    for item in study.experimenting:
        for feedback in study.feedback:
            chosen = table[(table["method"] == item.name) & (table["feedback"] == feedback)]
            statuses = Counter(chosen["status"])
            finished = statuses["finished"] + statuses["closed"]
            reasons = Counter(reason for reason in chosen["fallback_reason"] if reason)
            rows.append(
                {
                    "method": item.name,
                    "feedback": feedback,
                    "planned": planned,
                    "finished": finished,
                    "missing": planned - finished,
                    "endings": dict(sorted(Counter(chosen["ending"]).items())),
                    "fallbacks": dict(sorted(reasons.items())),
                }
            )
    return {
        "planned": sum(row["planned"] for row in rows),
        "finished": sum(row["finished"] for row in rows),
        "missing": sum(row["missing"] for row in rows),
        "fallbacks": sum(sum(row["fallbacks"].values()) for row in rows),
        "rows": rows,
    }
