"""Putting a prompt together: equal public histories and equal replies give equal bytes.

In this order: the system message; a user's opening line; earlier turns, newest first as far as they
fit; the latest step of the model with its notes; and the last message with state, latest result and
instruction. Some of the room stays free. The latest results are in full, older long ones are notes
of one line, and so is a result in full that does not fit any more. The latest result is always
there; if it is too long itself, rows are left out and it says so. Where prompts are short, the
latest crops are listed as far as they fit. Before the first turn there is no
opening line, so that user and model always take turns.

Source: SlowLab, harness, prompt assembly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slowlab.agents.budgets import HarnessBudgets
from slowlab.agents.memory import Conversation, Turn
from slowlab.agents.messages import Message, Role, Stage
from slowlab.agents.profile import HarnessProfile, Memory
from slowlab.agents.results import ShownResult, fitted
from slowlab.campaign.history import History
from slowlab.canonical import canonical_json

_LONG_REPLY = "(a long reply, no longer shown)"
_ROOM_FOR_A_RESULT = 600
_ROOM_FOR_A_TURN = 1_000
"""Characters that are kept free for the latest step of the model and its result together."""
_ALWAYS_TOLD = ("day", "days_left")


class PromptTooLongError(ValueError):
    """The harness budgets leave no room for what every prompt must hold."""


@dataclass(frozen=True)
class Question:
    """The last message of a prompt, but for the latest result.

    Attributes:
        stage: where in the campaign.
        state: digest of the campaign and what is left of every budget.
        instruction: what is asked for.
    """

    stage: Stage
    state: Mapping[str, Any]
    instruction: str

    def text(self, latest: ShownResult | None) -> str:
        """The message as canonical JSON."""
        return canonical_json(
            {
                "stage": self.stage.value,
                "state": dict(self.state),
                "latest_result": latest,
                "instruction": self.instruction,
            }
        )

    def fitted(self, characters: int) -> Question:
        """The question with as many of the latest crops as fit, and a mark if some do not.

        Args:
            characters: longest text without a result.
        """
        crops = self.state.get("crops", [])
        by_age = sorted(crops, key=lambda crop: crop["start_day"])
        shown = self
        for count in range(len(crops) - 1, -1, -1):
            if len(shown.text(None)) <= characters:
                break
            note = f"only the latest {count} of {len(crops)} crops fit in here"
            latest = by_age[len(crops) - count :]
            kept = [crop for crop in crops if crop in latest]
            state = {**self.state, "crops": kept, "note": note}
            shown = replace(self, state=state)
        return shown


def campaign_state(history: History, left: Mapping[str, int], memory: Memory) -> dict[str, Any]:
    """Where a campaign stands, as a prompt tells it.

    Args:
        history: of the campaign.
        left: what is left of every budget.
        memory: whether more is told than the day.
    """
    digest = history.digest()
    told = digest if memory.state_digest else {name: digest[name] for name in _ALWAYS_TOLD}
    return {**told, "left": dict(left)}


def campaign_prompt(
    system: str,
    opening: str,
    conversation: Conversation,
    question: Question,
    profile: HarnessProfile,
) -> tuple[Message, ...]:
    """The prompt of one step of a campaign.

    Args:
        system: the system message.
        opening: the user's line before the turns.
        conversation: turns, notes and incumbent so far.
        question: the last message.
        profile: what is repeated, and how long a prompt may be.

    Raises:
        PromptTooLongError: there is no room for system message, state and instruction.
    """
    room = profile.budgets.room - len(system) - len(opening)
    question = question.fitted(room - _ROOM_FOR_A_TURN)
    if not conversation.turns:
        return _checked((system, question.text(None)), profile)
    *earlier, last = conversation.turns
    room -= len(question.text(None))
    words = _latest_words(last, conversation.remarks(), room - _ROOM_FOR_A_RESULT)
    room -= len(words)
    latest = fitted(last.result, room)
    room -= len(canonical_json(latest))
    shown = _earlier_turns(earlier, room, profile) if profile.memory.earlier_turns else []
    return _checked((system, opening, *shown, words, question.text(latest)), profile)


def compact_prompt(
    system: str, opening: str, conversation: Conversation, question: Question
) -> tuple[Message, ...]:
    """The prompt for a recommendation where characters have run out: notes and no turns.

    Of the latest result only an error is repeated.

    Args:
        system: the compact system message.
        opening: the user's line before the notes.
        conversation: gives notes and incumbent.
        question: the last message.
    """
    last = conversation.turns[-1].result if conversation.turns else {}
    latest = last if "error" in last else None
    remarks = conversation.remarks()
    kept = (opening, canonical_json(remarks)) if remarks else ()
    return _messages((system, *kept, question.text(latest)))


def _latest_words(turn: Turn, remarks: dict[str, Any], room: int) -> str:
    """The latest step with the model's remarks; what does not fit gives way to them."""
    kept = [canonical_json(remarks)] if remarks else []
    choices = [turn.words(remarks), *kept]
    return next((text for text in choices if len(text) <= room), _LONG_REPLY)


def _earlier_turns(turns: Sequence[Turn], room: int, profile: HarnessProfile) -> list[str]:
    """Texts of earlier turns, oldest first, as far as they fit."""
    shown: list[str] = []
    for age, turn in enumerate(reversed(turns), start=1):
        words = turn.words()
        results = _forms(turn, age, profile.memory, profile.budgets)
        result = next((text for text in results if len(words) + len(text) <= room), None)
        if result is None:
            break
        room -= len(words) + len(result)
        shown = [words, result, *shown]
    return shown


def _forms(turn: Turn, age: int, memory: Memory, budgets: HarnessBudgets) -> list[str]:
    """How the result of an earlier turn may be shown, best first.

    Args:
        turn: the turn.
        age: number of results after it.
        memory: how many results are shown in full.
        budgets: which length makes a result long.
    """
    full = turn.full_result
    if memory.results_in_full is None or len(full) <= budgets.stub_characters:
        return [full]
    return [full, turn.short_result] if age < memory.results_in_full else [turn.short_result]


def _checked(texts: Sequence[str], profile: HarnessProfile) -> tuple[Message, ...]:
    """The messages, if they are not too long."""
    length, most = sum(map(len, texts)), profile.budgets.room
    if length > most:
        raise PromptTooLongError(
            f"harness profile {profile.name}: a prompt needs at least {length} characters and may "
            f"have {most}; raise budgets.characters_per_prompt"
        )
    return _messages(texts)


def _messages(texts: Sequence[str]) -> tuple[Message, ...]:
    """A system message, and then user and model in turns, the user last."""
    roles = [Role.SYSTEM, *((Role.USER, Role.ASSISTANT) * len(texts))]
    return tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))
