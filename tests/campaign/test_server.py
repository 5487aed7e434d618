"""The wire: its rules without a process, and whole server processes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slowlab.campaign.client import ServerEndedError, ServerEnding, ServerProcess
from slowlab.campaign.isolation import ALLOWED_ENVIRONMENT, Channel
from slowlab.campaign.journal import Journal, RecordKind, read_journal
from slowlab.campaign.journal_format import JournalStatus
from slowlab.campaign.server import read_line, serve
from slowlab.campaign.wire import (
    MAX_LINE_BYTES,
    MAX_PROTOCOL_ERRORS,
    ExitCode,
    LineTooLong,
    Opened,
    Wire,
)
from slowlab.canonical import canonical_bytes
from slowlab.cli import app
from slowlab.world.task import Feedback
from tests.campaign.fake_facility import Hidden
from tests.campaign.sessions import POLICY, FakeStepping, advance, fake_session, short_spec, start
from tests.simulations import SHORT_CONTRACT_FILE

REPOSITORY = Path(__file__).resolve().parents[2]


class Client:
    """Speaks to a wire without a process, and keeps what was said."""

    def __init__(self, session):
        self.session = session
        self.wire = Wire(lambda: Opened(session))
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
    ],
)
def test_a_request_has_exactly_its_members(client, op, members):
    reply, ends = client.send(op, **members)
    assert protocol_error(reply, "no_request")
    assert ends is None
    assert client.act(advance(1))["ok"]


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


def test_lines_come_whole_or_not_at_all():
    long = b"x" * (MAX_LINE_BYTES + 1)
    stream = io.BytesIO(b"one\n\n" + long + b"\n" + b"y" * MAX_LINE_BYTES + b"\nunfinished")
    assert read_line(stream) == b"one"
    assert read_line(stream) == b""
    assert read_line(stream) == LineTooLong(len(long), hashlib.sha256(long).hexdigest())
    assert read_line(stream) == b"y" * MAX_LINE_BYTES
    assert read_line(stream) is None
    assert read_line(io.BytesIO(b"x" * (3 * MAX_LINE_BYTES))) is None


def conversation(session, lines):
    """Serve bytes in this process; returns exit code and replies."""
    outgoing = io.BytesIO()
    outgoing.close = lambda: None
    code = serve(lambda: Opened(session), Channel(io.BytesIO(lines), outgoing))
    return code, [json.loads(line) for line in outgoing.getvalue().splitlines()]


def test_two_megabytes_are_refused_and_the_process_goes_on(campaign, tmp_path):
    text = json.dumps({"id": 2, "op": "dispatch", "action": {"action": "x" * 2_000_000}}).encode()
    lines = b'{"id":1,"op":"hello"}\n' + text + b'\n{"id":3,"op":"close"}\n'
    with Journal.open(tmp_path / "a") as journal:
        code, replies = conversation(fake_session(campaign(), FakeStepping(), journal), lines)
    assert code is ExitCode.CLOSED
    assert protocol_error(replies[1], "unreadable")
    assert (tmp_path / "a").stat().st_size < 10_000


def test_a_client_that_goes_away_leaves_a_campaign_that_can_be_resumed(campaign, tmp_path):
    lines = b'{"id":1,"op":"hello"}\n{"id":2,"op":"dispatch","action":{"action":"advance","day":1}}'
    with Journal.open(tmp_path / "a") as journal:
        session = fake_session(campaign(), FakeStepping(), journal)
        code, replies = conversation(session, lines)
    assert code is ExitCode.PROTOCOL_ERROR
    assert len(replies) == 1  # the second line was not finished
    assert session.facility.tick == 0
    assert read_journal(tmp_path / "a").status is JournalStatus.OPEN


def test_a_client_that_does_not_listen_any_more(campaign):
    class Gone(io.BytesIO):
        def flush(self):
            raise BrokenPipeError

    channel = Channel(io.BytesIO(b'{"id":1,"op":"hello"}\n'), Gone())
    session = fake_session(campaign(), FakeStepping())
    assert serve(lambda: Opened(session), channel) is ExitCode.PROTOCOL_ERROR


# Whole processes, on the short task.


@pytest.fixture(scope="module")
def contract_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("contract") / "short.yaml"
    path.write_text(SHORT_CONTRACT_FILE, encoding="utf-8")
    return path


@pytest.fixture
def options(contract_file, tmp_path):
    def make(journal="journal", site=0, feedback="full"):
        return [
            *("--partition", "development", "--site", str(site), "--feedback", feedback),
            *("--contract", str(contract_file), "--journal", str(tmp_path / journal)),
        ]

    return make


def talk(server, last=12):
    """A short campaign; returns all replies."""
    actions = [
        start(0),
        {"action": "dance"},
        advance(2),
        {"action": "observe", "unit": 0, "variable": "co2_ppm"},
        advance(last),
    ]
    return [server.hello(), *(server.dispatch(action) for action in actions)]


def test_a_server_process_from_hello_to_close(options, tmp_path, monkeypatch):
    """One process; a second one, killed half-way and resumed, ends alike; replay agrees."""
    monkeypatch.setenv("SLOWLAB_TELL", "a secret of the caller")
    with ServerProcess.start(options()) as server:
        environment = Path(f"/proc/{server._process.pid}/environ").read_bytes()
        replies = talk(server)
        assert server.close() == {
            "ok": True,
            "result": {"status": "finished", "day": 12.0, "recommendation_counts": False},
        }
        assert server.ending is ServerEnding.CLOSED
        with pytest.raises(ServerEndedError, match="closed"):
            server.hello()
    names = {pair.partition(b"=")[0].decode() for pair in environment.split(b"\0") if pair}
    assert names <= set(ALLOWED_ENVIRONMENT)
    assert [reply["ok"] for reply in replies] == [True, True, False, True, True, True]

    with ServerProcess.start(options("second")) as server:
        assert talk(server, last=3)[:5] == replies[:5]
        os.kill(server._process.pid, signal.SIGKILL)
        with pytest.raises(ServerEndedError, match="lost"):
            server.dispatch(advance(12))
    with ServerProcess.start(options("second")) as server:
        resumed = server.hello()["result"]["resumed"]
        assert resumed["actions"] == 5
        assert resumed["last_action"] == advance(3)
        assert resumed["last_reply"]["result"]["day"] == 3.0
        assert (
            server.dispatch(advance(12))["result"]["statuses"] == replies[5]["result"]["statuses"]
        )
        assert server.close()["ok"]

    files = [str(tmp_path / name) for name in ("journal", "second")]
    replay = subprocess.run(
        [sys.executable, "-m", "slowlab", "replay", *files],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert replay.stdout.count(", 0 mismatches") == 2
    log = tmp_path / "journal.log"
    assert log.stat().st_mode & 0o077 == 0


def test_the_example_agent_plays(options):
    folder = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples" / "agent.py"), *options()],
        capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("finished")
    source = (REPOSITORY / "examples" / "agent.py").read_text(encoding="utf-8")
    assert "import slowlab" not in source
    assert "from slowlab" not in source
    assert source.count("\n") <= 30


@pytest.fixture
def in_process(monkeypatch):
    """Runs the command in this process, for options that are refused before it is prepared."""
    monkeypatch.setattr("slowlab.campaign.isolation.scrub_environment", lambda: None)
    return lambda arguments: CliRunner().invoke(app, ["serve", *arguments])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--partition", "moon"], "no partition 'moon'"),
        (["--site", "5000"], "sites 0 to 999"),
        (["--feedback", "unassigned"], "--feedback"),
        (["--contract", "absent.yaml"], "absent.yaml"),
        (["--journal", "."], "directory"),
    ],
)
def test_wrong_options_are_told_before_anything_is_opened(in_process, wrong, said):
    done = in_process(wrong)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


def other_server(code):
    return ServerProcess.start([], command=[sys.executable, "-c", code], reply_timeout_s=2)


def test_a_server_that_does_not_answer_is_ended():
    with other_server("import time; time.sleep(60)") as server:
        with pytest.raises(ServerEndedError, match="timed_out"):
            server.hello()
        assert server.ending is ServerEnding.TIMED_OUT
        assert server._process.poll() is not None


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("print('hello')", ServerEnding.LOST),
        ('print(\'{"id":7,"ok":true}\')', ServerEnding.LOST),
        ("print('[]')", ServerEnding.LOST),
        ("raise SystemExit(2)", ServerEnding.PROTOCOL_ERROR),
        ("raise SystemExit(3)", ServerEnding.INFRASTRUCTURE_FAILURE),
        ("raise SystemExit(1)", ServerEnding.LOST),
        ("import os; os.write(1, b'{\"id\":1')", ServerEnding.LOST),
    ],
)
def test_the_endings_of_a_server(code, ending):
    with other_server(code) as server:
        with pytest.raises(ServerEndedError):
            server.hello()
        assert server.ending is ending


def test_a_journal_has_one_server_and_one_campaign(in_process, options, tmp_path):
    with Journal.open(tmp_path / "journal") as journal:
        second = in_process(options())
        assert second.exit_code == 2
        assert "another process is writing this journal" in second.stderr
        spec = short_spec().model_dump(mode="json")
        journal.put(RecordKind.HEADER, {"format": "slowlab-campaign-1", "campaign": spec})
    other = in_process(options(site=1))
    assert other.exit_code == 2
    assert "other options" in other.stderr


def test_a_campaign_that_has_ended_is_not_resumed(in_process, options, tmp_path, monkeypatch):
    monkeypatch.setattr("slowlab.campaign.opening.spec_from_header", lambda payload, source: spec)
    monkeypatch.setattr("slowlab.campaign.opening.CampaignSpec", lambda **_: spec)
    spec = short_spec()
    with Journal.open(tmp_path / "journal") as journal:
        journal.put(RecordKind.HEADER, {})
        journal.put(RecordKind.SETTLEMENT, {"status": "closed"})
    ended = in_process(options())
    assert ended.exit_code == 2
    assert "its campaign has ended" in ended.stderr


def test_nothing_but_the_protocol_reaches_standard_output(options, tmp_path):
    """What a library prints goes to the private log."""
    code = (
        "import sys; from slowlab.campaign import session\n"
        "def task(self):\n"
        "    print('chatter'); print('warning', file=sys.stderr)\n"
        "    import os; os.system('echo from a child')\n"
        "    raise RuntimeError('told to nobody')\n"
        "session.Session.task = task\n"
        "from slowlab.cli import app; app()"
    )
    command = [sys.executable, "-c", code, "serve", *options()]
    hello = b'{"id":1,"op":"hello"}\n'
    server = subprocess.run(command, input=hello, capture_output=True, cwd=REPOSITORY, check=False)
    log = (tmp_path / "journal.log").read_text(encoding="utf-8")
    assert "chatter" in log
    assert "warning" in log
    assert "from a child" in log
    assert "told to nobody" in log
    assert server.stderr == b""
    assert json.loads(server.stdout)["error"]["kind"] == "infrastructure_failure"
    assert server.returncode == 3


def test_hello_is_answered_while_the_input_stays_open(options):
    """Replies are not held back in a buffer."""
    command = [sys.executable, "-m", "slowlab", "serve", *options()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdin.write(b'{"id":1,"op":"hello"}\n')
        server.stdin.flush()
        assert select.select([server.stdout], [], [], 120)[0]
        server.stdin.close()
        assert server.wait(60) == 2
