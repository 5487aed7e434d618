"""What a campaign of a model has used, what is left of every budget, and when it must end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from slowlab.agents.budgets import HarnessBudgets
from slowlab.agents.messages import ModelCall
from slowlab.campaign.history import History


class Cause(StrEnum):
    """Why nothing but a recommendation is asked for, or nothing at all."""

    CALLS = "calls"
    DECISIONS = "decisions"
    PROMPT_CHARACTERS = "prompt_characters"
    MODEL_CALLS = "model_calls"
    IDENTICAL_ERRORS = "identical_errors"


@dataclass
class HarnessCounts:
    """What happened so far, with what the branches share.

    Attributes:
        model_calls: prompts that were answered.
        prompt_characters: their length together.
        format_errors: replies that were no answer.
        invalid_actions: actions that the campaign rejected.
        tool_calls: uses of analysis tools.
        tool_errors: those that gave an error.
        notes_updates: how often the notes were replaced by other ones.
        incumbents: how often another incumbent was named.
        probes: interim recommendations that were asked for.
        flags: what was noteworthy, in order.
    """

    model_calls: int = 0
    prompt_characters: int = 0
    format_errors: int = 0
    invalid_actions: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    notes_updates: int = 0
    incumbents: int = 0
    probes: int = 0
    flags: list[str] = field(default_factory=list)

    def book(self, call: ModelCall) -> None:
        """Count a prompt that is sent."""
        self.model_calls += 1
        self.prompt_characters += call.characters

    def payload(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


class Limits:
    """Every budget of a campaign, read from the campaign's own report and the harness's counts.

    Args:
        budgets: of the harness.
        history: of the campaign.
        counts: of the harness, kept up to date by it.
    """

    def __init__(self, budgets: HarnessBudgets, history: History, counts: HarnessCounts) -> None:
        self._budgets = budgets
        self._history = history
        self._counts = counts

    def left(self) -> dict[str, int]:
        """What is left of each budget."""
        counts, budgets = self._counts, self._budgets
        tools = self._history.task["budgets"]["analysis_tool_calls"]
        return {
            "calls": self._campaign("calls", "calls"),
            "decisions": self._campaign("decisions", "decision_calls"),
            "starts": self._campaign("starts", "starts"),
            "tool_calls": max(0, tools - counts.tool_calls),
            "model_calls": budgets.model_calls - counts.model_calls,
            "prompt_characters": budgets.prompt_characters - counts.prompt_characters,
        }

    def endgame(self) -> Cause | None:
        """Why only a recommendation may be asked for now, if so."""
        left, budgets = self.left(), self._budgets
        if left["calls"] <= budgets.endgame_calls:
            return Cause.CALLS
        if left["decisions"] <= budgets.endgame_decisions:
            return Cause.DECISIONS
        return Cause.PROMPT_CHARACTERS if self.characters_are_short() else None

    def characters_are_short(self) -> bool:
        """Whether only the reserve of prompt characters is left."""
        reserve = self._budgets.endgame_reserve_characters
        return self.left()["prompt_characters"] < reserve

    def allows(self, call: ModelCall) -> bool:
        """Whether a prompt may be sent: not too long, and calls and characters are left."""
        left = self.left()
        longest = min(left["prompt_characters"], self._budgets.characters_per_prompt)
        return left["model_calls"] >= 1 and call.characters <= longest

    def can_recommend(self) -> bool:
        """Whether calls and decision calls for a recommendation are left."""
        left = self.left()
        return left["calls"] >= 1 and left["decisions"] >= 1

    def _campaign(self, reported: str, announced: str) -> int:
        """What is left of a budget of the campaign, which it reports with every reply."""
        report = self._history.budget
        if report is None:
            return self._history.task["budgets"][announced]
        return report[reported]["max"] - report[reported]["used"]


class ErrorStreak:
    """Counts identical errors one after another.

    Args:
        most: how many end a loop.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._last: tuple[str, str, str] | None = None
        self._length = 0

    def add(self, kind: str, reason: str, message: str) -> None:
        """Enter an error."""
        error = (kind, reason, message)
        self._length = self._length + 1 if error == self._last else 1
        self._last = error

    def clear(self) -> None:
        """Something went well, or another part of the campaign begins."""
        self._last, self._length = None, 0

    @property
    def reached(self) -> bool:
        """Whether there were as many as end a loop."""
        return self._length >= self._most
