"""Campaigns as timelines: when crops stood where, and when their records were read.

Which campaigns are drawn is fixed before anything is known of them: the first site and repeat of
the methods that the study file names, with full feedback where there is any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from slowlab.analysis.samples import round_result
from slowlab.analysis.study_inputs import FULL, AnalysisInputs
from slowlab.campaign.settlement import CampaignStatus


def example_timelines(inputs: AnalysisInputs) -> dict[str, Any]:
    """The campaigns that are drawn, with the calendar that they were played under."""
    study, calendar = inputs.study, inputs.contract.calendar
    _, _, feedback, _ = example_name(inputs)
    names = list(dict.fromkeys([study.example_method, *study.timeline_methods]))
    drawn = [name for name in names if study.method(name).experiments]
    return {
        "site": study.sites[0],
        "repeat": 0,
        "feedback": feedback,
        "example_method": study.example_method,
        "timeline_methods": list(study.timeline_methods),
        "compartments": inputs.contract.facility.compartments,
        "campaign_days": calendar.campaign_days,
        "cleaning_days": calendar.cleanup_days,
        "scored_plantings": [item.day for item in inputs.contract.evaluation.plantings],
        "campaigns": {
            name: campaign_timeline(inputs, study.sites[0], name, feedback, 0) for name in drawn
        },
    }


def example_name(inputs: AnalysisInputs) -> tuple[int, str, str, int]:
    """Site, method, feedback and repeat of the example campaign: the first, with full feedback."""
    study = inputs.study
    feedback = FULL if FULL in study.feedback else study.feedback[0]
    return study.sites[0], study.example_method, feedback, 0


def campaign_timeline(
    inputs: AnalysisInputs, site: int, method: str, feedback: str, repeat: int
) -> dict[str, Any]:
    """One campaign: its crops, and the days on which records of each compartment were read.

    Args:
        inputs: the study.
        site: number of the site.
        method: name of the method.
        feedback: feedback condition.
        repeat: number of the repeat.

    Returns:
        ``status`` (``missing`` where there is no such campaign or it failed technically), ``crops``
        in the order of their start, ``reads`` of records, and the counts of both.
    """
    name = (site, method, feedback, repeat)
    campaign = rows_of_campaign(inputs.campaigns, name)
    crops = rows_of_campaign(inputs.crops, name).sort_values(["start_day", "unit", "run_index"])
    reads = rows_of_campaign(inputs.reads, name)
    records = reads[reads["variable"] != ""].sort_values("exchange")
    status = "missing" if campaign.empty else str(campaign["status"].iloc[0])
    if status == CampaignStatus.INFRASTRUCTURE_FAILURE:
        status = "missing"
    return {
        "status": status,
        "crops": [_crop(row) for row in crops.itertuples()],
        "reads": [
            {"unit": int(row.unit), "day": round_result(row.day), "variable": str(row.variable)}
            for row in records.itertuples()
        ],
        "n_crops": len(crops),
        "n_reads": len(records),
        "n_totals_reads": int((reads["releases_totals"] == "yes").sum()),
    }


def rows_of_campaign(table: pd.DataFrame, name: Sequence[int | str]) -> pd.DataFrame:
    """Rows of one campaign.

    Args:
        table: campaigns, crops or reads.
        name: site, method, feedback and repeat.
    """
    chosen = pd.Series(True, index=table.index)
    for column, value in zip(("site", "method", "feedback", "repeat"), name, strict=True):
        chosen &= table[column] == value
    return table[chosen]


def _crop(row: Any) -> dict[str, Any]:
    margin = row.margin_eur_m2
    return {
        "unit": int(row.unit),
        "run_index": int(row.run_index),
        "start_day": round_result(row.start_day),
        "end_day": round_result(row.end_day),
        "reason": str(row.reason),
        "margin_eur_m2": None if pd.isna(margin) else round_result(margin),
    }
