"""Related benchmarks by eight properties: the paper's own comparison, and this study beside it.

The published cells stand as the paper gives them. Those of this study follow from its rules, each
with the fact that decides it. Source: SlowLab, related work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.published import load_published

type Numbers = Mapping[str, Any]

THIS_STUDY = "this study"
_REASON = "reason"
_FULL, _RECORDS = "full", ("full", "delayed")


def related_benchmarks() -> dict[str, Any]:
    """The published comparison as plain data: ``source``, ``columns`` and ``rows`` by benchmark."""
    published = load_published()
    table = published.table1_related
    return {
        "paper": published.source.paper,
        "source": table.source,
        "columns": list(table.columns),
        "rows": [
            {"benchmark": name, "answers": list(answers)} for name, answers in table.rows.items()
        ],
    }


def related_rows(numbers: Numbers) -> list[dict[str, str]]:
    """One row a benchmark: its name, the published answers, and where each row comes from."""
    related = numbers["related"]
    rows = [
        {
            "benchmark": row["benchmark"],
            **dict(zip(related["columns"], row["answers"], strict=True)),
            _REASON: f"published: {related['source']}",
        }
        for row in related["rows"]
    ]
    own = own_answers(numbers)
    answers = {name: own[name][0] for name in related["columns"]}
    reasons = [f"{name.replace('_', ' ')}: {own[name][1]}" for name in related["columns"]]
    return [*rows, {"benchmark": THIS_STUDY, **answers, _REASON: "; ".join(reasons)}]


def own_answers(numbers: Numbers) -> dict[str, tuple[str, str]]:
    """What this study has of each property, with the fact that says so.

    Returns:
        ``yes``, ``partly`` or ``no`` and its reason, by the published name of the property.
    """
    facts = {(row["group"], row["item"]): row["value"] for row in numbers["environment"]}
    study = numbers["study"]
    shown = [mode for mode in study["feedback"] if mode in _RECORDS]
    hidden = sum(row["group"] == "site, hidden" for row in numbers["environment"])
    baselines = [
        item["label"] for item in numbers["methods"] if not item["model"] and not item["stand_in"]
    ]
    lock = numbers["provenance"]["lock"]
    return {
        "delayed_outcomes": ("yes", f"a crop takes {facts['calendar', 'crop']}"),
        "irreversible": (
            "yes",
            f"one campaign of {facts['calendar', 'campaign']}, no day twice, and a crop that is "
            "stopped is lost",
        ),
        "parallel_units": (
            "yes" if numbers["timelines"]["compartments"] > 1 else "no",
            f"compartments: {facts['facility', 'compartments']}",
        ),
        "mid_run_signals": (
            "yes" if _FULL in shown else "partly" if shown else "no",
            f"feedback: {facts['interface', 'feedback conditions']}",
        ),
        "hidden_instance": (
            "yes" if hidden else "no",
            f"{hidden} numbers of a site are drawn and never shown",
        ),
        "unseen_condition_score": (
            "yes",
            f"scored in weather years of its own ({facts['score', 'scoring years']})",
        ),
        "non_llm_baseline": (
            "yes" if baselines else "no",
            f"{len(baselines)} methods without a language model",
        ),
        "preregistered": ("yes", f"lock {lock[:12]}") if lock else ("no", "nothing was locked"),
    }
