"""What a call costs: prices, and where a cost comes from. An unknown cost is never 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field

from slowlab.agents.messages import ModelCall, Usage
from slowlab.canonical import canonical_bytes
from slowlab.config import ConfigModel

MESSAGE_TOKENS = 16
"""Most tokens that a chat template adds to one message."""
CALL_TOKENS = 512
"""Most tokens that a chat template adds to a prompt."""
SCHEMA_FACTOR = 2
"""Most tokens per byte of a schema or function, which endpoints write into the prompt anew."""
_MILLION = 1_000_000


class CostSource(StrEnum):
    """Where a cost comes from.

    ``reported``: the endpoint says so. ``price_table``: reported tokens times the price. ``free``:
    declared to cost nothing. ``not_billed``: the attempt failed before anything was answered.
    ``unknown``: nobody can tell.
    """

    REPORTED = "reported"
    PRICE_TABLE = "price_table"
    FREE = "free"
    NOT_BILLED = "not_billed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Cost:
    """What a call or an attempt cost.

    Attributes:
        usd: USD; None where it is unknown.
        source: where it comes from.
    """

    usd: float | None
    source: CostSource


NOT_BILLED = Cost(0.0, CostSource.NOT_BILLED)
FREE = Cost(0.0, CostSource.FREE)
UNKNOWN_COST = Cost(None, CostSource.UNKNOWN)


class Price(ConfigModel):
    """Price of tokens, USD per million."""

    input: float = Field(ge=0, le=10_000, description="Of a prompt, USD per million tokens.")
    cached_input: float | None = Field(
        default=None,
        ge=0,
        le=10_000,
        description="Of the part of a prompt that comes from the endpoint's cache; null: as input.",
    )
    output: float = Field(
        ge=0, le=10_000, description="Of an answer with its reasoning, USD per million tokens."
    )

    def usd(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Price of a call, USD.

        Args:
            prompt_tokens: tokens of the prompt, with those from the cache.
            completion_tokens: tokens of the answer, with reasoning.
            cached_tokens: tokens of the prompt that came from the cache.
        """
        cached_price = self.input if self.cached_input is None else self.cached_input
        cached = min(cached_tokens, prompt_tokens)
        paid = (prompt_tokens - cached) * self.input + cached * cached_price
        return (paid + completion_tokens * self.output) / _MILLION

    def of_usage(self, usage: Usage) -> Cost:
        """Cost of reported tokens; unknown where one of the two counts is missing."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return UNKNOWN_COST
        cached = usage.cached_tokens or 0
        usd = self.usd(usage.prompt_tokens, usage.completion_tokens, cached)
        return Cost(usd, CostSource.PRICE_TABLE)

    def at_most(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Highest price of a call with at most so many tokens, USD."""
        dearest = max(self.input, self.cached_input or 0.0)
        return (prompt_tokens * dearest + completion_tokens * self.output) / _MILLION


def most_prompt_tokens(call: ModelCall) -> int:
    """A bound on the tokens of a prompt: a token is at least one byte, and templates add a few."""
    text = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in call.messages)
    described = described_tokens(call.response_schema, call.functions)
    return text + described + CALL_TOKENS + MESSAGE_TOKENS * len(call.messages)


def described_tokens(
    response_schema: Mapping[str, Any] | None, functions: Iterable[Mapping[str, Any]]
) -> int:
    """A bound on the tokens of a schema and of functions that go with a prompt."""
    schemas = [] if response_schema is None else [response_schema]
    return SCHEMA_FACTOR * sum(len(canonical_bytes(item)) for item in [*schemas, *functions])
