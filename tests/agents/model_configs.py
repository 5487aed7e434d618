"""Model configurations for tests."""

from typing import Any

from slowlab.agents.messages import Message, ModelCall, Role
from slowlab.agents.models import ModelConfig

DEFAULTS: dict[str, Any] = {
    "name": "tested",
    "label": "Tested",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "tested-1",
    "price": {"input": 1.0, "cached_input": 0.1, "output": 2.0},
    "timeout_s": 5.0,
}


def model(**changes: Any) -> ModelConfig:
    return ModelConfig(**{**DEFAULTS, **changes})


def call(text: str = "hi", **changes: Any) -> ModelCall:
    messages = (Message(Role.SYSTEM, "You grow."), Message(Role.USER, text))
    return ModelCall(messages, **{"max_output_tokens": 64, "seed": 7, **changes})
