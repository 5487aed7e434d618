"""Programs as methods: whole conversations, every way to end, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
import time
from pathlib import Path

import pytest

from slowlab.campaign.journal import read_journal
from slowlab.campaign.pool import Ending, run_pool
from slowlab.campaign.session import ToolCall
from slowlab.campaign.settlement import CampaignStatus, FallbackReason, PolicySource
from slowlab.methods._base import MethodError
from slowlab.methods._external import ExternalEnding, build_external
from slowlab.world.task import Feedback
from tests.campaign.sessions import POLICY, files
from tests.methods.contract_world import ARTIFACTS, Play

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = str(REPOSITORY / "examples" / "agent.py")


def external(*command, time_limit_s=30.0, log=None):
    return build_external(command, time_limit_s, ARTIFACTS, log)


def program(text):
    """A Python program that can speak."""
    speak = """
        import json, sys, os, time
        def ask(number, op, **members):
            print(json.dumps({"id": number, "op": op, **members}), flush=True)
            return json.loads(sys.stdin.readline())
    """
    return external("python", "-c", textwrap.dedent(speak) + textwrap.dedent(text), time_limit_s=10)


class Told(Play):
    """A campaign that keeps how the program ended."""

    ending = None

    def _scrambled(self, steps):
        self.ending = yield from super()._scrambled(steps)
        return self.ending


def played(method, **options):
    play = Told(method, **options)
    return play, play.run()


@pytest.mark.parametrize("feedback", [Feedback.FULL, Feedback.ENDPOINT])
def test_the_example_plays_a_campaign(feedback, tmp_path):
    play, result = played(external("python", EXAMPLE), feedback=feedback, journal=tmp_path / "a")
    assert play.ending is ExternalEnding.CLOSED
    assert result.ending is Ending.SETTLED
    assert result.settlement.status is CampaignStatus.FINISHED
    assert result.settlement.source is PolicySource.RECOMMENDATION
    assert result.settlement.rejections == {}
    assert play.tool_calls == 1
    kinds = [record.kind for record in read_journal(tmp_path / "a").records]
    assert kinds.count("tool_request") == 1


def test_many_programs_step_together(tmp_path):
    method = external("python", EXAMPLE)
    plays = [Told(method, seed=seed) for seed in range(3)]
    results = run_pool([play.entry(f"{n}", group=1) for n, play in enumerate(plays)], workers=3)
    assert [play.ending for play in plays] == [ExternalEnding.CLOSED] * 3
    assert len({str(result.settlement.policy) for result in results}) == 1


def test_an_interrupted_program_is_run_again(tmp_path):
    played(external("python", EXAMPLE), journal=tmp_path / "whole")

    class Death(BaseException):
        pass

    class Dying(Play):
        def _kept(self, steps):
            for number, item in enumerate(iter(lambda: steps.send(self.reply), None)):
                if number == 6:
                    raise Death
                self.reply = yield item

        reply = None

    with pytest.raises(Death):
        Dying(external("python", EXAMPLE), journal=tmp_path / "cut").run()
    assert files(tmp_path / "cut") != files(tmp_path / "whole")
    played(external("python", EXAMPLE), journal=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


RECOMMENDED = f"""
    ask(1, "hello")
    ask(2, "dispatch", action={{"action": "advance", "day": 365}})
    ask(3, "dispatch", action={{"action": "recommend", "policy": {json.dumps(POLICY)}}})
