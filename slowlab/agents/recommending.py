"""Asking for one policy apart from the campaign: initial, interim and reader's recommendations.

A reply that is no answer is followed by what is wrong with it, and the question is asked again, a
few times at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowlab.agents.memory import kept_text
from slowlab.agents.messages import Message, ModelReply, Role
from slowlab.agents.parser import Decision, ReplyError
from slowlab.agents.results import ShownResult, format_error
from slowlab.world.policy import Policy


@dataclass(frozen=True)
class Asked:
    """What came of asking for a policy.

    Attributes:
        policy: a valid policy, or None.
        reason: the reason given for it, or None.
        attempts: how often the model was asked.
    """

    policy: Policy | None
    reason: str | None
    attempts: int


@dataclass(frozen=True)
class Asking:
    """How a policy is asked for.

    Attributes:
        ask: sends a prompt; None where no prompt may be sent any more.
        read: reads a reply; raises ReplyError.
        wrong: told about every reply that was no answer.
        question: the last message, with what came of the attempt before.
        attempts: how often the model is asked at most.
        kept_characters: characters that are kept of a reply that was no answer.
        reason_characters: characters that are kept of a reason.
    """

    ask: Callable[[tuple[Message, ...]], ModelReply | None]
    read: Callable[[ModelReply], Decision]
    wrong: Callable[[ReplyError], None]
    question: Callable[[ShownResult | None], str]
    attempts: int
    kept_characters: int
    reason_characters: int

    def policy(self, before: Sequence[Message], first: str) -> Asked:
        """Ask until there is a valid policy or the attempts are used up.

        Args:
            before: messages before the question.
            first: the question of the first attempt.
        """
        messages = (*before, Message(Role.USER, first))
        for attempt in range(1, self.attempts + 1):
            reply = self.ask(messages)
            if reply is None:
                return Asked(None, None, attempt - 1)
            try:
                decision = self.read(reply)
            except ReplyError as error:
                self.wrong(error)
                said = Message(Role.ASSISTANT, kept_text(reply, self.kept_characters))
                again = self.question(format_error(error.code.value, error.message))
                messages = (*messages, said, Message(Role.USER, again))
                continue
            reason = decision.reason[: self.reason_characters] if decision.reason else None
            return Asked(decision.policy, reason, attempt)
        return Asked(None, None, self.attempts)
