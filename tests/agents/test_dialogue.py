"""Dialogues: what is recorded and booked, in which order, and how they go on after anything."""

import json
from contextlib import ExitStack

import pytest

from slowlab.agents.books import Caps
from slowlab.agents.firewall import FirewallError
from slowlab.agents.messages import FunctionCall, Stage, Usage
from slowlab.agents.outages import CapReachedError, OutageError
from slowlab.agents.transcript import Transcript, read_transcript
from slowlab.agents.transcript_format import TranscriptKind, superseded_path, timing_path
from tests.agents.dialogues import HEADER, Desk, ScriptedClient, failure, question, reply
from tests.agents.model_configs import model

QUESTIONS = [question(n) for n in range(3)]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def plain(tmp_path):
    """A desk at an endpoint that does not honour keys."""
    return Desk(tmp_path, model(idempotency=False))


def records(path):
    return [(str(r.kind), r.payload) for r in read_transcript(path).records]


def kinds(path):
    return [kind for kind, _ in records(path)]


def of_kind(path, kind):
    return [payload for found, payload in records(path) if found == kind]


def test_a_conversation_is_recorded(desk):
    client = ScriptedClient()
    texts = desk.talk(QUESTIONS[:2], client)
    assert texts == [f"answer to {call.messages[-1].content}" for call in QUESTIONS[:2]]
    assert kinds(desk.path) == ["header", *["call", "attempt", "reply", "flag"] * 2]
    (attempt, other), (told, _) = of_kind(desk.path, "attempt"), of_kind(desk.path, "reply")
    assert attempt == {"number": 1, "key": client.sent[0]}
    assert other["key"] == client.sent[1] != client.sent[0]
    assert told["reply"]["text"] == texts[0]
    assert (told["cost_usd"], told["cost_source"]) == (0.00012, "price_table")
    assert (told["number"], told["used_although"]) == (1, None)
    with desk.purse() as purse:
        totals = purse.totals()
    assert (totals.calls, totals.reserved_calls, totals.spent_usd) == (2, 0, 0.00024)
    assert totals.characters == sum(call.characters for call in QUESTIONS[:2])


def test_functions_that_were_called_come_back(desk):
    calls = (FunctionCall("advance", '{"day": 3}'),)
    came = reply("", function_calls=calls)
    with ExitStack() as stack:
        dialogue = desk.open(ScriptedClient([came]), stack)
        assert dialogue.ask(Stage.SEASON, QUESTIONS[0]) == came
    with ExitStack() as stack:
        client = ScriptedClient()
        assert desk.open(client, stack).ask(Stage.SEASON, QUESTIONS[0]) == came
    assert client.sent == []


def test_every_step_is_durable_before_the_next(desk, monkeypatch):
    """When the request leaves, call and attempt are on record and the worst case is booked."""
    seen = []

    def look():
        with desk.purse() as purse:
            seen.append((kinds(desk.path), purse.totals()))

    desk.talk(QUESTIONS[:1], ScriptedClient(on_send=look))
    ((recorded, totals),) = seen
    assert recorded == ["header", "call", "attempt"]
    assert (totals.reserved_calls, totals.spent_usd) == (1, 0)
    assert totals.reserved_usd == desk.config.worst_case_usd(QUESTIONS[0])


def test_a_finished_conversation_is_followed_without_sending(desk):
    first = desk.talk(QUESTIONS, ScriptedClient())
    before = desk.files()
    client = ScriptedClient()
    assert desk.talk(QUESTIONS, client) == first
    assert client.sent == []
    assert desk.files() == before


def test_an_interrupted_conversation_goes_on(desk, tmp_path):
    whole = Desk(tmp_path / "whole")
    whole.folder.mkdir()
    whole.talk(QUESTIONS, ScriptedClient())
    desk.talk(QUESTIONS[:2], ScriptedClient())
    client = ScriptedClient()
    desk.talk(QUESTIONS, client)
    assert len(client.sent) == 1
    assert desk.path.read_bytes() == whole.path.read_bytes()


