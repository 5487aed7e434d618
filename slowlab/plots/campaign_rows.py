"""From the rules of a study to the steps of a campaign as they are drawn. Nothing is decided here.

Every number comes from the environment and the timelines in the study's numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slowlab.plots.campaign_plot import CampaignCalendar, CampaignStep

type Numbers = Mapping[str, Any]

_WORDS = {
    "plan": (
        "plan and act",
        "A numerical method or a language model plants, waits, reads and ends with one policy.",
    ),
    "crops": ("crops", ""),
    "executor": (
        "hidden executor",
        "Simulates the site in one year of weather, in a process of its own. Cultivar, facility "
        "and compartments differ from site to site.",
    ),
    "reads": ("reads", "What is let through depends on the feedback condition."),
    "tools": ("tools", "Models and predictions from what was read, nothing else."),
    "score": (
        "private score",
        "The policy is planted anew on the same site, in years that no one was shown. No method is "
        "told its score.",
    ),
}
_FEEDBACK = {
    "full": "full: records, totals",
    "endpoint": "endpoint: totals",
    "delayed": "delayed: records late",
    "shuffled": "shuffled: totals swapped",
}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def campaign_steps(numbers: Numbers) -> tuple[CampaignStep, ...]:
    """The six steps in their order, with the rules of this study."""
    facts = _facts(numbers)
    return tuple(
        CampaignStep(f"{place}  {title}", words, facts[name])
        for place, (name, (title, words)) in enumerate(_WORDS.items(), start=1)
    )


def campaign_calendar(numbers: Numbers) -> CampaignCalendar:
    """The days of a campaign, and one compartment after another."""
    lines = numbers["timelines"]
    return CampaignCalendar(
        compartments=lines["compartments"],
        campaign_days=lines["campaign_days"],
        crop_days=_days(numbers, "crop"),
        cleaning_days=lines["cleaning_days"],
        latest_start_day=_days(numbers, "latest start"),
    )


def campaign_words(numbers: Numbers) -> str:
    """What stands below the drawing."""
    latest = _known(numbers)["calendar", "latest start"]
    return (
        "Blue: rules of this study. Grey ground: what a method never sees. Crops are drawn as "
        f"early as the calendar allows; no crop starts after {latest}."
    )


def _facts(numbers: Numbers) -> dict[str, tuple[str, ...]]:
    known, lines = _known(numbers), numbers["timelines"]
    hidden = sum(row["group"] == "site, hidden" for row in numbers["environment"])
    plantings = ", ".join(str(day) for day in lines["scored_plantings"])
    return {
        "plan": (
            f"{known['interface', 'starts']} starts",
            f"{known['interface', 'decision calls']} decisions",
            f"{known['interface', 'interface calls']} calls in all",
        ),
        "crops": (
            f"{known['facility', 'compartments']}",
            f"{known['calendar', 'crop']} a crop, {known['calendar', 'cleaning']} cleaning",
        ),
        "executor": (
            f"{hidden} hidden numbers",
            f"{numbers['study']['weather']} weather",
            f"{known['calendar', 'control step']} a step",
        ),
        "reads": tuple(_FEEDBACK[mode] for mode in numbers["study"]["feedback"]),
        "tools": (f"{known['interface', 'analysis tool calls']} calls",),
        "score": (
            f"plantings: day {plantings}",
            f"{numbers['study']['scoring_years_per_site']} years a site",
            "margin, EUR/m2",
        ),
    }


def _known(numbers: Numbers) -> dict[tuple[str, str], str]:
    return {(row["group"], row["item"]): row["value"] for row in numbers["environment"]}


def _days(numbers: Numbers, item: str) -> float:
    """The number in a value of the calendar, such as ``180 d`` or ``day 183``."""
    (value,) = _NUMBER.findall(_known(numbers)["calendar", item])
    return float(value)
