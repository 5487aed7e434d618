"""Conversations of readers with models that say what a test wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slowlab.agents.firewall import Firewall
from slowlab.agents.messages import FunctionCall, ModelCall, ModelReply, Stage
from slowlab.agents.profile import HarnessProfile
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.canonical import canonical_json
from slowlab.config import validate_config
from slowlab.readers.language_model import LanguageModelReader
from slowlab.readers.packet_view import VIEW_KEYS
from slowlab.readers.packets import Packet
from slowlab.world.policy import Policy

SEED = 29_000
ANSWER = Policy(
    day_temperature_c=22.5,
    night_temperature_c=16.0,
    co2_target_ppm=950.0,
    supplemental_light_hours=9.0,
    vent_temperature_offset_c=4.0,
    vent_rh_threshold_pct=81.0,
)


def recommended(policy: Policy = ANSWER, **members: Any) -> str:
    """A valid reply."""
    return canonical_json({"type": "recommendation", "policy": policy.model_dump(), **members})


@dataclass
class Talk:
    """A conversation whose prompts pass a real firewall, and whose replies are given.

    Attributes:
        replies: what the model says, in order.
        calls: what it was asked.
        notes: what was recorded beside.
    """

    replies: list[str | ModelReply]
    calls: list[ModelCall] = field(default_factory=list)
    notes: list[tuple[TranscriptKind, dict[str, Any]]] = field(default_factory=list)
    firewall: Firewall = field(default_factory=lambda: Firewall(keys=VIEW_KEYS))

    def ask(self, stage: Stage, call: ModelCall) -> ModelReply:
        assert stage is Stage.READING
        self.firewall.check_call(call)
        self.calls.append(call)
        said = self.replies[len(self.calls) - 1]
        return ModelReply(said) if isinstance(said, str) else said

    def note(self, kind: TranscriptKind, payload: Mapping[str, Any]) -> None:
        canonical_json(dict(payload))
        self.notes.append((kind, dict(payload)))

    def reader(self, **profile: Any) -> LanguageModelReader:
        """The reader that leads this conversation; keywords go to its profile."""
        return LanguageModelReader(profile_of(**profile), self, SEED)

    @property
    def prompt(self) -> str:
        """All that the first prompt says."""
        return "\n".join(message.content for message in self.calls[0].messages)


def profile_of(**members: Any) -> HarnessProfile:
    """A harness profile; members differ from the defaults."""
    return validate_config({"name": "tested", **members}, HarnessProfile)


def first_prompt(packet: Packet, **profile: Any) -> str:
    """What a reader is first asked about a packet."""
    talk = Talk([recommended()])
    talk.reader(**profile).read(packet)
    return talk.prompt


def call_of(policy: Policy = ANSWER) -> ModelReply:
    """A reply that is one call of a function."""
    arguments = canonical_json({"policy": policy.model_dump()})
    return ModelReply("", (FunctionCall("recommendation", arguments),))
