"""Policies spread evenly over the allowed range: scrambled Sobol points."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slowlab.world.policy import (
    POLICY_FIELDS,
    EncodedPolicies,
    Policy,
    PolicyBounds,
    decode,
    from_unit,
)

DECIMALS = 2
"""Decimals of every coordinate."""
MOST_DOUBLINGS = 4
"""How often the number of drawn points is doubled before the search for policies is given up."""


class NoCandidatesError(ValueError):
    """The fixed fields and the bounds leave fewer different policies than were asked for."""


def sobol_policies(
    bounds: PolicyBounds,
    count: int,
    rng: np.random.Generator,
    fixed: Mapping[str, float] | None = None,
) -> list[Policy]:
    """Scrambled Sobol points as policies; points whose night is warmer than the day are left out.

    Source: SlowLab, analysis tools (``space_filling_candidates``).

    Args:
        bounds: allowed range of each field.
        count: number of policies.
        rng: scrambles the points; one draw, however many points are needed.
        fixed: values of fields that do not vary; they are not rounded.

    Returns:
        ``count`` different policies, the varied fields rounded to two decimals.

    Raises:
        NoCandidatesError: so many different policies were not found.
    """
    given = fixed or {}
    free = [name for name in POLICY_FIELDS if name not in given]
    seed = int(rng.integers(2**63))
    found: dict[Policy, None] = {}
    first = math.ceil(math.log2(2 * count))
    for exponent in range(first, first + MOST_DOUBLINGS + 1) if free else ():
        points = _sobol(len(free), exponent, seed)
        found = dict.fromkeys(_feasible(points, free, given, bounds))
        if len(found) >= count:
            return list(found)[:count]
    raise NoCandidatesError(
        f"fewer than {count} different policies were found; fix fewer fields or ask for fewer"
    )


def _sobol(dimensions: int, exponent: int, seed: int) -> NDArray[np.float64]:
    """``[2**exponent, dimensions]`` points; a longer set begins with the shorter one."""
    from scipy.stats import qmc  # takes 0.4 s

    engine = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    return engine.random_base2(exponent)


def _feasible(
    points: NDArray[np.float64],
    free: list[str],
    given: Mapping[str, float],
    bounds: PolicyBounds,
) -> list[Policy]:
    """Points of the free fields as policies, without those that are not allowed."""
    unit = np.zeros((len(points), len(POLICY_FIELDS)))
    unit[:, [POLICY_FIELDS.index(name) for name in free]] = points
    low, high = bounds.limits(POLICY_FIELDS)
    spread = from_unit(unit, POLICY_FIELDS, bounds).values
    values = np.clip(np.round(spread, DECIMALS), low, high)
    for name in POLICY_FIELDS:
        if name in given:
            values[:, POLICY_FIELDS.index(name)] = given[name]
    encoded = EncodedPolicies(POLICY_FIELDS, values)
    return decode(EncodedPolicies(POLICY_FIELDS, encoded.values[encoded.is_feasible()]))
