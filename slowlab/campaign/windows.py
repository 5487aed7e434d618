"""Windows of reads: which ticks a request for records covers, and which it may not.

Both ends of a window are included. A raw window holds at most the contract's number of reading
times (512), whether or not every reading exists; a daily window spans at most 400 days. The
original's default window, day 0 to now, broke its own limit after 1.8 days. Ours always fits:

* the end is now, or the end of the crop named by ``run_index`` if that has closed;
* a raw window starts as far back as one reply allows, but not before the crop named;
* a daily window starts with the crop named, or else with the latest crop planted before the end,
  or else 400 days back; it is cut to the latest 400 days.

Under a delay, "now" is the youngest record that has been released.
"""

from __future__ import annotations

from dataclasses import dataclass

from slowlab.campaign.actions import RecordQuery, Resolution
from slowlab.campaign.clock import day_text
from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.world.contract import Contract


@dataclass(frozen=True)
class CropSpan:
    """When a crop grew: its first tick and, once it has closed, its last."""

    start_tick: int
    end_tick: int | None


@dataclass(frozen=True)
class Window:
    """Ticks of a read, both included."""

    start_tick: int
    end_tick: int


def resolve_window(
    query: RecordQuery,
    horizon: int,
    named: CropSpan | None,
    planted: tuple[CropSpan, ...],
    contract: Contract,
) -> Window:
    """Apply defaults and limits to a request.

    Args:
        query: the request.
        horizon: tick of the youngest record that may be read; negative if there is none.
        named: the crop that the request names, if any.
        planted: all crops of the compartment, oldest first.
        contract: limits and calendar.

    Raises:
        ActionRejected: a window that is reversed, too long, or not released (yet).
    """
    if horizon < 0:
        days = contract.budget.record_delay_days
        raise ActionRejected(Reason.NOT_RELEASED, f"no record is released before day {days}")
    end = _default_end(horizon, named) if query.end_tick is None else query.end_tick
    start = query.start_tick
    if start is None:
        start = _default_start(query, end, named, planted, contract)
    _check_order(start, end, horizon, contract)
    _check_length(query.resolution, start, end, contract)
    return Window(start, end)


def _default_end(horizon: int, named: CropSpan | None) -> int:
    if named is None or named.end_tick is None:
        return horizon
    return min(horizon, named.end_tick)


def _default_start(
    query: RecordQuery,
    end: int,
    named: CropSpan | None,
    planted: tuple[CropSpan, ...],
    contract: Contract,
) -> int:
    if query.resolution is Resolution.RAW:
        longest = contract.budget.raw_records_per_read - 1
        crop = named
    else:
        longest = contract.budget.days_per_daily_read * contract.calendar.ticks_per_day
        crop = named or next((c for c in reversed(planted) if c.start_tick <= end), None)
    floor = crop.start_tick if crop is not None and crop.start_tick <= end else 0
    return max(floor, end - longest)


def _check_order(start: int, end: int, horizon: int, contract: Contract) -> None:
    last = day_text(horizon, contract.calendar)
    if end > horizon:
        raise ActionRejected(
            Reason.WINDOW, f"end_day must not be after day {last}: no later record is released"
        )
    if not 0 <= start <= end:
        raise ActionRejected(
            Reason.WINDOW,
            f"start_day must not be before day 0 or after end_day, which is at most day {last}",
        )


def _check_length(resolution: Resolution, start: int, end: int, contract: Contract) -> None:
    calendar, budget = contract.calendar, contract.budget
    if resolution is Resolution.RAW:
        times, most = end - start + 1, budget.raw_records_per_read
        if times > most:
            steps = day_text(most - 1, calendar)
            raise ActionRejected(
                Reason.WINDOW_TOO_LONG,
                f"a raw window holds at most {most} reading times ({steps} days from start_day to "
                f"end_day), this one {times}; leave start_day out for the latest ones, or read "
                "daily",
            )
    elif end - start > budget.days_per_daily_read * calendar.ticks_per_day:
        raise ActionRejected(
            Reason.WINDOW_TOO_LONG,
            f"a daily window spans at most {budget.days_per_daily_read} days",
        )
