"""What the actions do: checks against the state of the campaign first, then the deed.

A function here either raises before anything has changed, or does all that its action asks for.
"""

from __future__ import annotations

from typing import Any

from slowlab.campaign.actions import Advance, Observe, Start, Stop
from slowlab.campaign.clock import day_text
from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.campaign.views import View
from slowlab.world.task import Feedback


def start(action: Start, view: View) -> dict[str, Any]:
    """Plant a crop in an idle compartment.

    Raises:
        ActionRejected: after the latest start day, or the compartment is not idle.
    """
    facility, calendar = view.facility, view.contract.calendar
    if facility.tick > calendar.latest_start_tick:
        raise ActionRejected(
            Reason.LATE_START, f"no crop may start after day {calendar.latest_start_day}"
        )
    status = facility.status(action.unit)
    if status.phase == "cleanup":
        ready = day_text(status.ready_tick, calendar)
        raise ActionRejected(
            Reason.NOT_IDLE, f"compartment {action.unit} is being cleaned until day {ready}"
        )
    if status.phase != "idle":
        raise ActionRejected(
            Reason.NOT_IDLE,
            f"compartment {action.unit} holds a crop; stop it or wait until it closes",
        )
    run_index = facility.plant(action.unit, action.policy)
    return {"day": view.day(), "unit": action.unit, "run_index": run_index}


def stop(action: Stop, view: View) -> dict[str, Any]:
    """End a growing crop; cleaning begins.

    Raises:
        ActionRejected: nothing grows in the compartment.
    """
    if view.facility.status(action.unit).phase != "active":
        raise ActionRejected(
            Reason.NOTHING_TO_STOP, f"compartment {action.unit} has no growing crop"
        )
    view.facility.stop(action.unit)
    status = view.status(action.unit)
    return {"day": view.day(), **{name: status[name] for name in _STOPPED}}


def observe(action: Observe, view: View) -> dict[str, Any]:
    """Read a compartment: its state, the totals of a crop, and records where they are asked for.

    Raises:
        ActionRejected: there is no such crop, or the window is not allowed.
    """
    result = {
        "day": view.day(),
        "status": view.status(action.unit),
        "crop": view.crop(action.unit, action.run_index),
    }
    if action.query is not None:
        result["records"] = view.records(action.unit, action.run_index, action.query)
    return result


def check_advance(action: Advance, view: View) -> None:
    """Check that time may pass until the tick of an advance.

    Raises:
        ActionRejected: before a feedback mode is assigned, into the past or beyond the last day.
    """
    calendar, now = view.contract.calendar, view.facility.tick
    if view.feedback is Feedback.UNASSIGNED:
        raise ActionRejected(
            Reason.FEEDBACK_UNASSIGNED, "time passes only after the feedback mode is assigned"
        )
    if action.tick < now:
        raise ActionRejected(
            Reason.REWIND, f"day must not be before now, day {day_text(now, calendar)}"
        )
    if action.tick > calendar.campaign_ticks:
        raise ActionRejected(
            Reason.BEYOND_END, f"day must be at most {calendar.campaign_days}, the last day"
        )


_STOPPED = ("unit", "run_index", "ready_day")