def test_another_prompt_sets_the_rest_aside_and_asks_again(desk, caplog):
    desk.talk(QUESTIONS, ScriptedClient())
    old = desk.path.read_bytes()
    client = ScriptedClient()
    desk.talk([QUESTIONS[0], question(9), QUESTIONS[2]], client)
    assert len(client.sent) == 2
    assert superseded_path(desk.path, 1).read_bytes() == old
    assert "8 records with 2 answered calls are superseded" in caplog.text
    with desk.purse() as purse:
        assert purse.totals().calls == 5  # what is set aside stays paid


def test_another_note_sets_the_rest_aside_too(desk):
    desk.talk(QUESTIONS, ScriptedClient(), notes=["same", "old"])
    client = ScriptedClient()
    desk.talk(QUESTIONS, client, notes=["same", "new"])
    assert len(client.sent) == 1
    assert [flag["detail"] for flag in of_kind(desk.path, "flag")] == ["same", "new", "after 2"]


def test_failures_are_recorded_and_waited_for(plain):
    client = ScriptedClient(
        [
            failure("rate_limited", retry_after_s=7.0, maybe_billed=False),
            failure("connection_lost"),
            reply("at last"),
        ]
    )
    assert plain.talk(QUESTIONS[:1], client) == ["at last"]
    assert plain.slept == [7.0, 4.0]
    assert len(set(client.sent)) == 3
    limited, lost = of_kind(plain.path, "failed_attempt")
    assert (limited["fault"], limited["cost_usd"], limited["cost_source"]) == (
        "rate_limited",
        0.0,
        "not_billed",
    )
    assert (lost["number"], lost["cost_usd"], lost["cost_source"]) == (2, None, "unknown")
    with plain.purse() as purse:
        totals = purse.totals()
    assert (totals.calls, totals.unknown_calls, totals.reserved_calls) == (3, 1, 0)


@pytest.mark.parametrize("fault", ["connection_lost", "cut_body", "timed_out", "server_error"])
def test_an_unseen_answer_is_asked_for_under_the_same_key(desk, fault):
    """Where keys are honoured, whatever became of the first attempt, it is billed once."""
    desk.talk(QUESTIONS[:1], client := ScriptedClient([failure(fault), failure(fault)]))
    assert len(client.sent) == 3
    assert len(set(client.sent)) == 1
    with desk.purse() as purse:
        totals = purse.totals()
    assert (totals.calls, totals.unknown_calls, totals.spent_usd) == (1, 0, 0.00012)


def test_a_doubtful_key_is_kept_until_an_answer_comes(desk):
    """An attempt that was surely not billed does not settle the one before it."""
    script = [failure("timed_out"), failure("rate_limited", maybe_billed=False)]
    desk.talk(QUESTIONS[:1], client := ScriptedClient(script))
    assert len(set(client.sent)) == 1


@pytest.mark.parametrize("fault", ["garbled", "rate_limited", "length_stop", "empty"])
def test_after_an_answer_or_a_refusal_the_next_attempt_has_its_own_key(desk, fault):
    came = reply("half") if fault in ("length_stop", "empty") else None
    billed = fault != "rate_limited"
    error = failure(fault, reply=came, maybe_billed=billed)
    desk.talk(QUESTIONS[:1], client := ScriptedClient([error]))
    assert len(set(client.sent)) == 2
    with desk.purse() as purse:
        assert purse.totals().reserved_calls == 0


def test_what_an_endpoint_is_said_to_honour_may_change_later(desk, tmp_path):
    """Recorded keys are taken as they are: nothing is asked again."""
    desk.talk(QUESTIONS, ScriptedClient([failure("timed_out")]))
    client = ScriptedClient()
    Desk(tmp_path, model(idempotency=False)).talk(QUESTIONS, client)
    assert client.sent == []
    assert not superseded_path(desk.path, 1).exists()


