"""The scripts as functions of messages: what they answer, and that nothing makes them fail."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowlab.agents.standins import SCRIPTS
from slowlab.agents.standins.conversation import Conversation
from slowlab.campaign.history import History
from slowlab.tools.public_task import policy_bounds
from slowlab.world.policy import POLICY_FIELDS, parse_policy
from slowlab.world.task import Feedback
from tests.agents.prompts import messages
from tests.tools.campaigns import contract, open_campaign, turned

SENSIBLE = ("grower", "two_wave", "staggered")
FULL = open_campaign()
PLANTED = open_campaign()


def answer(script, prompt, seed=1):
    return SCRIPTS[script](Conversation.read(prompt, seed))


def decided(script, prompt, seed=1):
    return answer(script, prompt, seed).decision


def after(feedback, *actions):
    """A campaign after some actions."""
    run = open_campaign(feedback)
    for action in actions:
        assert run.dispatch(action).ok
    return run


def start(unit, **changes):
    policy = contract().fixed_reference.model_dump() | changes
    return {"action": "start", "unit": unit, "policy": policy}


def test_the_grower_opens_with_four_different_valid_policies():
    policies = []
    run = open_campaign()
    for unit in range(4):
        decision = decided("grower", messages(run.history, "design"))
        assert decision["action"]["unit"] == unit
        assert decision["reason"]
        policies.append(decision["action"]["policy"])
        assert run.dispatch(decision["action"]).ok
    assert len({json.dumps(policy) for policy in policies}) == 4


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("stage", ["initial", "probe", "final"])
def test_a_recommendation_has_the_form_that_the_stage_asks_for(script, stage):
    decision = next(
        found
        for left in range(40)
        if (found := decided(script, messages(FULL.history, stage, model_calls=left)))
    )
    bounds = policy_bounds(FULL.history.task)
    if stage == "final":
        assert decision["type"] == "campaign"
        assert decision["action"]["action"] == "recommend"
        parse_policy(decision["action"]["policy"], bounds)
    else:
        kinds = {"initial": "initial_recommendation", "probe": "recommendation"}
        assert decision["type"] == kinds[stage]
        parse_policy(decision["policy"], bounds)


def test_the_first_recommendation_depends_on_the_public_prices():
    task = FULL.history.task
    dear = {**task, "prices": {**task["prices"], "electricity_eur_per_kwh": 0.45}}
    hours = [
        decided("grower", messages(History(told), "initial"))["policy"]["supplemental_light_hours"]
        for told in (task, dear)
    ]
    assert hours[1] < hours[0]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_order_of_keys_and_of_listed_fields_has_no_effect(script):
    history = FULL.history
    other = History(turned(history.task))
    other.task["policy"]["fields"].reverse()
    assert decided(script, messages(other, "design")) == decided(
        script, messages(history, "design")
    )


@pytest.mark.parametrize("script", SENSIBLE)
@pytest.mark.parametrize("feedback", [Feedback.FULL, Feedback.ENDPOINT])
def test_records_are_read_only_where_they_can_be(script, feedback):
    asked = []
    planted = [start(unit) for unit in range(2 if script == "staggered" else 4)]
    for day in (60, 90, 91):
        run = after(feedback, *planted, {"action": "advance", "day": day})
        decision = decided(script, messages(run.history))
        asked.append(decision.get("action", {}).get("variable"))
    found = {name for name in asked if name}
    expected = {"cumulative_harvest_fresh_equivalent"} if feedback is Feedback.FULL else set()
    assert found == expected


def test_unread_totals_are_read_first():
    run = after(Feedback.ENDPOINT, start(2), {"action": "advance", "day": 182})
    for script in SENSIBLE:
        decision = decided(script, messages(run.history))
        assert decision["action"] == {"action": "observe", "unit": 2, "run_index": 1}


def test_a_rejected_step_is_not_repeated():
    run = after(Feedback.FULL, *map(start, range(4)), {"action": "advance", "day": 30})
    first = decided("grower", messages(run.history))
    refused = {"kind": "invalid_action", "error": {"reason": "not_released"}}
    turns = (("assistant", first),)
    second = decided("grower", messages(run.history, latest=refused, turns=turns))
    assert first["action"]["variable"] == "cumulative_harvest_fresh_equivalent"
    assert second["action"]["variable"] == "canopy_lai_proxy"


def test_what_comes_between_is_no_reason_to_begin_again():
    run = after(Feedback.FULL, *map(start, range(4)), {"action": "advance", "day": 30})
    first = decided("grower", messages(run.history))
    told = {"kind": "result", "result": {"day": 30.0}}
    nonsense = {"type": "campaign", "action": {"action": "read_file", "path": "x"}}
    turns = (("assistant", first), ("user", told), ("assistant", nonsense))
    decision = decided("grower", messages(run.history, latest={"kind": "error"}, turns=turns))
    assert decision["action"]["variable"] == "canopy_lai_proxy"


def test_without_a_digest_the_turns_in_sight_are_enough():
    run = open_campaign()
    turns = []
    for unit in range(4):
        action = start(unit)
        result = run.dispatch(action).payload()["result"]
        turns += [("assistant", {"type": "campaign", "action": action})]
        turns += [("user", {"kind": "result", "result": result})]
    prompt = messages(run.history, latest=turns.pop()[1], turns=tuple(turns))
    final = json.loads(prompt[-1]["content"])
    final["state"] = {"day": 0.0, "days_left": 365.0, "left": {}}
    prompt[-1]["content"] = json.dumps(final)
    assert decided("grower", prompt)["action"] == {"action": "advance", "day": 30.0}


def crop(unit, day, margin, **changes):
    return {
        "unit": unit,
        "run_index": 1,
        "start_day": day,
        "state": "closed",
        "reason": "completed",
        "margin_eur_m2": margin,
        "policy": contract().fixed_reference.model_dump() | changes,
    }


def reading(crops):
    packet = {"task": FULL.history.task, "crops": crops}
    final = {"stage": "reading", "packet": packet, "instruction": "Recommend."}
    return [{"role": "user", "content": json.dumps(final)}]


def test_a_packet_is_read_with_the_planting_day_in_mind():
    crops = [
        crop(0, 0.0, 20.0, day_temperature_c=19.0),
        crop(1, 0.0, 10.0, day_temperature_c=25.0),
        crop(2, 182.0, 31.0, day_temperature_c=22.0),
        crop(3, 182.0, 30.0, day_temperature_c=23.0),
    ]
    decision = decided("grower", reading(crops))
    assert decision["type"] == "recommendation"
    assert decision["policy"]["day_temperature_c"] == 19.0
    assert decided("grower", reading(crops[::-1])) == decision


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_reads_a_packet_without_crops(script):
    decision = decided(script, reading([]))
    if decision is not None:
        assert decision["type"] == "recommendation"
        parse_policy(decision["policy"], policy_bounds(FULL.history.task))


def test_the_time_blind_goes_on_from_what_it_said_itself():
    run = after(Feedback.FULL, start(0), {"action": "advance", "day": 100})
    first = decided("time_blind", messages(run.history))
    second = decided("time_blind", messages(run.history, turns=(("assistant", first),)))
    assert (first["action"]["day"], second["action"]["day"]) == (0.25, 0.5)


def test_the_verbose_stays_below_the_published_limits():
    text = answer("verbose", messages(FULL.history, "design"))
    assert 380 < len(text.decision["reason"]) <= 400
    assert 1_900 < len(text.decision["notes"]) <= 2_000
    assert text.text.count("```") == 2
    assert not text.text.startswith("{")


def test_malformed_answers_differ_and_every_third_is_sound():
    prompts = [messages(FULL.history, model_calls=left) for left in range(42)]
    answers = [answer("malformed", prompt) for prompt in prompts]
    sound = [found for found in answers if found.decision is not None]
    broken = {found.text for found in answers if found.decision is None}
    assert len(sound) == 14
    assert len(broken) >= 14
    assert any("1e999" in text for text in broken)
    assert any("\ud83d" in text for text in broken)


def test_the_hostile_asks_for_what_is_not_there():
    asked = [decided("hostile", messages(PLANTED.history, model_calls=left)) for left in range(60)]
    names = {each.get("name") or each["action"]["action"] for each in asked}
    assert {"read_file", "oracle", "set_prices"} <= names
    assert all("SYSTEM" in each["reason"] for each in asked)


LEAVES = st.sampled_from(
    [None, True, 0, 1, -1, 1.5, 182.0, 365, 1e999, 10**400, "", "idle", "full", [], {}, [[]], [1]]
)


def objects(*names):
    """Objects with some of these members, sensible or not."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, LEAVES))


