"""What prompts say: the site's own public values in every stage, and nothing that cannot work."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from slowlab.agents.firewall import Firewall
from slowlab.agents.messages import Role, Stage
from slowlab.agents.rendering import Rendering
from slowlab.canonical import canonical_json
from slowlab.config import override
from slowlab.world.economics import Prices
from slowlab.world.task import Feedback
from tests.agents.harness_play import (
    COOL,
    DONE,
    FINISH,
    INITIAL,
    LAST_DAY,
    POLICY,
    RECOMMEND,
    RULES,
    WARM,
    advance,
    as_function,
    campaign,
    in_order,
    play,
    profile,
    start,
    system_task,
    text_of,
    tool,
)
from tests.campaign.fake_facility import Hidden

PRICES = Prices(
    fruit_eur_per_kg_fresh=2.37,
    electricity_eur_per_kwh=0.291,
    delivered_heat_eur_per_kwh=0.083,
    co2_eur_per_kg=0.31,
)
OTHER_YEAR = override(RULES, {"calendar.campaign_days": 364, "calendar.latest_start_day": 182})
PROBED = profile(probe_days=[30])
SEASON = [
    advance(30),
    campaign("observe", unit=0, reason="look"),
    {**advance(182), "notes": "half", "incumbent": WARM},
    campaign("observe", unit=1, run_index=1),
    start(0, WARM),
    "that is no answer",
    campaign("stop", unit=3),
    tool("predict", policies=[]),
]
READ = campaign("observe", unit=0, variable="air_temperature_c", resolution="daily")


def model(final=None, *, reads=False, last_day=LAST_DAY):
    """A model that does something of everything, and whose last recommendation is asked for."""
    season = [*SEASON[:2], *([READ] * reads), *SEASON[2:], advance(last_day)]
    rest = iter(season)
    design = iter([start(0), start(1, WARM), tool("runs"), DONE])

    def answer(stage, call):
        if stage is Stage.INITIAL:
            return INITIAL
        if stage is Stage.DESIGN:
            return next(design)
        if stage is Stage.PROBE:
            return {"type": "recommendation", "policy": COOL, "reason": "so far"}
        return next(rest, final or RECOMMEND)

    return answer


def whole(used=PROBED, **changes):
    return play(
        model(reads=changes.get("feedback", Feedback.FULL) is Feedback.FULL), used, **changes
    )


def closed(**changes):
    """A campaign whose last recommendation is asked for by a compact prompt."""
    used = profile(
        prompt_characters=200_000, characters_per_prompt=20_000, endgame_reserve_characters=40_000
    )
    said = in_order(itertools.repeat(campaign("observe", unit=0)))
    return play(
        lambda stage, call: RECOMMEND if stage is Stage.FINAL else said(stage, call),
        used,
        **changes,
    )


@pytest.mark.parametrize("mode", [Feedback.FULL, Feedback.ENDPOINT, Feedback.DELAYED])
def test_every_stage_tells_the_sites_own_prices_years_and_budgets(mode):
    """The initial recommendation and the design too, for which the mode is not known yet."""
    played = play(model(last_day=364), PROBED, feedback=mode, prices=PRICES, rules=OTHER_YEAR)
    assert set(played.stages()) == {"initial", "design", "season", "probe"}
    task = played.executor.task()
    for _, call in played.dialogue.asked:
        told = system_task(call)
        for part in ("prices", "calendar", "budgets", "policy", "scoring", "compartments", "rules"):
            assert told[part] == task[part]
        assert told["prices"]["electricity_eur_per_kwh"] == 0.291
        assert told["calendar"]["campaign_days"] == 364
    (first, *_), season = played.calls(Stage.INITIAL), played.calls(Stage.SEASON)
    assert system_task(season[0]) == task
    assert system_task(first)["feedback"]["mode"] == "assigned after the day-0 design"


def test_the_compact_prompt_tells_prices_and_bounds_too():
    played = closed(prices=PRICES)
    (final,) = played.calls(Stage.FINAL)
    task, told = played.executor.task(), system_task(final)
    for part in ("prices", "calendar", "policy", "scoring", "feedback", "compartments"):
        assert told[part] == task[part]
    assert [row["action"] for row in told["actions"]] == ["recommend"]


def test_the_budgets_of_the_harness_are_told_as_they_are_in_force():
    used = profile(model_calls=77, notes_characters=555, reason_characters=111, identical_errors=9)
    system = play(in_order(FINISH), used).calls(Stage.SEASON)[0].messages[0].content
    for words in (
        "at most 77 replies",
        "at most 5000000 characters",
        "up to 555 characters",
        "111 characters of it",
        "9 identical errors",
        "Only the 6 latest results",
        "more than 300 characters",
        "When 2 calls or 1 decision call(s)",
        "fewer than 100000 characters",
    ):
        assert words in system


READING = re.compile(r"record|daily|channel|series|predict_crop|reading", re.IGNORECASE)


@pytest.mark.parametrize("name", ["digest_notes", "function_calls", "full_transcript"])
def test_endpoint_prompts_do_not_speak_of_what_cannot_be_read_there(name):
    """Beside the task's own words on what the mode means."""
    said, calls = model(), name == "function_calls"

    def answer(stage, call):
        reply = said(stage, call)
        return as_function(reply) if calls and not isinstance(reply, str) else reply

    played = play(answer, profile(name, probe_days=[30]), feedback=Feedback.ENDPOINT)
    assert played.ending == "recommended"
    meaning = played.executor.task()["feedback"]["meaning"]
    rules = canonical_json(played.executor.task()["rules"])
    for call in [*played.calls(Stage.SEASON), *played.calls(Stage.PROBE)]:
        text = text_of(call).replace(meaning, "").replace(rules, "")
        assert READING.findall(text) == []


