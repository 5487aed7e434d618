"""What stands below the figures of a study, in plain words made from its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

type Numbers = Mapping[str, Any]


def caption(numbers: Numbers, words: str) -> str:
    """What was compared on what, and what is missing."""
    study, campaigns = numbers["study"], numbers["campaigns"]
    sites = counted(study["n_sites"], f"{study['partition']} site")
    repeats = counted(study["repeats"], "repeat")
    text = f"{sites}, {repeats}, {study['weather']} weather. {words}"
    if study["n_sites"] == 1:
        text += " One site: neither intervals nor tests."
    if campaigns["missing"]:
        text += f" {campaigns['missing']} of {campaigns['planned']} campaigns missing, left out."
    text += _stand_in_words(numbers)
    if study["exploratory"]:
        text += " Exploratory: no analysis was locked."
    return text


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}{'s' * (count != 1)}"


def test_words(numbers: Numbers) -> str:
    """How intervals and p-values were made."""
    kinds = {"holm": "Holm", "benjamini_hochberg": "Benjamini-Hochberg", "none": "unadjusted"}
    families = "; ".join(
        f"{kinds[family['adjustment']]} over {len(family['tests'])} {family['name']} tests"
        for family in numbers["families"]
        if family["tests"]
    )
    band = f"\N{PLUS-MINUS SIGN}{numbers['study']['sesoi_eur_m2']:g} EUR/m2"
    text = f"Bars: 95 % BCa intervals over sites. p: {families}. Shaded: {band}."
    if any(test["published"] for test in numbers["tests"].values()):
        text += " Grey: published study, other sites, weather and simulator."
    return text


def harness_words(numbers: Numbers) -> str:
    """Whose calls are counted."""
    agents = numbers["agents"]
    if agents is None:
        return "This study has no language model, so nothing is counted."
    campaigns = counted(agents["totals"]["campaigns"], "campaign")
    return (
        f"Counts of {campaigns} from their transcripts; what both feedback conditions of a "
        "campaign share counts once."
    )


def _stand_in_words(numbers: Numbers) -> str:
    """What stand-ins of language models are, where the study has some."""
    stand_ins = any(item["stand_in"] and item["model"] for item in numbers["methods"])
    stand_ins |= any(
        name in numbers["readers"]["models"] for name in numbers["readers"]["stand_ins"]
    )
    return " Stand-ins are scripted programs, not language models." if stand_ins else ""


def timeline_words(numbers: Numbers) -> str:
    """Which campaigns are drawn, and how."""
    lines: Mapping[str, Any] = numbers["timelines"]
    return (
        f"Campaigns: site {lines['site']}, repeat {lines['repeat']}, {lines['feedback']} feedback, "
        "chosen before any result. Bars: crops with their margins (EUR/m2), hatched if ended "
        "early; grey: cleaning; ticks: reads of records; dotted: scored planting days."
    )
