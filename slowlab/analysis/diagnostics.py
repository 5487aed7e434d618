"""What campaigns with full feedback did with what they could see.

Counts are by campaign. Differences to the published diagnostics, which compared ordered lists of
exact days and counted failed predictions and reads of closed totals as use of feedback:

* schedules are compared as multisets of planting days, with a tolerance, so that neither the
  numbers of compartments nor a few days of slack count as a difference;
* reads of records and reads of released totals are counted apart, and reads of records from
  compartments in which a crop was growing once more by themselves;
* attempts at a prediction and predictions received are counted apart.

Tables hold days, so that a read on the day of a planting counts as one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import ENDPOINT, FULL, AnalysisInputs
from slowlab.analysis.study_published import comparable, published_process
from slowlab.analysis.study_scores import number
from slowlab.campaign.settlement import CampaignStatus
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, encode, to_unit

_KEY = ["site", "method", "feedback", "repeat"]
_COUNTS = (
    "calls",
    "decisions",
    "starts",
    "rejections",
    "tool_calls",
    "tool_errors",
    "predictor_attempts",
    "predictor_outputs",
)


def diagnostics(inputs: AnalysisInputs) -> dict[str, Any]:
    """Diagnostics of every method that experiments, by feedback condition, and between the two."""
    study, shown = inputs.study, comparable(inputs.contract)
    declared = spec_of(inputs).measures
    table: dict[str, Any] = {
        "schedule_tolerance_days": declared.schedule_tolerance_days,
        "wave_tolerance_days": declared.wave_tolerance_days,
        "methods": {},
    }
    for item in study.experimenting:
        conditions = {
            feedback: condition_diagnostics(inputs, item.name, feedback)
            for feedback in study.feedback
        }
        both = {FULL, ENDPOINT} <= set(study.feedback)
        pairs = pair_diagnostics(inputs, item.name) if both else None
        table["methods"][item.name] = {
            "conditions": conditions,
            "full_and_endpoint": pairs,
            "published": published_process(item.published) if shown else None,
        }
    return table


def condition_diagnostics(inputs: AnalysisInputs, method: str, feedback: str) -> dict[str, Any]:
    """Counts of one method under one condition; campaigns that failed technically are left out."""
    campaigns = _sound(inputs, method, feedback)
    crops = _of(inputs.crops, campaigns)
    reads = _of(inputs.reads, campaigns)
    second = inputs.contract.calendar.crop_days + inputs.contract.calendar.cleanup_days
    near = spec_of(inputs).measures.wave_tolerance_days
    per_campaign = [
        _campaign_facts(crops.get(name, _NOTHING), reads.get(name, _NOTHING), second, near)
        for name in _names(campaigns)
    ]
    count = len(per_campaign)
    facts = {
        f"campaigns_{name}": sum(bool(item[name]) for item in per_campaign)
        for name in ("with_two_waves", "with_a_start_off_the_waves", "with_an_early_end")
    }
    means = {
        name: _mean([item[name] for item in per_campaign])
        for name in (
            "record_reads",
            "in_season_reads",
            "totals_reads",
            "record_reads_before_second_start",
            "totals_reads_before_second_start",
            "record_rows",
        )
    }
    return {
        "campaigns": count,
        **facts,
        "campaigns_with_a_prediction": int((campaigns["predictor_outputs"] > 0).sum()),
        "campaigns_with_fallback": int((campaigns["fallback_reason"] != "").sum()),
        "mean_per_campaign": {
            **{name: _mean(campaigns[name].tolist()) for name in _COUNTS},
            **means,
        },
    }


def pair_diagnostics(inputs: AnalysisInputs, method: str) -> dict[str, Any]:
    """Full against endpoint campaigns of the same site and repeat."""
    full, endpoint = (_sound(inputs, method, mode) for mode in (FULL, ENDPOINT))
    crops = {**_of(inputs.crops, full), **_of(inputs.crops, endpoint)}
    policies = _policies(inputs.sites, method)
    places = sorted(
        {(site, repeat) for site, _, _, repeat in _names(full)}
        & {(site, repeat) for site, _, _, repeat in _names(endpoint)}
    )
    slack = spec_of(inputs).measures.schedule_tolerance_days
    same, distances = 0, []
    for site, repeat in places:
        names = [(site, method, mode, repeat) for mode in (FULL, ENDPOINT)]
        schedules = [_later_starts(crops.get(name, _NOTHING)) for name in names]
        same += same_schedule(*schedules, slack)
        chosen = [policies.get(name) for name in names]
        if None not in chosen:
            distances.append(_distance(chosen, inputs.contract.policy))
    return {
        "pairs": len(places),
        "same_later_schedule": same,
        "identical_recommendation": sum(distance == 0 for distance in distances),
        "compared_recommendations": len(distances),
        "mean_recommendation_distance": _mean(distances),
    }


def same_schedule(first: Sequence[float], second: Sequence[float], tolerance_days: float) -> bool:
    """Whether two sets of planting days can be matched one to one within a tolerance.

    Sorted days are matched in order, which is the best matching there is on a line.
    """
    if len(first) != len(second):
        return False
    pairs = zip(sorted(first), sorted(second), strict=True)
    return all(abs(one - other) <= tolerance_days for one, other in pairs)


_NOTHING = pd.DataFrame()


def _sound(inputs: AnalysisInputs, method: str, feedback: str) -> pd.DataFrame:
    """Campaigns of a method under a condition on the study's sites that did not fail technically.

    The order is that of sites and repeats.
    """
    table = inputs.campaigns
    chosen = (table["method"] == method) & (table["feedback"] == feedback)
    chosen &= table["site"].isin(inputs.study.sites)
    chosen &= table["status"].isin([CampaignStatus.FINISHED, CampaignStatus.CLOSED])
    return table[chosen].sort_values(_KEY)


def _names(campaigns: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(campaigns[_KEY].itertuples(index=False, name=None))


def _of(table: pd.DataFrame, campaigns: pd.DataFrame) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Rows of each of some campaigns, by its name."""
    wanted = set(_names(campaigns))
    near = table["method"].isin(campaigns["method"]) & table["feedback"].isin(campaigns["feedback"])
    return {name: part for name, part in table[near].groupby(_KEY, sort=True) if name in wanted}