def test_a_cut_answer_is_used_in_the_end(desk):
    script = [failure("length_stop", reply=reply(text)) for text in ("one", "two")]
    assert desk.talk(QUESTIONS[:1], ScriptedClient(script)) == ["two"]
    (told,) = of_kind(desk.path, "reply")
    assert (told["number"], told["used_although"]) == (2, "length_stop")
    (failed,) = of_kind(desk.path, "failed_attempt")
    assert (failed["reply"]["text"], failed["cost_usd"]) == ("one", 0.00012)
    with desk.purse() as purse:
        assert purse.totals().spent_usd == 0.00024


def test_an_answer_from_elsewhere_is_never_used(desk):
    script = [failure("wrong_model", reply=reply("from elsewhere")) for _ in range(2)]
    with pytest.raises(OutageError, match=r"no answer in 2 attempt\(s\)"):
        desk.talk(QUESTIONS[:1], ScriptedClient(script))
    assert kinds(desk.path)[-2:] == ["attempt", "failed_attempt"]


def test_a_refusal_is_an_outage_at_once(desk):
    with pytest.raises(OutageError, match=r"tested gave no answer in 1 attempt\(s\).*refused"):
        desk.talk(QUESTIONS, client := ScriptedClient([failure("refused", maybe_billed=False)]))
    assert len(client.sent) == 1
    assert desk.slept == []


def test_earlier_runs_do_not_try_the_patience_of_this_one(desk):
    down = [failure("server_error") for _ in range(desk.config.retries.attempts)]
    with pytest.raises(OutageError):
        desk.talk(QUESTIONS, ScriptedClient(down))
    client = ScriptedClient([failure("server_error")])
    assert len(desk.talk(QUESTIONS, client)) == 3
    numbers = [attempt["number"] for attempt in of_kind(desk.path, "attempt")]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 1, 1]
    client = ScriptedClient()
    desk.talk(QUESTIONS, client)
    assert client.sent == []


def test_nothing_is_sent_beyond_a_cap(desk):
    desk.caps = Caps(calls=1)
    with pytest.raises(CapReachedError):
        desk.talk(QUESTIONS, client := ScriptedClient())
    assert len(client.sent) == 1
    assert kinds(desk.path)[-2:] == ["call", "attempt"]
    desk.caps = Caps()
    desk.talk(QUESTIONS, client := ScriptedClient())
    assert len(client.sent) == 2
    with desk.purse() as purse:
        assert purse.totals().calls == 3


def test_a_cap_holds_without_honoured_keys_too(plain):
    plain.caps = Caps(calls=1)
    with pytest.raises(CapReachedError):
        plain.talk(QUESTIONS, ScriptedClient())
    plain.caps = Caps(calls=2)
    with pytest.raises(CapReachedError):
        plain.talk(QUESTIONS, client := ScriptedClient())
    assert len(client.sent) == 1
    with plain.purse() as purse:
        totals = purse.totals()
    assert (totals.calls, totals.unknown_calls) == (2, 0)  # the refused attempt was never sent


def test_a_price_that_is_unknown_is_never_nothing(tmp_path):
    desk = Desk(tmp_path, model(price=None))
    desk.talk(QUESTIONS[:1], ScriptedClient())
    (told,) = of_kind(desk.path, "reply")
    assert (told["cost_usd"], told["cost_source"]) == (None, "unknown")
    with desk.purse() as purse:
        assert purse.totals().unknown_calls == 1


def test_the_endpoint_s_own_cost_counts(desk):
    came = reply("dear", Usage(100, 10, cost_usd=0.5))
    desk.talk(QUESTIONS[:1], ScriptedClient([came]))
    (told,) = of_kind(desk.path, "reply")
    assert (told["cost_usd"], told["cost_source"]) == (0.5, "reported")


def test_a_purse_that_was_lost_is_filled_again(desk):
    desk.talk(QUESTIONS, ScriptedClient())
    (desk.folder / "purse").unlink()
    desk.talk(QUESTIONS, ScriptedClient())
    with desk.purse() as purse:
        assert purse.totals().spent_usd == pytest.approx(0.00036)


