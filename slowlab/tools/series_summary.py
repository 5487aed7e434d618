"""Days of records that were already read, however they were read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from slowlab.campaign.history import History
from slowlab.tools.errors import ToolError, ToolReason


def series_summary(
    history: History,
    unit: int,
    variable: str,
    start_day: int | None,
    end_day: int | None,
    most_days: int,
) -> dict[str, Any]:
    """Count, mean, lowest and highest reading of each day that was read, raw or daily.

    Source: SlowLab, analysis tools (``series_summary``).

    Args:
        history: what was seen.
        unit: compartment.
        variable: a channel.
        start_day: first day of the window, from 0; by default the longest window allowed.
        end_day: last day of the window, included; by default the last day that was read.
        most_days: longest window.

    Raises:
        ToolError: nothing of this channel was read, or the window is too long or ends before it
            begins.
    """
    rows = history.daily(unit, variable)
    if not rows:
        raise ToolError(
            ToolReason.NO_READINGS,
            "nothing of this channel was read in this compartment yet; observe it first",
        )
    last = rows[-1].day if end_day is None else end_day
    first = max(0, last - most_days + 1) if start_day is None else start_day
    if not first <= last <= first + most_days - 1:
        raise ToolError(
            ToolReason.WINDOW,
            f"the window must hold 1 to {most_days} days; both ends belong to it, and readings go "
            f"from day {rows[0].day} to day {rows[-1].day}",
        )
    days = [asdict(row) for row in rows if first <= row.day <= last]
    return {
        "unit": unit,
        "variable": variable,
        "start_day": first,
        "end_day": last,
        "days": days,
    }
