"""Rows of the analyses beside the confirmatory one, made from the numbers of a study alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.table_parts import Numbers, Row, tests_in_order

NOTHING = "nothing differs"


def confirmatory_text(test: Mapping[str, Any]) -> str:
    """Whether a result is confirmatory, and if not, why; empty for other tests."""
    if test["confirmatory"] is None:
        return ""
    lacks = f"no: lacks {test['missing_share']:.1%} of the sites"
    return "yes" if test["confirmatory"] else lacks


def mixed_model_rows(numbers: Numbers) -> list[Row]:
    """The model's result, its variances, and the sign-flip result beside it."""
    section = numbers["mixed_model"]
    return [
        {
            "test": name,
            "difference": test["label"],
            **_model(section["tests"][name], section["effects"]),
            "sign_flip_sites": str(test["n_sites"]),
            "sign_flip_estimate": two_decimals(test["estimate"]),
            "sign_flip_low": two_decimals(test["ci_low"]),
            "sign_flip_high": two_decimals(test["ci_high"]),
            "sign_flip_p_adjusted": p_text(test["p_adjusted"]),
            "disagrees": _disagrees(section["tests"][name]["disagrees"]),
        }
        for name, test in tests_in_order(numbers).items()
        if name in section["tests"]
    ]


def dry_matter_rows(numbers: Numbers) -> list[Row]:
    """Every primary test at every fraction, the drawn one first."""
    section = numbers["dry_matter"]
    if section is None:
        return []
    rows = []
    for name, test in tests_in_order(numbers).items():
        results = {name_of: found.get(name) for name_of, found in section["fractions"].items()}
        if all(found is None for found in results.values()):
            continue
        rows.append(_at_fraction(name, test, f"{section['drawn']:g}", test) | {"kind": "drawn"})
        rows += [
            _at_fraction(name, test, fraction, results[fraction]) | {"kind": "recomputed"}
            for fraction in sorted(results)
        ]
    return rows


def repeat_rule_rows(numbers: Numbers) -> list[Row]:
    """Tests that differ, under both rules; one row that says so where none does."""
    section = numbers["sensitivity_repeats"]
    if not section["differ"]:
        return [
            {
                "result": NOTHING,
                "compared": f"{section['compared']} tests",
                "rule": f"{section['rule']} and {section['sensitivity_rule']}",
                "because": "every site has the same value under both rules",
            }
        ]
    rows = []
    for name, test in tests_in_order(numbers).items():
        if name in section["differ"]:
            rows.append(_under_rule(name, test, section["rule"], test))
            rows.append(
                _under_rule(name, test, section["sensitivity_rule"], section["differ"][name])
            )
    return rows


def _model(row: Mapping[str, Any], effects: list[str]) -> Row:
    return {
        "status": row["status"],
        "sites": str(row["n_sites"]),
        "values": str(row["n_values"]),
        "estimate": two_decimals(row["estimate"]),
        "se": two_decimals(row["se"]),
        "df": two_decimals(row["freedom"]),
        "ci_low": two_decimals(row["ci_low"]),
        "ci_high": two_decimals(row["ci_high"]),
        "p": p_text(row["p"]),
        "p_adjusted": p_text(row["p_adjusted"]),
        **{f"var_{name}": _variance(row, name) for name in (*effects, "residual")},
    }


def _variance(row: Mapping[str, Any], name: str) -> str:
    """A variance, or why there is none."""
    if name in row["left_out"]:
        return str(row["left_out"][name])
    return two_decimals(row["variances"].get(name))


def _disagrees(found: list[str] | None) -> str:
    if found is None:
        return ""
    return ", ".join(found) or "no"


def _result(row: Mapping[str, Any]) -> Row:
    return {
        "sites": str(row["n_sites"]),
        "estimate": two_decimals(row["estimate"]),
        "ci_low": two_decimals(row["ci_low"]),
        "ci_high": two_decimals(row["ci_high"]),
        "p": p_text(row["p"]),
        "p_adjusted": p_text(row["p_adjusted"]),
        "significant": row["significant"],
        "verdict": row["verdict"],
    }


def _at_fraction(name: str, test: Mapping[str, Any], fraction: str, row: Mapping[str, Any]) -> Row:
    published = row["published"] or {}
    return {
        "test": name,
        "difference": test["label"],
        "fraction": fraction,
        "kind": "",
        **_result(row),
        "changes": ", ".join(row.get("changes", ())),
        "published": two_decimals(published.get("estimate")),
        "published_low": two_decimals(published.get("ci_low")),
        "published_high": two_decimals(published.get("ci_high")),
        "published_p": p_text(published.get("p")),
    }


def _under_rule(name: str, test: Mapping[str, Any], rule: str, row: Mapping[str, Any]) -> Row:
    return {
        "family": test["family"],
        "test": name,
        "difference": test["label"],
        "rule": rule,
        **_result(row),
        "status": row["status"],
    }
