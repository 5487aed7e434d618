"""Payloads and fields of actions: what is accepted, and that the rest is refused by one rule."""

import json
import pickle

import pytest

from slowlab.campaign.actions import (
    ACTION_LIMITS,
    Advance,
    Observe,
    Recommend,
    RecordQuery,
    Resolution,
    Start,
    Stop,
    allowed_fields,
    parse_action,
    read_payload,
)
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.clock import day_of_tick, day_text, tick_of_day
from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.task import Feedback, task_description
from tests.campaign.payloads import MALFORMED


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_payloads_are_refused_by_one_rule(name):
    with pytest.raises(ActionRejected) as caught:
        read_payload(MALFORMED[name])
    assert caught.value.reason is Reason.MALFORMED
    assert not caught.value.charged
    assert len(caught.value.message) < 200
    caught.value.message.encode("utf-8")


@pytest.mark.parametrize(
    "payload",
    [None, 1, True, [], "null", '"advance"', "[]", {}, {"action": None}, {"action": ["stop"]}],
)
def test_what_is_no_action_uses_nothing(payload):
    with pytest.raises(ActionRejected) as caught:
        read_payload(payload)
    assert caught.value.reason in (Reason.NOT_AN_ACTION, Reason.MALFORMED)
    assert not caught.value.charged


@pytest.mark.parametrize("name", ["status", "runs", "Advance", "advance ", "", "secret words"])
def test_unknown_actions_use_nothing_and_are_not_repeated(name):
    with pytest.raises(ActionRejected) as caught:
        read_payload({"action": name})
    assert caught.value.reason is Reason.UNKNOWN_ACTION
    assert not caught.value.charged
    assert "start, stop, advance, observe, recommend" in caught.value.message
    assert "secret" not in caught.value.message


def test_text_bytes_and_objects_read_alike(policy):
    payload = {"action": "start", "unit": 1, "policy": policy}
    text = json.dumps(payload)
    assert read_payload(payload) == read_payload(text) == read_payload(text.encode())
    assert read_payload(json.dumps(payload, indent=3)) == read_payload(payload)


def test_reading_leaves_the_payload_alone(policy):
    payload = {"action": "start", "unit": 1, "policy": policy}
    before = json.dumps(payload)
    _, fields = read_payload(payload)
    fields["policy"].clear()
    assert json.dumps(payload) == before


def test_an_honest_action_is_far_from_the_limits(policy):
    text = json.dumps({"action": "start", "unit": 1, "policy": policy})
    assert len(text) * 100 < ACTION_LIMITS.max_bytes


def parse(contract, payload, feedback=Feedback.FULL):
    kind, fields = read_payload(payload)
    return parse_action(kind, fields, contract, feedback)


def test_every_action_is_read(contract, policy):
    reference = Policy(**policy)
    expected = {
        "start": ({"unit": 3, "policy": policy}, Start(3, reference)),
        "stop": ({"unit": 0}, Stop(0)),
        "advance": ({"day": 10}, Advance(2880)),
        "recommend": ({"policy": policy}, Recommend(reference)),
    }
    for name, (fields, action) in expected.items():
        assert parse(contract, {"action": name, **fields}) == action
    assert parse(contract, {"action": "observe", "unit": 2}) == Observe(2, None, None)
    read = {"action": "observe", "unit": 2, "run_index": 1, "variable": "co2_ppm"}
    query = RecordQuery("co2_ppm", None, None, Resolution.RAW)
    assert parse(contract, read) == Observe(2, 1, query)
    read |= {"start_day": 1, "end_day": 2.5, "resolution": "daily"}
    assert parse(contract, read).query == RecordQuery("co2_ppm", 288, 720, Resolution.DAILY)


def test_order_of_keys_does_not_matter(contract, policy):
    turned = dict(reversed(policy.items()))
    one = parse(contract, {"action": "start", "unit": 0, "policy": policy})
    other = parse(contract, {"policy": turned, "unit": 0, "action": "start"})
    assert one == other
    assert list(one.policy.model_dump()) == list(other.policy.model_dump()) == list(POLICY_FIELDS)


