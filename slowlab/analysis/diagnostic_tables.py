"""What campaigns did with what they could see, as rows, with the published counts beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowlab.analysis.cell_text import two_decimals

type Numbers = Mapping[str, Any]
type Row = dict[str, str]

_PROCESS = {
    "campaigns": "campaigns",
    "any_stop": "campaigns_with_an_early_end",
    "non_two_wave": "campaigns_with_a_start_off_the_waves",
    "reads_before_first_later_start": "mean_record_reads_before_second_start",
    "predictor_calls": "mean_predictor_attempts",
    "same_later_schedule": "same_later_schedule",
    "identical_recommendation": "identical_recommendation",
    "mean_recommendation_distance": "mean_recommendation_distance",
}


def diagnostic_rows(
    numbers: Numbers, names: Mapping[str, str], words: Mapping[str, str]
) -> list[Row]:
    """Counts by method and condition; comparisons of conditions stand in the first row.

    Args:
        numbers: the study's numbers.
        names: methods as they are shown.
        words: conditions as they are shown.
    """
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
                    "feedback": words[mode],
                    **{key: str(facts[key]) for key in sorted(facts)},
                    **{f"mean_{key}": two_decimals(means[key]) for key in sorted(means)},
                    **_pair_cells(pairs),
                    **_published_process(diagnosed[method] if place == 0 else {}),
                }
            )
    return rows


def _pair_cells(pairs: Mapping[str, Any]) -> Row:
    whole: Sequence[str] = ("pairs", "same_later_schedule", "identical_recommendation")
    return {
        **{key: str(pairs.get(key, "")) for key in whole},
        "mean_recommendation_distance": two_decimals(pairs.get("mean_recommendation_distance")),
    }


def _published_process(known: Mapping[str, Any]) -> Row:
    """Published diagnostics under the names of ours; they were counted by slightly other rules."""
    published = known.get("published") or {}
    return {
        f"{ours}_published": two_decimals(value) if isinstance(value, float) else str(value)
        for theirs, ours in _PROCESS.items()
        if (value := published.get(theirs)) is not None
    }
