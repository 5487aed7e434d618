"""Reading a reply: one rule, and no other repair.

**The rule.** What stands from the first ``{`` to the last ``}`` of the text is read, strictly, as
one JSON object (:func:`slowlab.canonical.loads_strict`). Everything outside is ignored: fences,
prose, list brackets. Anything else is a format error, and so is an object without exactly the
members that the stage takes. In the form with functions the same holds for the arguments of the
call, and exactly one call counts as an answer.

So a fenced object is read, two objects are an error, and a list that holds one object is read as
that object. Booleans are no numbers, numeric text is no number and null is no text. What the parser
checks is the envelope and every policy that is recommended or declared; the fields of an action are
checked by the campaign and the arguments of a tool by the tool, each at its own price.

A fault has a code and a message. The message says what is wrong and what is allowed and never
repeats the model's text.

Source: SlowLab, reply schema and parsing; the strict reading and the functions are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.agents.messages import FunctionCall, ModelReply
from slowlab.agents.reply_forms import RECOMMENDATIONS, ReplyForms, ReplyType
from slowlab.campaign.budget import ActionKind
from slowlab.campaign.session import ToolCall
from slowlab.canonical import JsonFault, JsonLimits, StrictJsonError, loads_strict
from slowlab.world.policy import Policy, PolicyError, parse_policy

REPLY_LIMITS = JsonLimits(max_bytes=65_536, max_depth=16, max_number_chars=400)
"""Size, depth and number length of a reply; whatever passes can be carried out and recorded."""


class ReplyFault(StrEnum):
    """Why a reply is no answer.

    From ``too_large`` to ``syntax``: the text is not acceptable JSON, see ``canonical.JsonFault``.
    """

    EMPTY = "empty"
    NO_OBJECT = "no_object"
    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    BYTE_ORDER_MARK = "byte_order_mark"
    LONE_SURROGATE = "lone_surrogate"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NOT_FINITE = "not_finite"
    NUMBER_TOO_LONG = "number_too_long"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    SYNTAX = "syntax"
    TYPE = "type"
    MEMBERS = "members"
    ACTION = "action"
    TOOL = "tool"
    REASON = "reason"
    NOTES = "notes"
    NOTES_TOO_LONG = "notes_too_long"
    INCUMBENT = "incumbent"
    POLICY = "policy"
    NO_CALL = "no_call"
    SEVERAL_CALLS = "several_calls"
    FUNCTION = "function"


class ReplyError(ValueError):
    """A reply that is no answer.

    Attributes:
        code: the rule that was broken.
        message: what is wrong and what is allowed, without any text of the model.
    """

    def __init__(self, code: ReplyFault, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.code, self.message)


@dataclass(frozen=True)
class Decision:
    """A reply that is an answer.

    Attributes:
        kind: its type.
        action: the campaign action as plain data, of a campaign reply.
        tool: the tool call, of a tool reply.
        policy: the policy, of a recommendation.
        reason: why, or None.
        notes: new notes, or None where they stay as they are.
        incumbent: the policy that is best so far, or None where that stays as it is.
    """

    kind: ReplyType
    action: dict[str, Any] | None = None
    tool: ToolCall | None = None
    policy: Policy | None = None
    reason: str | None = None
    notes: str | None = None
    incumbent: Policy | None = None

    def payload(self) -> dict[str, Any]:
        """The step itself in the form of a reply, without remarks, as plain data."""
        parts: dict[str, Any] = {"type": self.kind.value}
        if self.action is not None:
            parts["action"] = self.action
        if self.tool is not None:
            parts |= {"name": self.tool.name, "args": dict(self.tool.arguments)}
        if self.policy is not None:
            parts["policy"] = self.policy.model_dump()
        return parts


def parse_text(text: str, forms: ReplyForms) -> Decision:
    """Read a reply that is text.

    Args:
        text: whatever the model said.
        forms: what the stage takes.

    Raises:
        ReplyError: it is no answer; nothing else is ever raised.
    """
    return _decision(_object(text, "the reply"), forms)


def parse_call(reply: ModelReply, forms: ReplyForms) -> Decision:
    """Read a reply in the form with functions.

    Args:
        reply: whatever came; its text is ignored.
        forms: what the stage takes.

    Raises:
        ReplyError: it is no answer; nothing else is ever raised.
    """
    calls = reply.function_calls
    if len(calls) != 1:
        code = ReplyFault.SEVERAL_CALLS if calls else ReplyFault.NO_CALL
        raise ReplyError(code, f"call exactly one function; {len(calls)} were called")
    return _decision(_reply_of_call(calls[0], forms), forms)


def function_names(forms: ReplyForms) -> tuple[str, ...]:
    """Names of the functions that stand for the replies of a stage."""
    others = [kind for kind in forms.types if kind not in (ReplyType.CAMPAIGN, ReplyType.TOOL)]
    return tuple(str(name) for name in (*forms.actions, *forms.tools, *others))


def _object(text: str, what: str) -> dict[str, Any]:
    """The one object of a text, by the rule."""
    if not text.strip():
        raise ReplyError(ReplyFault.EMPTY, f"{what} is empty; one JSON object is needed")
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        raise ReplyError(ReplyFault.NO_OBJECT, f"{what} holds no JSON object, from {{ to }}")
    try:
        return loads_strict(text[begin : end + 1], REPLY_LIMITS)
    except StrictJsonError as error:
        raise ReplyError(ReplyFault(error.kind.value), _json_message(error, what)) from None


def _json_message(error: StrictJsonError, what: str) -> str:
    """Without the position, which nobody can count, so that equal faults have equal messages."""
    rule = f"{what} is not one acceptable JSON object ({error.detail})"
    if error.kind is JsonFault.SYNTAX:
        return f"{rule}; from the first {{ to the last }} it must be exactly one object"
    return rule


def _reply_of_call(call: FunctionCall, forms: ReplyForms) -> dict[str, Any]:
    """A function call in the form of a reply."""
    known = function_names(forms)
    if call.name not in known:
        raise ReplyError(ReplyFault.FUNCTION, f"the functions are {', '.join(known)}")
    given = _object(call.arguments, "the arguments of the call")
    if call.name in forms.actions or call.name in forms.tools:
        kind = ReplyType.CAMPAIGN if call.name in forms.actions else ReplyType.TOOL
        remarks = {name: given.pop(name) for name in forms.remarks(kind) if name in given}
        if kind is ReplyType.TOOL:
            return {"type": kind.value, "name": call.name, "args": given, **remarks}
        _check_members(given, "action")
        return {"type": kind.value, "action": {**given, "action": call.name}, **remarks}
    _check_members(given, "type")
    return {**given, "type": call.name}


def _check_members(given: Mapping[str, Any], taken: str) -> None:
    """Refuse arguments that would say again what the name of the function says."""
    if taken in given:
        raise ReplyError(ReplyFault.MEMBERS, f"{taken!r} is no argument of a function")


def _decision(given: dict[str, Any], forms: ReplyForms) -> Decision:
    """Check type, members and values of a reply."""
    kind = _type(given, forms)
    required, optional = forms.required(kind), forms.optional(kind)
    _check_names(given, kind, required, optional)
    return Decision(
        kind=kind,
        action=_action(given["action"], forms) if kind is ReplyType.CAMPAIGN else None,
        tool=_tool(given, forms) if kind is ReplyType.TOOL else None,
        policy=_policy(given["policy"], forms, "policy") if kind in RECOMMENDATIONS else None,
        reason=_text(given, "reason", ReplyFault.REASON),
        notes=_notes(given, forms),
        incumbent=_incumbent(given, forms),
    )


def _type(given: Mapping[str, Any], forms: ReplyForms) -> ReplyType:
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in list(forms.types):
        allowed = " or ".join(f'"{name}"' for name in forms.types)
        raise ReplyError(ReplyFault.TYPE, f'"type" must be {allowed} now')
    return ReplyType(kind)


def _check_names(
    given: Mapping[str, Any], kind: ReplyType, required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    """Refuse missing and unexpected members; names that were received are not repeated."""
    problems = [f'"{name}" is missing' for name in required if name not in given]
    extra = sum(1 for name in given if name not in (*required, *optional))
    if extra:
        problems.append(f"{extra} unexpected member(s)")
    if problems:
        allowed = [*required, *(f"{name} (optional)" for name in optional)]
        message = f"{'; '.join(problems)}; a {kind} reply has {', '.join(allowed)}"
        raise ReplyError(ReplyFault.MEMBERS, message)


def _action(action: object, forms: ReplyForms) -> dict[str, Any]:
    """A campaign action; of its fields only a recommended policy is checked here."""
    allowed = " or ".join(f'"{name}"' for name in forms.actions)
    if not isinstance(action, dict) or not isinstance(action.get("action"), str):
        message = f'"action" must be an object with its own member "action": {allowed}'
        raise ReplyError(ReplyFault.ACTION, message)
    if action["action"] not in list(forms.actions):
        raise ReplyError(ReplyFault.ACTION, f"the only actions now are {allowed}")
    if action["action"] == ActionKind.RECOMMEND:
        _check_recommend(action, forms)
    return action


def _check_recommend(action: Mapping[str, Any], forms: ReplyForms) -> None:
    """A recommendation that could not count never reaches the campaign."""
    if set(action) != {"action", "policy"}:
        raise ReplyError(ReplyFault.ACTION, 'a recommend action has "action" and "policy" only')
    _policy(action["policy"], forms, "policy")


def _tool(given: Mapping[str, Any], forms: ReplyForms) -> ToolCall:
    """A tool call; its arguments are checked by the tool."""
    name, arguments = given["name"], given.get("args", {})
    if not isinstance(name, str) or name not in forms.tools:
        raise ReplyError(ReplyFault.TOOL, f'"name" must be a tool: {", ".join(forms.tools)}')
    if not isinstance(arguments, dict):
        raise ReplyError(ReplyFault.TOOL, '"args" must be an object with the tool\'s arguments')
    return ToolCall(name, arguments)


def _text(given: Mapping[str, Any], name: str, fault: ReplyFault) -> str | None:
    if name not in given:
        return None
    if not isinstance(given[name], str):
        raise ReplyError(fault, f'"{name}" must be text; leave it out where there is none')
    return given[name]


def _notes(given: Mapping[str, Any], forms: ReplyForms) -> str | None:
    notes = _text(given, "notes", ReplyFault.NOTES)
    most = forms.notes_characters
    if notes is not None and most is not None and len(notes) > most:
        raise ReplyError(
            ReplyFault.NOTES_TOO_LONG,
            f"the notes have {len(notes)} characters and may have {most}; nothing was done and the "
            "earlier notes stay",
        )
    return notes


def _incumbent(given: Mapping[str, Any], forms: ReplyForms) -> Policy | None:
    if "incumbent" not in given:
        return None
    return _policy(given["incumbent"], forms, "incumbent")


def _policy(raw: object, forms: ReplyForms, member: str) -> Policy:
    try:
        return parse_policy(raw, forms.bounds)
    except PolicyError as error:
        fault = ReplyFault.INCUMBENT if member == "incumbent" else ReplyFault.POLICY
        raise ReplyError(fault, f'"{member}" is not a valid policy: {error}') from None
