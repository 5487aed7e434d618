"""What the feedback modes let through: windows, numbers, arms."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowlab.campaign.errors import Reason
from slowlab.campaign.rounding import daily_row, public_number
from slowlab.campaign.views import TotalsExchange
from slowlab.config import override
from slowlab.world.sensors import PUBLIC_CHANNELS
from slowlab.world.task import Feedback, task_bytes
from tests.campaign.fake_facility import DAY
from tests.campaign.moves import WARM, advance, observe, ok, refused, start

AIR, HEAT = "air_temperature_c", "heating_energy"


def read(run, unit=0, variable=AIR, **fields):
    return run.dispatch(observe(unit, variable=variable, **fields))


def records(run, unit=0, variable=AIR, **fields):
    return ok(read(run, unit, variable, **fields))["records"]


@pytest.fixture
def grown(campaign, policy):
    """A campaign at day 100 with a crop of day 20 in compartment 1, running on."""
    run = campaign()
    ok(run.dispatch(advance(20)))
    ok(run.dispatch(start(1, policy)))
    ok(run.dispatch(advance(100)))
    return run


def test_the_default_raw_window_is_the_latest_that_fits(grown):
    found = records(grown)
    assert found["end_day"] == 100.0
    assert found["start_day"] == (100 * DAY - 511) / DAY
    assert found["resolution"] == "raw"
    assert found["measured_in"] == "degC"
    times = [row["time_s"] for row in found["rows"]]
    assert times == sorted(times)
    assert times[-1] == 100 * 86_400
    lost = [t for t in range(100 * DAY - 511, 100 * DAY + 1) if (7 * t) % 97 == 0]
    assert len(times) == 512 - len(lost)
    assert not {t * 300 for t in lost} & set(times)


def test_the_default_raw_window_never_breaks_its_own_limit(campaign):
    run = campaign()
    assert len(records(run)["rows"]) == 1
    for day in (1, 1.5, 2, 3, 364, 365):
        ok(run.dispatch(advance(day)))
        found = records(run)
        assert found["start_day"] == max(0, day * DAY - 511) / DAY


def test_the_default_daily_window_is_the_life_of_the_crop(grown):
    found = records(grown, unit=1, resolution="daily")
    assert (found["start_day"], found["end_day"]) == (20.0, 100.0)
    assert [row["day"] for row in found["rows"]] == list(range(20, 101))
    assert found["rows"][-1]["n"] == 1
    empty = records(grown, unit=0, resolution="daily")
    assert (empty["start_day"], empty["end_day"]) == (0.0, 100.0)


def test_a_named_crop_limits_the_default_windows(campaign, policy):
    run = campaign()
    ok(run.dispatch(start(1, policy)))
    ok(run.dispatch(advance(182)))
    ok(run.dispatch(start(1, policy)))
    ok(run.dispatch(advance(183)))
    raw = records(run, unit=1, run_index=1)
    assert (raw["start_day"], raw["end_day"]) == ((180 * DAY - 511) / DAY, 180.0)
    daily = records(run, unit=1, run_index=1, resolution="daily")
    assert (daily["start_day"], daily["end_day"]) == (0.0, 180.0)
    raw = records(run, unit=1, run_index=2)
    assert (raw["start_day"], raw["end_day"]) == (182.0, 183.0)
    latest = records(run, unit=1, resolution="daily")
    assert (latest["start_day"], latest["end_day"]) == (182.0, 183.0)
    before = records(run, unit=1, resolution="daily", end_day=10)
    assert (before["start_day"], before["end_day"]) == (0.0, 10.0)


def test_daily_windows_are_cut_to_the_limit(campaign, contract):
    rules = override(contract, {"budget.days_per_daily_read": 30})
    run = campaign(rules=rules)
    ok(run.dispatch(advance(100)))
    found = records(run, resolution="daily")
    assert (found["start_day"], found["end_day"]) == (70.0, 100.0)
    message = refused(read(run, resolution="daily", start_day=0), Reason.WINDOW_TOO_LONG)
    assert "at most 30 days" in message


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        ({"end_day": 100 + 1 / DAY}, Reason.WINDOW, "not be after day 100"),
        ({"start_day": 101}, Reason.WINDOW, "start_day"),
        ({"start_day": 50, "end_day": 40}, Reason.WINDOW, "after end_day"),
        ({"start_day": -1, "end_day": 0}, Reason.WINDOW, "before day 0"),
        ({"start_day": 98}, Reason.WINDOW_TOO_LONG, "at most 512 reading times"),
        ({"start_day": 0, "end_day": 512 / DAY}, Reason.WINDOW_TOO_LONG, "this one 513"),
    ],
)
def test_windows_that_are_not_allowed_say_what_is(grown, fields, reason, words):
    message = refused(read(grown, **fields), reason)
    assert words in message
    assert ok(read(grown, start_day=0, end_day=511 / DAY))


def test_daily_rows_summarise_what_exists(grown):
    daily = records(grown, start_day=50, end_day=51 - 1 / DAY, resolution="daily")["rows"]
    raw = records(grown, start_day=50, end_day=51 - 1 / DAY)["rows"]
    values = [row["value"] for row in raw]
    assert daily == [
        {
            "day": 50,
            "n": len(values),
            "mean": round(math.fsum(values) / len(values), 6),
            "min": min(values),
            "max": max(values),
        }
    ]
    assert len(values) < DAY


def test_numbers_are_rounded_by_one_rule():
    assert public_number(0.5 + 2**-7) == 0.507812  # a tie: half to even
    assert str(public_number(-1e-9)) == "0.0"
    assert public_number(1 / 3) == 0.333333
    assert daily_row(3, [0.1] * 10)["mean"] == 0.1


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=50), st.randoms())
def test_means_do_not_depend_on_order(values, random):
    shuffled = random.sample(values, len(values))
    assert daily_row(0, values) == daily_row(0, shuffled)


def test_totals_of_the_requested_or_latest_closed_crop(campaign, policy, prices, contract):
    run = campaign()
    assert ok(run.dispatch(observe(0)))["crop"] is None
    ok(run.dispatch(start(0, policy)))
    assert ok(run.dispatch(observe(0)))["crop"] is None
    growing = ok(run.dispatch(observe(0, run_index=1)))["crop"]
    assert growing == {"unit": 0, "run_index": 1, "state": "growing", "start_day": 0.0}
    ok(run.dispatch(advance(182)))
    ok(run.dispatch(start(0, policy)))
    closed = ok(run.dispatch(observe(0)))["crop"]
    assert closed == ok(run.dispatch(observe(0, run_index=1)))["crop"]
    assert set(closed) == {
        *("unit", "run_index", "state", "start_day", "end_day", "reason", "active_days"),
        *("harvest_kg_m2", "heat_kwh_m2", "light_kwh_m2", "co2_kg_m2"),
        *("planting_eur_m2", "cleaning_eur_m2", "margin_eur_m2"),
    }
    costs = contract.economics.fixed_costs
    margin = (
        (prices.fruit_eur_per_kg_fresh - costs.harvest_handling_eur_per_kg)
        * closed["harvest_kg_m2"]
        - prices.delivered_heat_eur_per_kwh * closed["heat_kwh_m2"]
        - prices.electricity_eur_per_kwh * closed["light_kwh_m2"]
        - prices.co2_eur_per_kg * closed["co2_kg_m2"]
        - costs.background_service_eur_per_m2_day * closed["active_days"]
        - closed["planting_eur_m2"]
        - closed["cleaning_eur_m2"]
    )
    assert closed["margin_eur_m2"] == pytest.approx(margin, abs=1e-5)
    message = refused(run.dispatch(observe(1, run_index=1)), Reason.NO_SUCH_CROP)
    assert message == "compartment 1 has had 0 crop(s) so far"


@pytest.mark.parametrize("feedback", [Feedback.ENDPOINT, Feedback.SHUFFLED])
def test_endpoint_needs_no_records_and_gives_none(campaign, policy, feedback):
    run = campaign(feedback, shuffle_key="k", keeps_records=False)
    ok(run.dispatch(start(0, policy)))
    for day in (50, 365):
        ok(run.dispatch(advance(day)))
        for variable in PUBLIC_CHANNELS:
            message = refused(read(run, variable=variable), Reason.FIELDS)
            assert message == "1 unexpected field(s); the fields are unit, run_index (optional)"
    assert ok(run.dispatch(observe(0)))["crop"]["reason"] == "completed"


def test_delayed_records_become_available_with_age(campaign, contract, policy):
    run = campaign(Feedback.DELAYED)
    ok(run.dispatch(start(0, policy)))
    ok(run.dispatch(advance(29)))
    assert "before day 30" in refused(read(run), Reason.NOT_RELEASED)
    ok(run.dispatch(advance(30)))
    assert [row["time_s"] for row in records(run)["rows"]] == [0]
    ok(run.dispatch(advance(100)))
    found = records(run)
    assert found["end_day"] == 70.0
    message = refused(read(run, end_day=70 + 1 / DAY), Reason.WINDOW)
    assert "not be after day 70" in message
    assert records(run, resolution="daily")["end_day"] == 70.0
    full = campaign()
    ok(full.dispatch(start(0, policy)))
    ok(full.dispatch(advance(70)))
    assert records(full)["rows"] == found["rows"]
    assert "once they are 30 days old" in run.task()["feedback"]["meaning"]
    assert set(run.task()) == set(full.task())


def outcomes(run):
    """Totals of all four first crops, by compartment."""
    names = ("harvest_kg_m2", "heat_kwh_m2", "light_kwh_m2", "co2_kg_m2")
    crops = [ok(run.dispatch(observe(unit)))["crop"] for unit in range(4)]
    return [tuple(crop[name] for name in names) for crop in crops]


def four_crops(campaign, policy, feedback, **options):
    run = campaign(feedback, **options)
    for unit in range(4):
        ok(run.dispatch(start(unit, policy if unit % 2 else {**policy, **WARM})))
    ok(run.dispatch(advance(182)))
    return run


def test_shuffled_totals_are_exchanged_between_closed_crops(campaign, policy):
    true = outcomes(four_crops(campaign, policy, Feedback.ENDPOINT))
    assert len(set(true)) == 4
    seen = set()
    for key in range(30):
        run = four_crops(campaign, policy, Feedback.SHUFFLED, shuffle_key=f"key {key}")
        given = outcomes(run)
        assert sorted(given) == sorted(true)
        assert outcomes(run) == given
        again = four_crops(campaign, policy, Feedback.SHUFFLED, shuffle_key=f"key {key}")
        assert outcomes(again) == given
        seen.add(tuple(given))
        pairs = run.settle().exchanged
        assert [pair[:2] for pair in pairs] == [(unit, 1) for unit in range(4)]
        assert [true[pair[2]] for pair in pairs] == given
    assert len(seen) > 12


def test_shuffled_never_gives_what_has_not_closed(campaign, policy):
    run = campaign(Feedback.SHUFFLED, shuffle_key="k")
    ok(run.dispatch(start(0, policy)))
    ok(run.dispatch(start(1, {**policy, **WARM})))
    ok(run.dispatch(advance(90)))
    ok(run.dispatch({"action": "stop", "unit": 0}))
    first = ok(run.dispatch(observe(0)))["crop"]
    assert first["active_days"] == 90.0
    ok(run.dispatch(advance(182)))
    second = ok(run.dispatch(observe(1)))["crop"]
    assert second["active_days"] == 180.0
    assert ok(run.dispatch(observe(0)))["crop"] == first


def test_every_permutation_can_happen():
    crops = [SimpleNamespace(unit=unit, run_index=1) for unit in range(3)]
    found = set()
    for key in range(200):
        exchange = TotalsExchange(str(key))
        found.add(tuple(exchange.source(crop, crops).unit for crop in crops))
    assert len(found) == 6


def test_the_arms_say_what_they_should(contract, sensors, prices, campaign):
    endpoint, shuffled = campaign(Feedback.ENDPOINT), campaign(Feedback.SHUFFLED, shuffle_key="k")
    assert task_bytes(endpoint.task()) == task_bytes(shuffled.task())
    full, delayed = campaign().task(), campaign(Feedback.DELAYED).task()
    assert delayed["feedback"]["mode"] == "delayed"
    assert {k: v for k, v in full.items() if k != "feedback"} == {
        k: v for k, v in delayed.items() if k != "feedback"
    }


@pytest.mark.parametrize("feedback", [f for f in Feedback if not f.releases_records])
def test_nothing_that_cannot_work_is_advertised(campaign, feedback):
    run = campaign(feedback, shuffle_key="k")
    told = run.task()
    actions = {row["action"]: row for row in told["actions"]}
    assert set(actions["observe"]["fields"]) == {"unit", "run_index"}
    tools = {row["tool"] for row in told["analysis_tools"]}
    assert not tools & {"series_summary", "predict_crop_outcome"}


@pytest.mark.parametrize("feedback", Feedback)
def test_what_is_advertised_works(campaign, policy, feedback):
    """Every action can be carried out with every field that the description names for it."""
    run = campaign(feedback, shuffle_key="k")
    ok(run.dispatch(start(0, policy)))
    if feedback is not Feedback.UNASSIGNED:
        ok(run.dispatch(advance(182)))
    fields = next(a for a in run.task()["actions"] if a["action"] == "observe")["fields"]
    values = {
        "unit": 0,
        "run_index": 1,
        "variable": HEAT,
        "start_day": 1,
        "end_day": 2,
        "resolution": "daily",
    }
    ok(run.dispatch({"action": "observe", **{name: values[name] for name in fields}}))
