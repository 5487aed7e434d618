"""What campaigns and readings of a language model can cost at most, from the harness's budgets.

A token is counted as one character. That holds for everything that the harness writes; only what
a model itself writes in other scripts can take more tokens than characters, so the purse, which
counts bytes before each call, is the limit that holds in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.models import ModelConfig
from slowlab.agents.prices import CALL_TOKENS, MESSAGE_TOKENS, described_tokens
from slowlab.agents.profile import HarnessProfile, ReplyFormat
from slowlab.agents.reply_schema import functions, response_schema

_FIXED_MESSAGES = 4


@dataclass(frozen=True)
class Bound:
    """The most that something uses.

    Attributes:
        calls: answered calls.
        characters: characters of all prompts.
        usd: cost where every call is sent once, USD; None where the price is unknown.
        usd_retried: cost where every call takes every attempt and all are billed, USD, or None.
    """

    calls: int
    characters: int
    usd: float | None
    usd_retried: float | None

    def times(self, count: int) -> Bound:
        """The same so many times."""
        usd, retried = self.usd, self.usd_retried
        return Bound(
            self.calls * count,
            self.characters * count,
            None if usd is None else usd * count,
            None if retried is None else retried * count,
        )


def branch_bound(model: ModelConfig, profile: HarnessProfile, task: Mapping[str, Any]) -> Bound:
    """The most that one branch of a campaign uses, with the beginning that branches share.

    Args:
        model: the model.
        profile: the harness profile.
        task: the public task, from which schemas and functions are made.
    """
    budgets = profile.budgets
    calls = budgets.model_calls
    characters = min(budgets.prompt_characters, calls * budgets.characters_per_prompt)
    # A prompt holds two messages for each earlier call, so as many as calls on average.
    messages = calls * (calls + _FIXED_MESSAGES)
    longest = max(_described(stage, profile, task) for stage in Stage)
    return _bound(model, profile, calls, characters, messages * MESSAGE_TOKENS + calls * longest)


def reading_bound(model: ModelConfig, profile: HarnessProfile, task: Mapping[str, Any]) -> Bound:
    """The most that the reading of one packet uses; see :func:`branch_bound`."""
    calls = profile.budgets.reading_attempts
    characters = calls * profile.budgets.characters_per_prompt
    messages = calls * (2 * calls + _FIXED_MESSAGES)
    described = calls * _described(Stage.READING, profile, task)
    return _bound(model, profile, calls, characters, messages * MESSAGE_TOKENS + described)


def _bound(
    model: ModelConfig, profile: HarnessProfile, calls: int, characters: int, further_tokens: int
) -> Bound:
    prompt_tokens = characters + further_tokens + calls * CALL_TOKENS
    usd = model.most_usd(prompt_tokens, calls * profile.budgets.output_tokens, calls)
    retried = None if usd is None else usd * model.retries.attempts
    return Bound(calls, characters, usd, retried)


def _described(stage: Stage, profile: HarnessProfile, task: Mapping[str, Any]) -> int:
    """Tokens of the schema or the functions that go with a prompt."""
    if profile.reply_format is ReplyFormat.JSON_SCHEMA:
        return described_tokens(response_schema(stage, task, profile), ())
    if profile.reply_format is ReplyFormat.FUNCTION_CALLS:
        return described_tokens(None, functions(stage, task, profile))
    return 0
