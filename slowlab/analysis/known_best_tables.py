"""Rows about headroom and side walls, made from the numbers of a study alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.cell_text import two_decimals

type Numbers = Mapping[str, Any]
type Row = dict[str, str]

TITLES = {
    "headroom": "Headroom: gain of the best policy known and of each method, same sites, EUR/m2",
    "side_wall": "Scores with other side walls: means, differences and ranks, EUR/m2",
}
"""Title of each table, by name; the tables of a study without these stages are left out."""


def headroom_rows(numbers: Numbers, names: Mapping[str, str]) -> list[Row]:
    """The best policy known, every method, then what the searches say about themselves.

    Args:
        numbers: of the study.
        names: of methods, as they are shown.
    """
    found = numbers["headroom"]
    if found is None:
        return []
    published = found["published"] or {}
    best = {**found["best_known"], "published": published.get("best_known")}
    rows = [_gain("best known policy", {**best, "share": 1.0 if best["n_sites"] else None})]
    rows += [
        _gain(names[item["name"]], found["methods"][item["name"]])
        for item in numbers["methods"]
        if item["name"] in found["methods"]
    ]
    repeat, optimism = found["search_repeat"], found["optimism"]
    errors = found["errors"]
    facts = [
        ("optimism of the choice, removed", optimism["n_sites"], optimism["mean"], None),
        ("second search less first, mean", repeat["n_sites"], repeat["mean"], None),
        (
            "error of one search",
            repeat["n_sites"],
            errors["search_error_eur_m2"],
            published.get("search_error"),
        ),
        ("error by scoring years", None, errors["evaluation_error_eur_m2"], None),
        ("error of a site's headroom", None, errors["error_eur_m2"], None),
    ]
    return rows + [
        _gain(what, {"n_sites": count, "estimate": value, "published": theirs})
        for what, count, value, theirs in facts
    ]


def _gain(what: str, cell: Mapping[str, Any]) -> Row:
    count, above = cell.get("n_sites"), cell.get("above_best_known")
    return {
        "what": what,
        "sites": "" if count is None else str(count),
        "eur_m2": two_decimals(cell.get("estimate")),
        "ci_low": two_decimals(cell.get("ci_low")),
        "ci_high": two_decimals(cell.get("ci_high")),
        "share_of_headroom": two_decimals(cell.get("share")),
        "share_low": two_decimals(cell.get("share_low")),
        "share_high": two_decimals(cell.get("share_high")),
        "sites_above_best_known": "" if above is None else str(above),
        "published": two_decimals(cell.get("published")),
    }


def side_wall_rows(numbers: Numbers, names: Mapping[str, str]) -> list[Row]:
    """One row for each setting and method.

    Args:
        numbers: of the study.
        names: of methods, as they are shown.
    """
    found = numbers["side_wall"]
    if found is None:
        return []
    return [
        _method_row(setting, method, names)
        for setting in found["settings"]
        for method in found["methods"]
    ]


def _method_row(setting: Mapping[str, Any], method: str, names: Mapping[str, str]) -> Row:
    cell, theirs = setting["methods"][method], (setting["published"] or {}).get(method, {})
    base, change = cell["minus_baseline"] or {}, cell["minus_baseline_change"] or {}
    return {
        "side_wall_w_m2_k": setting["setting"],
        "method": names[method],
        "sites": str(cell["n_sites"]),
        "mean": two_decimals(cell["mean"]),
        "se": two_decimals(cell["se"]),
        "minus_baseline": two_decimals(base.get("estimate")),
        "ci_low": two_decimals(base.get("ci_low")),
        "ci_high": two_decimals(base.get("ci_high")),
        "change_from_drawn": two_decimals(change.get("estimate")),
        "change_low": two_decimals(change.get("ci_low")),
        "change_high": two_decimals(change.get("ci_high")),
        "rank": "" if cell["rank"] is None else str(cell["rank"]),
        "rank_drawn": "" if cell["rank_drawn"] is None else str(cell["rank_drawn"]),
        "order_changes_with": _flips(setting["flips"], method, names),
        "ranking_kept_in": _share(setting["ranking_kept_share"]),
        "published_mean": two_decimals(theirs.get("mean")),
        "published_minus_baseline": two_decimals(theirs.get("minus_baseline")),
    }


def _flips(flips: list[Mapping[str, Any]], method: str, names: Mapping[str, str]) -> str:
    """Methods with which the order of means changes, and in what share of site resamples."""
    parts = []
    for flip in flips:
        pair = (flip["better_as_drawn"], flip["worse_as_drawn"])
        if method in pair:
            other = pair[1 - pair.index(method)]
            parts.append(f"{names[other]} ({_share(flip['flipped_share'])})")
    return "; ".join(parts)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