def _campaign_facts(
    crops: pd.DataFrame, reads: pd.DataFrame, second_day: int, near_days: float
) -> dict[str, Any]:
    """Facts of one campaign.

    A campaign has two waves if everything planted after day 0 waited until the whole first wave had
    closed and its totals had been read.
    """
    later = _later_starts(crops)
    turn = min(later, default=np.inf)
    early = reads[reads["day"] <= turn] if len(reads) else reads
    off = [day for day in later if abs(day - second_day) > near_days]
    return {
        "with_two_waves": bool(later) and _first_wave_known(crops, turn),
        "with_a_start_off_the_waves": bool(off),
        "with_an_early_end": len(crops) > 0 and bool(crops["reason"].isin(_EARLY_ENDS).any()),
        "record_reads": _reads_of_records(reads),
        "in_season_reads": _reads_in_season(reads, crops),
        "totals_reads": _reads_of_totals(reads),
        "record_reads_before_second_start": _reads_of_records(early),
        "totals_reads_before_second_start": _reads_of_totals(early),
        "record_rows": int(reads["rows"].sum()) if len(reads) else 0,
    }


_EARLY_ENDS = ("stopped", "safety_stop")


def _later_starts(crops: pd.DataFrame) -> list[float]:
    """Planting days after day 0."""
    return [] if crops.empty else sorted(day for day in crops["start_day"].tolist() if day > 0)


def _first_wave_known(crops: pd.DataFrame, turn: float) -> bool:
    first = crops[crops["start_day"] <= 0]
    closed = bool((first["end_day"] <= turn).all())
    return len(first) > 0 and closed and bool((first["totals_read_day"] <= turn).all())


def _reads_of_records(reads: pd.DataFrame) -> int:
    return int((reads["variable"] != "").sum()) if len(reads) else 0


def _reads_in_season(reads: pd.DataFrame, crops: pd.DataFrame) -> int:
    """Reads of records from compartments in which a crop was growing on that day."""
    if reads.empty or crops.empty:
        return 0
    named = reads[reads["variable"] != ""]
    growing = [
        (crops["unit"] == unit) & (crops["start_day"] <= day) & (day < crops["end_day"])
        for unit, day in zip(named["unit"], named["day"], strict=True)
    ]
    return sum(bool(found.any()) for found in growing)


def _reads_of_totals(reads: pd.DataFrame) -> int:
    return int((reads["releases_totals"] == "yes").sum()) if len(reads) else 0


def _policies(sites: pd.DataFrame, method: str) -> dict[tuple[Any, ...], Policy]:
    """Scored policies of a method, by site, method, feedback and repeat."""
    known = sites[(sites["method"] == method) & sites[POLICY_FIELDS[0]].notna()]
    return {
        tuple(row[name] for name in _KEY): Policy(**{name: row[name] for name in POLICY_FIELDS})
        for row in known.to_dict("records")
    }


def _distance(policies: Sequence[Any], bounds: PolicyBounds) -> float:
    """Euclidean distance in the box scaled to [0, 1], over the root of the number of fields."""
    one, other = to_unit(encode(list(policies)), bounds)
    return float(np.sqrt(np.mean((one - other) ** 2)))


def _mean(values: Sequence[float]) -> float | None:
    return number(float(np.mean(values))) if len(values) else None
