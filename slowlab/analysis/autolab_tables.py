"""Rows about AutoLab's measures, made from the numbers of a study alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowlab.analysis.cell_text import count_text, money, two_decimals
from slowlab.analysis.table_parts import Numbers, Place, Row

UNLOCKED = "none: exploratory"
"""What stands in the place of a lock where nothing was locked."""


def anchored_rows(numbers: Numbers, places: list[Place]) -> list[Row]:
    """Anchored scores, and what several attempts are worth, by method and condition.

    Args:
        numbers: of the study.
        places: methods and conditions, in order.
    """
    found = numbers["autolab"]["anchored"]
    rows = [
        {"method": shown, "feedback": word, **_anchored(found["methods"][method][mode])}
        | _attempts(numbers, method, mode)
        for method, mode, shown, word in places
    ]
    if found.get("best_known") is None:
        return rows
    best = {"method": "best known policy", "feedback": "no campaign"}
    return [*rows, best | _anchored(found["best_known"])]


def failure_rows(numbers: Numbers, places: list[Place]) -> list[Row]:
    """Campaigns by method, condition and class, with the evidence of the first one of each.

    Args:
        numbers: of the study.
        places: methods and conditions, in order.
    """
    found = numbers["autolab"]["failures"]
    return [
        {
            "method": shown,
            "feedback": word,
            "class": kind,
            "campaigns": str(found["counts"][method][mode][kind]),
            "of": str(sum(found["counts"][method][mode].values())),
            **_first_evidence(found["failed"], method, mode, kind),
        }
        for method, mode, shown, word in places
        if mode in found["counts"].get(method, {})
        for kind in found["classes"]
        if found["counts"][method][mode][kind]
    ]


def leaderboard_rows(
    numbers: Numbers, names: Mapping[str, str], words: Mapping[str, str]
) -> list[Row]:
    """Methods in the order of their mean scores; lock and scoring stand in every row.

    Args:
        numbers: of the study.
        names: of methods, as they are shown.
        words: for conditions.
    """
    board = numbers["autolab"]["leaderboard"]
    stand_ins = {item["name"]: item["stand_in"] for item in numbers["methods"]}
    return [
        {
            "rank": "" if row["rank"] is None else str(row["rank"]),
            "method": names[row["method"]],
            "stand_in": "yes" if stand_ins[row["method"]] else "no",
            "feedback": words[row["feedback"]],
            "average_at_k": two_decimals(row["average_at_k"]),
            "best_at_k": two_decimals(row["best_at_k"]),
            "k": str(row["k"]),
            "scored": f"{row['scored']} of {row['planned']}",
            "lock": board["lock"] or UNLOCKED,
            "scoring": board["scoring_id"],
        }
        for row in board["rows"]
    ]


def conduct_rows(numbers: Numbers, places: list[Place]) -> list[Row]:
    """Time, evidence and persistence by method and condition, and how they go with the gain.

    Args:
        numbers: of the study.
        places: methods and conditions, in order.
    """
    found = numbers["autolab"]["conduct"]["methods"]
    costs = {(row["method"], row["feedback"]): row for row in numbers["autolab"]["cost_frontier"]}
    return [
        {"method": shown, "feedback": word, "campaigns": str(found[method][mode]["campaigns"])}
        | _conduct(found[method][mode]["measures"])
        | _cost(costs.get((method, mode)))
        for method, mode, shown, word in places
        if mode in found.get(method, {})
    ]


def _conduct(measures: Mapping[str, Any]) -> Row:
    """Mean and correlation of each measure; by name, because a file sorts its keys."""
    cells = {}
    for name in sorted(measures):
        cells[f"mean_{name}"] = two_decimals(measures[name]["mean"])
        cells[f"{name}_with_gain"] = two_decimals(measures[name]["with_gain"])
    return cells


def _cost(row: Mapping[str, Any] | None) -> Row:
    """Cost of a campaign, given for the main condition; a lower bound where known in part."""
    if row is None:
        return {"usd_per_campaign": "", "cost_known": "", "on_cost_frontier": ""}
    return {
        "usd_per_campaign": money(row["usd_per_campaign"]),
        "cost_known": row["cost_known"],
        "on_cost_frontier": {None: "", True: "yes", False: "no"}[row["on_frontier"]],
    }


def _first_evidence(failed: Sequence[Mapping[str, Any]], method: str, mode: str, kind: str) -> Row:
    """Which campaign of a class comes first, and what shows its class."""
    wanted = (method, mode, kind)
    for row in failed:
        if (row["method"], row["feedback"], row["class"]) == wanted:
            more = row["n_records"] - len(row["records"])
            records = ", ".join(str(number) for number in row["records"])
            return {
                "example": f"site {row['site']}, repeat {row['repeat']}",
                "evidence": row["evidence"],
                "records": records + (f" and {more} more" if more else ""),
            }
    return {"example": "", "evidence": "", "records": ""}


def _anchored(found: Mapping[str, Any]) -> Row:
    return {
        "anchored_sites": str(found["n_sites"]),
        "anchored": two_decimals(found["mean_anchored"]),
        "clipped": two_decimals(found["mean_clipped"]),
        "mid_anchored": two_decimals(found["mean_mid_anchored"]),
        "mid_anchored_sites": str(found["mid_n_sites"]),
        "missing": count_text(found["missing"]),
    }


def _attempts(numbers: Numbers, method: str, mode: str) -> Row:
    found = numbers["autolab"]["attempts"]["methods"][method][mode]
    last = found["by_k"][-1]
    return {
        "k": str(found["k"]),
        **{
            f"{name}_at_k": two_decimals(value)
            for name, value in (
                ("average", found["average_at_k"]),
                ("best", last["best"]),
                ("worst", last["worst"]),
                ("self_selected", last["self_selected"]),
            )
        },
        **{
            name: two_decimals(found[name])
            for name in ("mean_sd", "mean_range", "mean_cv", "mean_sd_over_best", "site_share")
        },
    }
