"""The published results themselves as tables, for a reader who wants to see them beside ours.

Source: the SlowLab paper and its repository, see ``slowlab.analysis.published``. Cite the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.published import Version, load_published, published_table
from slowlab.analysis.study_published import comparable
from slowlab.world.contract import Contract

type Numbers = Mapping[str, Any]
type Row = dict[str, str]

_ESTIMATE = ("estimate", "ci_low", "ci_high", "p_adjusted")


def published_section(contract: Contract) -> dict[str, Any] | None:
    """Mean scores, tests and yearly means of both published analyses, as plain data.

    Returns:
        None under rules that are not those of the published study.
    """
    if not comparable(contract):
        return None
    published = load_published()
    table = published_table().set_index(["version", "test"])
    names = published_table().drop_duplicates("test")
    means, years = published.table2_mean_scores, published.primary_by_evaluation_year
    return {
        "paper": published.source.paper,
        "repository": published.source.repository,
        "means": {kind.value: getattr(means, kind.value).values for kind in Version},
        "tests": [
            {
                "family": row["family"],
                "test": row["test"],
                "n_sites": int(row["n_sites"]),
                **{
                    kind.value: {
                        name: float(table.loc[(kind.value, row["test"]), name])
                        for name in _ESTIMATE
                    }
                    for kind in Version
                },
            }
            for row in names.to_dict("records")
        ],
        "years": list(years.years),
        "sites_per_year": list(years.sites_per_year),
        "by_year": {kind.value: getattr(years, kind.value).means for kind in Version},
    }


def published_rows(numbers: Numbers) -> list[Row]:
    """Published mean scores, then published tests: the corrected analysis beside the first one."""
    known = numbers["published"]
    corrected, original = (known["means"][kind.value] for kind in Version)
    rows = [
        {
            "family": "mean score",
            "published": f"{method}, {mode}",
            "sites": "",
            **_cells("corrected", {"estimate": value}),
            **_cells("original", {"estimate": original[method][mode]}),
        }
        for method, modes in sorted(corrected.items())
        for mode, value in sorted(modes.items())
    ]
    return rows + [
        {
            "family": test["family"],
            "published": test["test"],
            "sites": str(test["n_sites"]),
            **_cells("corrected", test["corrected"]),
            **_cells("original", test["original"]),
        }
        for test in known["tests"]
    ]


def published_year_rows(numbers: Numbers) -> list[Row]:
    """Published primary tests within the years of their weather, both analyses."""
    known = numbers["published"]
    sites = dict(zip(known["years"], map(str, known["sites_per_year"]), strict=True))
    rows = [{"analysis": "", "published": "sites", **sites}]
    for kind in Version:
        for name, means in sorted(known["by_year"][kind.value].items()):
            shown = dict(zip(known["years"], map(two_decimals, means), strict=True))
            rows.append({"analysis": kind.value, "published": name, **shown})
    return rows


def _cells(version: str, estimate: Mapping[str, float]) -> Row:
    numbers = {f"{version}_{name}": two_decimals(estimate.get(name)) for name in _ESTIMATE[:-1]}
    return {**numbers, f"{version}_p_adjusted": p_text(estimate.get("p_adjusted"))}
