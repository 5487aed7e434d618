"""What a feedback mode lets through: states, totals and records as they stand in replies.

Everything here is an allow-list. A collapse of a crop shows as an ordinary safety stop, and energy
of empty compartments, transpiration and hidden values have no place in any reply. Numbers follow
the rule of :mod:`slowlab.campaign.rounding`.

Source: SlowLab, observations and feedback views. The delayed and the shuffled view are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slowlab.campaign.actions import RecordQuery, Resolution
from slowlab.campaign.clock import day_of_tick
from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.campaign.rounding import daily_row, public_number
from slowlab.campaign.windows import CropSpan, Window, resolve_window
from slowlab.world.contract import Contract
from slowlab.world.drafts import DRAFT_MARK
from slowlab.world.economics import Prices, crop_statement
from slowlab.world.sensors import SensorSpec
from slowlab.world.task import Feedback, task_description

if TYPE_CHECKING:
    from slowlab.world.facility import Facility
    from slowlab.world.facility_books import CropAccount


@dataclass(frozen=True)
class CampaignSetting:
    """What a campaign is played under; all of it public but the key.

    Attributes:
        contract: the rules.
        sensors: names and units of the channels.
        prices: the site's own prices.
        draft: whether the site is a draft.
        shuffle_key: key of the exchange of totals in the shuffled mode, text from the seed tree.
    """

    contract: Contract
    sensors: SensorSpec
    prices: Prices
    draft: bool = False
    shuffle_key: str = ""


class View:
    """Renders one campaign for one feedback mode.

    Args:
        facility: the private facility.
        setting: rules, channels and prices.
        feedback: what is let through; may be changed once, by branching.
    """

    def __init__(self, facility: Facility, setting: CampaignSetting, feedback: Feedback) -> None:
        self.facility = facility
        self._setting = setting
        self.contract = setting.contract
        self.feedback = feedback
        self.exchange = TotalsExchange(setting.shuffle_key)

    def task(self) -> dict[str, Any]:
        """The public description of the task in this mode."""
        setting = self._setting
        description = task_description(
            setting.contract, setting.sensors, setting.prices, self.feedback
        )
        return {**description, "status": DRAFT_MARK} if setting.draft else description

    def day(self) -> float:
        """Today."""
        return day_of_tick(self.facility.tick, self.contract.calendar)

    def status(self, unit: int) -> dict[str, Any]:
        """State of one compartment: phase, last event, crop number and when it changed."""
        status, calendar = self.facility.status(unit), self.contract.calendar
        ready = status.ready_tick
        return {
            "unit": unit,
            "phase": status.phase.value,
            "last_event": status.last_event.value,
            "run_index": status.run_index,
            "since_day": day_of_tick(status.since_tick, calendar),
            "ready_day": None if ready is None else day_of_tick(ready, calendar),
        }

    def statuses(self) -> list[dict[str, Any]]:
        """States of all compartments, in order."""
        return [self.status(unit) for unit in range(self.facility.compartments)]

    def state(self) -> dict[str, Any]:
        """Today and the states of all compartments, as an advance returns them."""
        return {"day": self.day(), "statuses": self.statuses()}

    def crop(self, unit: int, run_index: int | None) -> dict[str, Any] | None:
        """One crop: its totals once it has closed, only its start while it grows.

        Args:
            unit: compartment.
            run_index: crop number; None for the latest closed crop.

        Returns:
            None if no crop has closed and none was named.

        Raises:
            ActionRejected: there is no such crop.
        """
        if run_index is not None:
            return self._crop(self._named(unit, run_index))
        closed = [crop for crop in self.facility.crops(unit) if crop.closed]
        return self._crop(closed[-1]) if closed else None

    def records(self, unit: int, run_index: int | None, query: RecordQuery) -> dict[str, Any]:
        """Records of one channel.

        Args:
            unit: compartment.
            run_index: crop whose time the default window covers.
            query: channel, window and resolution.

        Raises:
            ActionRejected: there is no such crop, or the window is not allowed.
        """
        named = None if run_index is None else _span(self._named(unit, run_index))
        planted = tuple(_span(crop) for crop in self.facility.crops(unit))
        window = resolve_window(query, self._horizon(), named, planted, self.contract)
        readings = self._readings(unit, query.variable, window)
        calendar = self.contract.calendar
        raw = query.resolution is Resolution.RAW
        return {
            "variable": query.variable,
            "measured_in": self._setting.sensors.channels[query.variable].unit,
            "resolution": query.resolution.value,
            "start_day": day_of_tick(window.start_tick, calendar),
            "end_day": day_of_tick(window.end_tick, calendar),
            "rows": self._raw_rows(readings) if raw else self._daily_rows(readings),
        }

    def _horizon(self) -> int:
        """Tick of the youngest record that is released."""
        if self.feedback is not Feedback.DELAYED:
            return self.facility.tick
        days = self.contract.budget.record_delay_days
        return self.facility.tick - days * self.contract.calendar.ticks_per_day

    def _named(self, unit: int, run_index: int) -> CropAccount:
        crops = self.facility.crops(unit)
        if run_index > len(crops):
            raise ActionRejected(
                Reason.NO_SUCH_CROP, f"compartment {unit} has had {len(crops)} crop(s) so far"
            )
        return crops[run_index - 1]

    def _crop(self, crop: CropAccount) -> dict[str, Any]:
        calendar = self.contract.calendar
        known = {
            "unit": crop.unit,
            "run_index": crop.run_index,
            "state": "closed" if crop.closed else "growing",
            "start_day": day_of_tick(crop.start_tick, calendar),
        }
        if crop.end_tick is None:
            return known
        return {
            **known,
            "end_day": day_of_tick(crop.end_tick, calendar),
            "reason": crop.public_ending.value,
            "active_days": day_of_tick(crop.end_tick - crop.start_tick, calendar),
            **self._outcome(crop),
        }

    def _outcome(self, crop: CropAccount) -> dict[str, float]:
        """Totals and account of a closed crop; in the shuffled arm, those of another one."""
        costs, totals = self.contract.economics.fixed_costs, crop.totals
        if self.feedback is Feedback.SHUFFLED:
            given = self.exchange.source(crop, self._closed()).totals
            totals = replace(given, active_days=totals.active_days)
        account = crop_statement(totals, self._setting.prices, costs)
        numbers = {
            "harvest_kg_m2": totals.harvest_kg_m2,
            "heat_kwh_m2": totals.heat_kwh_m2,
            "light_kwh_m2": totals.light_kwh_m2,
            "co2_kg_m2": totals.co2_kg_m2,
            "planting_eur_m2": account.planting,
            "cleaning_eur_m2": account.cleanup,
            "margin_eur_m2": account.margin,
        }
        return {name: public_number(value) for name, value in numbers.items()}

    def _closed(self) -> list[CropAccount]:
        """All closed crops, by compartment and number."""
        units = range(self.facility.compartments)
        crops = [crop for unit in units for crop in self.facility.crops(unit)]
        return [crop for crop in crops if crop.closed]

    def _readings(self, unit: int, variable: str, window: Window) -> list[tuple[int, float]]:
        """Tick and value of every reading in a window, oldest first."""
        series = self.facility.series(unit, variable, window.start_tick, window.end_tick)
        values = map(public_number, series.values.tolist())
        return list(zip(series.ticks.tolist(), values, strict=True))

    def _raw_rows(self, readings: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
        seconds = self.contract.calendar.tick_seconds
        return [{"time_s": tick * seconds, "value": value} for tick, value in readings]

    def _daily_rows(self, readings: Iterable[tuple[int, float]]) -> list[dict[str, Any]]:
        days: dict[int, list[float]] = {}
        for tick, value in readings:
            days.setdefault(tick // self.contract.calendar.ticks_per_day, []).append(value)
        return [daily_row(day, values) for day, values in sorted(days.items())]


class TotalsExchange:
    """Exchange of totals between closed crops, for the shuffled arm.

    The first time a crop's totals are released, they are drawn from the closed crops whose own have
    not been given away; from then on they stay the same. So at any moment what has been released is
    an exchange between crops that had closed, and once all have been read it is a permutation. The
    draw depends on the key, the crop and what is left, and on nothing else.

    Args:
        key: text from the seed tree.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self.given: dict[tuple[int, int], tuple[int, int]] = {}

    def source(self, crop: CropAccount, closed: Sequence[CropAccount]) -> CropAccount:
        """The crop whose totals are shown as those of ``crop``.

        Args:
            crop: a closed crop.
            closed: all closed crops, in a fixed order.
        """
        accounts = {(c.unit, c.run_index): c for c in closed}
        mine = (crop.unit, crop.run_index)
        if mine not in self.given:
            left = [name for name in accounts if name not in self.given.values()]
            text = f"{self._key}|shuffled|{crop.unit}|{crop.run_index}"
            number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            self.given[mine] = left[number % len(left)]
        return accounts[self.given[mine]]

    def pairs(self) -> tuple[tuple[int, int, int, int], ...]:
        """Each crop whose totals were released and the one whose they are, sorted. Private."""
        return tuple((*crop, *source) for crop, source in sorted(self.given.items()))


def _span(crop: CropAccount) -> CropSpan:
    return CropSpan(crop.start_tick, crop.end_tick)
