"""Campaigns as timelines: a bar a crop, grey for cleaning, a tick for each read of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from slowlab.plots.interval_plot import format_mean
from slowlab.plots.style import BLACK, GREY

X_LABEL = "Day of the campaign"
_BAR, _TICK = 0.62, 0.2
_CLEANING = "#9C9C9C"
_EARLY = ("stopped", "safety_stop")
_SHORTEST_LABELLED_DAYS = 60.0


def draw_timeline(
    axis: Axes,
    campaign: Mapping[str, Any],
    rules: Mapping[str, Any],
    name: str,
    colour: str,
    title: str,
) -> None:
    """Draw one campaign.

    Args:
        axis: where to draw.
        campaign: crops and reads, as ``slowlab.analysis.timeline.campaign_timeline`` lists them.
        rules: ``compartments``, ``campaign_days``, ``cleaning_days``, ``scored_plantings``.
        name: first part of the names (``gid``) of its artists: ``<name>-crop<i>`` for each crop in
            the order given, ``<name>-cleaning<i>``, and ``<name>-reads`` for all reads.
        colour: colour of the crops.
        title: title of the panel; numbers of crops and reads are added to it.
    """
    for day in rules["scored_plantings"]:
        axis.axvline(day, color=GREY, linestyle=":", linewidth=0.7, zorder=0)
    for place, crop in enumerate(campaign["crops"]):
        _crop(axis, crop, f"{name}-crop{place}", colour)
        _cleaning(axis, crop, rules, f"{name}-cleaning{place}")
    _reads(axis, campaign["reads"], f"{name}-reads")
    axis.set_xlim(0, rules["campaign_days"])
    axis.set_xticks(_ticks(rules["campaign_days"]))
    axis.set_ylim(rules["compartments"] - 0.45, -0.6)
    units = range(rules["compartments"])
    axis.set_yticks(units, [f"C{unit + 1}" for unit in units])
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.set_xlabel(X_LABEL)
    axis.set_title(f"{title}: {_counts(campaign)}", loc="left")
    if campaign["status"] == "missing":
        axis.text(0.5, 0.5, "no campaign", transform=axis.transAxes, ha="center", color=GREY)


def _counts(campaign: Mapping[str, Any]) -> str:
    if campaign["status"] == "missing":
        return "missing"
    crops, reads = campaign["n_crops"], campaign["n_reads"]
    return f"{crops} crop{'s' * (crops != 1)}, {reads} read{'s' * (reads != 1)}"


def _crop(axis: Axes, crop: Mapping[str, Any], name: str, colour: str) -> None:
    """A bar with its margin; hatched where the crop ended before its time."""
    length = crop["end_day"] - crop["start_day"]
    bars = axis.barh(
        crop["unit"],
        length,
        left=crop["start_day"],
        height=_BAR,
        color=colour,
        edgecolor="white",
        linewidth=0.6,
        hatch="////" if crop["reason"] in _EARLY else None,
        zorder=2,
    )
    bars[0].set_gid(name)
    if crop["margin_eur_m2"] is not None and length >= _SHORTEST_LABELLED_DAYS:
        axis.text(
            crop["start_day"] + length / 2,
            crop["unit"],
            format_mean(crop["margin_eur_m2"]),
            ha="center",
            va="center",
            fontsize=6.5,
            zorder=4,
            color=BLACK,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )


def _cleaning(axis: Axes, crop: Mapping[str, Any], rules: Mapping[str, Any], name: str) -> None:
    days = min(rules["cleaning_days"], rules["campaign_days"] - crop["end_day"])
    if days > 0:
        bars = axis.barh(
            crop["unit"],
            days,
            left=crop["end_day"],
            height=_BAR,
            color=_CLEANING,
            linewidth=0,
            zorder=3,
        )
        bars[0].set_gid(name)


def _reads(axis: Axes, reads: list[Mapping[str, Any]], name: str) -> None:
    """A tick above the bar for each read of records."""
    if not reads:
        return
    days = np.array([read["day"] for read in reads])
    tops = np.array([read["unit"] for read in reads]) - _BAR / 2
    lines = axis.vlines(days, tops - _TICK, tops + _TICK / 3, color=BLACK, linewidth=0.6)
    lines.set_zorder(3)
    lines.set_gid(name)


def _ticks(days: int) -> list[int]:
    """Ticks every 60 days and at the end."""
    return [*range(0, days - 30, 60), days]
