"""What is sent to a language model and what comes back, in one form for all endpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True)
class Message:
    """One message of a prompt.

    Attributes:
        role: who speaks.
        content: the text.
    """

    role: Role
    content: str

    def payload(self) -> dict[str, str]:
        """Plain data, as an endpoint takes it."""
        return {"role": self.role.value, "content": self.content}


@dataclass(frozen=True)
class ModelCall:
    """One question to a model; equal calls are equal bytes on every machine.

    Attributes:
        messages: the prompt.
        max_output_tokens: longest answer, tokens.
        seed: generation seed, or None where none is sent.
        response_schema: JSON schema of the answer for endpoints that enforce one, or None.
        functions: functions that the model may call (name, description, JSON schema of the
            parameters); empty where the answer is text.
    """

    messages: tuple[Message, ...]
    max_output_tokens: int
    seed: int | None = None
    response_schema: dict[str, Any] | None = None
    functions: tuple[dict[str, Any], ...] = ()

    @property
    def characters(self) -> int:
        """Length of the prompt, in characters of all messages."""
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True)
class FunctionCall:
    """A function that a model has called.

    Attributes:
        name: the function.
        arguments: its arguments as the model wrote them: JSON text, unchecked.
    """

    name: str
    arguments: str

    def payload(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "arguments": self.arguments}


@dataclass(frozen=True)
class Usage:
    """What a call used, as the endpoint reports it; None is unknown and never 0.

    Attributes:
        prompt_tokens: tokens of the prompt.
        completion_tokens: tokens of the answer, with reasoning.
        cached_tokens: tokens of the prompt that came from the endpoint's cache.
        reasoning_tokens: tokens of hidden reasoning.
        cost_usd: what the endpoint says that the call costs, USD.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None

    def payload(self) -> dict[str, int | float | None]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class ModelReply:
    """The answer to a call.

    Attributes:
        text: the visible answer; never hidden reasoning in its place.
        function_calls: functions that were called instead of an answer in text.
        finish_reason: why the answer ended, as the endpoint says.
        served_model: model that answered, as the endpoint says.
        provider: who served it, where the endpoint says.
        usage: what it used.
    """

    text: str
    function_calls: tuple[FunctionCall, ...] = ()
    finish_reason: str | None = None
    served_model: str | None = None
    provider: str | None = None
    usage: Usage = field(default_factory=Usage)

    def payload(self) -> dict[str, Any]:
        """Plain data for a transcript."""
        return {
            "text": self.text,
            "function_calls": [call.payload() for call in self.function_calls],
            "finish_reason": self.finish_reason,
            "served_model": self.served_model,
            "provider": self.provider,
            "usage": self.usage.payload(),
        }

    @classmethod
    def from_payload(cls, data: dict[str, Any]) -> ModelReply:
        """Read what :meth:`payload` wrote."""
        return cls(
            text=data["text"],
            function_calls=tuple(FunctionCall(**call) for call in data["function_calls"]),
            finish_reason=data["finish_reason"],
            served_model=data["served_model"],
            provider=data["provider"],
            usage=Usage(**data["usage"]),
        )


class Stage(StrEnum):
    """Where in a campaign a call is made.

    ``initial``: recommendation before any experiment. ``design``: day-0 design, before the feedback
    condition is known. ``season``: the campaign. ``final``: only a recommendation is accepted.
    ``probe``: an interim recommendation that is logged and not answered. ``reading``: a reader's
    recommendation from a packet.
    """

    INITIAL = "initial"
    DESIGN = "design"
    SEASON = "season"
    FINAL = "final"
    PROBE = "probe"
    READING = "reading"
