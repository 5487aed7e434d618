"""A process that is killed at any write: no answer lost, nothing billed twice, equal bytes."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowlab.agents.purse import Caps, Purse
from slowlab.campaign.journal_format import head_path
from tests.agents.billing import HONOURED, IGNORED, QUESTIONS, Biller
from tests.agents.fault_server import FaultServer

ROOT = Path(__file__).resolve().parents[2]
HOW = ("before", "half", "after")
ATTEMPTS = QUESTIONS + 1
RECORDS = 1 + QUESTIONS + 2 * ATTEMPTS + QUESTIONS
"""Header, calls, attempts with what came of them, notes."""
WRITES = 1 + 2 * RECORDS + 2 * ATTEMPTS + 1
"""The first head; line and head of every record; what the purse books; the last head."""


class Trials:
    """Plays conversations with one endpoint, each in a process of its own."""

    def __init__(self, folder: Path, process: subprocess.Popen, biller: Biller) -> None:
        self.folder, self.biller = folder, biller
        self._process = process

    def play(self, trial: str, fatal: int = 0, how: str = "") -> int:
        (self.folder / trial).mkdir(exist_ok=True)
        told = {"trial": trial, "fatal": fatal, "how": how}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def files(self, trial: str) -> tuple[bytes, bytes]:
        path = self.folder / trial / "a.transcript.jsonl"
        return path.read_bytes(), head_path(path).read_bytes()

    def totals(self, trial: str):
        with Purse.open(self.folder / trial / "purse", Caps()) as purse:
            return purse.totals()


@contextmanager
def trials(folder: Path, keys: str):
    biller = Biller(honours=keys == HONOURED)
    with FaultServer(then=biller, honours_keys=False) as server:
        command = [sys.executable, "-m", "tests.agents.billing", server.base_url, folder, keys]
        with subprocess.Popen(
            list(map(str, command)),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield Trials(folder, process, biller)
            process.stdin.close()
            assert process.wait(10) == 0


def without_repairs(head: bytes) -> bytes:
    """A head remembers every torn tail that was ever dropped; nothing else may differ."""
    return json.dumps({**json.loads(head), "repairs": []}).encode()


def kill_everywhere(run: Trials, points):
    """Kill at each of some writes and go on; yields what came of it."""
    assert run.play("whole") == 0
    whole = run.files("whole")
    for fatal, how in points:
        trial = f"{how}-{fatal}"
        assert run.play(trial, fatal, how) == -signal.SIGKILL
        assert run.play(trial) == 0
        content, head = run.files(trial)
        assert content == whole[0], trial
        assert without_repairs(head) == without_repairs(whole[1]), trial
        assert how == "half" or head == whole[1], trial
        yield trial


def test_the_writes_of_a_conversation_are_counted(tmp_path):
    """So that the tests below really kill at every one."""
    with trials(tmp_path, HONOURED) as run:
        assert run.play("last", WRITES, "before") == -signal.SIGKILL
        assert run.play("none", WRITES + 1, "before") == 0


SOME = [(n, HOW[n % 3]) for n in range(1, WRITES + 1)]
ALL = [(n, how) for n in range(1, WRITES + 1) for how in HOW]


@pytest.mark.parametrize("points", [SOME, pytest.param(ALL, marks=pytest.mark.slow)])
def test_killed_at_any_write_nothing_is_lost_or_billed_twice(tmp_path, points):
    with trials(tmp_path, HONOURED) as run:
        for trial in kill_everywhere(run, points):
            assert run.biller.of(trial) == run.biller.of("whole"), trial
            assert set(run.biller.of(trial).values()) == {1}, trial
            assert run.totals(trial) == run.totals("whole"), trial
        assert len(run.biller.of("whole")) == QUESTIONS


@pytest.mark.parametrize("points", [SOME[::2], pytest.param(ALL, marks=pytest.mark.slow)])
def test_where_keys_are_ignored_only_the_attempt_under_way_is_billed_again(tmp_path, points):
    with trials(tmp_path, IGNORED) as run:
        again = 0
        for trial in kill_everywhere(run, points):
            bills, totals = run.biller.of(trial), run.totals(trial)
            extra = sum(bills.values()) - QUESTIONS
            assert bills.keys() == run.biller.of("whole").keys(), trial
            assert extra in (0, 1), trial
            assert extra <= totals.unknown_calls <= 1, trial
            assert totals.calls == ATTEMPTS + totals.unknown_calls, trial
            assert totals.spent_usd == run.totals("whole").spent_usd, trial
            again += extra
        assert again > 0
