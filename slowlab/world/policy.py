"""A policy: six named decisions for one whole crop, and the one way to turn it into numbers.

Nothing here iterates over a received mapping: fields are always taken by name, in the order of
:data:`POLICY_FIELDS`. Numbers without names do not exist outside :class:`EncodedPolicies`, which
carries its field names and refuses others.

Source of the fields: SlowLab task contract v8, policy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BeforeValidator, Field, model_validator

from slowlab.canonical import canonical_sha256
from slowlab.config import ConfigModel

POLICY_FIELDS = (
    "day_temperature_c",
    "night_temperature_c",
    "co2_target_ppm",
    "supplemental_light_hours",
    "vent_temperature_offset_c",
    "vent_rh_threshold_pct",
)
"""The six decision variables, in contract order."""


class PolicyError(ValueError):
    """A policy that is refused.

    Attributes:
        problems: what is wrong and what is allowed, one sentence a fault. Texts that were received
            are never repeated, so the message may be shown to whoever sent them.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.problems,)


class FieldsError(ValueError):
    """Encoded policies whose field names are not the ones that were asked for."""


def as_number(value: object) -> float:
    """A finite number as a float, with -0.0 as 0.0.

    Raises:
        ValueError: the value is a boolean, a text or another non-number, or it is not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError("must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number + 0.0


_Number = Annotated[float, BeforeValidator(as_number)]


class Policy(ConfigModel):
    """Six decisions, fixed for one crop. Numbers are stored as floats, so 21 and 21.0 are equal.

    The bounds belong to a contract and are checked by :func:`parse_policy`; this model only knows
    that all six are finite and that the night is not warmer than the day.
    """

    day_temperature_c: _Number = Field(description="Heating set-point from 06:00 to 22:00, degC.")
    night_temperature_c: _Number = Field(
        description="Heating set-point from 22:00 to 06:00, degC; not above the day's."
    )
    co2_target_ppm: _Number = Field(description="CO2 dosing target, ppm.")
    supplemental_light_hours: _Number = Field(
        description="Length of the lamp window that opens at 06:00, h/day."
    )
    vent_temperature_offset_c: _Number = Field(
        description="Ventilation starts this far above the heating set-point, K."
    )
    vent_rh_threshold_pct: _Number = Field(
        description="Relative humidity from which the vents open, percent."
    )

    @model_validator(mode="after")
    def _night_not_above_day(self) -> Self:
        if self.night_temperature_c > self.day_temperature_c:
            raise ValueError(_NIGHT_RULE)
        return self


_NIGHT_RULE = "night_temperature_c must not be above day_temperature_c"


class Bound(ConfigModel):
    """Inclusive bounds of one decision variable."""

    min: float = Field(description="Lowest value allowed, in the field's unit.")
    max: float = Field(description="Highest value allowed, in the field's unit.")
    unit: str = Field(description="Unit, as shown to the agent.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min:g} must not be above max {self.max:g}")
        return self


class PolicyBounds(ConfigModel):
    """Bounds of the six decision variables; they belong to a contract."""

    day_temperature_c: Bound = Field(description="Heating set-point by day.")
    night_temperature_c: Bound = Field(description="Heating set-point by night.")
    co2_target_ppm: Bound = Field(description="CO2 dosing target.")
    supplemental_light_hours: Bound = Field(description="Length of the lamp window.")
    vent_temperature_offset_c: Bound = Field(
        description="Distance of the ventilation from the heating set-point."
    )
    vent_rh_threshold_pct: Bound = Field(description="Humidity from which the vents open.")

    @model_validator(mode="after")
    def _some_policy_is_feasible(self) -> Self:
        if self.night_temperature_c.min > self.day_temperature_c.max:
            raise ValueError("no policy is feasible: every night would be warmer than every day")
        return self

    def of(self, field: str) -> Bound:
        """Bounds of one field.

        Raises:
            KeyError: the field is not one of :data:`POLICY_FIELDS`.
        """
        if field not in POLICY_FIELDS:
            raise KeyError(f"unknown policy field; there are {', '.join(POLICY_FIELDS)}")
        return getattr(self, field)

    def limits(self, fields: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest values, each ``[len(fields)]``, in the order of ``fields``."""
        low = np.array([self.of(name).min for name in fields])
        return low, np.array([self.of(name).max for name in fields])


def parse_policy(raw: object, bounds: PolicyBounds) -> Policy:
    """Check a received policy.

    Args:
        raw: a mapping with exactly the six keys of :data:`POLICY_FIELDS`, in any order; each value
        a
            finite number. Booleans and numeric text are refused.
        bounds: inclusive bounds from the contract.

    Raises:
        PolicyError: lists everything that is wrong and what is allowed.
    """
    if isinstance(raw, Policy):
        raw = raw.model_dump()
    if not isinstance(raw, Mapping):
        raise PolicyError((f"a policy is an object with these six numbers: {_FIELD_LIST}",))
    problems, numbers = [], {}
    for field in POLICY_FIELDS:
        try:
            numbers[field] = _field_value(raw, field, bounds.of(field))
        except ValueError as error:
            problems.append(f"{field} {error}")
    unexpected = sum(1 for key in raw if key not in POLICY_FIELDS)
    if unexpected:
        problems.append(
            f"{unexpected} unexpected field(s); exactly these are allowed: {_FIELD_LIST}"
        )
    if not problems and numbers["night_temperature_c"] > numbers["day_temperature_c"]:
        problems.append(_NIGHT_RULE)
    if problems:
        raise PolicyError(tuple(problems))
    return Policy(**numbers)


