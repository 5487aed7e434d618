"""All tests once more under the other rule for repeats, and which primary tests lack sites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.families import AnalysisSpec
from slowlab.analysis.paired import Cell, Differences
from slowlab.analysis.results import declared_differences, family_results
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_scores import number

_NUMBERS = ("estimate", "ci_low", "ci_high", "p", "p_adjusted")
_WORDS = ("significant", "verdict", "status")


def repeat_rule_numbers(
    inputs: AnalysisInputs,
    cells: Mapping[CellKey, Cell],
    given: Mapping[str, Differences],
    tests: Mapping[str, Any],
) -> dict[str, Any]:
    """Tests whose result is another one under the sensitivity rule for repeats.

    Seeds and families are those of the confirmatory tests. A test may differ through its adjusted
    p-value alone, because another test of its family does.

    Args:
        inputs: the study.
        cells: its scores by method and condition.
        given: differences that are computed elsewhere, by test; they have no repeats.
        tests: the confirmatory results by name, as in the numbers.

    Returns:
        ``rule`` and ``sensitivity_rule``, ``compared`` tests, and ``differ``: by test the results
        under the sensitivity rule.
    """
    spec = spec_of(inputs)
    other = spec.model_copy(update={"repeat_rule": spec.sensitivity_repeat_rule})
    found = {}
    if _any_site_differs(spec, other, cells):
        table, _ = family_results(other, cells, given)
        rows = {str(row["test"]): _row(row) for row in table.to_dict("records")}
        found = {
            name: row
            for name, row in rows.items()
            if any(row[key] != tests[name][key] for key in row)
        }
    return {
        "rule": spec.repeat_rule.value,
        "sensitivity_rule": spec.sensitivity_repeat_rule.value,
        "compared": sum(len(family.tests) for family in spec.families),
        "differ": found,
    }


def completeness(inputs: AnalysisInputs, test: Mapping[str, Any]) -> dict[str, Any]:
    """Share of the sites that a test lacks, and whether its result is a confirmatory one.

    Args:
        inputs: the study.
        test: its row of the results.

    Returns:
        ``missing_share``, and ``confirmatory``: whether it is a test of the first family that lacks
        no more sites than declared; None for other tests and where no analysis was locked.
    """
    spec, planned = spec_of(inputs), len(inputs.study.sites)
    share = (planned - int(test["n_sites"])) / planned
    primary = bool(spec.families) and test["family"] == spec.families[0].name
    confirmatory = None
    if inputs.lock is not None and primary:
        confirmatory = share <= spec.largest_missing_share
    return {"missing_share": number(share), "confirmatory": confirmatory}


def _any_site_differs(
    spec: AnalysisSpec, other: AnalysisSpec, cells: Mapping[CellKey, Cell]
) -> bool:
    """Whether any test has other site-level values under the other rule."""
    for test in (test for family in spec.families for test in family.tests):
        one, two = (declared_differences(test, cells, rules) for rules in (spec, other))
        if one.sites != two.sites or one.values.tolist() != two.values.tolist():
            return True
    return False


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_sites": int(row["n_sites"]),
        **{name: number(float(row[name])) for name in _NUMBERS},
        **{name: str(row[name]) for name in _WORDS},
    }
