"""The table of the Bayesian second look: cells are text, rounded for reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from slowlab.analysis.cell_text import two_decimals
from slowlab.analysis.second_look_data import Outcome
from slowlab.analysis.study_tables import mark_text, markdown_lines

TITLE = "Second look: posterior of the mean difference, EUR/m2; it decides nothing"


def second_look_table(numbers: Mapping[str, Any], look: Mapping[str, Any]) -> pd.DataFrame:
    """One row for each test of the first family, the confirmatory interval beside it.

    Args:
        numbers: the study's numbers.
        look: the second look, see ``slowlab.analysis.second_look``.
    """
    halved, doubled = (_by_test(look, place) for place in (0, 1))
    rows = []
    for item in look["tests"]:
        test = numbers["tests"][item["test"]]
        source = item["same_as"] or item["test"]
        rows.append(
            {
                "test": item["test"],
                "difference": test["label"],
                "sites": str(test["n_sites"]),
                "estimate": two_decimals(test["estimate"]),
                "ci_low": two_decimals(test["ci_low"]),
                "ci_high": two_decimals(test["ci_high"]),
                "posterior_mean": two_decimals(item["mean"]),
                "posterior_low": two_decimals(item["low"]),
                "posterior_high": two_decimals(item["high"]),
                "p_positive": probability_text(item["p_positive"]),
                "p_inside": probability_text(item["p_inside"]),
                "p_above": probability_text(item["p_above"]),
                "p_below": probability_text(item["p_below"]),
                "reading": item["reading"] or "",
                "prior_halved": _interval(halved.get(source), item),
                "prior_doubled": _interval(doubled.get(source), item),
                "outcome": outcome_words(item),
            }
        )
    frame = pd.DataFrame(rows, dtype="str").fillna("")
    if numbers["study"]["marks"]:
        frame["mark"] = mark_text(numbers)
    return frame


def markdown_document(frame: pd.DataFrame, look: Mapping[str, Any]) -> str:
    """The table as Markdown, with what its columns are."""
    return "\n".join([f"# {TITLE}", "", table_words(look), "", *markdown_lines(frame), ""])


def table_words(look: Mapping[str, Any]) -> str:
    """What the columns of the table are."""
    low, high = look["limits"]["rope_eur_m2"]
    less, more = look["limits"]["other_scales"]
    return (
        f"Equal-tailed {look['limits']['probability']:.0%} intervals of a hierarchical model; "
        f"inside: between {low:g} and {high:g} EUR/m2. Estimate and ci: mean and BCa interval. "
        f"Last: mean and interval with {less:g} and {more:g} times the prior scale of effects."
    )


def outcome_words(item: Mapping[str, Any]) -> str:
    """What became of a test, in words; empty where it was simply modelled."""
    return {
        Outcome.MODELLED: "",
        Outcome.SAME: f"same values as {item['same_as']}",
        Outcome.ALL_EQUAL: "all sites equal, not modelled",
        Outcome.TOO_FEW: "too few sites",
        Outcome.NO_DATA: "no data",
    }[Outcome(item["outcome"])]


def probability_text(value: float | None) -> str:
    """A probability from draws: three decimals, never a bare 0 or 1; empty where there is none."""
    if value is None:
        return ""
    if value < 0.001:
        return "<0.001"
    return ">0.999" if value > 0.999 else f"{value:.3f}"


def _by_test(look: Mapping[str, Any], place: int) -> dict[str, Mapping[str, float]]:
    if not look["scales"] or look["scales"][place]["tests"] is None:
        return {}
    return dict(zip(look["modelled"], look["scales"][place]["tests"], strict=True))


def _interval(found: Mapping[str, float] | None, item: Mapping[str, Any]) -> str:
    """Mean and interval in one cell; signs turned where the test is the negative of its twin."""
    if found is None or item["mean"] is None:
        return ""
    numbers = [found["mean"], found["low"], found["high"]]
    if item["sign"] < 0:
        numbers = [-found["mean"], -found["high"], -found["low"]]
    mean, low, high = (two_decimals(value) for value in numbers)
    return f"{mean} [{low}, {high}]"
