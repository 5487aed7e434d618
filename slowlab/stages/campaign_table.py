"""Finished campaigns as tables: their crops, what was read, and how each campaign went.

All three are made from the public history of a campaign and its settlement, so they say the same
whoever played. The settlement adds what an agent need not have read: when and how each crop ended
and its margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from slowlab.campaign.budget import ActionKind
from slowlab.campaign.settlement import CampaignStatus, FallbackReason, PolicySource
from slowlab.evaluation.tables import Column, TableSchema
from slowlab.world.contract_rules import SECONDS_PER_DAY
from slowlab.world.policy import POLICY_FIELDS

if TYPE_CHECKING:
    from slowlab.campaign.history import Exchange, History, SeenCrop
    from slowlab.campaign.settlement import Settlement

PREDICTOR = "predict_crop_outcome"
"""The tool that predicts the outcome of a growing crop."""

_YES_NO = ("yes", "no")
_IDENTITY = {
    "site": Column("integer", "-", "number of the site in its partition", low=0),
    "method": Column("text", "-", "name of the method"),
    "feedback": Column("text", "-", "feedback condition"),
    "repeat": Column("integer", "-", "number of the repeat", low=0),
}


def _count(meaning: str) -> Column:
    return Column("integer", "-", meaning, low=0)


CROP_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "unit": _count("compartment"),
            "run_index": Column("integer", "-", "crop number in its compartment", low=1),
            "start_day": Column("number", "day", "planting", low=0),
            "end_day": Column("number", "day", "end of the crop", low=0),
            "reason": Column("text", "-", "how it ended; empty where it had not"),
            "totals_read_day": Column(
                "number", "day", "first day on which its totals were read", nullable=True
            ),
            **{name: Column("number", "-", "policy as accepted") for name in POLICY_FIELDS},
            "margin_eur_m2": Column("number", "EUR/m2", "margin of the crop", nullable=True),
        }
    ),
    key=(*_IDENTITY, "unit", "run_index"),
)
"""One row for each crop of a campaign."""

READ_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "exchange": _count("place of the read among the exchanges of its campaign"),
            "unit": _count("compartment"),
            "day": Column("number", "day", "day on which it was read", low=0),
            "variable": Column("text", "-", "channel; empty where no records were read"),
            "resolution": Column(
                "text", "-", "raw or daily; empty without records", allowed=("", "raw", "daily")
            ),
            "rows": _count("rows returned"),
            "releases_totals": Column(
                "text", "-", "whether totals of a closed crop came with it", allowed=_YES_NO
            ),
        }
    ),
    key=(*_IDENTITY, "exchange"),
)
"""One row for each successful read of a compartment."""

CAMPAIGN_SCHEMA = TableSchema(
    MappingProxyType(
        {
            **_IDENTITY,
            "ending": Column("text", "-", "how the method ended"),
            "status": Column(
                "text", "-", "how the campaign ended", allowed=("", *map(str, CampaignStatus))
            ),
            "source": Column(
                "text", "-", "whose policy counts", allowed=("", *map(str, PolicySource))
            ),
            "fallback_reason": Column(
                "text",
                "-",
                "why a fallback counts; empty where the recommendation does",
                allowed=("", *map(str, FallbackReason)),
            ),
            "calls": _count("interface calls used"),
            "decisions": _count("decision calls used"),
            "starts": _count("crops started"),
            "rejections": _count("payloads rejected"),
            "tool_calls": _count("uses of analysis tools, failed ones included"),
            "tool_errors": _count("of these, failed"),
            "predictor_attempts": _count("uses of the process predictor, failed ones included"),
            "predictor_outputs": _count("predictions received"),
        }
    ),
    key=tuple(_IDENTITY),
)
"""One row for each campaign."""


@dataclass(frozen=True)
class CampaignName:
    """Which campaign.

    Attributes:
        site: number of the site in its partition.
        method: name of the method in the study.
        feedback: feedback condition.
        repeat: number of the repeat.
    """

    site: int
    method: str
    feedback: str
    repeat: int

    def columns(self) -> dict[str, Any]:
        """The name as columns of a row."""
        return {name: getattr(self, name) for name in _IDENTITY}


@dataclass(frozen=True)
class ToolUse:
    """Use of the analysis tools in one campaign.

    Attributes:
        calls: calls, failed ones included.
        errors: of these, failed.
        predictor_attempts: calls of the process predictor, failed ones included.
        predictor_outputs: predictions received.
    """

    calls: int = 0
    errors: int = 0
    predictor_attempts: int = 0
    predictor_outputs: int = 0


@dataclass(frozen=True)
class CampaignRows:
    """One campaign as rows of the three tables."""

    campaign: Mapping[str, Any]
    crops: tuple[Mapping[str, Any], ...] = field(default=())
    reads: tuple[Mapping[str, Any], ...] = field(default=())


def count_tools(uses: Iterable[tuple[str, bool]]) -> ToolUse:
    """Count uses of tools.

    Args:
        uses: name of the tool and whether its reply was ok, for each call.
    """
    listed = list(uses)
    predictions = [ok for name, ok in listed if name == PREDICTOR]
    return ToolUse(
        calls=len(listed),
        errors=sum(not ok for _, ok in listed),
        predictor_attempts=len(predictions),
        predictor_outputs=sum(predictions),
    )


def rows_from(
    name: CampaignName,
    history: History,
    settlement: Settlement | None,
    *,
    ending: str,
    tools: ToolUse | None = None,
) -> CampaignRows:
    """The rows of one campaign.

    Args:
        name: which campaign.
        history: everything its method has seen.
        settlement: its end; None where it was not settled.
        ending: how the method ended, as the pool reports it.
        tools: its use of tools; None for none.
    """
    ends = {**_stops(history), **_true_ends(history, settlement)}
    read_days = _totals_read_days(history)
    crops = tuple(
        _crop_row(name, history, crop, ends.get((crop.unit, crop.run_index), {}), read_days)
        for crop in history.crops()
    )
    return CampaignRows(
        campaign=_campaign_row(name, history, settlement, ending, tools or ToolUse()),
        crops=crops,
        reads=tuple(_read_rows(name, history)),
    )


def campaign_tables(
    campaigns: Iterable[CampaignRows],
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Tables of campaigns, crops and reads, each checked and sorted by its key.

    Raises:
        TableError: a row does not fit, or a campaign is there twice.
    """
    listed = list(campaigns)
    return (
        CAMPAIGN_SCHEMA.table([item.campaign for item in listed]),
        CROP_SCHEMA.table([row for item in listed for row in item.crops]),
        READ_SCHEMA.table([row for item in listed for row in item.reads]),
    )