"""
ENDINGS = {
    "crashes": ("ask(1, 'hello'); raise RuntimeError('told to the log')", ExternalEnding.CRASHED),
    "is killed": ("ask(1, 'hello'); os.kill(os.getpid(), 9)", ExternalEnding.CRASHED),
    "never speaks": ("time.sleep(60)", ExternalEnding.TIMED_OUT),
    "hangs": ("ask(1, 'hello'); time.sleep(60)", ExternalEnding.TIMED_OUT),
    "ends no line": (
        "print('x' * 9, end='', flush=True); time.sleep(60)",
        ExternalEnding.TIMED_OUT,
    ),
    "reads nothing": (
        "[print(json.dumps({'id': n, 'op': 'hello'}), flush=True) for n in range(1, 99)]; "
        "time.sleep(60)",
        ExternalEnding.TIMED_OUT,
    ),
    "prints garbage": (
        "print('garbage\\n' * 500, flush=True); time.sleep(60)",
        ExternalEnding.PROTOCOL_ERROR,
    ),
    "prints endless garbage": (
        "line = 'x' * 300_000\nwhile True: print(line)",
        ExternalEnding.PROTOCOL_ERROR,
    ),
    "has wrong ids": ("ask(7, 'hello'); time.sleep(60)", ExternalEnding.PROTOCOL_ERROR),
    "says nothing": ("", ExternalEnding.WENT_AWAY),
    "goes away": ("ask(1, 'hello')", ExternalEnding.WENT_AWAY),
    "closes its output": ("ask(1, 'hello'); os.close(1)\ntime.sleep(60)", ExternalEnding.WENT_AWAY),
    "closes early": ("ask(1, 'hello'); ask(2, 'close')", ExternalEnding.CLOSED),
    "does not wait for the farewell": (
        'ask(1, \'hello\'); print(\'{"id":2,"op":"close"}\', flush=True); os._exit(0)',
        ExternalEnding.CLOSED,
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_has_a_name_and_the_fallback_counts(name, monkeypatch):
    monkeypatch.setattr("slowlab.methods._external._EXIT_PATIENCE_S", 0.5)
    text, ending = ENDINGS[name]
    method = program(text)
    limit = 1.0 if ending is ExternalEnding.TIMED_OUT else 20.0
    method.settings = method.settings.model_copy(update={"time_limit_s": limit})
    begun = time.monotonic()
    play, result = played(method)
    assert play.ending is ending
    assert time.monotonic() - begun < 15
    assert result.ending is Ending.SETTLED
    assert result.settlement.status is CampaignStatus.CLOSED
    assert result.settlement.fallback_reason is FallbackReason.DEADLINE_NOT_REACHED
    assert result.settlement.source is PolicySource.FIXED_POLICY


def test_a_recommendation_counts_however_the_program_ends():
    play, result = played(program(RECOMMENDED + "\n    os.kill(os.getpid(), 9)"))
    assert play.ending is ExternalEnding.CRASHED
    assert result.settlement.source is PolicySource.RECOMMENDATION


def test_the_farewell_says_how_the_campaign_is_settled(tmp_path):
    told = tmp_path / "told"
    text = f"\n    open({str(told)!r}, 'w').write(json.dumps(ask(4, 'close')['result']))"
    played(program(RECOMMENDED + text))
    expected = {"status": "finished", "day": 365.0, "recommendation_counts": True}
    assert json.loads(told.read_text()) == expected


def test_odd_actions_reach_the_executor_as_on_the_wire():
    odd = [None, True, 7, "advance", '{"action":"advance","day":1}', [], {}, {"action": "dance"}]
    text = f"""
        ask(1, "hello")
        for number, action in enumerate(json.loads({json.dumps(json.dumps(odd))}), start=2):
            assert ask(number, "dispatch", action=action)["error"]["kind"] == "invalid_action"
        ask({len(odd) + 2}, "close")
    """
    play, result = played(program(text))
    assert play.ending is ExternalEnding.CLOSED
    assert result.settlement.day == 0
    assert sum(result.settlement.rejections.values()) == len(odd)


def test_an_endless_program_is_ended_by_a_count(monkeypatch):
    monkeypatch.setattr("slowlab.campaign.session.REQUEST_LIMIT", 20)
    text = """
        import itertools
        ask(1, "hello")
        for n in itertools.count(2):
            ask(n, "dispatch", action={"action": "dance"})
    """
    _, result = played(program(text))
    assert result.ending is Ending.REQUEST_LIMIT
    assert result.settlement.flagged


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]


@pytest.mark.parametrize("last", ["time.sleep(60)", "ask(2, 'close')", "sys.exit(1)"])
def test_no_process_is_left(tmp_path, last):
    pids = tmp_path / "pids"
    text = f"""
        import subprocess
        ask(1, "hello")
        child = subprocess.Popen(["sleep", "60"])
        open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
        {last}
    """
    method = program(text)
    method.settings = method.settings.model_copy(update={"time_limit_s": 2.0})
    played(method)
    agent, child = map(int, pids.read_text().split())
    assert not alive(agent)
    deadline = time.monotonic() + 5
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(child)
    with pytest.raises(ChildProcessError):
        os.waitpid(agent, os.WNOHANG)


def test_environment_seed_and_log(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOWLAB_PRIVATE_DIR", "/private")
    monkeypatch.setenv("SOME_KEY", "a secret")
    told = tmp_path / "told"
    text = f"""
        ask(1, "hello")
        open({str(told)!r}, "a").write(json.dumps(dict(os.environ)) + "\\n")
        print("for the log", file=sys.stderr)
        ask(2, "close")
    """
    method = program(text)
    method.log = tmp_path / "log" / "agent.log"
    for seed in (1, 1, 2):
        played(method, seed=seed)
    first, again, other = map(json.loads, told.read_text().splitlines())
    assert first["SLOWLAB_WIRE"] == "slowlab-wire-1"
    assert first["SLOWLAB_SEED"] == again["SLOWLAB_SEED"] != other["SLOWLAB_SEED"]
    assert not {"SLOWLAB_PRIVATE_DIR", "SOME_KEY"} & set(first)
    assert method.log.read_text().splitlines() == ["for the log"] * 3
    assert method.log.stat().st_mode & 0o077 == 0


SHELL = r"""
act() { say "$1" '"dispatch","action":'"$2"; }
say() {
  printf '{"id":%s,"op":%s}\n' "$1" "$2"
  read -r answer
  case "$answer" in *'"ok":true'*) ;; *) exit 1 ;; esac
}
say 1 '"hello"'
act 2 '{"action":"start","unit":0,"policy":'"$0"'}'
act 3 '{"action":"advance","day":365}'
act 4 '{"action":"recommend","policy":'"$0"'}'
say 5 '"close"'
"""


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_a_program_in_another_language():
    play, result = played(external("sh", "-c", SHELL, json.dumps(POLICY)))
    assert play.ending is ExternalEnding.CLOSED
    assert result.settlement.source is PolicySource.RECOMMENDATION
    assert len(play.items) == 3


def test_a_program_that_does_not_exist():
    with pytest.raises(MethodError, match="no such program"):
        external("no_such_program_at_all")


def test_tool_calls_are_yielded_as_such(tmp_path):
    text = """
        ask(1, "hello")
        assert ask(2, "tool", tool="runs", arguments={})["result"] == {"runs": []}
        assert ask(3, "tool", tool="oracle", arguments={})["error"]["kind"] == "tool_error"
        ask(4, "close")
    """
    play, _ = played(program(text))
    assert play.ending is ExternalEnding.CLOSED
    assert play.items == [ToolCall(n, {}).payload() for n in ("runs", "oracle")]