def test_a_transcript_that_was_lost_is_paid_for_again(plain):
    """The same keys come again; without honoured keys that is a second bill, and booked as one."""
    plain.talk(QUESTIONS, ScriptedClient())
    for name in plain.files():
        (plain.folder / name).unlink()
    plain.talk(QUESTIONS, ScriptedClient())
    with plain.purse() as purse:
        totals = purse.totals()
    assert totals.calls == 6
    assert totals.spent_usd == pytest.approx(0.00072)


def test_a_blocked_call_is_noted_and_never_sent(desk):
    desk.hidden = [("hidden", 0.7869595806646925)]
    leak = question(1, instruction="The cover lets 78.696 % through.")
    client = ScriptedClient()
    for _ in range(2):  # a second run ends at the same place and writes nothing more
        with pytest.raises(FirewallError):
            desk.talk([QUESTIONS[0], leak], client)
        assert kinds(desk.path) == ["header", "call", "attempt", "reply", "flag", "flag"]
    assert len(client.sent) == 1
    blocked = of_kind(desk.path, "flag")[-1]
    assert blocked["flag"] == "blocked"
    assert blocked["detail"].endswith("numbers, message 2 (user).instruction")


def test_once_the_leak_is_mended_the_conversation_goes_on(desk):
    with pytest.raises(FirewallError):
        desk.talk([QUESTIONS[0], question(1, state={"lai_max": 3})], ScriptedClient())
    client = ScriptedClient()
    desk.talk([QUESTIONS[0], QUESTIONS[1]], client)
    assert len(client.sent) == 1
    assert "blocked" not in [flag["flag"] for flag in of_kind(desk.path, "flag")]


def test_twins_have_equal_transcripts(tmp_path):
    """What is hidden differs, what is public does not: not a byte differs."""
    files = []
    for name, value in [("one", 0.7869595806646925), ("other", 0.8812345678901234)]:
        (tmp_path / name).mkdir()
        desk = Desk(tmp_path / name, hidden=[("cover", value), ("noise_seed", int(value * 1e18))])
        script = [failure("rate_limited", maybe_billed=False)]
        desk.talk(QUESTIONS, ScriptedClient(script))
        files.append(desk.files())
    assert files[0] == files[1]


def test_times_stand_beside_the_transcript(desk):
    desk.talk(QUESTIONS[:1], client := ScriptedClient([failure("timed_out")]))
    rows = [json.loads(line) for line in timing_path(desk.path).read_text().splitlines()]
    assert [(row["number"], row["outcome"]) for row in rows] == [(1, "timed_out"), (2, "reply")]
    assert [row["key"] for row in rows] == client.sent
    assert all(row["seconds"] >= 0 for row in rows)
    assert not {"began", "seconds"} & set(json.dumps(records(desk.path)).split('"'))


def test_times_that_cannot_be_written_stop_nothing(desk):
    timing_path(desk.path).mkdir()
    assert len(desk.talk(QUESTIONS, ScriptedClient())) == 3


def test_a_record_out_of_place_is_set_aside(desk, caplog):
    """A transcript whose writer lost an answer, as no writer of ours does."""
    with ExitStack() as stack:
        dialogue = desk.open(ScriptedClient(), stack)
        dialogue.ask(Stage.SEASON, QUESTIONS[0])
        dialogue.note(TranscriptKind.FLAG, {"flag": "x", "detail": ""})
    kept = [r for r in read_transcript(desk.path).records if r.kind is not TranscriptKind.REPLY]
    other = desk.folder / "other"
    with Transcript.open(other, HEADER) as transcript:
        for record in kept[1:]:
            transcript.put(record.kind, record.payload)
    with ExitStack() as stack:
        dialogue = desk.open(client := ScriptedClient(), stack, other)
        dialogue.ask(Stage.SEASON, QUESTIONS[0])
    assert len(client.sent) == 1
    assert "a flag is recorded where an attempt belongs" in caplog.text
    assert kinds(other) == ["header", "call", "attempt", "reply"]
