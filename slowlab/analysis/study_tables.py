"""Tables of a study, made from its numbers alone, as CSV and as Markdown.

Cells are text, rounded for reading; the exact numbers stand in the numbers themselves. An empty
cell means that there is no such number, never zero. A table of a study that bears marks has a last
column with them, so that they stay with the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from slowlab.analysis.agent_tables import agent_cells, step_rows
from slowlab.analysis.autolab_tables import (
    Place,
    anchored_rows,
    conduct_rows,
    failure_rows,
    leaderboard_rows,
)
from slowlab.analysis.cell_text import count_text, markdown_cell, p_text, two_decimals
from slowlab.analysis.environment_table import COLUMNS
from slowlab.analysis.missing_data import missing_data_rows

type Numbers = Mapping[str, Any]
type Row = dict[str, str]

FEEDBACK_WORDS = {
    "full": "full",
    "endpoint": "endpoint",
    "initial": "initial",
    "none": "no campaign",
    "delayed": "delayed",
    "shuffled": "shuffled",
}

TITLES = {
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
    "missing_data": "Tests under both rules for missing repeats, where these differ",
    "anchored": "Scores between the policy without experiments (0) and the best one known (1)",
    "failures": "Failure classes of campaigns, with the evidence of the first of each",
    "leaderboard": "Leaderboard: mean score of all attempts, EUR/m2, and the best of k beside it",
    "conduct": "How campaigns used time and evidence, and how that goes with their gain",
}
"""Title of each table, by name."""


def tables(numbers: Numbers) -> dict[str, pd.DataFrame]:
    """All tables of a study by name, see :func:`tables_of`.

    Args:
        numbers: what :func:`slowlab.analysis.study_numbers.build_numbers` makes.
    """
    return {name: table(name, numbers) for name in tables_of(numbers)}


def tables_of(numbers: Numbers) -> dict[str, str]:
    """Names and titles of a study's tables; without language models none about them."""
    left_out = () if numbers["agents"] else ("agents",)
    return {name: title for name, title in TITLES.items() if name not in left_out}


def table(name: str, numbers: Numbers) -> pd.DataFrame:
    """One table.

    Raises:
        KeyError: there is no table of that name.
    """
    makers: dict[str, Callable[[Numbers], list[Row]]] = {
        "table2": _mean_rows,
        "table3": _test_rows,
        "table4": step_rows,
        "table5": _environment_rows,
        "gains": _gain_rows,
        "by_year": _year_rows,
        "readers": _reader_rows,
        "resources": _resource_rows,
        "diagnostics": _diagnostic_rows,
        "agents": _agent_rows,
        "campaigns": _campaign_rows,
        "missing_data": missing_data_rows,
        "anchored": lambda known: anchored_rows(known, _places(known)),
        "failures": lambda known: failure_rows(known, _places(known)),
        "conduct": lambda known: conduct_rows(known, _places(known)),
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


def markdown_text(name: str, frame: pd.DataFrame) -> str:
    """A table as Markdown with its title."""
    return "\n".join([f"# {TITLES[name]}", "", *markdown_lines(frame), ""])


def markdown_lines(frame: pd.DataFrame) -> list[str]:
    """Header and rows of a table in Markdown."""
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    return ["| " + " | ".join(markdown_cell(str(cell)) for cell in row) + " |" for row in rows]


def labels(numbers: Numbers) -> dict[str, str]:
    """Names of methods in figures and tables; that of a stand-in says what it is."""
    return {item["name"]: item["label"] for item in numbers["methods"]}


def _environment_rows(numbers: Numbers) -> list[Row]:
    return [{name: row[name] for name in COLUMNS} for row in numbers["environment"]]


def tests_in_order(numbers: Numbers) -> dict[str, Mapping[str, Any]]:
    """All tests by name, in the order in which they were declared.

    A canonical file sorts its keys, so the order of keys in the numbers means nothing.
    """
    names = [name for family in numbers["families"] for name in family["tests"]]
    return {name: numbers["tests"][name] for name in names}


def conditions(numbers: Numbers) -> list[str]:
    """All conditions of a study in the order of its tables."""
    initial = ["initial"] if any(item["model"] for item in numbers["methods"]) else []
    return [*numbers["study"]["feedback"], *initial, "none"]


def by_condition(numbers: Numbers, section: str) -> list[tuple[str, str, Any]]:
    """Method, condition and content of a section of the numbers, in the study's order."""
    content, modes = numbers[section], conditions(numbers)
    return [
        (item["name"], mode, content[item["name"]][mode])
        for item in numbers["methods"]
        for mode in modes
        if mode in content.get(item["name"], {})
    ]


def _places(numbers: Numbers) -> list[Place]:
    """Methods and their conditions, by name and as they are shown."""
    names = labels(numbers)
    return [
        (method, mode, names[method], FEEDBACK_WORDS[mode])
        for method, mode, _ in by_condition(numbers, "means")
    ]


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
            "verdict": test["verdict"],
            "p_equivalent_adjusted": p_text(test["p_equivalent_adjusted"]),
            "minimum_detectable": two_decimals(test["minimum_detectable"]),
            "status": test["status"],
            "reason": test["reason"],
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


def _diagnostic_rows(numbers: Numbers) -> list[Row]:
    """Counts by method and condition; comparisons of conditions stand in the first row."""
    names = labels(numbers)
    rows = []
    diagnosed = numbers["diagnostics"]["methods"]
    for method in (item["name"] for item in numbers["methods"] if item["name"] in diagnosed):
        for place, mode in enumerate(numbers["study"]["feedback"]):
            facts = dict(diagnosed[method]["conditions"][mode])
            means = facts.pop("mean_per_campaign")
            pairs = (diagnosed[method]["full_and_endpoint"] or {}) if place == 0 else {}
            rows.append(
                {
                    "method": names[method],
                    "feedback": FEEDBACK_WORDS[mode],
                    **{key: str(facts[key]) for key in sorted(facts)},
                    **{f"mean_{key}": two_decimals(means[key]) for key in sorted(means)},
                    **_pair_cells(pairs),
                }
            )
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
        {"measure": measure, **{column: cells[measure] for column, cells in columns.items()}}
        for measure in measures
    ]


def _pair_cells(pairs: Mapping[str, Any]) -> Row:
    whole: Sequence[str] = ("pairs", "same_later_schedule", "identical_recommendation")
    return {
        **{key: str(pairs.get(key, "")) for key in whole},
        "mean_recommendation_distance": two_decimals(pairs.get("mean_recommendation_distance")),
    }


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
