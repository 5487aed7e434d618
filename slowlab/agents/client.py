"""Asks a language model once and says what came: an answer, or why there is none.

Every failure has one of the names of :class:`~slowlab.agents.outages.AttemptFault`; whether it is
tried again is decided elsewhere (:mod:`slowlab.agents.retries`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slowlab.agents.completions import (
    CompletionError,
    clean_text,
    describe_body,
    embedded_error,
    read_completion,
    retry_after_s,
)
from slowlab.agents.messages import ModelCall, ModelReply
from slowlab.agents.models import ModelConfig
from slowlab.agents.outages import AttemptFault
from slowlab.agents.prices import Cost

if TYPE_CHECKING:
    from slowlab.agents.endpoint import ExchangeError, Response

_MOST_DETAIL = 300
_OK = range(200, 300)
_TOO_MANY = 429
_TRY_LATER = (408, 409, 425)  # a time-out there, the same key still at work, too early
_SERVER_FAULTS = range(500, 600)
_SAYS_LENGTH = "length"
_SAYS_ERROR = "error"


class AttemptFailedError(Exception):
    """One attempt gave no answer that can be used.

    Attributes:
        fault: why.
        detail: the reason in words, without any key; at most 300 characters.
        retry_after_s: wait that the endpoint asks for, s, or None.
        reply: what came although it failed (after a length stop, an empty answer, or an answer from
            somewhere else), or None.
        maybe_billed: whether the endpoint may have billed the attempt.
    """

    def __init__(
        self,
        fault: AttemptFault,
        detail: str,
        retry_after_s: float | None = None,
        reply: ModelReply | None = None,
        maybe_billed: bool = True,
    ) -> None:
        super().__init__(f"{fault.value}: {detail}")
        self.fault = fault
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.reply = reply
        self.maybe_billed = maybe_billed

    def cost(self, model: ModelConfig) -> Cost:
        """What the attempt cost with a model; unknown where it may have been billed unseen."""
        usage = None if self.reply is None else self.reply.usage
        return model.failure_cost(usage, maybe_billed=self.maybe_billed)


class ModelClient:
    """A connection to one model; safe between threads.

    Attributes:
        config: the model.
    """

    def __init__(
        self, config: ModelConfig, base_url: str | None = None, key: str | None = None
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            config: the model.
            base_url: address instead of the configured one; a stand-in needs it.
            key: key instead of the one in the environment.

        Raises:
            ConfigError: the environment does not hold the key.
            ValueError: there is no address.
        """
        from slowlab.agents.endpoint import Endpoint

        address = base_url or config.base_url
        if address is None:
            raise ValueError(f"{config.name} is a stand-in: give the address of its server")
        self.config = config
        self._key = config.key() if key is None else key
        self._endpoint = Endpoint(
            address,
            self._key,
            timeout_s=config.timeout_s,
            connect_timeout_s=config.connect_timeout_s,
        )

    def __repr__(self) -> str:
        return f"ModelClient({self.config.name})"

    def send(self, call: ModelCall, idempotency_key: str) -> ModelReply:
        """Ask once.

        Args:
            call: the question.
            idempotency_key: sent along, so that an endpoint that honours it bills a repeated
                attempt once.

        Raises:
            AttemptFailedError: there is no answer that can be used.
        """
        from slowlab.agents.endpoint import ExchangeError

        try:
            response = self._endpoint.post(request_body(self.config, call), idempotency_key)
        except ExchangeError as error:
            raise self._not_complete(error) from None
        if response.status not in _OK:
            raise self._bad_status(response.status, describe_body(response.content), response)
        try:
            reply = read_completion(response.content)
        except CompletionError as error:
            raise self._no_completion(error, response) from None
        self._check(reply)
        return reply

    def close(self) -> None:
        """Let go of everything."""
        self._endpoint.close()

    def _check(self, reply: ModelReply) -> None:
        """Refuse what another model or provider answered, and what cannot be used."""
        served, provider = reply.served_model, reply.provider
        if not self.config.is_expected_model(served):
            detail = f"expected {self.config.expected_model}, the answer names {served or 'none'}"
            raise self._failed(AttemptFault.WRONG_MODEL, detail, reply=reply)
        if not self.config.is_expected_provider(provider):
            wanted = self.config.expected_provider
            detail = f"expected {wanted}, the answer names {provider or 'none'}"
            raise self._failed(AttemptFault.WRONG_PROVIDER, detail, reply=reply)
        if reply.finish_reason == _SAYS_ERROR:
            raise self._failed(AttemptFault.SERVER_ERROR, "the answer ended with an error")
        if reply.finish_reason == _SAYS_LENGTH:
            detail = "the answer reached its limit"
            raise self._failed(AttemptFault.LENGTH_STOP, detail, reply=reply)
        if not reply.text.strip() and not reply.function_calls:
            detail = f"no visible answer; it ended with {reply.finish_reason or 'no reason'}"
            raise self._failed(AttemptFault.EMPTY, detail, reply=reply)

    def _not_complete(self, error: ExchangeError) -> AttemptFailedError:
        fault = AttemptFault.CUT_BODY if error.begun else AttemptFault.CONNECTION_LOST
        if error.timed_out:
            fault = AttemptFault.TIMED_OUT
        return self._failed(fault, error.detail, maybe_billed=error.sent)

    def _no_completion(self, error: CompletionError, response: Response) -> AttemptFailedError:
        """A whole response that is no completion; some hold an error with its own status."""
        inner = embedded_error(response.content)
        if inner is not None:
            return self._bad_status(*inner, response)
        return self._failed(AttemptFault.GARBLED, str(error))

    def _bad_status(self, status: int, words: str, response: Response) -> AttemptFailedError:
        detail, wait = f"status {status}: {words}", retry_after_s(response.headers)
        if status == _TOO_MANY:
            return self._failed(AttemptFault.RATE_LIMITED, detail, wait, maybe_billed=False)
        if status in _SERVER_FAULTS or status in _TRY_LATER:
            return self._failed(AttemptFault.SERVER_ERROR, detail, wait)
        return self._failed(AttemptFault.REFUSED, detail, wait, maybe_billed=False)

    def _failed(
        self,
        fault: AttemptFault,
        detail: str,
        retry_after_s: float | None = None,
        reply: ModelReply | None = None,
        maybe_billed: bool = True,
    ) -> AttemptFailedError:
        """The error; some endpoints repeat the key in what they say."""
        if self._key:
            detail = detail.replace(self._key, "[key]")
        words = " ".join(clean_text(detail).split())[:_MOST_DETAIL]
        return AttemptFailedError(fault, words, retry_after_s, reply, maybe_billed)


def request_body(config: ModelConfig, call: ModelCall) -> dict[str, Any]:
    """The request for a call."""
    body: dict[str, Any] = {
        "model": config.model,
        "messages": [message.payload() for message in call.messages],
        config.output_limit_key: call.max_output_tokens,
    }
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.send_seed and call.seed is not None:
        body["seed"] = call.seed
    if call.response_schema is not None:
        schema = {"name": "reply", "schema": call.response_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if call.functions:
        body["tools"] = [{"type": "function", "function": each} for each in call.functions]
        body["tool_choice"] = "required"
    return {**body, **config.extra_body}
