"""The forms of an answer, as the system message describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from slowlab.agents.standins.conversation import Conversation

Policy = dict[str, float]


@dataclass(frozen=True)
class Answer:
    """What a script says.

    Attributes:
        text: its answer as text.
        decision: the same as one object, where it is one: an endpoint that enforces a form or
            knows functions sends this instead of the text.
        calls: names and arguments, as JSON text, of function calls that break the rules.
    """

    text: str
    decision: dict[str, Any] | None = None
    calls: tuple[tuple[str, str], ...] = ()


Script = Callable[[Conversation], Answer]
"""A stand-in: from one request to one answer, and nothing else."""


def plain(decision: dict[str, Any]) -> Answer:
    """A decision as it is: one JSON object."""
    return Answer(json.dumps(decision), decision)


def act(name: str, reason: str = "", **fields: Any) -> dict[str, Any]:
    """A campaign action."""
    return _with_reason({"type": "campaign", "action": {"action": name, **fields}}, reason)


def use(tool: str, reason: str = "", **arguments: Any) -> dict[str, Any]:
    """The use of an analysis tool."""
    return _with_reason({"type": "tool", "name": tool, "args": arguments}, reason)


def recommendation(talk: Conversation, policy: Policy, reason: str = "") -> dict[str, Any]:
    """A recommendation in the form that the stage asks for."""
    if talk.stage == "final":
        return act("recommend", reason, policy=policy)
    kind = "initial_recommendation" if talk.stage == "initial" else "recommendation"
    return _with_reason({"type": kind, "policy": policy}, reason)


def with_notes(talk: Conversation, decision: dict[str, Any], notes: str) -> dict[str, Any]:
    """A decision with notes, where they are kept: never beside a bare recommendation."""
    takes_notes = talk.keeps_notes and talk.stage in ("design", "season", "final")
    return {**decision, "notes": notes} if takes_notes else decision


def only_recommends(talk: Conversation) -> bool:
    """Whether the stage takes nothing but a recommendation."""
    return talk.stage not in ("design", "season")


def following(agenda: Sequence[dict[str, Any]], talk: Conversation) -> dict[str, Any]:
    """The step after the last one of the agenda that was taken today; the first where none was.

    A step that was refused counts as taken, so that nothing is tried for ever.

    Args:
        agenda: today's steps, at least one; all alike until time passes, but steps that the state
            shows to be done may drop out at its begin.
        talk: the request.
    """
    taken = [
        place for turn in talk.today for place, step in enumerate(agenda) if _same(step, turn.said)
    ]
    place = taken[-1] + 1 if taken else 0
    return agenda[min(place, len(agenda) - 1)]


def _same(step: dict[str, Any], said: dict[str, Any]) -> bool:
    """Whether two answers do the same, whatever their reasons."""
    return all(step.get(part) == said.get(part) for part in ("type", "action", "name", "args"))


def _with_reason(decision: dict[str, Any], reason: str) -> dict[str, Any]:
    return {**decision, "reason": reason} if reason else decision
