"""The language models that a study can ask: ``config/models.yaml`` and what it says about a call.

Nothing here holds a key: a model names the environment variable that does.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from slowlab.agents.messages import ModelCall, Usage
from slowlab.agents.prices import (
    FREE,
    NOT_BILLED,
    UNKNOWN_COST,
    Cost,
    CostSource,
    Price,
    most_prompt_tokens,
)
from slowlab.agents.retries import RetryPolicy
from slowlab.config import CONFIG_ROOT, ConfigError, ConfigModel, ConfigProblem, load_config

MODELS_FILE = CONFIG_ROOT / "models.yaml"
"""The models that come with SlowLab."""

StandInScript = Literal[
    "grower",
    "two_wave",
    "staggered",
    "time_blind",
    "verbose",
    "silent",
    "malformed",
    "hostile",
    "over_budget",
]
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_KEY = re.compile(r"[!-~]+")
_SET_BY_CLIENT = (
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "response_format",
    "seed",
    "stream",
    "temperature",
    "tools",
)


class ModelSettings(ConfigModel):
    """One language model behind an endpoint that speaks the chat completions protocol."""

    label: str = Field(min_length=1, max_length=40, description="Name in figures and tables.")
    base_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+(/\S*)?$",
        description="Address of the endpoint, up to and with /v1; null for a stand-in.",
    )
    key_variable: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the key; null where none is needed.",
    )
    model: str = Field(min_length=1, description="Name of the model as the endpoint knows it.")
    expected_model: str | None = Field(
        default=None,
        min_length=1,
        description="Model that must say it answered: exactly this name, or with * at the end any "
        "name that begins so. An answer that names no model is refused. null: not checked.",
    )
    expected_provider: str | None = Field(
        default=None,
        min_length=1,
        description="Provider that must say it answered, in capitals or not. An answer that names "
        "none is refused. null: not checked.",
    )
    extra_body: dict[str, Any] = Field(
        default={},
        description="Further members of a request as the endpoint wants them: pinning of the "
        "provider, reasoning.",
    )
    temperature: float | None = Field(
        default=0.7, ge=0, le=2, description="Temperature of sampling; null: none is sent."
    )
    send_seed: bool = Field(default=True, description="Whether the generation seed is sent.")
    output_limit_key: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="Member of a request that limits the answer."
    )
    timeout_s: float = Field(
        default=90.0, gt=0, le=3_600, description="Longest time from sending to the last byte, s."
    )
    connect_timeout_s: float = Field(
        default=10.0, gt=0, le=300, description="Longest time until a connection stands, s."
    )
    retries: RetryPolicy = Field(default=RetryPolicy(), description="Attempts and waits.")
    price: Price | None = Field(default=None, description="Price of tokens; null: unknown.")
    free: bool = Field(
        default=False, description="Whether a call is known to cost nothing; then without a price."
    )
    reasoning_tokens: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Longest hidden reasoning that may be billed beyond the answer's limit, "
        "tokens; only for the highest possible cost.",
    )
    json_schema: bool = Field(
        default=False, description="Whether the endpoint holds an answer to a JSON schema."
    )
    function_calls: bool = Field(default=False, description="Whether the model calls functions.")
    idempotency: bool = Field(
        default=False,
        description="Whether the endpoint answers a repeated Idempotency-Key without billing "
        "again.",
    )
    stand_in: StandInScript | None = Field(
        default=None, description="Script of the local stand-in; null for a language model."
    )
    local: bool = Field(default=False, description="Whether it runs on this machine.")
    predecessor: str | None = Field(
        default=None, description="Model in this file that it takes the place of."
    )
    published_as: Literal["deepseek", "glm", "mimo"] | None = Field(
        default=None, description="Its name in the published results, for the likely cost."
    )
    notes: str = Field(default="", description="What a person should know about it.")

    @model_validator(mode="after")
    def _endpoint_is_sound(self) -> Self:
        if (self.stand_in is None) == (self.base_url is None):
            raise ValueError("a model has a base_url, a stand-in has none")
        if self.stand_in is not None and self.key_variable is not None:
            raise ValueError("a stand-in needs no key_variable")
        if self.key_variable is not None and not self._keeps_secrets():
            raise ValueError("base_url: a key is sent over https:// only, or to this machine")
        if self.free and self.price is not None:
            raise ValueError("free: true leaves no room for a price")
        fixed = [name for name in _SET_BY_CLIENT if name in self.extra_body]
        if fixed:
            raise ValueError(f"extra_body: {', '.join(fixed)} is set by the client")
        return self

    def _keeps_secrets(self) -> bool:
        url = urlsplit(self.base_url or "")
        return url.scheme == "https" or _is_this_machine(url.hostname or "")


class ModelConfig(ModelSettings):
    """A model with its name in the file."""

    name: str = Field(description="Name in study files.")

    _ASKED: ClassVar[tuple[str, ...]] = (
        "name",
        "model",
        "expected_model",
        "expected_provider",
        "extra_body",
        "temperature",
        "send_seed",
        "output_limit_key",
        "json_schema",
        "function_calls",
        "stand_in",
        "local",
    )

    def public(self) -> dict[str, Any]:
        """What decides the model's answers, as plain data: for transcripts and for identities.

        Prices, time-outs and addresses are left out: a change of them pays for nothing again.
        """
        return self.model_dump(mode="json", include=set(self._ASKED))

    def key(self) -> str | None:
        """The key, read from the environment now; None where none is needed.

        Raises:
            ConfigError: the variable is not set, or holds what cannot be a key. The message names
                the variable and never its content.
        """
        if self.key_variable is None:
            return None
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise self._problem(f"the environment variable {self.key_variable} is not set")
        if not _KEY.fullmatch(key):
            detail = "must hold one key: printable ASCII without spaces"
            raise self._problem(f"the environment variable {self.key_variable} {detail}")
        return key

    def is_expected_model(self, served: str | None) -> bool:
        """Whether an answer comes from the model that was asked for, as far as it is checked."""
        if self.expected_model is None:
            return True
        if self.expected_model.endswith("*"):
            return served is not None and served.startswith(self.expected_model[:-1])
        return served == self.expected_model

    def is_expected_provider(self, provider: str | None) -> bool:
        """Whether an answer comes from the provider that was asked for, as far as it is checked."""
        if self.expected_provider is None:
            return True
        return provider is not None and provider.casefold() == self.expected_provider.casefold()

    def worst_case_usd(self, call: ModelCall) -> float | None:
        """Highest possible cost of one attempt, USD; None where the price is unknown."""
        return self.most_usd(most_prompt_tokens(call), call.max_output_tokens)

    def most_usd(self, prompt_tokens: int, output_tokens: int, calls: int = 1) -> float | None:
        """Highest possible cost of calls with at most so many tokens in all, USD.

        Args:
            prompt_tokens: bound of all prompts.
            output_tokens: bound of all answers without hidden reasoning.
            calls: number of calls.
        """
        if self.free:
            return 0.0
        if self.price is None:
            return None
        return self.price.at_most(prompt_tokens, output_tokens + calls * self.reasoning_tokens)

    def cost(self, usage: Usage) -> Cost:
        """What an answered attempt cost; never 0 where it is unknown."""
        if usage.cost_usd is not None:
            return Cost(usage.cost_usd, CostSource.REPORTED)
        if self.free:
            return FREE
        return UNKNOWN_COST if self.price is None else self.price.of_usage(usage)

    def failure_cost(self, usage: Usage | None, *, maybe_billed: bool) -> Cost:
        """What a failed attempt cost.

        Args:
            usage: what came back although it failed, or None.
            maybe_billed: whether the endpoint may have billed it.
        """
        if not maybe_billed:
            return NOT_BILLED
        return self.cost(Usage() if usage is None else usage)

    def _problem(self, message: str) -> ConfigError:
        problem = ConfigProblem(f"models.{self.name}.key_variable", message)
        return ConfigError(str(MODELS_FILE), (problem,))


class ModelsFile(ConfigModel):
    """Language models by name. A file of your own may start from this one with ``extends``."""

    models: dict[str, ModelSettings] = Field(
        min_length=1, description="Models by the name that study files use."
    )

    @model_validator(mode="after")
    def _names_are_sound(self) -> Self:
        for name, model in self.models.items():
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"models.{name}: a name has at most 64 lower-case letters, digits, . and -"
                )
            if model.predecessor is not None and model.predecessor not in self.models:
                raise ValueError(f"models.{name}.predecessor: there is no {model.predecessor!r}")
        return self


def load_models(path: str | Path = MODELS_FILE) -> dict[str, ModelConfig]:
    """All models of a file, by name.

    Raises:
        ConfigError: the file cannot be used; names file, line, key and what is allowed.
    """
    settings = load_config(path, ModelsFile).models
    return {name: ModelConfig(name=name, **dict(one)) for name, one in settings.items()}


def model_config(name: str, path: str | Path = MODELS_FILE) -> ModelConfig:
    """One model.

    Raises:
        ConfigError: there is none of that name, or the file cannot be used.
    """
    models = load_models(path)
    if name not in models:
        problem = ConfigProblem("models", f"there is no model {name!r}; known: {', '.join(models)}")
        raise ConfigError(str(path), (problem,))
    return models[name]


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