_FIELD_LIST = ", ".join(POLICY_FIELDS)


def _field_value(raw: Mapping[Any, Any], field: str, bound: Bound) -> float:
    """One field as a number inside its bounds, or a ValueError that says what is allowed."""
    allowed = f"(allowed: {bound.min:g} to {bound.max:g} {bound.unit})"
    if field not in raw:
        raise ValueError(f"is missing {allowed}")
    try:
        number = as_number(raw[field])
    except ValueError as error:
        raise ValueError(f"{error} {allowed}") from None
    if not bound.min <= number <= bound.max:  # the number itself may be a guess at what is hidden
        raise ValueError(f"is too {'low' if number < bound.min else 'high'} {allowed}")
    return number


def policy_sha256(policy: Policy, contract_id: str) -> str:
    """Identity of a policy: SHA-256 of the canonical JSON of contract id and fields."""
    return canonical_sha256({"contract": contract_id, "policy": policy.model_dump()})


@dataclass(frozen=True, eq=False)
class EncodedPolicies:
    """Policies as numbers that know their names.

    Attributes:
        fields: names of the columns: the six of :data:`POLICY_FIELDS`, in any order.
        values: float64 ``[n, 6]``, read-only, each column in the unit of its field.

    Raises:
        FieldsError: the names are not exactly the six fields.
        ValueError: wrong shape, or a value that is not finite.
    """

    fields: tuple[str, ...]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check names and shape and make the numbers read-only."""
        object.__setattr__(self, "fields", checked_fields(self.fields))
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.fields):
            raise ValueError(f"policies must be [n, {len(self.fields)}], not {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError("encoded policies must be finite")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        """Number of policies."""
        return len(self.values)

    def column(self, field: str) -> NDArray[np.float64]:
        """All values of one field, ``[n]``, in its unit; raises FieldsError for another name."""
        if field not in self.fields:
            raise FieldsError(f"no such field; there are {', '.join(self.fields)}")
        return self.values[:, self.fields.index(field)]

    def reorder(self, fields: Sequence[str]) -> EncodedPolicies:
        """The same policies with the columns in another order, mapped by name."""
        wanted = checked_fields(fields)
        return EncodedPolicies(wanted, np.column_stack([self.column(name) for name in wanted]))

    def require(self, fields: Sequence[str]) -> NDArray[np.float64]:
        """The numbers, for an artefact that was fitted with these fields in this order.

        Raises:
            FieldsError: the columns are named or ordered otherwise.
        """
        if tuple(fields) != self.fields:
            raise FieldsError(f"expected fields {', '.join(fields)}; got {', '.join(self.fields)}")
        return self.values

    def is_feasible(self) -> NDArray[np.bool_]:
        """Whether the night is not warmer than the day, for each policy, ``[n]``."""
        return self.column("night_temperature_c") <= self.column("day_temperature_c")


def checked_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Field names as a tuple, if they are exactly the six policy fields; else FieldsError."""
    names = tuple(fields)
    if isinstance(fields, str) or sorted(names) != sorted(POLICY_FIELDS):
        raise FieldsError(f"the fields must be exactly {_FIELD_LIST}")
    return names


def encode(policies: Sequence[Policy], fields: Sequence[str] = POLICY_FIELDS) -> EncodedPolicies:
    """Turn policies into numbers: the only place where this happens.

    Args:
        policies: n checked policies; mappings are refused.
        fields: order of the columns.

    Raises:
        FieldsError: the names are not exactly the six fields.
        TypeError: something other than a :class:`Policy`.
    """
    names = checked_fields(fields)
    if not all(isinstance(policy, Policy) for policy in policies):
        raise TypeError("only Policy objects can be encoded; use parse_policy first")
    rows = [[getattr(policy, name) for name in names] for policy in policies]
    return EncodedPolicies(names, np.array(rows, dtype=np.float64).reshape(-1, len(names)))


def decode(encoded: EncodedPolicies) -> list[Policy]:
    """Turn numbers back into policies.

    Raises:
        ValueError: a row whose night is warmer than its day.
    """
    rows = encoded.values.tolist()
    return [Policy(**dict(zip(encoded.fields, row, strict=True))) for row in rows]


def to_unit(encoded: EncodedPolicies, bounds: PolicyBounds) -> NDArray[np.float64]:
    """Scale policies to 0..1 between their bounds, ``[n, 6]``; a field with min = max gives 0."""
    low, high = bounds.limits(encoded.fields)
    width = np.where(high > low, high - low, 1.0)
    return (encoded.values - low) / width


def from_unit(unit: ArrayLike, fields: Sequence[str], bounds: PolicyBounds) -> EncodedPolicies:
    """Scale points of the unit cube, ``[n, 6]``, to policies inside the bounds.

    The result may hold infeasible nights; see :meth:`EncodedPolicies.is_feasible`.
    """
    low, high = bounds.limits(checked_fields(fields))
    values = low + np.asarray(unit, dtype=np.float64) * (high - low)
    return EncodedPolicies(tuple(fields), np.clip(values, low, high))
