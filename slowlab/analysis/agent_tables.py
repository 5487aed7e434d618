"""Rows about language models, made from the numbers of a study alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from slowlab.agents.step_words import day_words
from slowlab.analysis.cell_text import count_text, money, two_decimals

type Numbers = Mapping[str, Any]
type Row = dict[str, str]

_LARGE = ("prompt_characters", "prompt_tokens", "completion_tokens")
_BLANKS = re.compile(r"\s+")
_QUOTED = "\N{LEFT DOUBLE QUOTATION MARK}{}\N{RIGHT DOUBLE QUOTATION MARK}"
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")


def step_rows(numbers: Numbers) -> list[Row]:
    """The example campaign: day, action, stated reason and outcome of its steps."""
    return [
        {
            "day": _days(row),
            "by": row["by"],
            "action": one_line(row["action"]),
            "reason": _reason(row),
            "outcome": one_line(row["outcome"]),
            "records": _records(row),
        }
        for row in numbers["example_steps"]["rows"]
    ]


def agent_cells(numbers: Numbers, method: str, feedback: str) -> Row:
    """What the campaigns of a language model used in a condition, and how they went.

    Raises:
        KeyError: the method is no language model.
    """
    known = numbers["agents"]["methods"][method]
    cell = known["conditions"][feedback]
    means, flags, predictor = cell["mean_per_campaign"], cell["campaigns_with"], cell["predictor"]
    return {
        "model": known["model"],
        "harness": known["harness"] or "",
        **{f"mean_{name}": _mean_text(name, means[name]) for name in sorted(means)},
        **{f"campaigns_with_{name}": str(flags[name]) for name in sorted(flags)},
        "predictor_attempts": str(predictor["attempts"]),
        "predictor_attempts_with_readings": str(predictor["with_readings"]),
        "predictor_outputs": str(predictor["outputs"]),
        "share_of_attempts_with_readings_answered": two_decimals(predictor["share"]),
        "reaches_gate": {None: "", True: "yes", False: "no"}[predictor["reaches_gate"]],
        "failed_attempts_by_fault": count_text(known["totals"]["faults"]),
        **_published_cells(known.get("published"), feedback),
    }


_OF_CONDITION = {
    "input_chars": "prompt_characters",
    "format_errors": "format_errors",
    "invalid_actions": "invalid_actions",
    "tool_calls": "tool_calls",
    "observe_calls": "observe_calls",
}
_OF_BOTH = {
    "calls": "model_calls",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "usd": "cost_usd",
}


def _published_cells(published: Mapping[str, Any] | None, feedback: str) -> Row:
    """Published means under the names of ours; those of a campaign count both of its branches."""
    if published is None:
        return {}
    own = published.get(feedback, {})
    one = {f"published_mean_{our}": (our, own.get(key)) for key, our in _OF_CONDITION.items()}
    two = {
        f"published_mean_{our}_both_branches": (our, published.get(key))
        for key, our in _OF_BOTH.items()
    }
    return {key: _mean_text(our, value) for key, (our, value) in {**one, **two}.items()}


def one_line(text: str) -> str:
    """A text in one line without characters that cannot be seen, so that a cell stays a cell."""
    plain = _BLANKS.sub(" ", text)
    seen = (c if unicodedata.category(c) not in _HIDDEN else " " for c in plain)
    return _BLANKS.sub(" ", "".join(seen)).strip()


def _days(row: Mapping[str, Any]) -> str:
    first, last = day_words(row["day"]), day_words(row["last_day"])
    return first if first == last else f"{first} to {last}"


def _records(row: Mapping[str, Any]) -> str:
    first, last = row["first_record"], row["last_record"]
    return str(first) if first == last else f"{first} to {last}"


def _reason(row: Mapping[str, Any]) -> str:
    """The first reason given, quoted, and how many more there were."""
    words, more = one_line(row["reason"]), row["further_reasons"]
    return (_QUOTED.format(words) if words else "") + (f" (and {more} more)" if more else "")


def _mean_text(name: str, value: float | None) -> str:
    if value is not None and name in _LARGE:
        return f"{value:.0f}"
    return money(value) if name == "cost_usd" else two_decimals(value)
