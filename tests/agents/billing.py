"""An endpoint on this machine that bills, and a conversation that is killed at any write.

As a program: ``python -m tests.agents.billing URL FOLDER IDEMPOTENCY`` reads one line of JSON a
trial, ``{"trial", "fatal", "how"}``, plays the conversation in a process of its own and answers how
that process ended: 0, or -9 where it was killed at its write number ``fatal``.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import traceback
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowlab.agents.client import ModelClient
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.messages import Stage
from slowlab.agents.models import ModelConfig
from slowlab.agents.purse import Caps, Purse
from slowlab.agents.transcript import Transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.journal import Durability
from tests.agents.dialogues import HEADER, question
from tests.agents.fault_server import Seen, Step
from tests.agents.model_configs import model

HONOURED, IGNORED = "honoured", "ignored"
QUESTIONS = 3
LIMITED = 1
"""Question whose first attempt is refused with a 429."""


@dataclass
class Biller:
    """Answers by the question alone and counts what it bills.

    Attributes:
        honours: whether a repeated key is billed once.
        bills: by trial (sent as the name of the model) and key.
    """

    honours: bool
    bills: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, seen: Seen) -> Step:
        last = seen.body["messages"][-1]["content"]
        trial, key = seen.body["model"], str(seen.key)
        if f'"day":{LIMITED}.0' in last and key.endswith("-1"):
            return {"do": "status", "status": 429}
        if not (self.honours and self.bills[trial, key]):
            self.bills[trial, key] += 1
        text = hashlib.sha256(last.encode()).hexdigest()
        return {"do": "answer", "text": text, "model": "served"}

    def of(self, trial: str) -> dict[str, int]:
        """Bills of one trial by key."""
        return {key: n for (name, key), n in self.bills.items() if name == trial and n}


class DyingWrites:
    """Kills this process at its n-th write to a file: before it, in the middle, or after it."""

    def __init__(self, fatal: int, how: str) -> None:
        self._fatal, self._how, self._count = fatal, how, 0
        self._write, self._replace = os.write, os.replace
        os.write, os.replace = self.write, self.replace

    def write(self, descriptor: int, content: Any) -> int:
        if self._is_fatal():
            part = {"before": 0, "half": len(content) // 2, "after": len(content)}[self._how]
            self._write(descriptor, bytes(content[:part]))
            os.kill(os.getpid(), signal.SIGKILL)
        return self._write(descriptor, content)

    def replace(self, *arguments: Any, **options: Any) -> None:
        fatal = self._is_fatal()
        if not fatal or self._how == "after":
            self._replace(*arguments, **options)
        if fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _is_fatal(self) -> bool:
        self._count += 1
        return self._count == self._fatal


def configured(trial: str, keys: str) -> ModelConfig:
    """The model of a trial."""
    return model(model=trial, idempotency=keys == HONOURED, retries={"waits_s": (0.0,)})


def converse(client: ModelClient, folder: Path) -> None:
    """Ask a few questions with notes between them."""
    purse = Purse.open(folder / "purse", Caps(usd=1.0), durability=Durability.PROCESS)
    transcript = Transcript.open(folder / "a.transcript.jsonl", HEADER)
    dialogue = Dialogue(transcript, client.config, client, purse, Firewall())
    with closing(purse), closing(dialogue):
        for number in range(QUESTIONS):
            dialogue.ask(Stage.SEASON, question(number))
            dialogue.note(TranscriptKind.FLAG, {"flag": "test", "detail": str(number)})


def play(client: ModelClient, folder: Path, told: dict[str, Any]) -> int:
    """One trial in a process of its own; how it ended."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if told["fatal"]:
                DyingWrites(told["fatal"], told["how"])
            converse(client, folder)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(url: str, folder: str, keys: str) -> None:
    with closing(ModelClient(configured("none", keys), url, "none")) as client:
        converse(client, Path(folder) / "warm")  # loads everything, once for all trials
        for line in sys.stdin:
            told = json.loads(line)
            client.config = configured(told["trial"], keys)
            print(play(client, Path(folder) / told["trial"], told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
