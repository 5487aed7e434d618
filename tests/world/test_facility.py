"""Facilities on the compiled step: physics of empty times, endings, and the same bytes always."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from slowlab.canonical import canonical_bytes
from slowlab.greenlight.batch import batch_arrays
from slowlab.weather.series import WeatherYear
from slowlab.world.facility import Facility, advance_together
from slowlab.world.facility_books import FailureKind, UnitEvent, UnitPhase
from slowlab.world.simulation import CropEnding, RunOptions, Simulator, simulate_crop
from tests.facilities import (
    DAY,
    REFERENCE,
    FailingStepper,
    calendar_simulator,
    drawn_site,
    opened,
    plain_site,
    play,
    policy,
    short_simulator_with,
    two_years,
)
from tests.simulations import short_simulator

WARM = policy(day_temperature_c=24, supplemental_light_hours=16)
METERS = ("heating_energy", "lighting_energy", "co2_dosed", "cumulative_harvest_fresh_equivalent")
# A campaign with everything in it: early stops, completion, cleaning, replanting, deadline.
SCRIPT = [
    ("plant", 0, REFERENCE), ("plant", 1, WARM), ("to", 500), ("stop", 1), ("plant", 2, WARM),
    ("to", 501), ("to", 790), ("plant", 1, REFERENCE), ("to", 1440), ("to", 1600),
    ("plant", 0, WARM), ("to", 2700), ("plant", 3, REFERENCE), ("to", 12 * DAY),
]  # fmt: skip


def advance(facility: Facility, tick: int) -> None:
    advance_together(facility.simulator, [(facility, tick)])


def played(index: int = 0, script: list[tuple[Any, ...]] | None = None, **keywords) -> Facility:
    """A facility after a script, alone."""
    facility = opened(short_simulator(), index, **keywords)
    play(facility, SCRIPT if script is None else script, advance)
    return facility


@pytest.fixture(scope="module")
def campaign() -> Facility:
    """The whole script; for reading only."""
    return played()


def test_empty_compartments_are_simulated_and_kept_from_frost():
    facility = played(script=[("to", 4 * DAY)])
    air = facility.series(1, "air_temperature_c", DAY, 4 * DAY).values
    standby = facility.standby_totals()
    assert 8.0 < air.min() < 12.0
    assert all(item.heat_kwh_m2 > 0.1 for item in standby)
    assert all(item.light_kwh_m2 == item.harvest_kg_m2 == item.co2_kg_m2 == 0 for item in standby)
    assert standby == facility.campaign_totals()
    assert facility.failure() is None


def test_cleaning_is_simulated_on_the_climate_that_the_crop_left():
    facility = played(script=[("plant", 0, WARM), ("to", 4 * DAY)])
    assert facility.status(0).phase is UnitPhase.CLEANUP
    warm = facility.series(0, "air_temperature_c", 4 * DAY, 4 * DAY).values[0]
    cold = facility.series(3, "air_temperature_c", 4 * DAY, 4 * DAY).values[0]
    before = facility.campaign_totals()[0]
    advance(facility, 5 * DAY)
    cleaning = facility.campaign_totals()[0].since(before)
    assert warm > cold + 2
    assert cleaning.heat_kwh_m2 > 0
    assert cleaning.light_kwh_m2 == cleaning.harvest_kg_m2 == cleaning.transpiration_kg_m2 == 0
    assert (facility.status(0).phase, facility.status(0).since_tick) == (UnitPhase.IDLE, 5 * DAY)
    # The reading at the end was taken before the crop was removed.
    canopy = facility.series(0, "canopy_lai_proxy", 4 * DAY, 5 * DAY).values
    assert canopy[0] > 0
    assert (canopy[1:] == 0).all()


def test_accounts_are_differences_of_the_meters(campaign):
    end = campaign.tick
    for unit in range(4):
        crops = campaign.crops(unit)
        for row, channel in enumerate(METERS):
            name = ("heat_kwh_m2", "light_kwh_m2", "co2_kg_m2", "harvest_kg_m2")[row]
            meter = campaign.series(unit, channel, 0, end).values
            used = [meter[c.end_tick] - meter[c.start_tick] for c in crops]
            assert used == pytest.approx([getattr(c.totals, name) for c in crops], abs=1e-9)
            edges = [0, *(t for c in crops for t in (c.start_tick, c.end_tick)), end]
            empty = sum(meter[b] - meter[a] for a, b in zip(edges[::2], edges[1::2], strict=True))
            standby = getattr(campaign.standby_totals()[unit], name)
            assert standby == pytest.approx(empty, abs=1e-9)
            assert math.fsum([*used, standby]) == pytest.approx(meter[-1], abs=1e-6)


def test_the_script_has_every_ordinary_ending_and_event(campaign):
    endings = [[crop.ending for crop in campaign.crops(unit)] for unit in range(4)]
    completed, stopped, late = CropEnding.COMPLETED, CropEnding.STOPPED, CropEnding.DEADLINE
    assert endings == [[completed, completed], [stopped, completed], [completed], [late]]
    assert campaign.status(3).last_event is UnitEvent.DEADLINE
    assert [campaign.status(unit).run_index for unit in range(4)] == [2, 2, 1, 1]


def test_a_planted_crop_is_that_of_a_single_run():
    site, year = plain_site(seed=11), two_years()[0]
    simulator = short_simulator()
    facility = Facility.open(simulator, site, year, keep_records=True)
    facility.plant(0, WARM)
    advance(facility, 4 * DAY)
    run = simulate_crop(
        simulator, WARM, year, options=RunOptions(dict(site.parameters[0]), noise_seed=11)
    )
    account = facility.crops(0)[0]
    assert account.totals == run.crops[0].totals
    assert account.statement == run.crops[0].statement
    shown = facility.series(0, "co2_ppm", 1, 4 * DAY)
    expected = run.table["co2_ppm"].to_numpy()[shown.ticks - 1]
    np.testing.assert_array_equal(shown.values, np.round(expected.astype(float), 0))


def test_frost_stops_a_crop_for_safety_after_an_hour():
    mild = two_years()[0]
    values = mild.values.copy()
    values[:, 1:] = (-40.0, 30.0, 15.0, -50.0)
    frost = WeatherYear("frost", mild.start, values)
    facility = Facility.open(short_simulator(), plain_site(cLeakage=1e-3), frost, keep_records=True)
    advance(facility, DAY // 4)
    facility.plant(2, REFERENCE)
    advance(facility, DAY)
    crop, status = facility.crops(2)[0], facility.status(2)
    assert crop.ending is CropEnding.TEMPERATURE_SAFETY
    assert crop.end_tick == crop.start_tick + 12
    air = facility.series(2, "air_temperature_c", crop.start_tick + 1, crop.end_tick).values
    assert (air < 5).all()
    assert (status.last_event, status.phase) == (UnitEvent.SAFETY_STOP, UnitPhase.CLEANUP)
    assert crop.statement.planting + crop.statement.cleanup == 2.5


@pytest.mark.parametrize("rule", ["floor", "stop"])
def test_a_collapsing_crop_is_floored_or_stopped_as_the_contract_says(rule):
    """A cold canopy with hardly a leaf, in light, at the pole of photosynthesis."""
    cold = policy(
        day_temperature_c=6.5,
        night_temperature_c=6.5,
        co2_target_ppm=400,
        supplemental_light_hours=16,
    )
    values = two_years()[0].values - np.array([0.0, 10.0, 500.0, 0.0, 10.0])
    year = WeatherYear("cold", two_years()[0].start, values)
    facility = Facility.open(short_simulator_with(rule), plain_site(), year, keep_records=False)
    advance(facility, 10)
    facility.plant(1, cold)
    advance(facility, 2 * DAY)
    crop, report = facility.crops(1)[0], facility.private_report()["units"][1]
    assert crop.lit_pole_ticks == report["lit_pole_ticks"] > 0
    if rule == "floor":
        assert crop.ending is None
        return
    assert (crop.ending, crop.public_ending) == (CropEnding.COLLAPSED, UnitEvent.SAFETY_STOP)
    assert report["crops"][0]["ending"] == "collapsed"
    assert crop.lit_pole_ticks == 1
    # The tick of the collapse belongs to the cleaning: it is dated at its beginning.
    ready = crop.end_tick + DAY
    assert facility.status(1).since_tick in (crop.end_tick, ready)
    assert facility.standby_totals()[1].heat_kwh_m2 > 0


def scripts(count: int) -> list[list[tuple[Any, ...]]]:
    """Different campaigns whose clocks never agree."""
    found = []
    for number in range(count):
        first, second = 100 + 37 * number, 820 + 17 * number
        found.append([
            ("plant", number % 4, policy(co2_target_ppm=600 + 20 * number)), ("to", first),
            ("plant", (number + 1) % 4, WARM), ("to", second), ("stop", (number + 1) % 4),
            ("to", 1200 + 13 * number),
        ])  # fmt: skip
    return found


def play_together(order: list[int], *, keep: list[bool] | None = None) -> dict[int, Facility]:
    """Play the scripts of some campaigns in lockstep, in the given order."""
    simulator = short_simulator()
    plans, kept = scripts(20), keep or [True] * 20
    running = {n: opened(simulator, n, keep_records=kept[n]) for n in order}
    for step in range(len(plans[0])):
        requests = []
        for number, facility in running.items():
            verb, *arguments = plans[number][step]
            if verb == "to":
                requests.append((facility, arguments[0]))
            else:
                getattr(facility, verb)(*arguments)
        if requests:
            advance_together(simulator, requests)
    return running


@pytest.fixture(scope="module")
def crowd() -> dict[int, Facility]:
    """Twenty campaigns stepped together."""
    return play_together(list(range(20)))


def everything(facility: Facility) -> bytes:
    """All that can be asked of a facility."""
    records = [
        facility.series(unit, channel, 0, facility.tick)
        for unit in range(4)
        for channel in (*METERS, "air_temperature_c", "canopy_lai_proxy")
    ]
    arrays = b"".join(a.tobytes() for pair in records for a in pair)
    return arrays + canonical_bytes(facility.private_report()) + facility.sha256().encode()


@pytest.mark.parametrize("number", [0, 7, 19])
def test_a_facility_alone_gives_the_same_bytes_as_among_twenty(crowd, number):
    alone = play_together([number])[number]
    assert everything(alone) == everything(crowd[number])


def test_company_and_order_change_no_byte(crowd):
    order = [int(n) for n in np.random.default_rng(3).permutation(20)]
    for company in ([19, 0, 7], order):
        found = play_together(company)
        for number, facility in found.items():
            assert everything(facility) == everything(crowd[number]), number


def test_keeping_no_records_changes_no_byte_of_the_physics(crowd):
    without = play_together(list(range(20)), keep=[number % 3 == 0 for number in range(20)])
    for number, facility in without.items():
        assert facility.keeps_records == (number % 3 == 0)
        mine, other = (batch_arrays(f.lanes.batch) for f in (facility, crowd[number]))
        for name in mine:
            assert mine[name].tobytes() == other[name].tobytes(), name
        assert facility.private_report() == crowd[number].private_report()


def test_pieces_of_days_change_no_byte(campaign):
    facility = opened(short_simulator())
    rng = np.random.default_rng(8)
    for verb, *arguments in SCRIPT:
        while verb == "to" and facility.tick < arguments[0]:
            advance(facility, min(facility.tick + int(rng.integers(1, 500)), arguments[0]))
        if verb != "to":
            getattr(facility, verb)(*arguments)
    assert everything(facility) == everything(campaign)


def test_facilities_opened_and_treated_alike_are_equal(crowd):
    """Two branches of one prefix, later treated differently, are equal until then."""
    first, second = (played(2, [("plant", 0, REFERENCE), ("to", 333)]) for _ in range(2))
    assert everything(first) == everything(second)
    first.series(0, "co2_ppm", 0, 333)
    assert first.sha256() == second.sha256()
    second.stop(0)
    assert first.sha256() != second.sha256()


def test_the_policy_before_the_first_crop_is_never_read():
    facility, other = (opened(short_simulator()) for _ in range(2))
    changed = other.lanes.parameters.policy._replace(
        day_temperature_c=np.full(4, 26, np.float32), lamp_off_tick=np.full(4, 250, np.int32)
    )
    other.lanes.parameters = other.lanes.parameters._replace(policy=changed)
    advance(facility, 400)
    advance(other, 400)
    assert facility.sha256() == other.sha256()


def test_the_calendar_of_the_compiled_step_is_that_of_the_stepper_without_physics(campaign):
    simple = opened(calendar_simulator())
    play(simple, SCRIPT, advance)
    for unit in range(4):
        assert simple.status(unit) == campaign.status(unit)
        for mine, other in zip(simple.crops(unit), campaign.crops(unit), strict=True):
            assert (mine.start_tick, mine.end_tick) == (other.start_tick, other.end_tick)
            assert mine.ending is other.ending


@pytest.mark.parametrize("pieces", [[1000], [288, 700, 701, 1000], [700, 1000], [650, 699, 1000]])
def test_a_failing_lane_stops_its_campaign_at_that_step_and_no_other(pieces):
    real, seed = short_simulator(), drawn_site(1).noise_seed & 0xFFFFFFFF
    stepper = FailingStepper(real.stepper, seed, unit=2, tick=700)
    simulator = Simulator(real.contract, real.sensors, stepper)
    facilities = [opened(simulator, index) for index in range(3)]
    for facility in facilities:
        facility.plant(2, REFERENCE)
    for tick in pieces:
        advance_together(simulator, [(facility, tick) for facility in facilities])
    report = facilities[1].failure()
    assert (report.kind, report.tick, report.units) == (FailureKind.NON_FINITE_STATE, 700, (2,))
    assert [facility.tick for facility in facilities] == [1000, 700, 1000]
    for index, facility in enumerate(facilities):
        sound = played(index, [("plant", 2, REFERENCE), ("to", facility.tick)])
        mine, other = batch_arrays(facility.lanes.batch), batch_arrays(sound.lanes.batch)
        assert all(mine[name].tobytes() == other[name].tobytes() for name in mine)
        assert facility.series(2, "heating_energy", 0, facility.tick).values.tobytes() == (
            sound.series(2, "heating_energy", 0, facility.tick).values.tobytes()
        )
    assert facilities[1].private_report()["failure"]["kind"] == "non_finite_state"


def test_a_lane_that_becomes_infinite_in_the_compiled_step_is_a_failure():
    facility, other = opened(short_simulator()), opened(short_simulator(), 1)
    advance_together(short_simulator(), [(facility, 30), (other, 30)])
    states = np.array(facility.lanes.batch.state.states)
    states[0, 3] = np.inf
    state = facility.lanes.batch.state._replace(states=states)
    facility.lanes.batch = facility.lanes.batch._replace(state=state)
    advance_together(short_simulator(), [(facility, 300), (other, 300)])
    assert (facility.failure().units, facility.tick, other.tick) == ((3,), 30, 300)
    assert other.sha256() == played(1, [("to", 300)]).sha256()


def test_the_private_report_is_plain_data_and_names_the_site_and_the_build(campaign):
    report = campaign.private_report()
    assert canonical_bytes(report)
    assert report["build"] == short_simulator().stepper.build
    assert report["site"]["index"] == 0
    assert report["finished"]
    assert report["units"][0]["crops"][1]["ending"] == "completed"
    assert report["failure"] is None
