"""Actions: from whatever an agent sent to one of five checked requests.

One rule for every payload, whether JSON text or a Python object: it must have a canonical JSON form
that the strict reader accepts within :data:`ACTION_LIMITS`. So repeated keys, numbers beyond the
range of a double (1e999), deep nesting, lone surrogates, very long texts and numbers are all
refused alike. Such payloads, payloads that are no object with a text ``action``, and unknown
actions use no budget.

Source: SlowLab, action interface (five actions, exact fields, kinds of rejection).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowlab.campaign.budget import ActionKind
from slowlab.campaign.clock import tick_of_day
from slowlab.campaign.errors import ActionRejected, Reason
from slowlab.canonical import (
    CanonicalError,
    JsonLimits,
    StrictJsonError,
    canonical_json,
    loads_strict,
)
from slowlab.world.contract import Contract
from slowlab.world.policy import Policy, PolicyError, parse_policy
from slowlab.world.sensors import PUBLIC_CHANNELS
from slowlab.world.task import Feedback

ACTION_LIMITS = JsonLimits(max_bytes=65_536, max_depth=16, max_number_chars=400)
"""Size, depth and number length of a payload; an honest action has about 300 bytes."""


class Resolution(StrEnum):
    """How records are returned: one by one, or a line for each day."""

    RAW = "raw"
    DAILY = "daily"


@dataclass(frozen=True)
class Start:
    """Plant a crop."""

    unit: int
    policy: Policy


@dataclass(frozen=True)
class Stop:
    """End a crop."""

    unit: int


@dataclass(frozen=True)
class Advance:
    """Let time pass until a tick."""

    tick: int


@dataclass(frozen=True)
class RecordQuery:
    """A request for records; ticks are None where the default applies."""

    variable: str
    start_tick: int | None
    end_tick: int | None
    resolution: Resolution


@dataclass(frozen=True)
class Observe:
    """Read a compartment: its state, the totals of a crop and, with a query, records."""

    unit: int
    run_index: int | None
    query: RecordQuery | None


@dataclass(frozen=True)
class Recommend:
    """Give the final recommendation.

    Attributes:
        policy: the policy, or None if it is invalid; an invalid one is taken, and flagged.
        problem: what is wrong with it and what is allowed.
    """

    policy: Policy | None
    problem: str = ""


Action = Start | Stop | Advance | Observe | Recommend


def read_payload(payload: object) -> tuple[ActionKind, dict[str, Any]]:
    """Check the form of a payload and find its action.

    Args:
        payload: JSON text, its UTF-8 bytes, or a Python object.

    Returns:
        The action and the payload's other members as plain data.

    Raises:
        ActionRejected: not acceptable JSON, no object with a text ``action``, or an unknown action.
            None of these uses budget.
    """
    data = plain_data(payload)
    if not isinstance(data, dict) or not isinstance(data.get("action"), str):
        raise ActionRejected(
            Reason.NOT_AN_ACTION, f'send one object with a text "action": {_NAMES}', charged=False
        )
    name = data.pop("action")
    if name not in list(ActionKind):
        raise ActionRejected(
            Reason.UNKNOWN_ACTION, f"unknown action; there are {_NAMES}", charged=False
        )
    return ActionKind(name), data


def parse_action(
    kind: ActionKind, fields: Mapping[str, Any], contract: Contract, feedback: Feedback
) -> Action:
    """Check the fields of an action.

    Args:
        kind: which action.
        fields: its fields as plain data, in any order.
        contract: compartments, policy bounds and calendar.
        feedback: which fields a read may have.

    Raises:
        ActionRejected: wrong or extra fields, or a value of the wrong form.
    """
    required, optional = allowed_fields(kind, feedback)
    _check_fields(fields, required, optional)
    if kind is ActionKind.START:
        return Start(_unit(fields, contract), _policy(fields["policy"], contract))
    if kind is ActionKind.STOP:
        return Stop(_unit(fields, contract))
    if kind is ActionKind.ADVANCE:
        return Advance(tick_of_day(fields["day"], "day", contract.calendar))
    if kind is ActionKind.OBSERVE:
        query = _query(fields, contract)
        return Observe(_unit(fields, contract), _run_index(fields), query)
    try:
        return Recommend(_policy(fields["policy"], contract))
    except ActionRejected as problem:
        return Recommend(None, problem.message)


def allowed_fields(kind: ActionKind, feedback: Feedback) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the required and of the optional fields of an action in a feedback mode."""
    if kind is ActionKind.OBSERVE:
        return ("unit",), ("run_index", *(_WINDOW if feedback.releases_records else ()))
    return _REQUIRED[kind], ()


