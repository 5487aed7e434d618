"""The calendar and the books of facilities, on a stepper without physics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.config import override
from slowlab.greenlight.lanes import Phase
from slowlab.world.economics import crop_statement, standby_cost
from slowlab.world.facility import Facility, advance_together
from slowlab.world.facility_books import FacilityError, UnitEvent, UnitPhase
from slowlab.world.simulation import CropEnding
from tests.facilities import (
    DAY,
    FAKE_FLOWS,
    REFERENCE,
    calendar_simulator,
    opened,
    policy,
    two_years,
)
from tests.simulations import short_contract

SHORT = calendar_simulator()
ORIGINAL = calendar_simulator(override(short_contract(), {
    "calendar.crop_days": 180, "calendar.cleanup_days": 2, "calendar.campaign_days": 365,
    "calendar.latest_start_day": 183, "evaluation.plantings.1.day": 182,
}))  # fmt: skip
POLICIES = (policy(), policy(co2_target_ppm=450), policy(co2_target_ppm=500))
EVENTS = {
    CropEnding.COMPLETED: UnitEvent.COMPLETED,
    CropEnding.STOPPED: UnitEvent.STOPPED,
    CropEnding.TEMPERATURE_SAFETY: UnitEvent.SAFETY_STOP,
    CropEnding.COLLAPSED: UnitEvent.SAFETY_STOP,
    CropEnding.DEADLINE: UnitEvent.DEADLINE,
}


@dataclass
class ExpectedCrop:
    """A crop by the rules of the task."""

    start: int
    end: int
    ending: CropEnding
    stopped: bool = False


@dataclass
class ExpectedUnit:
    """One compartment by the rules of the task, worked out from intervals."""

    crops: list[ExpectedCrop] = field(default_factory=list)

    def plant(self, now: int, which: int) -> None:
        """A crop that ends when the first of its ends comes."""
        calendar = SHORT.contract.calendar
        ends = [(now + calendar.crop_ticks, 1, CropEnding.COMPLETED)]
        ends.append((calendar.campaign_ticks, 2, CropEnding.DEADLINE))
        if which == 1:
            ends.append((now + 37, 0, CropEnding.TEMPERATURE_SAFETY))
        if which == 2:
            ends.append((now + 500, 3, CropEnding.COLLAPSED))
        end, _, ending = min(ends)
        self.crops.append(ExpectedCrop(now, end, ending))

    def stop(self, now: int) -> None:
        """The crop ends now."""
        self.crops[-1].end, self.crops[-1].ending = now, CropEnding.STOPPED
        self.crops[-1].stopped = True

    def ended(self, crop: ExpectedCrop, now: int) -> bool:
        """Whether the crop has ended; a collapse is found in the step that begins with it."""
        return crop.end < now if crop.ending is CropEnding.COLLAPSED else crop.end <= now

    def phase(self, now: int) -> tuple[UnitPhase, UnitEvent, int, int | None]:
        """Phase, last event, since when, and when the cleaning ends."""
        if not self.crops:
            return UnitPhase.IDLE, UnitEvent.OPENED, 0, None
        crop = self.crops[-1]
        if not self.ended(crop, now):
            return UnitPhase.ACTIVE, UnitEvent.STARTED, crop.start, None
        ready = crop.end + SHORT.contract.calendar.cleanup_ticks
        if now < ready:
            return UnitPhase.CLEANUP, EVENTS[crop.ending], crop.end, ready
        return UnitPhase.IDLE, UnitEvent.CLEANED, ready, None

    def active_ticks(self, now: int) -> int:
        """Control steps with a crop."""
        return sum((c.end if self.ended(c, now) else now) - c.start for c in self.crops)


class Checked:
    """A facility that is compared with the rules after everything that happens."""

    def __init__(self, index: int) -> None:
        self.facility = opened(SHORT, index)
        self.units = [ExpectedUnit() for _ in range(4)]

    def act(self, verb: str, unit: int, which: int) -> None:
        """Plant or stop; what the rules forbid must be refused and change nothing."""
        facility, expected, now = self.facility, self.units[unit], self.facility.tick
        wanted = UnitPhase.IDLE if verb == "plant" else UnitPhase.ACTIVE
        arguments = (unit, POLICIES[which]) if verb == "plant" else (unit,)
        if expected.phase(now)[0] is not wanted or facility.finished:
            before = facility.sha256()
            with pytest.raises(FacilityError, match=r"is over|only one that is"):
                getattr(facility, verb)(*arguments)
            assert facility.sha256() == before
        elif verb == "plant":
            assert facility.plant(*arguments) == len(expected.crops) + 1
            expected.plant(now, which)
        else:
            facility.stop(unit)
            expected.stop(now)

    def check(self) -> None:
        """Statuses, accounts and books."""
        facility, now = self.facility, self.facility.tick
        assert facility.failure() is None
        assert (facility.lanes.batch.state.tick == now).all()
        for unit, expected in enumerate(self.units):
            status = facility.status(unit)
            found = status.phase, status.last_event, status.since_tick, status.ready_tick
            assert found == expected.phase(now)
            assert (status.unit, status.run_index) == (unit, len(expected.crops))
            self._check_crops(unit, expected, now)
            self._check_books(unit, expected.active_ticks(now), now)

    def _check_crops(self, unit: int, expected: ExpectedUnit, now: int) -> None:
        accounts = self.facility.crops(unit)
        assert [a.run_index for a in accounts] == list(range(1, len(expected.crops) + 1))
        for account, crop in zip(accounts, expected.crops, strict=True):
            over = expected.ended(crop, now)
            assert account.start_tick == crop.start
            assert account.end_tick == (crop.end if over else None)
            assert account.ending is (crop.ending if over else None)
            assert account.public_ending is (EVENTS[crop.ending] if over else None)
            ticks = (crop.end if over else now) - crop.start
            assert account.totals.active_days == ticks / DAY
            assert account.totals.heat_kwh_m2 == ticks * FAKE_FLOWS[Phase.GROWING][0]
            assert account.totals.harvest_kg_m2 == ticks * FAKE_FLOWS[Phase.GROWING][3] / 0.06
            assert (account.statement is None) != over
            if over:
                costs = SHORT.contract.economics.fixed_costs
                prices = self.facility.site.prices
                assert account.statement == crop_statement(account.totals, prices, costs)

    def _check_books(self, unit: int, active: int, now: int) -> None:
        total = self.facility.campaign_totals()[unit]
        standby = self.facility.standby_totals()[unit]
        crops = [account.totals for account in self.facility.crops(unit)]
        assert standby.heat_kwh_m2 == (now - active) * FAKE_FLOWS[Phase.IDLE][0]
        assert (standby.harvest_kg_m2, standby.light_kwh_m2) == (0.0, 0.0)
        for name, value in vars(total).items():
            parts = [getattr(item, name) for item in (*crops, standby)]
            assert math.fsum(parts) == pytest.approx(value, rel=1e-12, abs=1e-12)
        meter = self.facility.series(unit, "heating_energy", now, now)
        assert meter.values.tolist() == [total.heat_kwh_m2]
        air = self.facility.records(unit, "air_temperature_c", max(0, now - 1), now)
        assert [record.value for record in air] == [max(1.0, r.tick) for r in air]


UNITS, WHICH = st.integers(0, 3), st.integers(0, 2)
ACTIONS = st.one_of(
    st.tuples(st.just("plant"), UNITS, WHICH),
    st.tuples(st.just("stop"), UNITS, WHICH),
    st.tuples(st.just("to"), st.sampled_from((1, 36, 37, 287, 288, 500, 501, 864, 1152, 1440))),
)


@settings(max_examples=150, deadline=None)
@given(scripts=st.lists(st.lists(ACTIONS, max_size=14), min_size=1, max_size=3))
def test_any_sequence_of_actions_follows_the_calendar(scripts):
    checked = [Checked(index) for index in range(len(scripts))]
    end = SHORT.contract.calendar.campaign_ticks
    for step in range(max(map(len, scripts)) + 1):
        requests = []
        for campaign, script in zip(checked, scripts, strict=True):
            verb, *arguments = script[step] if step < len(script) else ("to", end)
            if verb == "to":
                tick = min(campaign.facility.tick + arguments[0], end)
                requests.append((campaign.facility, tick))
            else:
                campaign.act(verb, *arguments)
        advance_together(SHORT, requests)
        for campaign in checked:
            campaign.check()


def to_day(facility: Facility, day: float) -> None:
    advance_together(facility.simulator, [(facility, round(day * DAY))])


def test_two_full_crops_by_the_original_calendar():
    facility = opened(ORIGINAL)
    assert facility.plant(0, REFERENCE) == 1
    to_day(facility, 180 - 1 / DAY)
    assert facility.status(0).phase is UnitPhase.ACTIVE
    to_day(facility, 180)
    status = facility.status(0)
    assert (status.phase, status.last_event) == (UnitPhase.CLEANUP, UnitEvent.COMPLETED)
    assert (status.since_tick, status.ready_tick) == (180 * DAY, 182 * DAY)
    to_day(facility, 182 - 1 / DAY)
    with pytest.raises(FacilityError, match="compartment 0 is cleanup; only one that is idle"):
        facility.plant(0, REFERENCE)
    to_day(facility, 182)
    assert facility.status(0).last_event is UnitEvent.CLEANED
    assert facility.plant(0, REFERENCE) == 2
    to_day(facility, 365)
    crops = facility.crops(0)
    assert [(c.start_tick, c.end_tick) for c in crops] == [(0, 51840), (52416, 104256)]
    assert {c.ending for c in crops} == {CropEnding.COMPLETED}
    assert facility.status(0).since_tick == 364 * DAY


def test_growing_crops_are_settled_at_the_deadline_and_pending_cleaning_is_recorded():
    facility = opened(ORIGINAL)
    to_day(facility, 200)
    facility.plant(0, REFERENCE)
    to_day(facility, 364.5)
    facility.plant(1, REFERENCE)
    facility.stop(1)
    to_day(facility, 365)
    late, stopped = facility.crops(0)[0], facility.crops(1)[0]
    assert (late.ending, late.end_tick) == (CropEnding.DEADLINE, 365 * DAY)
    assert late.totals.active_days == 165.0
    assert late.statement.cleanup == 0.5
    assert stopped.totals.active_days == 0.0
    assert stopped.statement.margin == -2.5
    pending = [row["cleaning_pending"] for row in facility.private_report()["units"]]
    assert pending == [True, True, False, False]
    assert facility.status(0).ready_tick == 367 * DAY
    with pytest.raises(FacilityError, match="the campaign is over"):
        facility.plant(2, REFERENCE)


def test_money_of_crops_and_empty_times_adds_up_to_that_of_the_campaign():
    facility = opened(SHORT)
    for unit in range(3):
        facility.plant(unit, POLICIES[unit])
    to_day(facility, 3)
    facility.stop(0)
    to_day(facility, 5)
    facility.plant(0, REFERENCE)
    to_day(facility, 12)
    prices, costs = facility.site.prices, SHORT.contract.economics.fixed_costs
    accounts = [account for unit in range(4) for account in facility.crops(unit)]
    expected = []
    for total in facility.campaign_totals():
        priced = crop_statement(total, prices, costs)
        expected.append(priced.margin + priced.planting + priced.cleanup)
    fees = len(accounts) * (costs.planting_eur_per_m2 + costs.cleanup_eur_per_m2)
    money = facility.private_report()["money"]
    assert len(accounts) == 4
    assert money["campaign_eur_m2"] == pytest.approx(math.fsum(expected) - fees, abs=1e-9)
    assert money["standby_cost_eur_m2"] == standby_cost(facility.standby_totals(), prices)
    assert money["standby_cost_eur_m2"] > 0


def test_cleaning_takes_a_step_where_the_contract_gives_it_no_time():
    contract = override(short_contract(), {"calendar.cleanup_days": 0})
    facility = opened(calendar_simulator(contract))
    facility.plant(0, REFERENCE)
    facility.stop(0)
    assert facility.status(0).ready_tick == 1


@pytest.mark.parametrize(("campaigns", "width", "days"), [(17, 64, 12), (5, 8, 12), (3, 2, 7)])
def test_lanes_are_hardly_ever_empty(campaigns, width, days):
    simulator = calendar_simulator(width=width)
    facilities = [opened(simulator, index, keep_records=False) for index in range(campaigns)]
    advance_together(simulator, [(facility, days * DAY) for facility in facilities])
    calls = simulator.stepper.calls
    together = max(1, width // 4)
    assert all(facility.tick == days * DAY for facility in facilities)
    assert sum(lanes for lanes, _ in calls) == campaigns * days * 4
    assert max(lanes for lanes, _ in calls) <= max(width, 4)
    # At most one stint of days is stepped with lanes to spare.
    assert len(calls) <= math.ceil(campaigns * days / together) + 8


def test_progress_is_told_and_an_interruption_leaves_everything_consistent():
    simulator = calendar_simulator(width=8)
    facilities = [opened(simulator, index) for index in range(5)]
    for facility in facilities:
        facility.plant(0, POLICIES[1])
    requests = [(facility, 10 * DAY + 7) for facility in facilities]

    def interrupt(done: int, total: int) -> None:
        assert total == 55
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        advance_together(simulator, requests, interrupt)
    assert 0 < sum(facility.tick for facility in facilities) < 55 * DAY
    seen = []
    advance_together(simulator, requests, lambda *news: seen.append(news))
    assert seen[-1][0] == seen[-1][1]
    for index, facility in enumerate(facilities):
        straight = opened(simulator, index)
        straight.plant(0, POLICIES[1])
        advance_together(simulator, [(straight, 10 * DAY + 7)])
        assert facility.sha256() == straight.sha256()


def test_requests_that_cannot_be_are_refused_before_anything_is_stepped():
    facility, other = opened(SHORT), opened(SHORT, 1)
    advance_together(SHORT, [(facility, 5)])
    end = SHORT.contract.calendar.campaign_ticks
    for requests, message in (
        ([(facility, 4)], "target tick 4 does not lie between now"),
        ([(other, 9), (facility, end + 1)], "does not lie between now"),
        ([(facility, 9), (facility, 9)], "named twice"),
        ([(opened(ORIGINAL), 9)], "another simulator"),
    ):
        with pytest.raises(FacilityError, match=message):
            advance_together(SHORT, requests)
    assert (facility.tick, other.tick) == (5, 0)
    advance_together(SHORT, [])


def test_what_does_not_exist_is_refused():
    facility = opened(SHORT)
    for call in (
        lambda: facility.plant(4, REFERENCE),
        lambda: facility.stop(-1),
        lambda: facility.status(4),
        lambda: facility.crops(4),
        lambda: facility.records(4, "co2_ppm", 0, 0),
    ):
        with pytest.raises(FacilityError, match="there are compartments 0 to 3"):
            call()
    with pytest.raises(FacilityError, match="there is no such channel; there are air_temperature"):
        facility.records(0, "true_lai", 0, 0)
    for window in ((-1, 0), (0, 1), (1, 0)):
        with pytest.raises(FacilityError, match="does not lie between 0 and 0"):
            facility.records(0, "co2_ppm", *window)
    with pytest.raises(FacilityError, match="keeps no records"):
        opened(SHORT, keep_records=False).records(0, "co2_ppm", 0, 0)


def test_a_site_with_other_compartments_is_refused():
    site = opened(SHORT).site
    fewer = site.model_copy(update={"parameters": site.parameters[:3]})
    with pytest.raises(FacilityError, match="the site has 3 compartments, the contract 4"):
        Facility.open(SHORT, fewer, two_years()[0], keep_records=False)


def test_impossible_books_are_an_infrastructure_failure():
    facility = opened(SHORT)
    facility.plant(0, REFERENCE)
    advance_together(SHORT, [(facility, 10)])
    harvest = facility.lanes.batch.totals.copy()
    harvest[3, 2] = 1e-3
    facility.lanes.batch = facility.lanes.batch._replace(totals=harvest)
    report = facility.failure()
    assert (report.kind, report.units, report.tick) == ("impossible_books", (2,), 10)
    advance_together(SHORT, [(facility, 20)])
    assert facility.tick == 10
    assert facility.private_report()["units"] == []
    with pytest.raises(FacilityError, match="stands still"):
        facility.plant(1, REFERENCE)
