"""Tables of a study, made from its numbers alone, as CSV and as Markdown.

Cells are text, rounded for reading; the exact numbers stand in the numbers themselves. An empty
cell means that there is no such number, never zero. A table of a study that bears marks has a last
column with them, so that they stay with the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from slowlab.analysis.agent_tables import agent_cells, step_rows
from slowlab.analysis.attempt_tables import (
    attempt_rows,
    dominance_rows,
    frontier_rows,
    generation_rows,
    stability_rows,
)
from slowlab.analysis.autolab_tables import (
    anchored_rows,
    conduct_rows,
    failure_rows,
    leaderboard_rows,
)
from slowlab.analysis.cell_text import count_text, markdown_cell, p_text, two_decimals
from slowlab.analysis.diagnostic_tables import diagnostic_rows
from slowlab.analysis.environment_table import COLUMNS
from slowlab.analysis.known_best_tables import TITLES as KNOWN_BEST
from slowlab.analysis.known_best_tables import headroom_rows, side_wall_rows
from slowlab.analysis.published_tables import published_rows, published_year_rows
from slowlab.analysis.related_table import related_rows
from slowlab.analysis.robustness_tables import (
    confirmatory_text,
    dry_matter_rows,
    mixed_model_rows,
    repeat_rule_rows,
)
from slowlab.analysis.table_parts import (
    FEEDBACK_WORDS,
    Numbers,
    Row,
    by_condition,
    conditions,
    labels,
    places_of,
    tests_in_order,
)

TITLES = {
    "table1": "Related benchmarks and this study: what each has",
    "table2": "Mean scores, EUR per m2 of floor and crop, by method and feedback",
    "table3": "All tests: estimate, interval, p-values, verdict against the smallest effect",
    "table4": "The example campaign step by step, with the reasons that were given",
    "table5": "The environment and how well each part of it is supported",
    "gains": "Gain of each method over the reference without experiments, EUR/m2",
    "by_year": "Scores and differences by scoring year, EUR/m2",
    "readers": "Gain of each reader over the method that collected the evidence, EUR/m2",
    "resources": "Heat, light, CO2 and harvest per crop in scoring runs",
    "diagnostics": "What campaigns did with what they could see",
    "agents": "Language models: what their campaigns used and how they went",
    "campaigns": "Campaigns: planned, finished, missing, fallbacks",
    "anchored": "Scores between the policy without experiments (0) and the best one known (1)",
    "failures": "Failure classes of campaigns, with the evidence of the first of each",
    "leaderboard": "Leaderboard: mean score of all attempts, EUR/m2, and the best of k beside it",
    "conduct": "How campaigns used time and evidence, and how that goes with their gain",
    "attempts": "What k attempts are worth: the best, worst and self-selected one, EUR/m2",
    "stability": "How much repeats on a site differ, and where the spread of scores lies, EUR/m2",
    "dominance": "Share of sites on which the row's method beats the column's; ties count half",
    "frontier": "Cost of a campaign and mean score; which methods no other one beats in both",
    "generations": "Language models less their predecessors under the same harness, EUR/m2",
    "mixed_model": "Primary tests with a linear mixed model, beside the sign-flip test, EUR/m2",
    "dry_matter": "Primary tests under other dry-matter fractions of the fruit, EUR/m2",
    "sensitivity_repeats": "Tests that differ if sites with missing repeats are not left out",
    **KNOWN_BEST,
    "published": "The published study: mean scores and tests, corrected and first analysis, EUR/m2",
    "published_by_year": "The published study: primary tests within weather years, EUR/m2",
}
"""Title of each table, by name."""
NEEDS = {
    **dict.fromkeys(("agents", "generations"), "agents"),
    **{name: name for name in KNOWN_BEST},
    **dict.fromkeys(("anchored", "failures", "leaderboard", "conduct"), "autolab"),
    **dict.fromkeys(("attempts", "stability", "dominance", "frontier"), "autolab"),
    **{name: name for name in ("mixed_model", "dry_matter", "sensitivity_repeats")},
    "table4": "example_steps",
    "table1": "related",
    "published": "published",
    "published_by_year": "published",
}
"""Section of the numbers that a table is made from, where a study may lack it."""


def tables(numbers: Numbers) -> dict[str, pd.DataFrame]:
    """All tables of a study by name, see :func:`tables_of`.

    Args:
        numbers: what :func:`slowlab.analysis.study_numbers.build_numbers` makes.
    """
    return {name: table(name, numbers) for name in tables_of(numbers)}


def tables_of(numbers: Numbers) -> dict[str, str]:
    """Names and titles of a study's tables: those whose section it has, see :data:`NEEDS`."""
    lacking = {name for name, section in NEEDS.items() if not numbers.get(section)}
    return {name: title for name, title in TITLES.items() if name not in lacking}