BAD_FIELDS = [
    ({"action": "start", "unit": 0}, Reason.FIELDS, "policy is missing"),
    ({"action": "stop"}, Reason.FIELDS, "unit is missing"),
    ({"action": "stop", "unit": 0, "secret": 1}, Reason.FIELDS, "1 unexpected field(s)"),
    ({"action": "advance", "day": 1, "secret": 1}, Reason.FIELDS, "the fields are day"),
    ({"action": "stop", "unit": True}, Reason.UNIT, "from 0 to 3"),
    ({"action": "stop", "unit": "1"}, Reason.UNIT, "whole number"),
    ({"action": "stop", "unit": 1.0}, Reason.UNIT, "whole number"),
    ({"action": "stop", "unit": None}, Reason.UNIT, "whole number"),
    ({"action": "stop", "unit": -1}, Reason.UNIT, "from 0 to 3"),
    ({"action": "stop", "unit": 4}, Reason.UNIT, "from 0 to 3"),
    ({"action": "advance", "day": "10"}, Reason.DAY, "number of days"),
    ({"action": "advance", "day": True}, Reason.DAY, "number of days"),
    ({"action": "advance", "day": [10]}, Reason.DAY, "number of days"),
    ({"action": "advance", "day": 10.001}, Reason.DAY, "n/288"),
    ({"action": "advance", "day": 1e308}, Reason.DAY, "finite"),
    ({"action": "observe", "unit": 0, "run_index": 0}, Reason.NO_SUCH_CROP, "from 1"),
    ({"action": "observe", "unit": 0, "run_index": True}, Reason.NO_SUCH_CROP, "from 1"),
    ({"action": "observe", "unit": 0, "run_index": None}, Reason.NO_SUCH_CROP, "leave it out"),
    ({"action": "observe", "unit": 0, "variable": "secret"}, Reason.VARIABLE, "co2_ppm"),
    ({"action": "observe", "unit": 0, "variable": ["co2_ppm"]}, Reason.VARIABLE, "co2_ppm"),
    ({"action": "observe", "unit": 0, "start_day": 0}, Reason.FIELDS, "with a variable only"),
    (
        {"action": "observe", "unit": 0, "variable": "co2_ppm", "resolution": "secret"},
        Reason.RESOLUTION,
        "raw, daily",
    ),
    (
        {"action": "observe", "unit": 0, "variable": "co2_ppm", "start_day": "0"},
        Reason.DAY,
        "start_day must be a number",
    ),
]


@pytest.mark.parametrize(("payload", "reason", "words"), BAD_FIELDS)
def test_wrong_fields_are_refused_with_what_is_allowed(contract, payload, reason, words):
    with pytest.raises(ActionRejected) as caught:
        parse(contract, payload)
    assert caught.value.reason is reason
    assert words in caught.value.message
    assert "secret" not in caught.value.message
    assert caught.value.charged


@pytest.mark.parametrize(
    "change",
    [
        {"day_temperature_c": True},
        {"day_temperature_c": "21"},
        {"day_temperature_c": 99},
        {"night_temperature_c": 21.5},
        {"secret": 1},
        {"co2_target_ppm": None},
    ],
)
def test_an_invalid_policy_is_refused_in_a_start_and_taken_in_a_recommendation(
    contract, policy, change
):
    bad = {**policy, **change}
    with pytest.raises(ActionRejected, match="invalid policy"):
        parse(contract, {"action": "start", "unit": 0, "policy": bad})
    taken = parse(contract, {"action": "recommend", "policy": bad})
    assert taken.policy is None
    assert taken.problem.startswith("invalid policy: ")
    assert "secret" not in taken.problem


def test_endpoint_has_no_fields_for_records(contract):
    for feedback in (Feedback.ENDPOINT, Feedback.SHUFFLED, Feedback.UNASSIGNED):
        assert allowed_fields(ActionKind.OBSERVE, feedback) == (("unit",), ("run_index",))
        for field, value in {
            "variable": "co2_ppm",
            "start_day": 0,
            "end_day": 0,
            "resolution": "raw",
        }.items():
            with pytest.raises(ActionRejected) as caught:
                parse(contract, {"action": "observe", "unit": 0, field: value}, feedback)
            assert caught.value.message == (
                "1 unexpected field(s); the fields are unit, run_index (optional)"
            )


@pytest.mark.parametrize("feedback", Feedback)
def test_the_description_names_exactly_the_fields_that_are_read(contract, sensors, feedback):
    prices = contract.economics.default_prices
    told = task_description(contract, sensors, prices, feedback)["actions"]
    assert [row["action"] for row in told] == list(ActionKind)
    for row in told:
        required, optional = allowed_fields(ActionKind(row["action"]), feedback)
        assert tuple(row["fields"]) == required + optional
        named = [name for name, text in row["fields"].items() if text.startswith("optional")]
        assert tuple(named) == optional
        assert ("decision call" in row["uses"]) == ActionKind(row["action"]).is_decision


def test_every_tick_is_written_as_a_day_that_leads_back_to_it(contract):
    calendar = contract.calendar
    for tick in range(calendar.campaign_ticks + 1):
        day = json.loads(json.dumps(day_of_tick(tick, calendar)))
        assert tick_of_day(day, "day", calendar) == tick
        assert tick_of_day(float(day_text(tick, calendar)), "day", calendar) == tick


@pytest.mark.parametrize("offset_s", [0.9e-6, -0.9e-6, 2e-6, -2e-6, 1.0, 150.0])
def test_a_day_may_be_a_microsecond_off(contract, offset_s):
    day = 100 + offset_s / 86_400
    if abs(offset_s) < 1e-6:
        assert tick_of_day(day, "day", contract.calendar) == 28_800
    else:
        with pytest.raises(ActionRejected, match="multiple of 300 s"):
            tick_of_day(day, "day", contract.calendar)


def test_a_rejection_survives_pickling():
    error = ActionRejected(Reason.DAY, "no", charged=False)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.reason, copy.message, copy.charged) == (Reason.DAY, "no", False)
