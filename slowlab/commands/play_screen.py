"""What ``slowlab play`` shows: only what the agent of the campaign may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from slowlab.commands.play_words import SHORT_CHANNELS

if TYPE_CHECKING:
    from slowlab.campaign.history import History
    from slowlab.world.facility_books import UnitStatus

_ROWS = 40


def show_status(console: Console, history: History, units: Sequence[UnitStatus]) -> None:
    """Compartments with what was last read in them, and budgets.

    Args:
        console: where to print.
        history: what was seen so far.
        units: public states of the compartments.
    """
    calendar = history.task["calendar"]
    table = Table(title=f"day {history.day:g} of {calendar['campaign_days']}")
    for heading in ("unit", "state", "crop", "since day", "ready on day", "last readings"):
        table.add_column(heading)
    ticks_per_day = 86_400 / calendar["step_seconds"]
    for unit in units:
        ready = unit.ready_tick
        table.add_row(
            str(unit.unit),
            f"{unit.phase} ({unit.last_event})",
            str(unit.run_index or ""),
            f"{unit.since_tick / ticks_per_day:g}",
            "" if ready is None else f"{ready / ticks_per_day:g}",
            ", ".join(_last_readings(history, unit.unit)),
        )
    console.print(table)
    if history.budget is not None:
        parts = [f"{name} {used['used']}/{used['max']}" for name, used in history.budget.items()]
        console.print(f"used: {', '.join(parts)}")


def show_reply(console: Console, action: dict[str, Any], reply: dict[str, Any]) -> None:
    """The reply to an action that is not shown as a status."""
    if not reply["ok"]:
        error = reply["error"]
        console.print(f"[red]{error['kind']}[/red]: ", end="")
        console.print(error["message"], markup=False)
        return
    result = reply["result"]
    if action["action"] == "start":
        console.print(f"compartment {result['unit']}: crop {result['run_index']} is planted")
    elif action["action"] == "recommend":
        console.print(f"recommendation: {result['recommendation']}")
        if "problem" in result:
            console.print(result["problem"], markup=False)
    elif action["action"] == "observe":
        _show_crop(console, result["crop"])
        if "records" in result:
            _show_records(console, result["records"])
    else:
        console.print(f"done, day {result['day']:g}")


def show_task(console: Console, task: dict[str, Any]) -> None:
    """Rules, policy fields and prices."""
    if "status" in task:
        console.print(f"{task['status']}\n", markup=False)
    console.print(task["setting"], markup=False)
    for rule in task["rules"]:
        console.print(f"* {rule}", markup=False)
    fields = Table(title="policy")
    for heading in ("field", "from", "to", "unit", "meaning"):
        fields.add_column(heading)
    for row in task["policy"]["fields"]:
        limits = (f"{row['min']:g}", f"{row['max']:g}")
        fields.add_row(row["name"], *limits, row["unit"], row["meaning"])
    console.print(fields)
    prices = Table(title="prices")
    prices.add_column("price")
    prices.add_column("value", justify="right")
    for name, value in task["prices"].items():
        prices.add_row(name, f"{value:.4g}")
    console.print(prices)
    console.print(task["scoring"]["rule"], markup=False)


def _show_crop(console: Console, crop: dict[str, Any] | None) -> None:
    if crop is None:
        console.print("no crop has closed here yet")
        return
    table = Table(title=f"crop {crop['run_index']} of compartment {crop['unit']}")
    table.add_column("quantity")
    table.add_column("value", justify="right")
    for name, value in crop.items():
        if name not in ("unit", "run_index"):
            table.add_row(name, f"{value:.6g}" if isinstance(value, int | float) else str(value))
    console.print(table)


def _show_records(console: Console, records: dict[str, Any]) -> None:
    rows = records["rows"]
    table = Table(title=f"{records['variable']}, {records['measured_in']}")
    for name in rows[0] if rows else ("time_s", "value"):
        table.add_column(name, justify="right")
    for row in rows[-_ROWS:]:
        table.add_row(*(f"{value:g}" for value in row.values()))
    if len(rows) > _ROWS:
        console.print(f"the last {_ROWS} of {len(rows)} rows")
    console.print(table)


def _last_readings(history: History, unit: int) -> list[str]:
    """The latest day or reading of every channel that was read in a compartment."""
    shown = []
    for place, variable in history.channels():
        daily = history.daily(place, variable)
        if place == unit and daily:
            shown.append(f"{_NAMES[variable]} {daily[-1].mean:g} (day {daily[-1].day})")
    return shown


_NAMES = {variable: short for short, variable in SHORT_CHANNELS.items()}
