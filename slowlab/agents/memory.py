"""What a model has said and what came of it, as far as later prompts need it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from slowlab.agents.messages import FunctionCall, ModelReply
from slowlab.agents.parser import Decision
from slowlab.agents.results import ShownResult, one_line, with_note
from slowlab.canonical import canonical_json
from slowlab.world.policy import Policy

NOTHING_SAID = "(no text)"
"""Stands for a reply without any text: some endpoints refuse an empty message."""

_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARK = "\N{REPLACEMENT CHARACTER}"
_CALLS_KEPT = 8


@dataclass(frozen=True)
class Turn:
    """One reply and what it led to.

    Attributes:
        said: the step in canonical form, or the text of a reply that was no answer.
        result: what came of it.
        tool: name of the tool that was used, if one was.
    """

    said: dict[str, Any] | str
    result: ShownResult
    tool: str | None = None

    def words(self, remarks: dict[str, Any] | None = None) -> str:
        """What the model said, as one text.

        Args:
            remarks: its notes and its incumbent as they stand now, to be shown with it.
        """
        if not isinstance(self.said, str):
            return canonical_json({**self.said, **remarks}) if remarks else self._own_words
        return f"{self.said}\n{canonical_json(remarks)}" if remarks else self.said

    @cached_property
    def full_result(self) -> str:
        """The result as one text; every later prompt may repeat it."""
        return canonical_json(self.result)

    @cached_property
    def short_result(self) -> str:
        """The result as a one-line note."""
        return canonical_json(one_line(self.result, self.tool))

    @cached_property
    def _own_words(self) -> str:
        return canonical_json(self.said)


class Conversation:
    """The turns of one campaign, and what the model keeps for itself.

    Attributes:
        turns: oldest first.
        notes: its latest notes, or None.
        incumbent: the policy that it named as its best so far, or None.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.notes: str | None = None
        self.incumbent: Policy | None = None

    def add(self, turn: Turn) -> None:
        """Append a turn."""
        self.turns.append(turn)

    def tell(self, text: str) -> None:
        """Let the harness say something with the latest result."""
        if self.turns:
            last = self.turns[-1]
            self.turns[-1] = replace(last, result=with_note(last.result, text))

    def remarks(self) -> dict[str, Any]:
        """Notes and incumbent as they stand now, in the form of a reply."""
        found: dict[str, Any] = {}
        if self.notes is not None:
            found["notes"] = self.notes
        if self.incumbent is not None:
            found["incumbent"] = self.incumbent.model_dump()
        return found


def said(decision: Decision, reason_characters: int) -> dict[str, Any]:
    """A step in canonical form, with the beginning of its reason."""
    step = decision.payload()
    if decision.reason:
        step["reason"] = decision.reason[:reason_characters]
    return step


def kept_text(reply: ModelReply, characters: int) -> str:
    """The beginning of a reply that was no answer, as text that any log can hold.

    Halves of surrogate pairs and control characters become the replacement character. Functions
    that were called follow the text as JSON.

    Args:
        reply: what came.
        characters: how much is kept.
    """
    text = safe_text(reply.text[:characters])
    if reply.function_calls:
        calls = [_kept_call(call, characters) for call in reply.function_calls[:_CALLS_KEPT]]
        text = f"{text}\n{canonical_json(calls)}".strip()
    return text[:characters] if text.strip() else NOTHING_SAID


def _kept_call(call: FunctionCall, characters: int) -> dict[str, str]:
    name, arguments = call.name[:characters], call.arguments[:characters]
    return {"name": safe_text(name), "args": safe_text(arguments)}


def safe_text(text: str) -> str:
    """A text that is valid UTF-8 and holds no control characters but tabs and ends of lines."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _NO_TEXT.sub(_MARK, whole)