def test_full_prompts_show_how_records_are_read():
    system = whole().calls(Stage.SEASON)[0].messages[0].content
    assert '"resolution":"daily"' in system
    assert "predict_crop_outcome" in system


def test_nothing_is_said_to_a_model_that_the_firewall_stops():
    firewall = Firewall()
    for played in (
        whole(),
        whole(feedback=Feedback.ENDPOINT),
        whole(profile(told_reference=True, probe_days=[0]), reference=RULES.fixed_reference),
        whole(profile("full_transcript")),
        whole(profile("digest_only", reply_format="json_schema")),
        closed(),
    ):
        for _, call in played.dialogue.asked:
            firewall.check_call(call)


def test_functions_and_schemas_pass_the_firewall():
    firewall = Firewall()
    for form in ("function_calls", "json_schema"):
        for _, call in play(lambda stage, call: "hm", profile(form)).dialogue.asked:
            assert (call.response_schema is None) == (form == "function_calls")
            assert bool(call.functions) == (form == "function_calls")
            firewall.check_call(call)


def test_equal_campaigns_have_equal_prompts():
    assert whole().dialogue.asked == whole().dialogue.asked
    assert whole().dialogue.notes == whole().dialogue.notes


def test_the_order_of_keys_in_replies_changes_no_prompt():
    def backwards(data):
        if isinstance(data, dict):
            return {key: backwards(data[key]) for key in reversed(data)}
        return [backwards(item) for item in data] if isinstance(data, list) else data

    said = model()
    turned = play(lambda stage, call: backwards(said(stage, call)), PROBED)
    straight = play(model(), PROBED)
    assert turned.dialogue.asked == straight.dialogue.asked
    assert turned.dialogue.notes == straight.dialogue.notes


def test_what_stands_around_a_reply_changes_no_prompt():
    said = model()

    def fenced(stage, call):
        reply = said(stage, call)
        body = reply if isinstance(reply, str) else f"```json\n{json.dumps(reply, indent=2)}\n```"
        return body if isinstance(reply, str) else f"So:\n{body}\nThat is it."

    assert play(fenced, PROBED).dialogue.asked == play(model(), PROBED).dialogue.asked


def test_nothing_hidden_about_the_facility_changes_a_prompt():
    other = Hidden(transpiration=99.5, poles=7, seed=1, standby_heat=0.5)
    one, changed = whole(), whole(hidden=other)
    assert one.executor.settle().private != changed.executor.settle().private
    assert one.dialogue.asked == changed.dialogue.asked