def _campaign_row(
    name: CampaignName,
    history: History,
    settlement: Settlement | None,
    ending: str,
    tools: ToolUse,
) -> dict[str, Any]:
    budget = (history.budget if settlement is None else settlement.budget) or {}
    used = {kind: budget.get(kind, {}).get("used", 0) for kind in ("calls", "decisions", "starts")}
    rejected = sum(not item.reply["ok"] for item in history.exchanges)
    if settlement is not None:
        rejected = sum(settlement.rejections.values())
    return {
        **name.columns(),
        "ending": str(ending),
        "status": _word(settlement, "status"),
        "source": _word(settlement, "source"),
        "fallback_reason": _word(settlement, "fallback_reason"),
        **used,
        "rejections": rejected,
        "tool_calls": tools.calls,
        "tool_errors": tools.errors,
        "predictor_attempts": tools.predictor_attempts,
        "predictor_outputs": tools.predictor_outputs,
    }


def _word(settlement: Settlement | None, attribute: str) -> str:
    value = None if settlement is None else getattr(settlement, attribute)
    return "" if value is None else str(value.value)


def _crop_row(
    name: CampaignName,
    history: History,
    crop: SeenCrop,
    end: Mapping[str, Any],
    read_days: Mapping[tuple[int, int], float],
) -> dict[str, Any]:
    calendar, totals = history.task["calendar"], crop.totals
    natural = min(crop.start_day + calendar["crop_days"], float(calendar["campaign_days"]))
    known = [day for day in (crop.end_day, end.get("end_day"), natural) if day is not None]
    margin = end.get("margin_eur_m2")
    if margin is None and totals is not None:
        margin = totals.margin_eur_m2
    return {
        **name.columns(),
        "unit": crop.unit,
        "run_index": crop.run_index,
        "start_day": float(crop.start_day),
        "end_day": float(known[0]),
        "reason": crop.reason or end.get("reason") or "",
        "totals_read_day": read_days.get((crop.unit, crop.run_index)),
        **{field_: getattr(crop.policy, field_) for field_ in POLICY_FIELDS},
        "margin_eur_m2": margin,
    }


def _stops(history: History) -> dict[tuple[int, int], dict[str, Any]]:
    """When crops were stopped by their method, by unit and number."""
    stops = {}
    for item in history.exchanges:
        if item.reply["ok"] and item.action and item.action["action"] == ActionKind.STOP:
            result = item.reply["result"]
            name = (item.action["unit"], result["run_index"])
            stops[name] = {"end_day": float(result["day"]), "reason": "stopped"}
    return stops


def _true_ends(
    history: History, settlement: Settlement | None
) -> dict[tuple[int, int], dict[str, Any]]:
    """When and how crops ended and their margins, from the settlement, by unit and number."""
    if settlement is None:
        return {}
    per_day = SECONDS_PER_DAY / history.task["calendar"]["step_seconds"]
    ends = {}
    for unit in settlement.private.get("units", []):
        for crop in unit["crops"]:
            if crop["end_tick"] is not None:
                ends[unit["unit"], crop["run_index"]] = {
                    "end_day": crop["end_tick"] / per_day,
                    "reason": _PUBLIC_REASONS.get(crop["ending"], crop["ending"]),
                    "margin_eur_m2": crop["margin_eur_m2"],
                }
    return ends


_PUBLIC_REASONS = MappingProxyType(
    {"temperature_safety": "safety_stop", "collapsed": "safety_stop"}
)
"""Endings that agents are told in other words; the tables say what agents are told."""


def _reads(history: History) -> Iterator[tuple[int, Exchange]]:
    """Place and exchange of every successful read."""
    for place, item in enumerate(history.exchanges):
        if item.reply["ok"] and item.action and item.action["action"] == ActionKind.OBSERVE:
            yield place, item


def _closed_crop(item: Exchange) -> dict[str, Any] | None:
    crop = item.reply["result"].get("crop")
    return crop if crop and crop["state"] == "closed" else None


def _totals_read_days(history: History) -> dict[tuple[int, int], float]:
    days: dict[tuple[int, int], float] = {}
    for _, item in _reads(history):
        crop = _closed_crop(item)
        if crop is not None:
            days.setdefault((crop["unit"], crop["run_index"]), float(item.reply["result"]["day"]))
    return days


def _read_rows(name: CampaignName, history: History) -> Iterator[dict[str, Any]]:
    for place, item in _reads(history):
        result = item.reply["result"]
        records = result.get("records") or {}
        yield {
            **name.columns(),
            "exchange": place,
            "unit": item.action["unit"],
            "day": float(result["day"]),
            "variable": records.get("variable", ""),
            "resolution": records.get("resolution", ""),
            "rows": len(records.get("rows", ())),
            "releases_totals": "no" if _closed_crop(item) is None else "yes",
        }