POLICIES = objects(*POLICY_FIELDS)
CROPS = st.lists(objects("unit", "run_index", "start_day", "closed", "margin_eur_m2"), max_size=3)
TASKS = st.fixed_dictionaries(
    {
        "calendar": objects("campaign_days", "crop_days", "cleaning_days", "latest_start_day"),
        "compartments": objects("count"),
        "policy": st.fixed_dictionaries({"fields": st.lists(objects("name", "min", "max"))}),
        "prices": objects("fruit_eur_per_kg_fresh", "electricity_eur_per_kwh"),
        "feedback": st.just({"mode": "full"}) | LEAVES,
        "channels": LEAVES,
    }
)
STATES = st.fixed_dictionaries(
    {
        "day": st.sampled_from([0.0, 30, 60.0, 91, 182.0, 272.0, 365]) | LEAVES,
        "crops": CROPS | st.lists(st.fixed_dictionaries({"policy": POLICIES})) | LEAVES,
        "compartments": st.lists(objects("unit", "phase"), max_size=3) | LEAVES,
        "left": objects("calls", "tool_calls", "model_calls"),
    }
)
RESULTS = st.fixed_dictionaries(
    {"result": objects("predictions", "policies", "typical_error_eur_m2", "unit", "run_index")}
)


STAGES = ("initial", "design", "season", "final", "probe", "reading", "?", None)


@settings(max_examples=200)
@given(
    task=TASKS,
    state=STATES,
    latest=RESULTS | LEAVES,
    said=st.text(max_size=20) | objects("type", "action", "name").map(json.dumps),
)
def test_nothing_that_is_missing_or_odd_makes_a_script_fail(task, state, latest, said):
    for script, stage in itertools.product(SCRIPTS, STAGES):
        final = {"stage": stage, "state": state, "latest_result": latest, "packet": latest}
        prompt = [
            {"role": "system", "content": json.dumps({"actions": [], **task})},
            {"role": "assistant", "content": said},
            {"role": "user", "content": json.dumps(final)},
        ]
        found = answer(script, prompt)
        assert found == answer(script, json.loads(json.dumps(prompt)))
        json.dumps(found.decision)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    "prompt",
    [
        [],
        [{"role": "user"}],
        [{"role": "user", "content": [{"type": "text", "text": "{"}]}],
        [{"content": 4}, {"role": 3, "content": None}],
        [{"role": "user", "content": "{" * 3_000}],
    ],
)
def test_prompts_of_another_form_get_some_answer(script, prompt):
    assert answer(script, prompt) == answer(script, prompt)