def test_what_a_model_sees_does_change_prompts():
    assert whole().dialogue.asked != whole(growth=1.1).dialogue.asked


def test_a_prompt_ends_with_one_line_of_canonical_json():
    for _, call in whole().dialogue.asked:
        last = call.messages[-1]
        assert last.role is Role.USER
        assert "\n" not in last.content
        told = json.loads(last.content)
        assert canonical_json(told) == last.content
        assert set(told) == {"stage", "state", "latest_result", "instruction"}


def test_probes_are_asked_apart_and_only_logged():
    used, without = profile(probe_days=[10, 30, 60, 365]), profile()
    probed, plain = whole(used), whole(without)
    assert probed.stages().count("probe") == 3
    assert [note["day"] for note in probed.noted("probe")] == [30, 182, 365]
    assert probed.noted("probe")[0] == {"day": 30, "policy": COOL, "reason": "so far"}
    assert probed.noted("incumbent") == plain.noted("incumbent")
    assert probed.noted("exchange") == plain.noted("exchange")
    assert probed.harness.counts.probes == 3
    assert probed.harness.counts.model_calls == plain.harness.counts.model_calls + 3
    said = [call.messages[:-1] for call in probed.calls(Stage.SEASON)]
    assert said == [call.messages[:-1] for call in plain.calls(Stage.SEASON)]
    told = probed.last_messages(Stage.PROBE)[0]
    assert told["instruction"].startswith("If the campaign ended now")
    assert told["latest_result"]["result"]["day"] == 30


def test_a_probe_without_an_answer_is_logged_as_such():
    said = model()
    played = play(
        lambda stage, call: "hm" if stage is Stage.PROBE else said(stage, call),
        profile(probe_days=[0], probe_attempts=2),
    )
    assert played.noted("probe") == [{"day": 0, "policy": None, "reason": None}]
    assert played.stages().count("probe") == 2
    assert played.harness.counts.format_errors == 3


def test_probes_never_take_the_last_model_call():
    played = play(in_order([], tool("runs")), profile(probe_days=[0], model_calls=3))
    assert played.stages() == ["initial", "design", "season"]


def test_the_reference_is_told_only_where_the_profile_says_so():
    reference = RULES.fixed_reference
    line = canonical_json(reference.model_dump())
    told = whole(profile(told_reference=True), reference=reference)
    assert all(line in call.messages[0].content for _, call in told.dialogue.asked)
    for _, call in whole(reference=reference).dialogue.asked:
        assert line not in call.messages[0].content.splitlines()
        assert "reference policy" not in call.messages[0].content
    with pytest.raises(ValueError, match="tells a reference"):
        Rendering(profile(told_reference=True))


def test_examples_hold_no_opinion():
    """Their policy is the corner of the allowed range, and no value of the reference."""
    system = whole().calls(Stage.SEASON)[0].messages[0].content
    examples = [json.loads(line) for line in system.splitlines() if line.startswith('{"')][1:]
    policies = [
        part["policy"]
        for reply in examples
        for part in [reply.get("action", {})]
        if "policy" in part
    ]
    bounds = {field["name"]: field["min"] for field in whole().executor.task()["policy"]["fields"]}
    assert policies
    assert all(policy == bounds for policy in policies)
    assert not set(bounds.items()) & set(POLICY.items())


def test_without_the_digest_the_day_and_what_is_left_are_told():
    told = whole(profile("full_transcript")).last_messages(Stage.SEASON)[-1]
    assert set(told["state"]) == {"day", "days_left", "left"}
    system = whole(profile("full_transcript")).calls(Stage.SEASON)[0].messages[0].content
    assert 'In "notes"' not in system
    assert '"notes":"..."' not in system
    assert "latest results are shown in full" not in system


def test_the_digest_alone_says_that_earlier_steps_are_not_shown():
    played = whole(profile("digest_only"))
    assert max(len(call.messages) for _, call in played.dialogue.asked) == 4
    assert "Earlier steps are not shown" in played.calls(Stage.SEASON)[0].messages[0].content
