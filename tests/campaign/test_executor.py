"""The executor: life of a campaign, rejections, endings, technical failures."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.campaign.errors import ErrorKind, Reason, Reply
from slowlab.campaign.executor import CampaignMisuse, PendingAdvance
from slowlab.campaign.settlement import CampaignStatus, FallbackReason, PolicySource
from slowlab.canonical import canonical_bytes, loads_strict
from slowlab.config import override
from slowlab.world.policy import Policy
from slowlab.world.sensors import PUBLIC_CHANNELS
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import COOKED_C
from tests.campaign.moves import WARM, advance, observe, ok, recommend, refused, start
from tests.campaign.payloads import MALFORMED


def finished(run, *recommendations):
    ok(run.dispatch(advance(365)))
    for policy in recommendations:
        ok(run.dispatch(recommend(policy)))
    return run.settle()


def test_life_of_a_compartment(campaign, policy):
    run = campaign()
    planted = ok(run.dispatch(start(2, policy)))
    assert {k: planted[k] for k in ("day", "unit", "run_index")} == {
        "day": 0.0,
        "unit": 2,
        "run_index": 1,
    }
    assert "holds a crop" in refused(run.dispatch(start(2, policy)), Reason.NOT_IDLE)
    states = ok(run.dispatch(advance(180)))["statuses"]
    assert [row["unit"] for row in states] == [0, 1, 2, 3]
    assert states[2] == {
        "unit": 2,
        "phase": "cleanup",
        "last_event": "completed",
        "run_index": 1,
        "since_day": 180.0,
        "ready_day": 182.0,
    }
    assert "cleaned until day 182" in refused(run.dispatch(start(2, policy)), Reason.NOT_IDLE)
    ok(run.dispatch(advance(182)))
    assert ok(run.dispatch(start(2, policy)))["run_index"] == 2
    stopped = ok(run.dispatch({"action": "stop", "unit": 2}))
    assert {k: stopped[k] for k in ("day", "unit", "run_index", "ready_day")} == {
        "day": 182.0,
        "unit": 2,
        "run_index": 2,
        "ready_day": 184.0,
    }
    assert "no growing crop" in refused(
        run.dispatch({"action": "stop", "unit": 2}), Reason.NOTHING_TO_STOP
    )


def test_crops_start_until_the_latest_start_day_inclusive(campaign, policy):
    run = campaign()
    ok(run.dispatch(advance(183)))
    ok(run.dispatch(start(0, policy)))
    ok(run.dispatch(advance(183 + 1 / 288)))
    assert "after day 183" in refused(run.dispatch(start(1, policy)), Reason.LATE_START)


def test_time_moves_in_ticks_and_never_back(campaign):
    run = campaign()
    state = ok(run.dispatch(advance(10 + 1 / 288)))
    assert state["day"] == 2881 / 288
    assert run.facility.tick == 2881
    message = refused(run.dispatch(advance(10)), Reason.REWIND)
    assert repr(2881 / 288) in message
    assert "at most 365" in refused(run.dispatch(advance(365 + 1 / 288)), Reason.BEYOND_END)
    assert "before now" in refused(run.dispatch(advance(-1)), Reason.REWIND)
    assert run.facility.tick == 2881


def test_events_inside_an_advance_are_seen_afterwards(campaign, policy):
    run = campaign()
    hot = {**policy, "day_temperature_c": COOKED_C}
    ok(run.dispatch(start(0, hot)))
    ok(run.dispatch(start(1, policy)))
    states = ok(run.dispatch(advance(21)))["statuses"]
    assert (states[0]["phase"], states[0]["last_event"]) == ("cleanup", "safety_stop")
    assert (states[1]["phase"], states[1]["last_event"]) == ("active", "started")
    crop = ok(run.dispatch(observe(0)))["crop"]
    assert (crop["reason"], crop["active_days"], crop["end_day"]) == ("safety_stop", 20.0, 20.0)


def test_the_deadline_settles_what_grows(campaign, contract, policy):
    run = campaign(rules=override(contract, {"calendar.crop_days": 183}))
    ok(run.dispatch(advance(183)))
    ok(run.dispatch(start(3, policy)))
    ok(run.dispatch(advance(183.5)))
    assert "day 365 only" in refused(run.dispatch(recommend(policy)), Reason.BEFORE_DEADLINE)
    states = ok(run.dispatch(advance(365)))["statuses"]
    assert (states[3]["phase"], states[3]["last_event"]) == ("cleanup", "deadline")
    assert states[3]["ready_day"] == 367.0
    crop = ok(run.dispatch(observe(3)))["crop"]
    assert (crop["reason"], crop["active_days"]) == ("deadline", 182.0)


REJECTED = [
    {"action": "start", "unit": 0},
    {"action": "start", "unit": True, "policy": {}},
    {"action": "start", "unit": 0, "policy": {}},
    {"action": "start", "unit": 0, "policy": [21, 17, 800, 12, 3, 85]},
    {"action": "stop", "unit": 3},
    {"action": "advance", "day": 3},
    {"action": "advance", "day": 400},
    {"action": "advance", "day": True},
    {"action": "advance", "day": "20"},
    {"action": "observe", "unit": 0, "run_index": 2},
    {"action": "observe", "unit": 0, "variable": "co2_ppm", "end_day": 11},
    {"action": "recommend", "policy": {}},
]


@pytest.mark.parametrize("payload", [*REJECTED, *MALFORMED.values()])
def test_a_rejection_changes_nothing(campaign, policy, payload):
    run = campaign()
    ok(run.dispatch(start(0, policy)))
    ok(run.dispatch(advance(10)))
    before = copy.deepcopy(run.facility)
    reply = run.dispatch(payload)
    assert reply.error.kind is ErrorKind.INVALID_ACTION
    assert run.facility == before
    assert run.status is CampaignStatus.RUNNING
    assert loads_strict(reply.canonical()) == reply.payload()
    assert ok(run.dispatch(advance(11)))["day"] == 11.0


def test_an_advance_is_answered_in_two_parts(campaign):
    run = campaign()
    pending = run.begin(advance(7))
    assert pending == PendingAdvance(7 * 288) == run.pending
    with pytest.raises(CampaignMisuse):
        run.begin(observe(0))
    with pytest.raises(CampaignMisuse):
        run.settle()
    run.facility.advance(pending.target_tick)
    reply = run.finish()
    assert ok(reply)["day"] == 7.0
    assert run.pending is None
    with pytest.raises(CampaignMisuse):
        run.finish()
    assert isinstance(run.begin(advance(7)), Reply)
    other = campaign()
    again = other.dispatch(advance(7))
    assert again.canonical() == reply.canonical()


def test_the_recommendation_counts_and_the_last_one_wins(campaign, policy):
    warm = {**policy, **WARM}
    settlement = finished(campaign(), policy, warm)
    assert settlement.status is CampaignStatus.FINISHED
    assert settlement.policy == Policy(**warm)
    assert settlement.source is PolicySource.RECOMMENDATION
    assert not settlement.flagged
    assert settlement.recommendations == 2
    assert settlement.day == 365.0


def test_an_invalid_recommendation_is_taken_told_and_replaced(campaign, contract, policy):
    run = campaign()
    ok(run.dispatch(advance(365)))
    bad = {**policy, "night_temperature_c": 21.9}
    result = ok(run.dispatch(recommend(bad)))
    assert result["recommendation"] == "invalid"
    assert "must not be above day_temperature_c" in result["problem"]
    settlement = run.settle()
    assert settlement.policy == contract.fixed_reference
    assert settlement.source is PolicySource.FIXED_POLICY
    assert settlement.fallback_reason is FallbackReason.INVALID_RECOMMENDATION
    assert finished(campaign(), bad, policy).fallback_reason is None
    assert finished(campaign(), policy, bad).flagged


def test_a_missing_recommendation_is_replaced(campaign, contract):
    settlement = finished(campaign())
    assert settlement.fallback_reason is FallbackReason.MISSING_RECOMMENDATION
    assert settlement.policy == contract.fixed_reference
    run = campaign()
    ok(run.dispatch(advance(100)))
    early = run.settle()
    assert early.status is CampaignStatus.CLOSED
    assert early.fallback_reason is FallbackReason.DEADLINE_NOT_REACHED
    assert early.policy == contract.fixed_reference


def test_the_initial_recommendation_is_the_better_fallback(campaign, policy):
    warm = {**policy, **WARM}
    run = campaign()
    assert "is missing" in run.freeze_initial_recommendation({})
    assert run.freeze_initial_recommendation(warm) is None
    with pytest.raises(CampaignMisuse):
        run.freeze_initial_recommendation(policy)
    settlement = finished(run, {"not": "a policy"})
    assert settlement.policy == Policy(**warm)
    assert settlement.source is PolicySource.INITIAL_RECOMMENDATION
    assert settlement.fallback_reason is FallbackReason.INVALID_RECOMMENDATION
    late = campaign()
    ok(late.dispatch(advance(1)))
    with pytest.raises(CampaignMisuse):
        late.freeze_initial_recommendation(warm)


def test_a_settled_campaign_takes_no_more_actions(campaign, policy):
    run = campaign()
    settlement = finished(run, policy)
    calls = settlement.budget["calls"]["used"]
    refused(run.dispatch(observe(0)), Reason.CAMPAIGN_CLOSED, ErrorKind.PROTOCOL_ERROR)
    assert run.settle() is settlement
    assert settlement.budget["calls"]["used"] == calls


def test_the_settlement_is_plain_data(campaign, policy):
    run = campaign()
    run.dispatch(start(7, policy))
    run.dispatch("nonsense")
    run.dispatch(advance("x"))
    payload = finished(run, policy).payload()
    assert json.loads(canonical_bytes(payload)) == payload
    assert payload["rejections"] == {"unit": 1, "malformed": 1, "day": 1}
    assert payload["private"]["seed"] == 8_402_157_319


def broken(facility, tick):
    raise OSError("secret path")


def standing(facility, tick):
    pass


@pytest.mark.parametrize(
    ("fault", "words"),
    [("facility", "non_finite_state at tick 1440"), ("raises", "OSError"), ("clock", "stands at")],
)
def test_a_technical_failure_freezes_the_campaign(campaign, policy, fault, words):
    run = campaign(fails_at=1440 if fault == "facility" else None)
    run._stepping = {"raises": broken, "clock": standing}.get(fault, run._stepping)
    ok(run.dispatch(start(0, policy)))
    reply = run.dispatch(advance(20))
    message = refused(reply, Reason.TECHNICAL_FAILURE, ErrorKind.INFRASTRUCTURE_FAILURE)
    assert "secret" not in message
    assert run.status is CampaignStatus.INFRASTRUCTURE_FAILURE
    for payload in (advance(365), observe(0), recommend(policy), "nonsense"):
        again = run.dispatch(payload)
        assert again.error == reply.error
    settlement = run.settle()
    assert settlement.status is CampaignStatus.INFRASTRUCTURE_FAILURE
    assert settlement.policy is None
    assert settlement.source is None
    assert not settlement.flagged
    assert words in settlement.failure


def script(policy):
    warm = {**policy, **WARM}
    return [
        start(0, policy),
        start(1, warm),
        observe(0, variable="air_temperature_c"),
        advance(30),
        observe(1, variable="heating_energy", resolution="daily"),
        observe(0, run_index=3),
        advance(180),
        observe(1),
        advance(365),
        recommend(warm),
    ]


def test_campaigns_in_one_process_do_not_touch_each_other(campaign, policy):
    alone = campaign()
    expected = [alone.dispatch(action).canonical() for action in script(policy)]
    first, second = campaign(growth=1.3), campaign()
    seen = []
    for action in script(policy):
        first.dispatch(action)
        seen.append(second.dispatch(action).canonical())
        first.dispatch(observe(2))
    assert seen == expected
    assert second.history.sha256() == alone.history.sha256()


def test_replies_are_copies(campaign, policy):
    run = campaign()
    first = run.dispatch(start(0, policy))
    before = run.history.sha256()
    first.result["budget"]["calls"]["used"] = 99
    run.task()["budgets"].clear()
    assert run.history.sha256() == before
    assert ok(run.dispatch(observe(0)))["budget"]["calls"]["used"] == 2


def test_the_shuffled_mode_needs_a_key(campaign):
    with pytest.raises(CampaignMisuse, match="key"):
        campaign(Feedback.SHUFFLED)
    campaign(Feedback.SHUFFLED, shuffle_key="site 0|repeat 1")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
UNITS = st.integers(-1, 4) | st.sampled_from([True, "1", 1.0, None])
DAYS = (
    st.integers(0, 366)
    | st.integers(0, 105_120).map(lambda n: n / 288)
    | st.sampled_from([True, "10", -1, 1e999, 10.001])
)
POLICIES = st.builds(
    lambda day, night, cooked, drop: {
        **{
            "day_temperature_c": 26 if cooked else day,
            "night_temperature_c": night,
            "co2_target_ppm": 800,
            "supplemental_light_hours": 12.5,
            "vent_temperature_offset_c": 3,
        },
        **({} if drop else {"vent_rh_threshold_pct": 85}),
    },
    st.floats(17, 26.5),
    st.floats(15, 20),
    st.booleans(),
    st.sampled_from([False] * 7 + [True]),
)
READS = st.fixed_dictionaries(
    {"action": st.just("observe"), "unit": st.integers(0, 3)},
    optional={
        "run_index": st.integers(0, 3),
        "variable": st.sampled_from([*PUBLIC_CHANNELS, "secret"]),
        "start_day": DAYS,
        "end_day": DAYS,
        "resolution": st.sampled_from(["raw", "daily", "hourly"]),
    },
)
ACTIONS = (
    st.fixed_dictionaries({"action": st.just("start"), "unit": UNITS, "policy": POLICIES})
    | st.fixed_dictionaries({"action": st.just("stop"), "unit": UNITS})
    | st.fixed_dictionaries({"action": st.just("advance"), "day": DAYS})
    | READS
    | st.fixed_dictionaries({"action": st.just("recommend"), "policy": POLICIES | JUNK})
    | JUNK
    | st.text()
    | st.binary()
)


@settings(max_examples=60, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=25), feedback=st.sampled_from([*Feedback]))
def test_whatever_is_sent_the_rules_hold(campaign, actions, feedback):
    run = campaign(feedback, shuffle_key="key")
    used, tick = {"calls": 0, "decisions": 0, "starts": 0}, 0
    for action in actions:
        reply = run.dispatch(action)
        payload = loads_strict(reply.canonical())
        body = payload["result"] if reply.ok else payload["error"]
        assert reply.ok or reply.error.kind is ErrorKind.INVALID_ACTION
        for name, count in body["budget"].items():
            assert used[name] <= count["used"] <= min(count["max"], used[name] + 1)
            used[name] = count["used"]
        assert tick <= run.facility.tick <= 365 * 288
        assert reply.ok or run.facility.tick == tick
        tick = run.facility.tick
        if not feedback.releases_records:
            assert "records" not in body
            assert not any(name in reply.canonical().decode() for name in PUBLIC_CHANNELS)
    assert run.settle().policy is not None
