"""Points of a design: whole policies from numbers between 0 and 1.

Policies are built by name, rounded to two decimals and made feasible in one place,
:func:`tidy_policies`. Every function takes its random numbers as an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slowlab.world.policy import (
    POLICY_FIELDS,
    EncodedPolicies,
    Policy,
    PolicyBounds,
    decode,
    encode,
    from_unit,
    to_unit,
)

DECIMALS = 2
"""Decimals of a planted policy."""
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """Part of the unit cube, in the order of POLICY_FIELDS.

    Attributes:
        low: lower corner, ``[6]``.
        high: upper corner, ``[6]``.
    """

    low: FloatArray
    high: FloatArray


def whole_box() -> Box:
    """All that the bounds allow."""
    return Box(np.zeros(len(POLICY_FIELDS)), np.ones(len(POLICY_FIELDS)))


def box_around(centre: Policy, radius: float, bounds: PolicyBounds) -> Box:
    """The box of a half-width around a policy, cut at the bounds.

    Args:
        centre: a policy.
        radius: half-width in widths of the allowed range.
        bounds: allowed range of each field.
    """
    point = unit_point(centre, bounds)
    return Box(np.clip(point - radius, 0.0, 1.0), np.clip(point + radius, 0.0, 1.0))


def unit_point(policy: Policy, bounds: PolicyBounds) -> FloatArray:
    """One policy scaled to 0..1, ``[6]``, in the order of POLICY_FIELDS."""
    return to_unit(encode([policy]), bounds)[0]


def tidy_policies(unit: ArrayLike, bounds: PolicyBounds) -> list[Policy]:
    """Policies at points of the unit cube, rounded, inside the bounds and feasible.

    A night that would be warmer than its day is lowered to the day.

    Args:
        unit: points ``[n, 6]`` in the order of POLICY_FIELDS; numbers beyond 0..1 are cut.
        bounds: allowed range of each field.
    """
    points = np.clip(np.asarray(unit, np.float64).reshape(-1, len(POLICY_FIELDS)), 0.0, 1.0)
    low, high = bounds.limits(POLICY_FIELDS)
    values = np.clip(np.round(from_unit(points, POLICY_FIELDS, bounds).values, DECIMALS), low, high)
    day = POLICY_FIELDS.index("day_temperature_c")
    night = POLICY_FIELDS.index("night_temperature_c")
    values[:, day] = np.maximum(values[:, day], low[night])
    values[:, night] = np.minimum(values[:, night], values[:, day])
    return decode(EncodedPolicies(POLICY_FIELDS, values))


def without(policies: Sequence[Policy], taken: Sequence[Policy]) -> list[Policy]:
    """The policies that are not among those taken, each once, in order."""
    known, left = set(taken), []
    for policy in policies:
        if policy not in known:
            known.add(policy)
            left.append(policy)
    return left


def random_policy(bounds: PolicyBounds, rng: np.random.Generator) -> Policy:
    """A policy drawn evenly from the bounds."""
    return tidy_policies(rng.random((1, len(POLICY_FIELDS))), bounds)[0]


def sobol_policies(
    count: int, box: Box, bounds: PolicyBounds, rng: np.random.Generator
) -> list[Policy]:
    """Scrambled Sobol points of a box as policies.

    Args:
        count: how many at least; the number is rounded up to a power of two.
        box: part of the unit cube.
        bounds: allowed range of each field.
        rng: scrambles the points.
    """
    from scipy.stats import qmc  # brings much with it

    points = qmc.Sobol(len(POLICY_FIELDS), scramble=True, rng=rng)
    unit = points.random_base2(max(count - 1, 0).bit_length())
    return tidy_policies(box.low + unit * (box.high - box.low), bounds)


def hadamard_directions(rng: np.random.Generator) -> FloatArray:
    """Eight directions of a two-level screening design, each +-1 in six fields, ``[8, 6]``.

    The order-8 Hadamard matrix without its first column; rows in random order, six of its seven
    columns in random order, and each column with a random sign.

    Source: SlowLab, prior-informed local optimiser, design points.
    """
    two = np.array([[1.0, 1.0], [1.0, -1.0]])
    matrix = np.kron(np.kron(two, two), two)[:, 1:]
    rows = matrix[rng.permutation(len(matrix))]
    columns = rng.permutation(matrix.shape[1])[: len(POLICY_FIELDS)]
    return rows[:, columns] * rng.choice([-1.0, 1.0], len(POLICY_FIELDS))


def design_around(
    centre: Policy, radius: float, count: int, bounds: PolicyBounds, rng: np.random.Generator
) -> list[Policy]:
    """Different policies around a centre, which is not among them.

    Each field is moved by the radius, up or down, and cut at its bound. After eight points a new
    set of directions is drawn. Where cutting leaves fewer different points (a radius that rounds
    to nothing), fewer are returned.

    Args:
        centre: a policy.
        radius: step in widths of the allowed range.
        count: how many.
        bounds: allowed range of each field.
        rng: draws the directions.
    """
    found: list[Policy] = []
    for _ in range(2 + count // 4):
        if len(found) >= count:
            break
        steps = radius * hadamard_directions(rng)
        points = tidy_policies(unit_point(centre, bounds) + steps, bounds)
        found += without(points, [centre, *found])
    return found[:count]
