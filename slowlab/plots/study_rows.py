"""From the numbers of a study to the rows that are drawn. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slowlab.plots.interval_plot import IntervalBar, IntervalRow
from slowlab.plots.method_style import (
    MethodStyle,
    method_styles,
    ordered_methods,
    wrapped,
)
from slowlab.plots.reader_plot import ReaderRow, SourcePoint
from slowlab.plots.resources import ResourceRow

type Numbers = Mapping[str, Any]


def tests_of(numbers: Numbers, question: str) -> dict[str, Mapping[str, Any]]:
    """Tests of one question by subject."""
    return {
        test["subject"]: test for test in numbers["tests"].values() if test["question"] == question
    }


def bar_of(estimate: Mapping[str, Any] | None) -> IntervalBar | None:
    """Estimate and interval as they are drawn; None without one, no p-value from one site."""
    if estimate is None:
        return None
    names = ("estimate", "ci_low", "ci_high", "p_adjusted")
    bar = IntervalBar(*(estimate.get(name) for name in names))
    return replace(bar, p_adjusted=None) if estimate["n_sites"] == 1 else bar


def interval_row(
    numbers: Numbers, test: Mapping[str, Any] | None, style: MethodStyle, absent: str = ""
) -> IntervalRow:
    """One row of an interval plot.

    Args:
        numbers: the study's numbers.
        test: what is shown; None for an empty row.
        style: look of the row's method.
        absent: written in an empty row.
    """
    if test is None:
        return IntervalRow(style.label, IntervalBar(None, None, None), note=absent)
    planned, note = numbers["study"]["n_sites"], degenerate_note(test)
    bar = bar_of(test) or IntervalBar(None, None, None)
    missing = test["n_sites"] != planned and test["n_sites"] > 0
    return IntervalRow(
        label=style.label + (f"\n(n = {test['n_sites']})" if missing else ""),
        bar=replace(bar, p_adjusted=None) if note else bar,
        colour=style.colour,
        sites=tuple(test["differences"]),
        comparison=bar_of(test["published"]),
        note=note,
    )


def degenerate_note(test: Mapping[str, Any]) -> str:
    """What is said of an estimate without a proper interval, instead of p; empty otherwise."""
    if test["estimate"] is None:
        return ""
    if test["n_sites"] == 1:
        return "1 site"
    return {"undefined": "no interval", "point": "all equal"}.get(test["ci_kind"], "")


def contrast_rows(numbers: Numbers, question: str) -> tuple[IntervalRow, ...]:
    """Rows of all tests of a question, alphabetical, the baseline last."""
    tests, styles = tests_of(numbers, question), method_styles(numbers["methods"])
    order = ordered_methods(numbers["methods"], [numbers["study"]["baseline"]])
    return tuple(
        interval_row(numbers, tests[item["name"]], styles[item["name"]])
        for item in order
        if item["name"] in tests
    )


def resource_row(numbers: Numbers, item: Mapping[str, Any]) -> ResourceRow:
    """Heat and light of a method under its main condition."""
    cell = numbers["resources"][item["name"]].get(item["feedback"])
    if cell is None:
        return ResourceRow(None, None)
    published = cell["published"] or {}
    return ResourceRow(
        cell["heat_kwh_m2"],
        cell["light_kwh_m2"],
        published.get("heat_kwh_m2"),
        published.get("light_kwh_m2"),
    )


def reader_rows(numbers: Numbers) -> list[ReaderRow]:
    """Readers in the study's order, their sources in the order of methods."""
    styles, pooled = method_styles(numbers["methods"]), tests_of(numbers, "reader")
    rows = []
    for reader in numbers["readers"]["readers"]:
        test = pooled.get(reader)
        swaps = [item for item in numbers["readers"]["swaps"] if item["reader"] == reader]
        rows.append(
            ReaderRow(
                label=wrapped(numbers["readers"]["labels"][reader]),
                pooled=bar_of(test) or IntervalBar(None, None, None),
                sources=_sources(swaps, styles),
                published=None if test is None else bar_of(test["published"]),
            )
        )
    return rows


def _sources(
    swaps: Sequence[Mapping[str, Any]], styles: Mapping[str, MethodStyle]
) -> tuple[SourcePoint, ...]:
    return tuple(
        SourcePoint(
            label=styles[item["source"]].label.replace("\n", " "),
            colour=styles[item["source"]].colour,
            marker=styles[item["source"]].marker,
            bar=bar_of(item) or IntervalBar(None, None, None),
            identity=item["identity"],
        )
        for item in swaps
    )
