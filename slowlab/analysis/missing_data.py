"""What missing scores may have done to the declared tests: the other rule beside the declared one.

The declared rule needs every repeat; the other one takes the repeats that there are. Both are shown
wherever they differ. A test of the first family that lacks more sites than declared is shown but
not called confirmatory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.paired import Cell, Differences
from slowlab.analysis.results import family_results
from slowlab.analysis.samples import round_result
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_scores import number

COMPARED = (
    "n_sites",
    "estimate",
    "ci_low",
    "ci_high",
    "p",
    "p_adjusted",
    "significant",
    "verdict",
)
"""What is given of a test under both rules."""


def missing_data_numbers(
    spec: AnalysisSpec,
    declared: pd.DataFrame,
    cells: Mapping[CellKey, Cell],
    differences: Mapping[str, Differences],
    planned: int,
) -> dict[str, Any]:
    """Every declared test under both rules for repeats, and how many sites it lacks.

    Args:
        spec: the declared families and numbers.
        declared: results under the declared rule, of
            :data:`slowlab.analysis.results.RESULT_SCHEMA`.
        cells: cells by method and condition.
        differences: values of tests that are computed elsewhere; both rules leave them alike.
        planned: sites of the study.

    Returns:
        The two rules, the largest share of sites that a test may lack, and by test: both ``rules``,
        whether they ``differ``, ``missing_share``, and ``confirmatory``: whether it lacks few
        enough, None outside the first family.
    """
    own = other = _rows(declared)
    if not all(np.isfinite(cell.scores).all() for cell in cells.values()):
        changed = spec.model_copy(update={"repeat_rule": spec.sensitivity_repeat_rule})
        other = _rows(family_results(changed, cells, differences)[0])
    both = {spec.sensitivity_repeat_rule.value: other, spec.repeat_rule.value: own}
    first = {test.name for test in spec.families[0].tests} if spec.families else set()
    tests = {}
    for name, row in own.items():
        lacking = round_result(1.0 - row["n_sites"] / planned)
        tests[name] = {
            "rules": {rule: rows[name] for rule, rows in both.items()},
            "differ": row != other[name],
            "missing_share": lacking,
            "confirmatory": lacking <= spec.largest_missing_share if name in first else None,
        }
    return {
        "rule": spec.repeat_rule.value,
        "other_rule": spec.sensitivity_repeat_rule.value,
        "largest_missing_share": spec.largest_missing_share,
        "tests": tests,
    }


def missing_data_rows(numbers: Mapping[str, Any]) -> list[dict[str, str]]:
    """One row for each test and rule: tests of the first family, and all that differ.

    Args:
        numbers: of the study.
    """
    found = numbers["missing_data"]
    names = (name for family in numbers["families"] for name in family["tests"])
    ordered = [(name, found["tests"][name]) for name in names]
    return [
        {
            "test": name,
            "difference": numbers["tests"][name]["label"],
            "repeats": rule,
            "declared": "yes" if rule == found["rule"] else "no",
            "sites": str(row["n_sites"]),
            "missing_share": two_decimals(test["missing_share"]),
            "enough_sites": {True: "yes", False: "no", None: ""}[test["confirmatory"]],
            "estimate": two_decimals(row["estimate"]),
            "ci_low": two_decimals(row["ci_low"]),
            "ci_high": two_decimals(row["ci_high"]),
            "p": p_text(row["p"]),
            "p_adjusted": p_text(row["p_adjusted"]),
            "verdict": row["verdict"],
        }
        for name, test in ordered
        if test["differ"] or test["confirmatory"] is not None
        for rule, row in sorted(test["rules"].items(), key=lambda item: item[0] != found["rule"])
        if test["differ"] or rule == found["rule"]
    ]


def _rows(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        str(row["test"]): {name: _plain(row[name]) for name in COMPARED}
        for row in table.to_dict("records")
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) else number(value)
