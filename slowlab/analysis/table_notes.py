"""Sentences beside tables, made from the numbers of a study by rule."""

from __future__ import annotations

from collections.abc import Callable

from slowlab.analysis.cell_text import two_decimals
from slowlab.analysis.reml import FitStatus
from slowlab.analysis.table_parts import Numbers, tests_in_order


def table_note(name: str, numbers: Numbers) -> str:
    """What must be said beside a table; empty where nothing must.

    Args:
        name: of the table.
        numbers: of the study.
    """
    makers: dict[str, Callable[[Numbers], str]] = {
        "table3": _not_confirmatory,
        "mixed_model": _mixed_model,
        "dry_matter": _dry_matter,
        "sensitivity_repeats": _repeat_rule,
        "dominance": _dominance,
    }
    return makers[name](numbers) if name in makers else ""


def _not_confirmatory(numbers: Numbers) -> str:
    names = [
        name for name, test in tests_in_order(numbers).items() if test["confirmatory"] is False
    ]
    if not names:
        return ""
    return f"Too many sites are missing for these to be confirmatory: {', '.join(names)}."


def _mixed_model(numbers: Numbers) -> str:
    found = numbers["mixed_model"]["tests"]
    rows = {name: found[name] for name in tests_in_order(numbers) if name in found}
    differ = [
        f"{name} ({' and '.join(row['disagrees'])})"
        for name, row in rows.items()
        if row["disagrees"]
    ]
    compared = sum(row["disagrees"] is not None for row in rows.values())
    parts = [
        f"The mixed model and the sign-flip test disagree on {', '.join(differ)}."
        if differ
        else f"The mixed model and the sign-flip test agree in sign and in significance on all "
        f"{compared} primary tests that both decide."
    ]
    words = {
        FitStatus.SINGULAR: "at least one variance is estimated as 0, and the result stands "
        "without it",
        FitStatus.NOT_CONVERGED: "no maximum of the likelihood was found",
        FitStatus.TOO_FEW: "there are too few sites",
        FitStatus.NO_SPREAD: "all differences are equal",
    }
    for status, word in words.items():
        names = [name for name, row in rows.items() if row["status"] == status]
        if names:
            parts.append(f"{status.value}: {word} ({', '.join(names)}).")
    return " ".join(parts)


def _dry_matter(numbers: Numbers) -> str:
    found = numbers["dry_matter"]
    return "The prices of the sites are not known." if found is None else str(found["sentence"])


def _repeat_rule(numbers: Numbers) -> str:
    found = numbers["sensitivity_repeats"]
    said = f"Rules for repeats: {found['rule']} (primary), {found['sensitivity_rule']}. "
    if not found["differ"]:
        return f"{said}Nothing differs in any of {found['compared']} tests."
    return f"{said}{len(found['differ'])} of {found['compared']} tests differ."


def _dominance(numbers: Numbers) -> str:
    band = two_decimals(numbers["autolab"]["dominance"]["tie_band_eur_m2"])
    return f"Differences of at most {band} EUR/m2 are ties, which count half for either method."