_NAMES = ", ".join(ActionKind)
_WINDOW = ("variable", "start_day", "end_day", "resolution")
_REQUIRED = {
    ActionKind.START: ("unit", "policy"),
    ActionKind.STOP: ("unit",),
    ActionKind.ADVANCE: ("day",),
    ActionKind.RECOMMEND: ("policy",),
}


def plain_data(payload: object, limits: JsonLimits = ACTION_LIMITS) -> Any:
    """The payload as plain data, if it keeps to the one rule.

    Args:
        payload: JSON text, its UTF-8 bytes, or a Python object.
        limits: size, depth and number length.

    Raises:
        ActionRejected: not acceptable JSON; it uses no budget.
    """
    try:
        if not isinstance(payload, str | bytes):
            _check_size(payload, limits)
            payload = canonical_json(payload)
        return loads_strict(payload, limits)
    except StrictJsonError as error:
        problem = str(error)
    except CanonicalError:  # its message names the place by received keys
        problem = "only objects with text keys, lists, valid text and finite numbers are allowed"
    raise ActionRejected(
        Reason.MALFORMED, f"the payload is not acceptable JSON: {problem}", charged=False
    )


def _check_size(payload: object, limits: JsonLimits) -> None:
    """Stop at a Python object with more members than the size limit has bytes.

    The limit also ends the walk through an object that contains itself.
    """
    pending, seen = [payload], 0
    while pending:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        if seen + len(pending) > limits.max_bytes:
            raise CanonicalError("too many members")


def _check_fields(
    fields: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    """Refuse missing and extra fields; names that were received are not repeated."""
    problems = [f"{name} is missing" for name in required if name not in fields]
    extra = sum(1 for name in fields if name not in required + optional)
    if extra:
        problems.append(f"{extra} unexpected field(s)")
    if problems:
        allowed = [*required, *(f"{name} (optional)" for name in optional)]
        raise ActionRejected(
            Reason.FIELDS, f"{'; '.join(problems)}; the fields are {', '.join(allowed)}"
        )


def _unit(fields: Mapping[str, Any], contract: Contract) -> int:
    unit, last = fields["unit"], contract.facility.compartments - 1
    if isinstance(unit, bool) or not isinstance(unit, int) or not 0 <= unit <= last:
        raise ActionRejected(Reason.UNIT, f"unit must be a whole number from 0 to {last}")
    return unit


def _run_index(fields: Mapping[str, Any]) -> int | None:
    if "run_index" not in fields:
        return None
    index = fields["run_index"]
    if isinstance(index, bool) or not isinstance(index, int) or index < 1:
        raise ActionRejected(
            Reason.NO_SUCH_CROP,
            "run_index must be a whole number from 1; leave it out for the latest closed crop",
        )
    return index


def _policy(raw: object, contract: Contract) -> Policy:
    try:
        return parse_policy(raw, contract.policy)
    except PolicyError as error:
        raise ActionRejected(Reason.POLICY, f"invalid policy: {error}") from None


def _query(fields: Mapping[str, Any], contract: Contract) -> RecordQuery | None:
    """The request for records; without a variable there must be no other part of one."""
    if "variable" not in fields:
        if any(name in fields for name in _WINDOW):
            raise ActionRejected(
                Reason.FIELDS, "start_day, end_day and resolution are allowed with a variable only"
            )
        return None
    variable, resolution = fields["variable"], fields.get("resolution", Resolution.RAW.value)
    if variable not in PUBLIC_CHANNELS:
        raise ActionRejected(
            Reason.VARIABLE, f"variable must be one of {', '.join(PUBLIC_CHANNELS)}"
        )
    if resolution not in list(Resolution):
        raise ActionRejected(
            Reason.RESOLUTION, f"resolution must be one of {', '.join(Resolution)}"
        )
    ticks = {
        name: tick_of_day(fields[name], name, contract.calendar)
        for name in ("start_day", "end_day")
        if name in fields
    }
    return RecordQuery(
        variable, ticks.get("start_day"), ticks.get("end_day"), Resolution(resolution)
    )
