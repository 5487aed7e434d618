"""The history: one store for everything that was seen."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.campaign.history import DailyRow, History
from slowlab.campaign.rounding import daily_row
from slowlab.canonical import CanonicalError
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.task import Feedback
from tests.campaign.moves import WARM, advance, observe, ok, recommend, start

AIR, HEAT = "air_temperature_c", "heating_energy"


def turned(value):
    """The same data with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


def rebuilt(history, change=lambda data: data):
    """The same history from its exchanges, as another process would make it."""
    other = History(change(history.task))
    for item in history.exchanges:
        sent = None if item.action is None else change(json.loads(json.dumps(item.action)))
        other.add(sent, change(json.loads(json.dumps(item.reply))))
    return other


def everything(history):
    """All that can be asked of a history."""
    return {
        "digest": history.digest(),
        "crops": history.crops(),
        "statuses": history.statuses(),
        "raw": {name: history.raw(*name) for name in history.channels()},
        "daily": {name: history.daily(*name) for name in history.channels()},
        "sha256": history.sha256(),
    }


@pytest.fixture
def played(campaign, policy):
    """A campaign with reads of both kinds, rejections and two crops in one compartment."""
    run = campaign()
    for action in (
        start(0, policy),
        start(1, {**policy, **WARM}),
        advance(30),
        observe(0, variable=AIR),
        observe(0, variable=AIR, start_day=10, end_day=12, resolution="daily"),
        observe(1, variable=HEAT, resolution="daily"),
        "nonsense",
        {"action": "stop", "unit": 3},
        {"action": "stop", "unit": 1},
        advance(182),
        observe(0),
        observe(1, run_index=1),
        start(0, policy),
        advance(365),
        recommend(policy),
    ):
        run.dispatch(action)
    return run


def test_crops_are_known_with_policy_and_totals(played, policy):
    crops = {(c.unit, c.run_index): c for c in played.history.crops()}
    assert list(crops) == [(0, 1), (0, 2), (1, 1)]
    first = crops[0, 1]
    assert first.policy == Policy(**policy)
    assert (first.start_day, first.closed, first.reason) == (0.0, True, "completed")
    assert (
        first.totals.margin_eur_m2
        == ok(played.dispatch(observe(0, run_index=1)))["crop"]["margin_eur_m2"]
    )
    assert (crops[1, 1].reason, crops[1, 1].end_day) == ("stopped", 30.0)
    unread = crops[0, 2]
    assert (unread.closed, unread.reason, unread.totals) == (True, None, None)


def test_a_crop_that_the_agent_stops_is_known_to_have_closed(campaign, policy):
    run = campaign()
    for action in (start(2, policy), advance(5), {"action": "stop", "unit": 2}):
        ok(run.dispatch(action))
    (crop,) = run.history.crops()
    assert (crop.unit, crop.run_index, crop.closed) == (2, 1, True)


def test_raw_and_daily_reads_both_enter_the_daily_series(played):
    history = played.history
    assert history.channels() == [(0, AIR), (1, HEAT)]
    days = [row.day for row in history.daily(0, AIR)]
    assert days == [10, 11, 12, 28, 29, 30]
    assert [row.day for row in history.daily(1, HEAT)] == list(range(31))
    raw = history.raw(0, AIR)
    inside = [value for time, value in raw if time // 86_400 == 29]
    assert history.daily(0, AIR)[4] == DailyRow(**daily_row(29, inside))


def test_the_fuller_row_of_a_day_counts(campaign):
    run = campaign()
    ok(run.dispatch(advance(10.5)))
    ok(run.dispatch(observe(0, variable=AIR, resolution="daily")))
    half = run.history.daily(0, AIR)[-1]
    assert half.day == 10
    ok(run.dispatch(advance(12)))
    ok(run.dispatch(observe(0, variable=AIR, resolution="daily")))
    whole = run.history.daily(0, AIR)[10]
    assert whole.n > half.n
    ok(run.dispatch(observe(0, variable=AIR, start_day=10, end_day=10.25)))
    assert run.history.daily(0, AIR)[10] == whole
    ok(run.dispatch(observe(0, variable=AIR, start_day=10, end_day=10.25, resolution="daily")))
    assert run.history.daily(0, AIR)[10] == whole


def test_repeated_reads_count_once(campaign):
    run = campaign()
    ok(run.dispatch(advance(1)))
    ok(run.dispatch(observe(2, variable=AIR)))
    once = run.history.raw(2, AIR)
    ok(run.dispatch(observe(2, variable=AIR)))
    assert run.history.raw(2, AIR) == once
    assert [time for time, _ in once] == sorted({time for time, _ in once})


def test_another_process_makes_the_same_history(played):
    assert everything(rebuilt(played.history)) == everything(played.history)


def test_order_of_keys_never_matters(played):
    assert everything(rebuilt(played.history, turned)) == everything(played.history)


def test_the_digest_says_where_the_campaign_stands(played, policy):
    digest = played.history.digest()
    assert (digest["day"], digest["days_left"]) == (365.0, 0.0)
    assert digest["budget"]["calls"]["used"] == 14
    assert digest["budget"]["decisions"]["used"] == 6
    assert [row["unit"] for row in digest["compartments"]] == [0, 1, 2, 3]
    assert list(digest["crops"][0]["policy"]) == list(POLICY_FIELDS)
    assert digest["crops"][1]["margin_eur_m2"] is None
    json.dumps(digest)


def test_rejections_keep_the_budget_up_to_date(campaign):
    run = campaign()
    run.dispatch({"action": "stop", "unit": 0})
    assert run.history.budget["calls"]["used"] == 1
    assert run.history.exchanges[0].reply["error"]["reason"] == "nothing_to_stop"


def test_what_goes_in_is_copied(campaign, policy):
    run = campaign()
    action = start(0, policy)
    reply = run.dispatch(action).payload()
    history = History(run.task())
    history.add(action, reply)
    before = history.sha256()
    action["policy"] = None
    reply["result"].clear()
    history.statuses().clear()
    history.exchanges[0]
    assert history.sha256() == before


def test_only_plain_data_goes_in(campaign):
    history = History(campaign().task())
    with pytest.raises(CanonicalError):
        history.add({"action": "stop", "unit": {1}}, {"ok": False, "error": {}})
    assert history.exchanges == ()


def test_endpoint_histories_hold_no_records(campaign, policy):
    run = campaign(Feedback.ENDPOINT)
    ok(run.dispatch(start(0, policy)))
    run.dispatch(observe(0, variable=AIR))
    ok(run.dispatch(advance(182)))
    ok(run.dispatch(observe(0)))
    assert run.history.channels() == []
    assert run.history.crops()[0].totals is not None


READS = st.tuples(st.integers(0, 288 * 9), st.integers(0, 500), st.sampled_from(["raw", "daily"]))


@settings(max_examples=40, deadline=None)
@given(reads=st.lists(READS, max_size=8), random=st.randoms())
def test_the_order_of_reads_does_not_matter(campaign, reads, random):
    def series(order):
        run = campaign()
        ok(run.dispatch(advance(11)))
        for first, length, resolution in order:
            window = {"start_day": first / 288, "end_day": (first + length) / 288}
            ok(run.dispatch(observe(0, variable=AIR, resolution=resolution, **window)))
        return run.history.raw(0, AIR), run.history.daily(0, AIR)

    assert series(reads) == series(random.sample(reads, len(reads)))
