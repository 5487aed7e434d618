"""Days and ticks: how time is written in replies and read from actions.

Inside, time is a whole number of ticks (control steps of 300 s under contract v8). An agent writes
and reads days. A tick n is written as the double nearest to n/288, so that the text always leads
back to the same tick. A received day is accepted if it lies within a microsecond of a tick.
"""

from __future__ import annotations

import math

from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.world.contract_rules import SECONDS_PER_DAY, Calendar

TOLERANCE_SECONDS = 1e-6
"""A received day may be this far from a tick (SlowLab, action interface)."""


def day_of_tick(tick: int, calendar: Calendar) -> float:
    """The day of a tick: the double nearest to ``tick / ticks_per_day``."""
    return tick / calendar.ticks_per_day


def day_text(tick: int, calendar: Calendar) -> str:
    """The day of a tick as it stands in messages: whole days without a fraction."""
    whole, rest = divmod(tick, calendar.ticks_per_day)
    return str(whole) if rest == 0 else repr(day_of_tick(tick, calendar))


def tick_of_day(value: object, field: str, calendar: Calendar) -> int:
    """Read a day from an action.

    Args:
        value: whole or fractional number of days; booleans and text are refused.
        field: name of the field, for the message.
        calendar: gives the length of a tick.

    Raises:
        ActionRejected: not a finite number, or not on a tick.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionRejected(Reason.DAY, f"{field} must be a number of days")
    seconds = _finite_seconds(value)
    if seconds is None:
        raise ActionRejected(Reason.DAY, f"{field} must be a finite number of days")
    tick = round(seconds / calendar.tick_seconds)
    if abs(seconds - tick * calendar.tick_seconds) > TOLERANCE_SECONDS:
        raise ActionRejected(
            Reason.DAY,
            f"{field} must be a multiple of {calendar.tick_seconds} s, that is "
            f"n/{calendar.ticks_per_day} days with a whole n",
        )
    return tick


def _finite_seconds(days: int | float) -> float | None:
    """A number of days in seconds, or None where that is not finite."""
    try:
        seconds = float(days) * SECONDS_PER_DAY
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None
