"""The reader that is a language model: what it is told, what counts, and what does not."""

import json

import pytest
from hypothesis import given, settings

from slowlab.agents.firewall import FirewallError
from slowlab.agents.messages import Role
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.history import History
from slowlab.campaign.settlement import FallbackReason
from slowlab.canonical import canonical_json
from slowlab.readers._base import Reading
from slowlab.readers.packet_view import packet_view
from slowlab.readers.packets import PacketError
from slowlab.world.economics import Prices
from tests.campaign.moves import advance, observe, ok, start
from tests.readers.played import fallback, packet_of, played, write_artifacts
from tests.readers.readings import (
    ANSWER,
    SEED,
    Talk,
    call_of,
    first_prompt,
    profile_of,
    recommended,
)
from tests.readers.test_packet_view import with_days
from tests.readers.test_packets import reads
from tests.tools.campaigns import (
    AIR,
    HEAT,
    PLANTED,
    open_campaign,
    played_campaign,
    rebuilt,
)


@pytest.fixture(scope="module")
def packet():
    return packet_of(played_campaign().history)


def question(call) -> dict:
    return json.loads(call.messages[-1].content)


def test_the_model_gets_the_task_with_its_prices_and_the_packet_and_its_policy_counts():
    prices = Prices(
        fruit_eur_per_kg_fresh=2.375,
        electricity_eur_per_kwh=0.31,
        delivered_heat_eur_per_kwh=0.11,
        co2_eur_per_kg=0.27,
    )
    packet = packet_of(played_campaign(prices=prices).history)
    talk = Talk([recommended(reason="why not")])
    assert talk.reader().read(packet) == Reading(ANSWER)
    (call,) = talk.calls
    system, user = call.messages
    assert (system.role, user.role, call.seed) == (Role.SYSTEM, Role.USER, SEED)
    (task,) = [line for line in system.content.splitlines() if line.startswith('{"actions":')]
    assert task == canonical_json(packet.task)
    assert '"fruit_eur_per_kg_fresh":2.375' in task
    assert "Somebody else" in system.content
    asked = question(call)
    assert asked.keys() == {"stage", "packet", "instruction"}
    assert asked["stage"] == "reading"
    assert asked["packet"] == packet_view(packet, 10**9)
    assert user.content == canonical_json(asked)


def test_the_prompt_tells_neither_the_method_nor_the_fallback(tmp_path):
    seen, _ = played("two_wave_sobol", write_artifacts(tmp_path))
    prompt = first_prompt(packet_of(seen))
    for words in ("two_wave", "sobol", '"fallback"', canonical_json(fallback().model_dump())):
        assert words not in prompt
    told = first_prompt(packet_of(seen), told_reference=True)
    assert canonical_json(fallback().model_dump()) in told


def test_a_prompt_with_a_hidden_value_is_stopped_by_the_firewall(packet):
    margin = packet.crops[0].margin_eur_m2
    talk = Talk([recommended()])
    talk.firewall = type(talk.firewall)([("draws.leaf", margin)])
    with pytest.raises(FirewallError):
        talk.reader().read(packet)
    assert talk.calls == []


def test_equal_packets_give_equal_prompts_whatever_the_order_of_keys(packet):
    again = packet_of(rebuilt(played_campaign().history))
    assert first_prompt(again) == first_prompt(packet)


def test_the_policy_is_taken_by_name(packet):
    fields = dict(reversed(ANSWER.model_dump().items()))
    reply = json.dumps({"policy": fields, "type": "recommendation"})
    assert Talk([reply]).reader().read(packet) == Reading(ANSWER)


