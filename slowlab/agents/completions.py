"""Reading what an endpoint returns: the completion, its usage, and the errors that it may hold.

Endpoints differ and some err, so everything is read by name, anything unexpected counts as missing,
and text is made fit for a log: halves of surrogate pairs become U+FFFD.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from slowlab.agents.messages import FunctionCall, ModelReply, Usage

_MOST_TOKENS = 10**12
_MOST_USD = 10**9
_ERROR_STATUS = range(400, 600)


class CompletionError(ValueError):
    """A body that is no chat completion; the message says why."""


def read_completion(content: bytes) -> ModelReply:
    """The reply in the body of a response.

    The visible text alone is taken: hidden reasoning is never used in its place.

    Raises:
        CompletionError: it is no completion.
    """
    data = _json(content)
    if not isinstance(data, dict):
        raise CompletionError("the body is no JSON object")
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise CompletionError("the body holds no message")
    return ModelReply(
        text=_visible(message.get("content")),
        function_calls=_function_calls(message.get("tool_calls")),
        finish_reason=_text(choice.get("finish_reason")),
        served_model=_text(data.get("model")),
        provider=_text(data.get("provider")),
        usage=read_usage(data.get("usage")),
    )


def read_usage(data: Any) -> Usage:
    """What an endpoint reports about tokens and cost; whatever is missing or absurd is None."""
    usage = _mapping(data)
    cached = _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    details = _mapping(usage.get("completion_tokens_details"))
    return Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=cached,
        reasoning_tokens=_count(details.get("reasoning_tokens")),
        cost_usd=_usd(usage.get("cost")),
    )


def embedded_error(content: bytes) -> tuple[int, str] | None:
    """Status and words of an error that came with a status of success, or None.

    A gateway that has begun to answer can only tell in the body that its provider failed.
    """
    try:
        error = _mapping(_json(content)).get("error")
    except CompletionError:
        return None
    status = _count(_mapping(error).get("code"))
    if status is None or status not in _ERROR_STATUS:
        return None
    return status, describe_body(content)


def describe_body(content: bytes) -> str:
    """What an error response says; the whole body where that cannot be told."""
    try:
        error = _mapping(_json(content)).get("error")
    except CompletionError:
        error = None
    message = _mapping(error).get("message", error)
    words = message if isinstance(message, str) else content.decode("utf-8", "replace")
    return clean_text(words)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a response asks for, s, from seconds or from a date; None where it does not.

    A date is compared with the endpoint's own clock where it tells it.

    Args:
        headers: by lower-case name.
    """
    asked = headers.get("retry-after", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        until = _timestamp(asked)
        if until is None:
            return None
        now = _timestamp(headers.get("date", ""))
        seconds = until - (time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def clean_text(text: str) -> str:
    """The text with every half of a surrogate pair replaced, so that it has a form in UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _json(content: bytes) -> Any:
    """The body as JSON. Some servers cut characters in two: such bytes are replaced."""
    try:
        return json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise CompletionError("the body is no JSON") from None


def _visible(content: Any) -> str:
    """The visible text of a message, given whole or in parts."""
    if isinstance(content, list):
        parts = [_mapping(part) for part in content]
        content = "".join(
            part["text"]
            for part in parts
            if part.get("type") == "text" and isinstance(part.get("text"), str)
        )
    return clean_text(content) if isinstance(content, str) else ""


def _function_calls(data: Any) -> tuple[FunctionCall, ...]:
    """The functions that were called; a call without a name is one with an empty name."""
    if not isinstance(data, list):
        return ()
    functions = [_mapping(_mapping(call).get("function")) for call in data]
    return tuple(
        FunctionCall(_text(each.get("name")) or "", _text(each.get("arguments")) or "")
        for each in functions
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value <= _MOST_TOKENS else None


def _usd(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MOST_USD else None  # false for what is no number


def _timestamp(date: str) -> float | None:
    """An HTTP date as seconds since 1970, or None."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
