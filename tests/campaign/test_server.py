"""Lines in and out, whole server processes, and the client that talks to them."""

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
    ExitCode,
    LineTooLong,
    Opened,
)
from slowlab.cli import app
from slowlab.commands.campaign_options import CampaignOptions, prepare
from tests.campaign.sessions import FakeStepping, advance, fake_session, start
from tests.simulations import SHORT_CONTRACT_FILE

REPOSITORY = Path(__file__).resolve().parents[2]


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
    assert replies[1]["error"]["reason"] == "unreadable"
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
    assert done.stderr.rstrip().endswith("finished")
    source = (REPOSITORY / "examples" / "agent.py").read_text(encoding="utf-8")
    assert "import slowlab" not in source
    assert "from slowlab" not in source
    assert source.count("\n") <= 40


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


@pytest.fixture
def begun(contract_file, tmp_path):
    """A journal with a header that fits the options, open for writing."""
    rules = (contract_file, None, None, tmp_path / "journal")
    prepared = prepare(CampaignOptions("development", 0, "full", *rules))
    with prepared.journal as journal:
        campaign = prepared.spec.model_dump(mode="json")
        journal.put(RecordKind.HEADER, {"format": "slowlab-campaign-1", "campaign": campaign})
        yield journal


def test_a_journal_has_one_server_and_one_campaign(in_process, options, begun):
    second = in_process(options())
    assert second.exit_code == 2
    assert "another process is writing this journal" in second.stderr
    begun.close()
    other = in_process(options(site=1))
    assert other.exit_code == 2
    assert "other options" in other.stderr


def test_a_campaign_that_has_ended_is_not_resumed(in_process, options, begun):
    begun.put(RecordKind.SETTLEMENT, {"status": "closed"})
    begun.close()
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
