"""The rules of the wire, without a process: what is answered, what changes, what ends it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from slowlab.campaign import session as session_module
from slowlab.campaign.errors import ErrorKind, Reply
from slowlab.campaign.isolation import ALLOWED_ENVIRONMENT
from slowlab.campaign.journal import Journal, RecordKind, read_journal
from slowlab.campaign.journal_format import JournalStatus
from slowlab.campaign.wire import (
    MAX_LINE_BYTES,
    MAX_PROTOCOL_ERRORS,
    ExitCode,
    Opened,
    Wire,
    WireFault,
)
from slowlab.canonical import canonical_bytes
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import Hidden
from tests.campaign.sessions import POLICY, FakeStepping, advance, fake_session, start

REPOSITORY = Path(__file__).resolve().parents[2]


class Client:
    """Speaks to a wire without a process, and keeps what was said."""

    def __init__(self, session, tools=None):
        self.session = session
        self.wire = Wire(lambda: Opened(session, tools=tools))
        self.next_id = 1
        self.said = []

    def raw(self, line):
        """Send bytes; returns reply and exit code."""
        answer = self.wire.answer(line)
        assert answer.line.endswith(b"\n")
        assert answer.line.count(b"\n") == 1
        reply = json.loads(answer.line)
        assert canonical_bytes(reply) + b"\n" == answer.line
        self.said.append(answer.line)
        return reply, answer.ends

    def send(self, op, **members):
        """Send a request with the next id."""
        number, self.next_id = self.next_id, self.next_id + 1
        reply, ends = self.raw(json.dumps({"id": number, "op": op, **members}).encode())
        assert reply["id"] == number
        return reply, ends

    def act(self, action):
        """Dispatch an action; returns the reply."""
        reply, ends = self.send("dispatch", action=action)
        assert ends is None
        return reply


@pytest.fixture
def client(campaign, tmp_path):
    """A client that has said hello to a fake campaign with a journal."""
    with Journal.open(tmp_path / "journal") as journal:
        made = Client(fake_session(campaign(), FakeStepping(), journal))
        reply, ends = made.send("hello")
        assert reply["ok"]
        assert ends is None
        yield made


def protocol_error(reply, reason):
    assert reply["ok"] is False
    assert reply["error"]["kind"] == "protocol_error"
    assert reply["error"]["reason"] == reason
    return True


def test_a_whole_conversation(client, tmp_path):
    assert client.act(start(0))["result"]["run_index"] == 1
    assert client.act(advance(200))["result"]["day"] == 200
    assert client.act({"action": "observe", "unit": 0})["result"]["crop"]["reason"] == "completed"
    assert client.act(advance(365))["ok"]
    assert client.act({"action": "recommend", "policy": POLICY})["ok"]
    reply, ends = client.send("close")
    assert reply["result"] == {"status": "finished", "day": 365.0, "recommendation_counts": True}
    assert ends is ExitCode.CLOSED
    content = read_journal(tmp_path / "journal")
    assert content.status is JournalStatus.SETTLED
    kinds = [record.kind for record in content.records]
    assert kinds == [RecordKind.HEADER, *[RecordKind.REQUEST, RecordKind.REPLY] * 5, "settlement"]


def test_hello_brings_the_task_and_nothing_else(campaign):
    session = fake_session(campaign(Feedback.ENDPOINT), FakeStepping())
    reply, _ = Client(session).send("hello")
    assert reply["result"] == {"format": "slowlab-wire-1", "task": session.task()}
    assert "channels" not in reply["result"]["task"]


DEEP = b"[" * 100_000
NASTY = {
    "huge number": b'{"id":2,"op":"dispatch","action":{"action":"advance","day":1e999}}',
    "negative huge": b'{"id":2,"op":"dispatch","action":{"action":"advance","day":-1e999}}',
    "nan": b'{"id":2,"op":"dispatch","action":{"action":"advance","day":NaN}}',
    "infinity": b'{"id":2,"op":"dispatch","action":{"action":"advance","day":Infinity}}',
    "key twice": b'{"id":2,"op":"dispatch","action":{"action":"advance","day":10,"day":365}}',
    "id twice": b'{"id":2,"id":2,"op":"close"}',
    "escaped key twice": b'{"id":2,"op":"dispatch","action":{"day":1,"d\\u0061y":2}}',
    "deep lists": DEEP,
    "deep lists, closed": DEEP + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep action": b'{"id":2,"op":"dispatch","action":' + b"[" * 40 + b"]" * 40 + b"}",
    "long number": b'{"id":2,"op":"dispatch","action":{"action":"stop","unit":'
    + b"1" * 5000
    + b"}}",
    "surrogate": b'{"id":2,"op":"dispatch","action":{"action":"stop","unit":"\\ud83d"}}',
    "surrogate as key": b'{"id":2,"op":"dispatch","action":{"\\udc00":1}}',
    "raw surrogate": b'{"id":2,"op":"dispatch","action":{"action":"\xed\xa0\x80"}}',
    "not UTF-8": b'{"id":2,"op":"\xff\xfe"}',
    "byte order mark": b'\xef\xbb\xbf{"id":2,"op":"close"}',
    "not JSON": b"hello",
    "nothing": b"",
    "NUL": b"\x00",
    "half a line": b'{"id":2,"op":"dispa',
    "two objects": b'{"id":2,"op":"close"}{"id":3,"op":"close"}',
    "fenced": b'```json {"id":2,"op":"close"} ```',
    "single quotes": b"{'id':2,'op':'close'}",
}


@pytest.mark.parametrize("name", NASTY)
def test_an_unreadable_line_is_answered_and_changes_nothing(client, tmp_path, name):
    seen = client.session.executor.history.sha256()
    reply, ends = client.raw(NASTY[name])
    assert protocol_error(reply, "unreadable")
    assert reply["id"] is None
    assert ends is None
    assert len(client.said[-1]) < 500
    assert client.session.facility.tick == 0
    assert client.session.executor.history.sha256() == seen
    assert client.act(advance(1))["result"]["day"] == 1
    (tmp_path / "journal").read_bytes().decode("utf-8")
    refused = read_journal(tmp_path / "journal").records[1]
    assert refused.kind is RecordKind.REFUSED
    assert refused.payload["sha256"] == hashlib.sha256(NASTY[name]).hexdigest()


def test_the_next_id_after_an_unreadable_line_may_be_either(client):
    for counted in (False, True, True, False):
        assert protocol_error(client.raw(b"?")[0], "unreadable")
        client.next_id += counted
        assert client.act(advance(0))["ok"]
    client.raw(b"?")
    client.raw(b"?")
    client.next_id += 2
    assert client.act(advance(0))["ok"]


ODD_ACTIONS = {
    "nothing": None,
    "true": True,
    "number": 7,
    "text": "advance",
    "JSON in a text": '{"action":"advance","day":1}',
    "list": [{"action": "advance", "day": 1}],
    "empty": {},
    "no text": {"action": 3},
    "unknown": {"action": "observe_the_future"},
    "emoji": {"action": "\U0001f331\u2028\x00"},
    "boolean unit": {"action": "stop", "unit": True},
    "text unit": {"action": "stop", "unit": "1"},
    "fractional unit": {"action": "stop", "unit": 1.5},
    "boolean day": {"action": "advance", "day": True},
    "text day": {"action": "advance", "day": "5"},
    "list day": {"action": "advance", "day": [5]},
    "huge integer": {"action": "advance", "day": 10**300},
    "negative": {"action": "advance", "day": -1},
    "extra": {"action": "advance", "day": 1, "why": "because"},
    "deep": {"action": "advance", "day": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]},
    "long text": {"action": "advance", "day": "x" * 100_000},
    "boolean in the policy": {
        "action": "start",
        "unit": 0,
        "policy": POLICY | {"co2_target_ppm": True},
    },
}


@pytest.mark.parametrize("name", ODD_ACTIONS)
def test_an_odd_action_is_invalid_and_changes_nothing(client, tmp_path, name):
    reply = client.act(ODD_ACTIONS[name])
    assert reply["ok"] is False
    assert reply["error"]["kind"] == "invalid_action"
    assert client.session.facility.tick == 0
    assert client.session.failure is None
    assert client.act(start(0))["result"]["run_index"] == 1
    (tmp_path / "journal").read_bytes().decode("utf-8")
    read_journal(tmp_path / "journal")


@pytest.mark.parametrize("request_id", [None, True, 2.0, "2", 0, -1, [2], {"id": 2}, 0.5], ids=repr)
def test_an_id_is_a_whole_number(client, request_id):
    line = json.dumps({"id": request_id, "op": "close"}).encode()
    reply, ends = client.raw(line)
    assert protocol_error(reply, "no_request")
    assert (reply["id"], ends) == (None, None)


@pytest.mark.parametrize("line", [b"[]", b"3", b'"close"', b"null", b'{"op":"close"}', b"{}"])
def test_a_line_without_an_id_is_no_request(client, line):
    assert protocol_error(client.raw(line)[0], "no_request")


@pytest.mark.parametrize(
    ("op", "members"),
    [
        ("fly", {}),
        (None, {}),
        (["close"], {}),
        ("dispatch", {}),
        ("close", {"action": {}}),
        ("dispatch", {"action": advance(1), "more": 1}),
        ("HELLO", {}),
        ("tool", {"tool": "runs"}),
        ("tool", {"tool": 3, "arguments": {}}),
        ("tool", {"tool": "runs", "arguments": []}),
    ],
)
def test_a_request_has_exactly_its_members(client, op, members):
    reply, ends = client.send(op, **members)
    assert protocol_error(reply, "no_request")
    assert ends is None
    assert client.act(advance(1))["ok"]


def test_a_tool_is_answered_by_the_campaigns_tools(campaign, tmp_path):
    def tools(call):
        return Reply.success({"tool": call.name, **call.arguments})

    with Journal.open(tmp_path / "a") as journal:
        client = Client(fake_session(campaign(), FakeStepping(), journal), tools)
        call = {"tool": "runs", "arguments": {"n": 3}}
        assert protocol_error(client.send("tool", **call)[0], "wrong_order")
        client.send("hello")
        assert client.send("tool", **call)[0]["result"] == {"tool": "runs", "n": 3}
    kinds = [record.kind for record in read_journal(tmp_path / "a").records]
    assert kinds[-2:] == [RecordKind.TOOL_REQUEST, RecordKind.TOOL_REPLY]
    assert client.session.executor.history.exchanges == ()


def test_a_connection_without_tools_says_so(client):
    reply, ends = client.send("tool", tool="runs", arguments={})
    assert "not offered" in reply["error"]["message"]
    assert ends is None


@pytest.mark.parametrize("wrong", [1, 3, 99])
def test_a_gap_in_the_ids_ends_the_connection(client, tmp_path, wrong):
    """Client and server no longer agree on what was done: nothing is done twice."""
    reply, ends = client.raw(json.dumps({"id": wrong, "op": "close"}).encode())
    assert protocol_error(reply, "wrong_id")
    assert "must be 2" in reply["error"]["message"]
    assert ends is ExitCode.PROTOCOL_ERROR
    assert read_journal(tmp_path / "journal").status is JournalStatus.OPEN


def test_the_order_of_operations(campaign):
    client = Client(fake_session(campaign(), FakeStepping()))
    for op in ("dispatch", "close"):
        members = {"action": advance(1)} if op == "dispatch" else {}
        assert protocol_error(client.send(op, **members)[0], "wrong_order")
    assert client.send("hello")[0]["ok"]
    assert protocol_error(client.send("hello")[0], "wrong_order")
    assert client.act(advance(1))["ok"]


def test_too_many_protocol_errors_end_the_connection(client):
    for _ in range(MAX_PROTOCOL_ERRORS - 1):
        assert client.raw(b"?")[1] is None
    reply, ends = client.raw(b"?")
    assert protocol_error(reply, "too_many_errors")
    assert ends is ExitCode.PROTOCOL_ERROR


def test_too_many_actions_end_the_connection(client, monkeypatch):
    monkeypatch.setattr("slowlab.campaign.session.REQUEST_LIMIT", 5)
    for _ in range(5):
        client.act({"action": "dance"})
    reply, ends = client.send("dispatch", action=advance(1))
    assert protocol_error(reply, "too_many_actions")
    assert ends is ExitCode.PROTOCOL_ERROR


def test_a_failure_ends_the_connection_and_tells_nothing(campaign, tmp_path):
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(fails_at=288), FakeStepping(), journal)
        client = Client(session)
        client.send("hello")
        reply, ends = client.send("dispatch", action=advance(5))
    assert reply["error"]["kind"] == "infrastructure_failure"
    assert ends is ExitCode.INFRASTRUCTURE_FAILURE
    assert b"secret" not in client.said[-1]
    content = read_journal(tmp_path / "a")
    assert content.status is JournalStatus.FAILED
    assert content.records[-1].kind is RecordKind.SETTLEMENT


def test_an_exception_never_crosses(campaign, caplog):
    stepping = FakeStepping()
    session = fake_session(campaign(), stepping)
    client = Client(session)
    client.send("hello")
    stepping.faults.add(id(session.facility))
    reply, ends = client.send("dispatch", action=advance(5))
    assert reply["error"]["kind"] == "infrastructure_failure"
    assert ends is ExitCode.INFRASTRUCTURE_FAILURE
    assert b"12.345678" not in b"".join(client.said)
    assert b"Traceback" not in b"".join(client.said)
    assert "12.345678" in caplog.text


def test_a_campaign_that_cannot_be_opened(caplog):
    def broken():
        raise OSError("/private/place")

    answer = Wire(broken).answer(b'{"id":1,"op":"hello"}')
    assert answer.ends is ExitCode.INFRASTRUCTURE_FAILURE
    assert b"/private" not in answer.line
    assert "/private/place" in caplog.text


def test_a_disk_that_is_full_is_an_infrastructure_failure(client, monkeypatch):
    def full(descriptor, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("slowlab.campaign.journal.write_fully", full)
    reply, ends = client.send("dispatch", action=advance(1))
    assert reply["error"]["kind"] == "infrastructure_failure"
    assert ends is ExitCode.INFRASTRUCTURE_FAILURE


def test_twins_are_told_the_same(campaign):
    """Same public history, different hidden state: the same bytes in every reply."""
    said = []
    for hidden in (Hidden(), Hidden(transpiration=1.0, poles=99, seed=1, standby_heat=2.0)):
        client = Client(fake_session(campaign(hidden=hidden), FakeStepping()))
        client.send("hello")
        for action in (
            start(0),
            start(1, day_temperature_c=26.0),
            advance(40),
            {"action": "observe", "unit": 1},
            {"action": "observe", "unit": 0, "variable": "co2_ppm"},
            advance(365),
            {"action": "recommend", "policy": {}},
        ):
            client.act(action)
        client.raw(b"{")
        client.send("close")
        said.append(client.said)
    assert said[0] == said[1]


def test_the_documented_lines_are_as_documented(campaign):
    text = (REPOSITORY / "docs" / "wire-format.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith('{"id"') and '"op"' in line]
    client = Client(fake_session(campaign(), FakeStepping()), lambda call: Reply.success({}))
    assert [client.raw(line.encode())[0]["ok"] for line in lines] == [True] * 4
    replies = [line for line in text.splitlines() if '"ok":' in line]
    for line in replies:
        assert canonical_bytes(json.loads(line)) == line.encode()
    for number in (MAX_LINE_BYTES, session_module.REQUEST_LIMIT):
        assert f"{number:,}" in text
    for name in (*WireFault, *ALLOWED_ENVIRONMENT, *ErrorKind):
        assert f"`{name}`" in text
