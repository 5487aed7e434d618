"""Dialogues with a scripted client, a real purse and real transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowlab.agents.client import AttemptFailedError
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.messages import Message, ModelCall, ModelReply, Role, Stage, Usage
from slowlab.agents.models import ModelConfig
from slowlab.agents.outages import AttemptFault
from slowlab.agents.purse import Caps, Purse
from slowlab.agents.transcript import Transcript
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.journal import Durability
from slowlab.canonical import canonical_json
from tests.agents.model_configs import model

HEADER = {"kind": "test", "study": "tests"}
USAGE = Usage(prompt_tokens=100, completion_tokens=10)


def question(number: int, **changes: Any) -> ModelCall:
    """A call in the form that the harness gives it."""
    final = {"stage": "season", "state": {"day": float(number)}, "instruction": "Go on."}
    messages = (
        Message(Role.SYSTEM, "You grow fruit."),
        Message(Role.USER, "The campaign begins."),
        Message(Role.USER, canonical_json(final | changes)),
    )
    return ModelCall(messages, max_output_tokens=64, seed=7)


def reply(text: str, usage: Usage = USAGE, **changes: Any) -> ModelReply:
    return ModelReply(text, finish_reason="stop", served_model="served", usage=usage, **changes)


def failure(fault: AttemptFault | str, **changes: Any) -> AttemptFailedError:
    return AttemptFailedError(AttemptFault(fault), "on command", **changes)


@dataclass
class ScriptedClient:
    """Gives what its script says, then an answer that depends on the question alone.

    Attributes:
        script: answers and failures, in order.
        sent: key of every attempt.
    """

    script: list[ModelReply | Exception] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    on_send: Callable[[], None] = lambda: None

    def send(self, call: ModelCall, idempotency_key: str) -> ModelReply:
        self.sent.append(idempotency_key)
        self.on_send()
        came = (
            self.script.pop(0) if self.script else reply(f"answer to {call.messages[-1].content}")
        )
        if isinstance(came, Exception):
            raise came
        return came


@dataclass
class Desk:
    """Opens dialogues in a folder, one after the other.

    Attributes:
        folder: of transcripts and purse.
        config: the model.
        caps: of the purse.
        hidden: for the firewall.
        slept: waits between attempts, s.
    """

    folder: Path
    config: ModelConfig = field(default_factory=lambda: model(idempotency=True))
    caps: Caps = field(default_factory=Caps)
    hidden: list[tuple[str, Any]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=lambda: dict(HEADER))
    slept: list[float] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "a.transcript.jsonl"

    def open(self, client: ScriptedClient, stack: ExitStack, path: Path | None = None) -> Dialogue:
        """Open a dialogue that is closed with the stack."""
        transcript = Transcript.open(path or self.path, self.header)
        purse = stack.enter_context(self.purse())
        dialogue = Dialogue(
            transcript,
            self.config,
            client,
            purse,
            Firewall(self.hidden),
            sleep=self.slept.append,
        )
        stack.callback(dialogue.close)
        return dialogue

    def purse(self) -> Purse:
        return Purse.open(self.folder / "purse", self.caps, durability=Durability.PROCESS)

    def talk(
        self, calls: Iterable[ModelCall], client: ScriptedClient, notes: Iterable[Any] = ()
    ) -> list[str]:
        """Ask some questions, with a note after each; the texts of the answers."""
        notes, texts = list(notes), []
        with ExitStack() as stack:
            dialogue = self.open(client, stack)
            for number, call in enumerate(calls):
                texts.append(dialogue.ask(Stage.SEASON, call).text)
                flag = notes[number] if number < len(notes) else f"after {number}"
                dialogue.note(TranscriptKind.FLAG, {"flag": "test", "detail": flag})
        return texts

    def files(self) -> dict[str, bytes]:
        """Content of transcripts and heads by name, without purse and times."""
        names = [p for p in self.folder.iterdir() if "timing" not in p.name and p.name != "purse"]
        return {path.name: path.read_bytes() for path in names}
