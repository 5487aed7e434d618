"""The reader that is a language model, asked once for one policy.

It is told that somebody else ran the campaign, and is given the site's public task with its own
prices and the packet. A reply that is no answer is followed by what is wrong with it, and the
question is asked again, a few times at most; after that the packet's fallback counts, flagged.

Source: SlowLab, reader experiment, language models. Thinning of long packets is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from slowlab.agents.acting import HarnessDialogue
from slowlab.agents.messages import Message, ModelReply, Role, Stage
from slowlab.agents.parser import Decision, ReplyError, parse_call, parse_text
from slowlab.agents.profile import HarnessProfile, ReplyFormat
from slowlab.agents.prompting import model_call
from slowlab.agents.recommending import Asked, Asking
from slowlab.agents.rendering import Rendering
from slowlab.agents.reply_forms import reply_forms
from slowlab.agents.results import ShownResult
from slowlab.agents.transcript_format import TranscriptKind
from slowlab.campaign.settlement import FallbackReason
from slowlab.canonical import canonical_json
from slowlab.readers._base import Reading
from slowlab.readers.packet_view import packet_view
from slowlab.readers.packets import Packet, PacketError

_ROOM_FOR_AN_ERROR = 1_000
"""Characters that are kept free for each time that the question is asked again."""


class ReadingEnding(StrEnum):
    """How a reading ended."""

    RECOMMENDED = "recommended"
    NO_RECOMMENDATION = "no_recommendation"


@dataclass
class ReadingCounts:
    """What a reading used.

    Attributes:
        model_calls: prompts that were answered.
        prompt_characters: their length together.
        format_errors: replies that were no answer.
    """

    model_calls: int = 0
    prompt_characters: int = 0
    format_errors: int = 0


class LanguageModelReader:
    """Asks a language model what it makes of a packet; see the module.

    Args:
        profile: harness profile of the reader.
        dialogue: the conversation, one for each packet.
        generation_seed: sent with every call; None for none.

    Attributes:
        counts: what was used so far.
    """

    def __init__(
        self, profile: HarnessProfile, dialogue: HarnessDialogue, generation_seed: int | None
    ) -> None:
        self.counts = ReadingCounts()
        self._profile = profile
        self._dialogue = dialogue
        self._seed = generation_seed

    def read(self, packet: Packet) -> Reading:
        """Ask for a policy.

        Args:
            packet: what the campaign has seen.

        Raises:
            PacketError: the profile's prompts are too short for the packet.
            FirewallError, CapReachedError, OutageError: as the dialogue says.
            JournalError: the transcript could not be written.
        """
        asked = self._ask(packet)
        answered = asked.policy is not None
        ending = ReadingEnding.RECOMMENDED if answered else ReadingEnding.NO_RECOMMENDATION
        self._dialogue.note(
            TranscriptKind.ENDING,
            {
                "ending": ending.value,
                "policy": None if asked.policy is None else asked.policy.model_dump(),
                "reason": asked.reason,
                "counts": asdict(self.counts),
            },
        )
        if asked.policy is None:
            return Reading(packet.fallback, FallbackReason.INVALID_RECOMMENDATION)
        return Reading(asked.policy)

    def _ask(self, packet: Packet) -> Asked:
        """Ask until there is a policy or the attempts are used up."""
        task, budgets = packet.task, self._profile.budgets
        rendering = Rendering(self._profile, packet.fallback)
        system = rendering.system(Stage.READING, task)
        instruction = rendering.instruction(Stage.READING, task)
        asking = Asking(
            ask=lambda messages: self._send(messages, task),
            read=lambda reply: self._parse(reply, task),
            wrong=self._note_error,
            question=lambda result: _question(instruction, latest_result=result),
            attempts=budgets.reading_attempts,
            kept_characters=budgets.kept_reply_characters,
            reason_characters=budgets.reason_characters,
        )
        first = _question(instruction, packet=self._view(packet, len(system), instruction))
        return asking.policy([Message(Role.SYSTEM, system)], first)

    def _view(self, packet: Packet, used: int, instruction: str) -> dict[str, Any]:
        """As much of the packet as fits, so that the question can be asked again behind it."""
        budgets = self._profile.budgets
        again = budgets.kept_reply_characters + len(_question(instruction)) + _ROOM_FOR_AN_ERROR
        reserve = (budgets.reading_attempts - 1) * again
        empty = len(_question(instruction, packet={}))
        try:
            return packet_view(packet, budgets.room - used - empty - reserve)
        except PacketError as error:
            detail = f"raise characters_per_prompt of the harness profile {self._profile.name}"
            raise PacketError(f"{error}; {detail}") from None

    def _send(self, messages: tuple[Message, ...], task: Mapping[str, Any]) -> ModelReply:
        call = model_call(Stage.READING, messages, self._profile, task, self._seed)
        reply = self._dialogue.ask(Stage.READING, call)
        self.counts.model_calls += 1
        self.counts.prompt_characters += call.characters
        return reply

    def _parse(self, reply: ModelReply, task: Mapping[str, Any]) -> Decision:
        forms = reply_forms(Stage.READING, task, self._profile)
        if self._profile.reply_format is ReplyFormat.FUNCTION_CALLS:
            return parse_call(reply, forms)
        return parse_text(reply.text, forms)

    def _note_error(self, error: ReplyError) -> None:
        self.counts.format_errors += 1
        self._dialogue.note(
            TranscriptKind.ERROR,
            {"kind": "format_error", "code": error.code.value, "message": error.message},
        )


def _question(instruction: str, **members: dict[str, Any] | ShownResult | None) -> str:
    """The last message of a prompt as canonical JSON."""
    return canonical_json({"stage": Stage.READING.value, "instruction": instruction, **members})
