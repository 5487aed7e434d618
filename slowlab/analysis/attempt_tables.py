"""Rows about attempts, their spread, who beats whom and at what cost; from the numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.cell_text import money, two_decimals
from slowlab.analysis.table_parts import FEEDBACK_WORDS, Numbers, Row, labels, places_of

NO_GENERATIONS = (
    "no language model of this study names one that came before it (predecessor in "
    "config/models.yaml)"
)


def attempt_rows(numbers: Numbers) -> list[Row]:
    """Best, worst and self-selected score of every number of attempts."""
    found = numbers["autolab"]["attempts"]["methods"]
    return [
        {
            "method": shown,
            "feedback": word,
            "k": str(row["k"]),
            "sites": str(row["n_sites"]),
            "average": two_decimals(found[method][mode]["average_at_k"]),
            "best": two_decimals(row["best"]),
            "worst": two_decimals(row["worst"]),
            "self_selected": two_decimals(row["self_selected"]),
            "self_selected_sites": str(row["self_selected_n_sites"]),
        }
        for method, mode, shown, word in places_of(numbers)
        for row in found[method][mode]["by_k"]
    ]


def stability_rows(numbers: Numbers) -> list[Row]:
    """Spread between repeats, its ratios with the sites behind them, and variance components."""
    attempts = numbers["autolab"]["attempts"]
    return [
        {
            "method": shown,
            "feedback": word,
            **_spread(attempts["methods"][method][mode], attempts["near_zero_eur_m2"]),
        }
        for method, mode, shown, word in places_of(numbers)
    ]


def dominance_rows(numbers: Numbers) -> list[Row]:
    """Rows beat columns; a method's mean over its opponents last."""
    found, names = numbers["autolab"]["dominance"], labels(numbers)
    shown = [names[method] for method in found["methods"]]
    rows = []
    for place, method in enumerate(shown):
        sites = [count for other, count in enumerate(found["sites"][place]) if other != place]
        rows.append(
            {
                "method": method,
                "overall": two_decimals(found["overall"][place]),
                **dict(zip(shown, map(two_decimals, found["pairwise"][place]), strict=True)),
                "tie_band": two_decimals(found["tie_band_eur_m2"]),
                "fewest_sites": str(min(sites, default="")),
            }
        )
    return rows


def frontier_rows(numbers: Numbers) -> list[Row]:
    """Methods by cost, the best score first among equal ones; unknown costs at the end."""
    names = labels(numbers)
    rows = sorted(numbers["autolab"]["cost_frontier"], key=_by_cost)
    return [
        {
            "method": names[row["method"]],
            "stand_in": "yes" if row["stand_in"] else "no",
            "feedback": FEEDBACK_WORDS[row["feedback"]],
            "usd_per_campaign": money(row["usd_per_campaign"]),
            "cost_known": row["cost_known"],
            "mean_score": two_decimals(row["mean_score"]),
            "sites": str(row["n_sites"]),
            "on_frontier": {None: "", True: "yes", False: "no"}[row["on_frontier"]],
        }
        for row in rows
    ]


def generation_rows(numbers: Numbers) -> list[Row]:
    """Models less their predecessors; without a difference where that one was not run."""
    names, found = labels(numbers), numbers["autolab"]["generations"]
    if not found:
        return [{"result": NO_GENERATIONS}]
    return [
        {
            "method": names[row["method"]],
            "model": row["model"],
            "predecessor": row["predecessor"],
            "before": "not in this study" if row["before"] is None else names[row["before"]],
            "harness": row["harness"] or "",
            "stand_in": "yes" if row["stand_in"] else "no",
            "feedback": FEEDBACK_WORDS[row["feedback"]],
            "sites": str(row["n_sites"]),
            "difference": two_decimals(row["mean"]),
            "se": two_decimals(row["se"]),
        }
        for row in found
    ]


def _spread(found: Mapping[str, Any], floor: float) -> Row:
    return {
        "repeats": str(found["k"]),
        "sites": str(found["repeated_sites"]),
        **{name: two_decimals(found[name]) for name in ("mean_sd", "pooled_sd", "mean_range")},
        "mean_cv": two_decimals(found["mean_cv"]),
        "cv_sites": str(found["cv_sites"]),
        "sd_over_best": two_decimals(found["mean_sd_over_best"]),
        "best_sites": str(found["best_sites"]),
        **{name: two_decimals(found[name]) for name in ("site_variance", "repeat_variance")},
        "site_share": two_decimals(found["site_share"]),
        "guards": "; ".join(_guards(found, floor)),
    }


def _guards(found: Mapping[str, Any], floor: float) -> list[str]:
    """What must be known before one of these numbers is read."""
    said = []
    if not found["repeated_sites"]:
        return ["no site has two repeats"]
    if found["few_repeats"] == "yes":
        said.append("two repeats: read pooled_sd")
    for name, what in (("cv_sites", "mean_cv"), ("best_sites", "sd_over_best")):
        left_out = found["repeated_sites"] - found[name]
        if left_out:
            said.append(f"{what} without {left_out} site(s) within {two_decimals(floor)} of 0")
    return said


def _by_cost(row: Mapping[str, Any]) -> tuple[bool, float, float]:
    cost, score = row["usd_per_campaign"], row["mean_score"]
    unknown = row["on_frontier"] is None
    return unknown, 0.0 if cost is None else cost, 0.0 if score is None else -score
