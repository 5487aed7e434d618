"""From the body of a request to the body of a response, in the form of chat completions.

The answer depends on messages, seed, model, ``max_tokens``, ``response_format`` and ``tools``, and
on nothing else. A token is taken to be four characters, rounded up: that is documented arithmetic
and not what any tokeniser would count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from slowlab.agents.standins.answers import Answer
from slowlab.agents.standins.conversation import Conversation, objects
from slowlab.agents.standins.registry import SCRIPTS, model_name, script_of

CHARACTERS_PER_TOKEN = 4


class BadRequestError(ValueError):
    """A request that a strict endpoint refuses.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def models() -> dict[str, Any]:
    """The list of models, as ``GET /v1/models`` returns it."""
    names = [model_name(script) for script in SCRIPTS]
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": "slowlab"} for name in names]
    return {"object": "list", "data": rows}


def complete(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request.

    Args:
        request: the body of ``POST /v1/chat/completions``.

    Raises:
        BadRequestError: no messages, an unknown model, a stream, or a limit that is no number.
    """
    script = script_of(str(request.get("model")))
    if script is None:
        names = ", ".join(model_name(name) for name in SCRIPTS)
        raise BadRequestError(404, f"there is no such model; there are {names}")
    messages = objects(request.get("messages"))
    if not messages:
        raise BadRequestError(400, "messages must be a list of at least one object")
    if request.get("stream"):
        raise BadRequestError(400, "answers are not streamed; leave out stream")
    talk = Conversation.read(messages, _whole(request, "seed"))
    message, finish = _message(script(talk), request)
    message, finish = _cut(message, finish, _limit(request))
    spoken = _characters(message)
    used = {"prompt_tokens": tokens(talk.characters), "completion_tokens": tokens(spoken)}
    return {
        "id": _identity(request),
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


def tokens(characters: int) -> int:
    """Tokens of so many characters."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def _message(answer: Answer, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The answer as a message, and why it ends."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if request.get("tools"):
        calls = answer.calls if answer.decision is None else (_call(answer.decision),)
        if calls:
            named = [_named(place, *call) for place, call in enumerate(calls)]
            return {**message, "content": None, "tool_calls": named}, "tool_calls"
    elif _enforces_json(request) and answer.decision is not None:
        message["content"] = json.dumps(answer.decision)
    return message, "stop"


def _enforces_json(request: Mapping[str, Any]) -> bool:
    form = request.get("response_format")
    return isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")


def _call(decision: Mapping[str, Any]) -> tuple[str, str]:
    """A decision as the call of a function, named as its action or its tool."""
    kind = decision.get("type")
    rest = {key: decision[key] for key in ("reason", "notes", "incumbent") if key in decision}
    if kind == "campaign":
        fields = dict(decision["action"])
        return fields.pop("action"), json.dumps({**fields, **rest})
    if kind == "tool":
        return decision["name"], json.dumps({**decision["args"], **rest})
    policy = {"policy": decision["policy"]} if "policy" in decision else {}
    return str(kind), json.dumps({**policy, **rest})


def _named(place: int, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call-{place}", "type": "function", "function": function}


def _cut(message: dict[str, Any], finish: str, limit: int | None) -> tuple[dict[str, Any], str]:
    """Stop at the token limit, as an endpoint does."""
    if limit is None or tokens(_characters(message)) <= limit or not message["content"]:
        return message, finish
    return {**message, "content": message["content"][: limit * CHARACTERS_PER_TOKEN]}, "length"


def _characters(message: Mapping[str, Any]) -> int:
    called = [call["function"] for call in message.get("tool_calls", ())]
    return len(message["content"] or "") + sum(
        len(function["name"]) + len(function["arguments"]) for function in called
    )


def _limit(request: Mapping[str, Any]) -> int | None:
    newer = _whole(request, "max_completion_tokens")
    return _whole(request, "max_tokens") if newer is None else newer


def _whole(request: Mapping[str, Any], name: str) -> int | None:
    value = request.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequestError(400, f"{name} must be a whole number")
    return value


def _identity(request: Mapping[str, Any]) -> str:
    content = json.dumps(request, sort_keys=True).encode()
    return f"chatcmpl-{hashlib.sha256(content).hexdigest()[:24]}"