def table(name: str, numbers: Numbers) -> pd.DataFrame:
    """One table.

    Raises:
        KeyError: there is no table of that name.
    """
    makers: dict[str, Callable[[Numbers], list[Row]]] = {
        "table1": related_rows,
        "table2": _mean_rows,
        "table3": _test_rows,
        "table4": step_rows,
        "table5": _environment_rows,
        "gains": _gain_rows,
        "by_year": _year_rows,
        "readers": _reader_rows,
        "resources": _resource_rows,
        "diagnostics": lambda known: diagnostic_rows(known, labels(known), FEEDBACK_WORDS),
        "agents": _agent_rows,
        "campaigns": _campaign_rows,
        "anchored": lambda known: anchored_rows(known, places_of(known)),
        "failures": lambda known: failure_rows(known, places_of(known)),
        "conduct": lambda known: conduct_rows(known, places_of(known)),
        "attempts": attempt_rows,
        "stability": stability_rows,
        "dominance": dominance_rows,
        "frontier": frontier_rows,
        "generations": generation_rows,
        "mixed_model": mixed_model_rows,
        "dry_matter": dry_matter_rows,
        "sensitivity_repeats": repeat_rule_rows,
        "headroom": lambda known: headroom_rows(known, labels(known)),
        "side_wall": lambda known: side_wall_rows(known, labels(known)),
        "published": published_rows,
        "published_by_year": published_year_rows,
        "leaderboard": lambda known: leaderboard_rows(known, labels(known), FEEDBACK_WORDS),
    }
    rows = makers[name](numbers)
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["no_rows"]
    frame = pd.DataFrame(rows, columns=columns, dtype="str").fillna("")
    if numbers["study"]["marks"]:
        frame["mark"] = mark_text(numbers)
    return frame


