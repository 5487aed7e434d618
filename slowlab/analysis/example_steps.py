"""The example campaign step by step, short enough for a table.

Reads of records and waiting between two decisions are put into one row, and so are equal faults in
a row; nothing else is left out. Every row names the records it stands for, so that it can be found
in the transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from slowlab.agents.step_words import day_words
from slowlab.analysis.samples import round_result
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.timeline import example_name, rows_of_campaign

_ROUTINE = ("observe", "advance")


def example_steps(inputs: AnalysisInputs) -> dict[str, Any]:
    """Steps of the campaign that is drawn as the example.

    Returns:
        Which campaign; ``source``: ``transcript``, ``journal`` or ``missing``; ``steps``: how many
        there are; and ``rows``, each with the first and last record, the day, who made it, what was
        done, why, and what came of it.
    """
    site, method, feedback, repeat = name = example_name(inputs)
    steps = pd.DataFrame() if inputs.steps is None else rows_of_campaign(inputs.steps, name)
    source = "transcript" if inputs.study.method(method).model else "journal"
    listed = [] if steps.empty else steps.sort_values("sequence").to_dict("records")
    return {
        "method": method,
        "site": site,
        "feedback": feedback,
        "repeat": repeat,
        "source": source if listed else "missing",
        "steps": len(listed),
        "rows": condensed(listed),
    }


def condensed(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps with routine and repeated ones put together.

    Args:
        steps: rows of ``slowlab.stages.agent_table.STEP_SCHEMA``, oldest first.
    """
    groups = (list(group) for _, group in groupby(_numbered(steps), key=lambda item: item[0]))
    return [_row([step for _, step in group]) for group in groups]


def _numbered(steps: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Steps with the number of their row."""
    number, before = -1, None
    for step in steps:
        if before is None or not _together(before, step):
            number += 1
        before = step
        yield number, step


def _together(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two steps in a row stand in one row of the table."""
    if one["by"] != other["by"] or one["ok"] != other["ok"]:
        return False
    if one["ok"] == "no":
        return all(one[key] == other[key] for key in ("kind", "action", "outcome"))
    return one["kind"] in _ROUTINE and other["kind"] in _ROUTINE


def _row(steps: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = steps[0], steps[-1]
    reasons = [step["reason"] for step in steps if step["reason"]]
    return {
        "first_record": int(first["sequence"]),
        "last_record": int(last["sequence"]),
        "steps": len(steps),
        "day": round_result(float(first["day"])),
        "last_day": round_result(float(last["day"])),
        "by": first["by"],
        "action": first["action"] if len(steps) == 1 else _joint_action(steps),
        "reason": reasons[0] if reasons else "",
        "further_reasons": max(0, len(reasons) - 1),
        "outcome": first["outcome"] if len(steps) == 1 else _joint_outcome(steps),
        "ok": first["ok"],
    }


def _joint_outcome(steps: list[dict[str, Any]]) -> str:
    """Where several steps have led: the last day and all rows that were read."""
    if steps[0]["ok"] == "no":
        return str(steps[0]["outcome"])
    waits = [step["outcome"] for step in steps if step["kind"] == "advance"]
    rows = sum(int(step["rows"]) for step in steps)
    return "; ".join([*waits[-1:], *([f"{rows} rows of records"] if rows else [])])


def _joint_action(steps: list[dict[str, Any]]) -> str:
    """What several steps did."""
    if steps[0]["ok"] == "no":
        return f"{steps[0]['action']} ({len(steps)} times)"
    counts = Counter(step["kind"] for step in steps)
    words = {"observe": "read", "advance": "wait"}
    parts = [
        f"{counts[kind]} {word}{'s' * (counts[kind] != 1)}"
        for kind, word in words.items()
        if counts[kind]
    ]
    days = sorted({float(step["day"]) for step in steps})
    span = f"day {day_words(days[0])}" + (f" to {day_words(days[-1])}" if len(days) > 1 else "")
    return f"{' and '.join(parts)}, {span}"
