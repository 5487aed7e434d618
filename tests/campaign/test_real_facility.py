"""The executor on the real facility: a short calendar, hidden sites, plain weather."""

import pytest

from slowlab.campaign.branching import prefix_step, replay_prefix
from slowlab.campaign.executor import Executor
from slowlab.campaign.rounding import daily_row, public_number
from slowlab.campaign.settlement import CampaignStatus
from slowlab.config import override
from slowlab.world.facility import Facility
from slowlab.world.site import WeatherPools, draw_site
from slowlab.world.site_distribution import load_sites
from slowlab.world.task import Feedback
from tests import simulations
from tests.campaign.moves import WARM, advance, observe, ok, recommend, start

END = 12


@pytest.fixture(scope="module")
def simulator():
    return simulations.short_simulator()


@pytest.fixture(scope="module")
def weather():
    return simulations.plain_year()


@pytest.fixture(scope="module")
def sites():
    """Two sites that differ in everything hidden and share their prices."""
    pools = WeatherPools((1, 2, 3, 4), (1, 2, 3, 4))
    one, other = (
        draw_site(load_sites(), 20260930, index, pools=pools, compartments=4) for index in (0, 1)
    )
    return one, other.model_copy(update={"prices": one.prices})


@pytest.fixture
def play(simulator, weather, sites):
    """Opens a campaign on one of the two sites."""

    def open_campaign(feedback=Feedback.FULL, site=0):
        hidden = sites[site].for_campaign()
        keep = feedback not in (Feedback.ENDPOINT, Feedback.SHUFFLED)
        facility = Facility.open(simulator, hidden, weather, keep_records=keep)
        contract = simulator.contract
        reference = contract.fixed_reference
        return Executor.open(
            facility,
            contract,
            simulator.sensors,
            hidden.prices,
            feedback,
            reference,
            shuffle_key="k",
        )

    return open_campaign


def season(policy):
    """A whole short campaign."""
    return [
        start(0, policy),
        start(1, {**policy, **WARM}),
        observe(0, variable="air_temperature_c"),
        advance(1.5),
        observe(0, variable="air_temperature_c", start_day=0, end_day=1.5),
        observe(0, variable="air_temperature_c", resolution="daily"),
        observe(1, variable="heating_energy", resolution="daily"),
        advance(3),
        {"action": "stop", "unit": 1},
        observe(1),
        advance(5),
        observe(0),
        start(0, policy),
        advance(END),
        observe(0),
        recommend(policy),
    ]


def test_a_campaign_on_the_real_facility(play, policy):
    run = play()
    results = [ok(run.dispatch(action)) for action in season(policy)]
    raw, daily = results[4]["records"]["rows"], results[5]["records"]["rows"]
    by_day = {day: [r["value"] for r in raw if r["time_s"] // 86_400 == day] for day in (0, 1)}
    assert daily == [daily_row(day, values) for day, values in by_day.items()]
    assert results[2]["records"]["rows"] == raw[:1]
    heat = [row["max"] for row in results[6]["records"]["rows"]]
    assert heat == sorted(heat)
    assert heat[-1] > 0
    for place, unit, index in ((9, 1, 0), (11, 0, 0), (14, 0, 1)):
        account = run.facility.crops(unit)[index]
        crop = results[place]["crop"]
        assert crop["margin_eur_m2"] == public_number(account.statement.margin)
        assert crop["heat_kwh_m2"] == public_number(account.totals.heat_kwh_m2)
        assert crop["reason"] == account.public_ending.value
    assert results[9]["crop"]["reason"] == "stopped"
    assert results[11]["status"]["last_event"] == "cleaned"
    settlement = run.settle()
    assert settlement.status is CampaignStatus.FINISHED
    assert not settlement.flagged
    assert settlement.payload()["private"]


def test_the_same_campaign_gives_the_same_bytes(play, policy):
    runs = [play(), play()]
    other = play()
    for action in season(policy):
        replies = {run.dispatch(action).canonical() for run in runs}
        other.dispatch(observe(3))
        assert len(replies) == 1
    assert runs[0].history.sha256() == runs[1].history.sha256()


def test_the_day_0_prefix_is_the_same_on_every_site(play, policy):
    design = [
        start(0, policy),
        start(1, {**policy, **WARM}),
        start(0, policy),
        observe(0),
        observe(0, variable="air_temperature_c"),
        advance(1),
        "nonsense",
    ]
    one, other = play(Feedback.UNASSIGNED), play(Feedback.UNASSIGNED, site=1)
    assert one.facility.site.noise_seed != other.facility.site.noise_seed
    steps = [prefix_step(action, one.dispatch(action)) for action in design]
    assert replay_prefix(other, steps)
    assert one.history.sha256() == other.history.sha256()
    branch = play(Feedback.UNASSIGNED)
    assert replay_prefix(branch, steps)
    one.assign_feedback(Feedback.FULL)
    branch.assign_feedback(Feedback.ENDPOINT)
    other.assign_feedback(Feedback.ENDPOINT)
    totals = []
    for run in (one, branch, other):
        assert run.dispatch(advance(4.5)).ok
        totals.append(ok(run.dispatch(observe(0)))["crop"])
    assert totals[0] == totals[1] != totals[2]


def test_twins_without_records_differ_only_in_totals(play, policy):
    one, other = play(Feedback.ENDPOINT), play(Feedback.ENDPOINT, site=1)
    for action in (start(0, policy), advance(2), observe(0), observe(0, run_index=1), advance(3.5)):
        assert one.dispatch(action).canonical() == other.dispatch(action).canonical()


def test_the_deadline_stops_what_grows(simulator, weather, sites, policy):
    contract = simulator.contract
    assert contract.calendar.campaign_days == END
    late = contract.calendar.latest_start_day
    assert late + contract.calendar.crop_days <= END
    rules = override(contract, {"calendar.latest_start_day": END - 1})
    facility = Facility.open(simulator, sites[0], weather, keep_records=False)
    run = Executor.open(
        facility,
        rules,
        simulator.sensors,
        sites[0].prices,
        Feedback.ENDPOINT,
        rules.fixed_reference,
    )
    ok(run.dispatch(advance(END - 1)))
    ok(run.dispatch(start(2, policy)))
    ok(run.dispatch(advance(END)))
    crop = ok(run.dispatch(observe(2)))["crop"]
    assert (crop["reason"], crop["active_days"]) == ("deadline", 1.0)
