"""Arguments of analysis tools: checked strictly, by name, with messages that say what is allowed.

Nothing that was received is repeated in a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowlab.tools.errors import ToolError, ToolReason
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, PolicyError, parse_policy
from slowlab.world.policy import as_number as finite_number


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call.

    Attributes:
        given: plain data by name.
    """

    given: Mapping[str, Any]

    @classmethod
    def check(
        cls, raw: object, required: Sequence[str] = (), optional: Sequence[str] = ()
    ) -> Arguments:
        """Refuse missing and unexpected arguments.

        Raises:
            ToolError: with the names that are allowed.
        """
        given = raw if isinstance(raw, Mapping) else {}
        problems = [f"{name} is missing" for name in required if name not in given]
        extra = sum(1 for name in given if name not in (*required, *optional))
        if extra:
            problems.append(f"{extra} unexpected argument(s)")
        if not isinstance(raw, Mapping):
            problems.append("the arguments are an object")
        if problems:
            allowed = [*required, *(f"{name} (optional)" for name in optional)]
            names = ", ".join(allowed) if allowed else "none"
            raise ToolError(ToolReason.ARGUMENTS, f"{'; '.join(problems)}; arguments: {names}")
        return cls(given)

    def whole(self, name: str, low: int, high: int, reason: str = ToolReason.ARGUMENTS) -> int:
        """A whole number between two bounds, both allowed.

        Raises:
            ToolError: something else was given.
        """
        value = self.given[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ToolError(reason, f"{name} must be a whole number from {low} to {high}")
        return value

    def whole_or_none(
        self, name: str, low: int, high: int, reason: str = ToolReason.ARGUMENTS
    ) -> int | None:
        """The same for an argument that may be left out."""
        return self.whole(name, low, high, reason) if name in self.given else None

    def number_or_none(self, name: str, low: float, high: float) -> float | None:
        """A number between two bounds, or None where it was left out.

        Raises:
            ToolError: something else was given.
        """
        if name not in self.given:
            return None
        problem = ToolError(
            ToolReason.ARGUMENTS, f"{name} must be a number from {low:g} to {high:g}"
        )
        try:
            value = finite_number(self.given[name])
        except ValueError:
            raise problem from None
        if not low <= value <= high:
            raise problem
        return value

    def choice(self, name: str, allowed: Sequence[str], reason: str) -> str:
        """One of several texts.

        Raises:
            ToolError: something else was given.
        """
        value = self.given[name]
        if value not in allowed:
            raise ToolError(reason, f"{name} must be one of {', '.join(allowed)}")
        return value

    def policies(self, name: str, most: int, bounds: PolicyBounds) -> list[Policy]:
        """A list of one policy or more.

        Raises:
            ToolError: no list, too many, or a policy that is not valid.
        """
        raw = self.given[name]
        if not isinstance(raw, list | tuple) or not 1 <= len(raw) <= most:
            raise ToolError(ToolReason.ARGUMENTS, f"{name} must be a list of 1 to {most} policies")
        return [_policy(item, number, bounds) for number, item in enumerate(raw, start=1)]

    def fixed_fields(self, name: str, bounds: PolicyBounds) -> dict[str, float]:
        """Values of some policy fields, in contract order; empty where left out.

        Raises:
            ToolError: no object, unknown fields, values out of bounds, or all six fields.
        """
        raw = self.given.get(name, {})
        known = isinstance(raw, Mapping) and all(key in POLICY_FIELDS for key in raw)
        if not known or len(raw) >= len(POLICY_FIELDS):
            fields = ", ".join(POLICY_FIELDS)
            raise ToolError(
                ToolReason.ARGUMENTS, f"{name} must be an object with at most five of {fields}"
            )
        return {field: _fixed(raw[field], field, bounds) for field in POLICY_FIELDS if field in raw}


def _policy(raw: object, number: int, bounds: PolicyBounds) -> Policy:
    try:
        return parse_policy(raw, bounds)
    except PolicyError as error:
        raise ToolError(ToolReason.POLICY, f"policy {number} is invalid: {error}") from None


def _fixed(raw: object, field: str, bounds: PolicyBounds) -> float:
    """The value of a fixed field, inside its bounds."""
    bound = bounds.of(field)
    problem = ToolError(
        ToolReason.POLICY,
        f"{field} must be a number from {bound.min:g} to {bound.max:g} {bound.unit}",
    )
    try:
        value = finite_number(raw)
    except ValueError:
        raise problem from None
    if not bound.min <= value <= bound.max:
        raise problem
    return value
