"""JSON schemas of replies and functions, built from the public task for endpoints that know them.

A schema states what parser, campaign and tools check anyway, so that a model that is held to it
makes fewer errors; nothing is allowed or refused because of it alone. That the night must not be
warmer than the day cannot be said in a schema. Where a stage takes replies of several types the
schema is a union at its root, which some endpoints refuse: those are asked with functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from slowlab.agents.messages import Stage
from slowlab.agents.profile import HarnessProfile
from slowlab.agents.reply_forms import RECOMMENDATIONS, ReplyForms, ReplyType, reply_forms
from slowlab.campaign.actions import Resolution
from slowlab.tools.public_task import channel_names
from slowlab.world.policy import POLICY_FIELDS, PolicyBounds

Schema = dict[str, Any]

_OPTIONAL = "optional"
_DESCRIPTIONS = {
    ReplyType.DESIGN_COMPLETE: "declares that nothing more is to be done on day 0",
    ReplyType.INITIAL_RECOMMENDATION: "gives the recommendation from before the experiments",
    ReplyType.RECOMMENDATION: "gives the recommendation",
}


def response_schema(stage: Stage, task: Mapping[str, Any], profile: HarnessProfile) -> Schema:
    """The schema of a reply that is one JSON object.

    Args:
        stage: where in the campaign.
        task: the public task.
        profile: the harness profile.
    """
    forms = reply_forms(stage, task, profile)
    variants = [item for kind in forms.types for item in _variants(kind, forms, task, profile)]
    schema = variants[0] if len(variants) == 1 else {"type": "object", "anyOf": variants}
    return _whole(schema) if profile.whole_numbers else schema


def functions(
    stage: Stage, task: Mapping[str, Any], profile: HarnessProfile
) -> tuple[dict[str, Any], ...]:
    """The functions that stand for the replies of a stage: name, description, parameters."""
    forms = reply_forms(stage, task, profile)
    found = []
    for kind in forms.types:
        remarks = _remarks(kind, forms, profile)
        for name, description, fields in _steps(kind, forms, task):
            parameters = _object(_merged(fields, remarks))
            found.append({"name": name, "description": description, "parameters": parameters})
    return tuple(found)


def policy_schema(bounds: PolicyBounds) -> Schema:
    """The schema of a policy."""
    return _object({name: (_field(name, bounds), True) for name in POLICY_FIELDS})


Fields = dict[str, tuple[Schema, bool]]
"""Schema of each member, and whether it is required."""


def _variants(
    kind: ReplyType, forms: ReplyForms, task: Mapping[str, Any], profile: HarnessProfile
) -> list[Schema]:
    """Schemas of all replies of one type."""
    remarks = _remarks(kind, forms, profile)
    head: Fields = {"type": (_one_of(kind), True)}
    variants = []
    for name, _, fields in _steps(kind, forms, task):
        if kind is ReplyType.CAMPAIGN:
            action = _object({"action": (_one_of(name), True), **fields})
            body: Fields = {"action": (action, True)}
        elif kind is ReplyType.TOOL:
            needed = any(required for _, required in fields.values())
            body = {"name": (_one_of(name), True), "args": (_object(fields), needed)}
        else:
            body = fields
        variants.append(_object({**head, **body, **remarks}))
    return variants


def _steps(
    kind: ReplyType, forms: ReplyForms, task: Mapping[str, Any]
) -> list[tuple[str, str, Fields]]:
    """Name, description and fields of every step that a reply of one type can take."""
    if kind is ReplyType.CAMPAIGN:
        told = {row["action"]: row for row in task["actions"]}
        rows = [(name, told[name]["effect"], told[name]["fields"]) for name in forms.actions]
    elif kind is ReplyType.TOOL:
        told = {row["tool"]: row for row in task["analysis_tools"]}
        rows = [(name, told[name]["result"], told[name]["arguments"]) for name in forms.tools]
    else:
        rows = [(kind, _DESCRIPTIONS[kind], {"policy": ""} if kind in RECOMMENDATIONS else {})]
    return [(str(name), text, _fields(told, task, forms.bounds)) for name, text, told in rows]


def _remarks(kind: ReplyType, forms: ReplyForms, profile: HarnessProfile) -> Fields:
    """What may be said beside a step. The length of a reason is advice: a longer one is cut."""
    schemas: dict[str, Schema] = {
        "reason": {"type": "string"},
        "notes": {"type": "string", "maxLength": profile.budgets.notes_characters},
        "incumbent": policy_schema(forms.bounds),
    }
    return {name: (schemas[name], False) for name in forms.remarks(kind)}


def _merged(fields: Fields, remarks: Fields) -> Fields:
    """Fields and remarks of a function, which share one level.

    Raises:
        ValueError: a field bears the name of a remark.
    """
    if fields.keys() & remarks.keys():
        raise ValueError("a field of an action or tool bears the name of a remark")
    return {**fields, **remarks}


def _fields(told: Mapping[str, str], task: Mapping[str, Any], bounds: PolicyBounds) -> Fields:
    """Fields as the task describes them, sorted; it marks those that may be left out."""
    known = _known_fields(task, bounds)
    return {
        name: (known[name]() if name in known else {}, not text.startswith(_OPTIONAL))
        for name, text in sorted(told.items())
    }


def _known_fields(task: Mapping[str, Any], bounds: PolicyBounds) -> dict[str, Callable[[], Schema]]:
    """How each field of an action or tool is written."""
    last_unit = task["compartments"]["count"] - 1
    last_day = task["calendar"]["campaign_days"]

    def day() -> Schema:
        return {"type": "number", "minimum": 0, "maximum": last_day}

    return {
        "unit": lambda: {"type": "integer", "minimum": 0, "maximum": last_unit},
        "run_index": lambda: {"type": "integer", "minimum": 1},
        "policy": lambda: policy_schema(bounds),
        "policies": lambda: {"type": "array", "minItems": 1, "items": policy_schema(bounds)},
        "fixed": lambda: _object({n: (_field(n, bounds), False) for n in POLICY_FIELDS}),
        "n": lambda: {"type": "integer", "minimum": 1},
        "day": day,
        "start_day": day,
        "end_day": day,
        "planting_day": day,
        "variable": lambda: {"type": "string", "enum": list(channel_names(task))},
        "resolution": lambda: {"type": "string", "enum": [item.value for item in Resolution]},
    }


def _field(name: str, bounds: PolicyBounds) -> Schema:
    bound = bounds.of(name)
    return {"type": "number", "minimum": bound.min, "maximum": bound.max}


def _whole(schema: Any) -> Any:
    """The same with whole numbers between the bounds in the place of all numbers."""
    if isinstance(schema, list):
        return [_whole(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        low, high = math.ceil(schema["minimum"]), math.floor(schema["maximum"])
        return {"type": "integer", "minimum": low, "maximum": high}
    return {name: _whole(item) for name, item in schema.items()}


def _one_of(name: str) -> Schema:
    """A text that is always the same; an enumeration is known to more endpoints than a constant."""
    return {"type": "string", "enum": [str(name)]}


def _object(fields: Fields) -> Schema:
    return {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in fields.items()},
        "required": [name for name, (_, required) in fields.items() if required],
        "additionalProperties": False,
    }