WRONG = {
    "prose": ("I would grow it warmer.", "no_object"),
    "campaign": (
        canonical_json({"type": "campaign", "action": {"action": "recommend"}}),
        "type",
    ),
    "field": (recommended().replace("co2_target_ppm", "co2"), "policy"),
    "range": (recommended().replace("22.5", "99"), "policy"),
    "repeated": ('{"type":"recommendation","type":"recommendation"}', "duplicate_key"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_is_fed_back_and_the_next_answer_counts(packet, case):
    said, code = WRONG[case]
    talk = Talk([said, recommended()])
    reader = talk.reader()
    assert reader.read(packet) == Reading(ANSWER)
    first, second = talk.calls
    assert second.messages[:2] == first.messages
    assert second.messages[2].role is Role.ASSISTANT
    assert second.messages[2].content == (said or "(no text)")
    asked = question(second)
    assert asked.keys() == {"stage", "latest_result", "instruction"}
    assert asked["latest_result"]["error"]["reason"] == code
    kinds = [kind for kind, _ in talk.notes]
    assert kinds == [TranscriptKind.ERROR, TranscriptKind.ENDING]
    assert talk.notes[0][1]["code"] == code
    assert (reader.counts.model_calls, reader.counts.format_errors) == (2, 1)


def test_after_three_answers_that_are_none_the_fallback_counts_and_is_flagged(packet):
    talk = Talk(["no"] * 4)
    reading = talk.reader().read(packet)
    assert reading == Reading(fallback(), FallbackReason.INVALID_RECOMMENDATION)
    assert len(talk.calls) == 3
    kind, ending = talk.notes[-1]
    assert kind is TranscriptKind.ENDING
    assert ending["ending"] == "no_recommendation"
    assert ending["counts"] == {
        "model_calls": 3,
        "prompt_characters": sum(call.characters for call in talk.calls),
        "format_errors": 3,
    }


def test_the_number_of_attempts_is_that_of_the_profile(packet):
    talk = Talk(["no"] * 5)
    talk.reader(budgets={"reading_attempts": 5}).read(packet)
    assert len(talk.calls) == 5


def test_the_profile_decides_the_form_of_the_reply(packet):
    talk = Talk([recommended(), call_of()])
    assert talk.reader(reply_format="function_calls").read(packet) == Reading(ANSWER)
    assert [item["name"] for item in talk.calls[0].functions] == ["recommendation"]
    assert talk.calls[0].response_schema is None
    held = Talk([recommended()])
    held.reader(reply_format="json_schema").read(packet)
    assert held.calls[0].response_schema["properties"].keys() == {"type", "policy", "reason"}
    assert held.calls[0].functions == ()


def test_a_long_packet_is_thinned_so_that_every_attempt_fits(packet):
    long = with_days(packet, *[365] * 30)
    talk = Talk(["x" * 5_000] * 3)
    talk.reader().read(long)
    limit = profile_of().budgets.characters_per_prompt
    assert max(call.characters for call in talk.calls) <= limit
    assert talk.calls[0].characters > 0.7 * limit
    assert "thinned" in question(talk.calls[0])["packet"]


def test_prompts_that_are_too_short_for_any_packet_are_an_error_that_says_what_to_change(packet):
    small = {"characters_per_prompt": 16_000, "reading_attempts": 2}
    long = with_days(packet, *[2] * 60)
    with pytest.raises(PacketError, match="characters_per_prompt of the harness profile tested"):
        Talk([]).reader(budgets=small).read(long)


def rows_of(reply) -> list[dict]:
    return reply["records"]["rows"]


def check_told(asked, history_class=History):
    """Every day of every reply stands in the prompt, with at least as many readings."""
    run = open_campaign()
    for unit, item in enumerate(PLANTED):
        ok(run.dispatch(start(unit, item.model_dump())))
    ok(run.dispatch(advance(30)))
    told = []
    for unit, variable, resolution, day, more in asked:
        window = {"start_day": day, "end_day": day + more, "resolution": resolution}
        reply = ok(run.dispatch(observe(unit, variable=variable, **window)))
        if resolution == "daily":
            rows = [(row["day"], row["n"], row["min"], row["max"]) for row in rows_of(reply)]
        else:
            days = [row["time_s"] // 86_400 for row in rows_of(reply)]
            values = [row["value"] for row in rows_of(reply)]
            rows = [
                (day, len(those), min(those), max(those))
                for day in sorted(set(days))
                for those in [[v for d, v in zip(days, values, strict=True) if d == day]]
            ]
        told += [(unit, variable, *row) for row in rows]
    seen = history_class(run.history.task)
    for item in run.history.exchanges:
        seen.add(item.action, item.reply)
    talk = Talk([recommended()])
    talk.reader().read(packet_of(seen))
    shown = {
        (series["unit"], series["variable"], row["day"]): row
        for series in question(talk.calls[0])["packet"]["readings"]
        for row in series["days"]
    }
    for unit, variable, day, n, low, high in told:
        row = shown.get((unit, variable, day), {"n": 0})
        assert row["n"] >= n, "not told"
        assert row["min"] <= low
        assert row["max"] >= high


@settings(max_examples=12, deadline=None)
@given(asked=reads)
def test_whatever_was_read_raw_or_daily_is_told_to_the_model(asked):
    check_told(asked)


def test_a_history_that_ignores_daily_rows_would_be_noticed():
    class RawOnly(History):
        def daily(self, unit, variable):
            rows = self._days_of_raw(unit, variable)
            return [rows[day] for day in sorted(rows)]

    check_told([(0, AIR, "raw", 3, 1)], RawOnly)
    with pytest.raises(AssertionError, match="not told"):
        check_told([(0, HEAT, "daily", 3, 1)], RawOnly)