def mark_text(numbers: Numbers) -> str:
    """The marks of a study as they are shown, empty where it has none."""
    return " \N{MIDDLE DOT} ".join(numbers["study"]["marks"])


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV with LF line ends."""
    return frame.to_csv(index=False, lineterminator="\n")


def markdown_text(name: str, frame: pd.DataFrame, note: str = "") -> str:
    """A table as Markdown with its title, and a note of :mod:`slowlab.analysis.table_notes`."""
    said = ["", note] if note else []
    return "\n".join([f"# {TITLES[name]}", "", *markdown_lines(frame), *said, ""])


def markdown_lines(frame: pd.DataFrame) -> list[str]:
    """Header and rows of a table in Markdown."""
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    return ["| " + " | ".join(markdown_cell(str(cell)) for cell in row) + " |" for row in rows]


def _environment_rows(numbers: Numbers) -> list[Row]:
    return [{name: row[name] for name in COLUMNS} for row in numbers["environment"]]


def _mean_rows(numbers: Numbers) -> list[Row]:
    """Method by condition; the published mean beside ours where there is one."""
    modes = conditions(numbers)
    names, shown = labels(numbers), numbers["study"]["published_shown"]
    rows = []
    for item in numbers["methods"]:
        cells, row = numbers["means"][item["name"]], {"method": names[item["name"]]}
        for mode in modes:
            cell, word = cells.get(mode, {}), FEEDBACK_WORDS[mode].replace(" ", "_")
            row[word] = two_decimals(cell.get("mean"))
            row[f"{word}_se"] = two_decimals(cell.get("se"))
            row[f"{word}_sites"] = str(cell["n_sites"]) if cell else ""
            row[f"{word}_missing"] = str(sum(cell["missing"].values())) if cell else ""
            if shown:
                row[f"{word}_published"] = two_decimals(cell.get("published"))
        rows.append(row)
    return rows


def _estimate(test: Mapping[str, Any]) -> Row:
    """Estimate and interval of ours and of the published study."""
    published = test.get("published") or {}
    return {
        "estimate": two_decimals(test["estimate"]),
        "ci_low": two_decimals(test["ci_low"]),
        "ci_high": two_decimals(test["ci_high"]),
        "published": two_decimals(published.get("estimate")),
        "published_low": two_decimals(published.get("ci_low")),
        "published_high": two_decimals(published.get("ci_high")),
    }


def _first_analysis(test: Mapping[str, Any]) -> Row:
    """The published test as it was before its correction."""
    first = (test["published"] or {}).get("original") or {}
    names = {"": "estimate", "_low": "ci_low", "_high": "ci_high"}
    cells = {f"published_first{end}": two_decimals(first.get(name)) for end, name in names.items()}
    return {**cells, "published_first_p_adjusted": p_text(first.get("p_adjusted"))}


def _test_rows(numbers: Numbers) -> list[Row]:
    return [
        {
            "family": test["family"],
            "test": name,
            "difference": test["label"],
            "sites": str(test["n_sites"]),
            "excluded": test["excluded"],
            **_estimate(test),
            "interval": test["ci_kind"],
            "p": p_text(test["p"]),
            "p_adjusted": p_text(test["p_adjusted"]),
            "adjustment": f"{test['adjustment']}, {test['family_size']} tests",
            "published_p_adjusted": p_text((test["published"] or {}).get("p_adjusted")),
            **_first_analysis(test),
            "verdict": test["verdict"],
            "p_equivalent_adjusted": p_text(test["p_equivalent_adjusted"]),
            "minimum_detectable": two_decimals(test["minimum_detectable"]),
            "status": test["status"],
            "reason": test["reason"],
            "confirmatory": confirmatory_text(test),
        }
        for name, test in tests_in_order(numbers).items()
    ]


def _gain_rows(numbers: Numbers) -> list[Row]:
    """Gains over the reference, with the share of what the best single policy gains."""
    names, common = labels(numbers), numbers["common_gain"] or {"methods": {}}
    rows = []
    for test in tests_in_order(numbers).values():
        if test["question"] != "gain":
            continue
        share = common["methods"].get(test["subject"], {})
        rows.append(
            {
                "method": names[test["subject"]],
                "sites": str(test["n_sites"]),
                "excluded": test["excluded"],
                **_estimate(test),
                "p_adjusted": p_text(test["p_adjusted"]),
                "verdict": test["verdict"],
                "share_of_common_gain": two_decimals(share.get("share")),
                "share_low": two_decimals(share.get("low")),
                "share_high": two_decimals(share.get("high")),
            }
        )
    return rows


def _year_rows(numbers: Numbers) -> list[Row]:
    """Scores by method and condition, then differences, one column a year."""
    names = labels(numbers)
    listed = [
        ("score", f"{names[method]}, {FEEDBACK_WORDS[mode]}", years)
        for method, mode, years in by_condition(numbers, "scores_by_year")
    ]
    listed += [
        ("difference", test["label"], test["by_year"])
        for test in tests_in_order(numbers).values()
        if test["by_year"]
    ]
    every = sorted({item["year"] for _, _, years in listed for item in years})
    rows = []
    for kind, what, years in listed:
        known = {item["year"]: item for item in years}
        row = {"kind": kind, "what": what}
        for year in every:
            found = known.get(year, {"mean": None, "n_sites": 0})
            row[year] = two_decimals(found["mean"])
            row[f"{year}_sites"] = str(found["n_sites"])
        rows.append(row)
    return rows


def _reader_rows(numbers: Numbers) -> list[Row]:
    """Gains by reader and source, then pooled over sources without identity cells."""
    names = labels(numbers)
    rows = [
        {
            "reader": numbers["readers"]["labels"][item["reader"]],
            "source": names[item["source"]],
            "identity": "yes" if item["identity"] else "no",
            "sites": str(item["n_sites"]),
            **_estimate(item),
            "p_adjusted": "",
            "verdict": "",
        }
        for item in numbers["readers"]["swaps"]
    ]
    rows += [
        {
            "reader": numbers["readers"]["labels"][test["subject"]],
            "source": "pooled",
            "identity": "left out",
            "sites": str(test["n_sites"]),
            **_estimate(test),
            "p_adjusted": p_text(test["p_adjusted"]),
            "verdict": test["verdict"],
        }
        for test in tests_in_order(numbers).values()
        if test["question"] == "reader"
    ]
    return rows


def _resource_rows(numbers: Numbers) -> list[Row]:
    names = labels(numbers)
    rows = []
    for method, mode, cell in by_condition(numbers, "resources"):
        published = cell["published"] or {}
        row = {"method": names[method], "feedback": FEEDBACK_WORDS[mode]}
        row["sites"] = str(cell["n_sites"])
        for name in ("heat_kwh_m2", "light_kwh_m2", "co2_kg_m2", "harvest_kg_m2"):
            row[name] = two_decimals(cell[name])
            row[f"{name}_published"] = two_decimals(published.get(name))
        rows.append(row)
    return rows


def _agent_rows(numbers: Numbers) -> list[Row]:
    """A row for each measure, a column for each language model and condition."""
    names, found = labels(numbers), (numbers["agents"] or {"methods": {}})["methods"]
    columns = {
        f"{names[method]}, {FEEDBACK_WORDS[mode]}": agent_cells(numbers, method, mode)
        for method in (item["name"] for item in numbers["methods"] if item["name"] in found)
        for mode in numbers["study"]["feedback"]
    }
    measures = dict.fromkeys(key for cells in columns.values() for key in cells)
    return [
        {
            "measure": measure,
            **{column: cells.get(measure, "") for column, cells in columns.items()},
        }
        for measure in measures
    ]


def _campaign_rows(numbers: Numbers) -> list[Row]:
    names = labels(numbers)
    return [
        {
            "method": names[row["method"]],
            "feedback": FEEDBACK_WORDS[row["feedback"]],
            **{key: str(row[key]) for key in ("planned", "finished", "missing")},
            "endings": count_text(row["endings"]),
            "fallbacks": count_text(row["fallbacks"]),
        }
        for row in numbers["campaigns"]["rows"]
    ]
