"""Proposals of a black-box search over policies; knows no simulator.

Rounds of a population: candidates are drawn around the best policies so far (a normal distribution
fitted to them, and differences between them), and a Gaussian process fitted to all results picks
which of the candidates are worth a simulation. Values are of one crop plan without noise, so they
are smooth, and optima on the bounds are found because candidates are clipped to the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]

DECIMALS = 2
"""Decimals of proposed policies, in the unit of each field."""
_LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
_NOISE_VARIANCE = 1e-4
_SQRT5 = 5.0**0.5
_OPTIMISM = 0.5
_CANDIDATES_PER_PROPOSAL = 30


@dataclass(frozen=True)
class SearchSettings:
    """How much is spent and how the search narrows.

    Attributes:
        sobol: space-filling policies at the start.
        rounds: rounds after that.
        population: policies proposed for each objective and round.
        elites: best policies around which candidates are drawn.
        first_width: least standard deviation of candidates in the first round, in units of the box.
        shrink: factor on that width from round to round.
        seed: of all draws.
    """

    sobol: int = 32
    rounds: int = 5
    population: int = 12
    elites: int = 8
    first_width: float = 0.2
    shrink: float = 0.6
    seed: int = 0

    def plain(self) -> dict[str, Any]:
        """For provenance."""
        return asdict(self)


def space_filling(count: int, bounds: PolicyBounds, seed: int) -> list[Policy]:
    """Scrambled Sobol policies over the box, warmer nights lowered to the day."""
    from scipy.stats import qmc

    if count == 0:
        return []
    sobol = qmc.Sobol(len(POLICY_FIELDS), scramble=True, rng=np.random.default_rng(seed))
    power = int(np.ceil(np.log2(count)))
    return repaired(sobol.random_base2(power)[:count], bounds)


def repaired(unit: Array, bounds: PolicyBounds) -> list[Policy]:
    """Points near the unit cube, ``[n, 6]``, as feasible policies inside the bounds."""
    encoded = from_unit(np.clip(unit, 0.0, 1.0), POLICY_FIELDS, bounds)
    low, high = bounds.limits(POLICY_FIELDS)
    values = np.clip(np.round(encoded.values, DECIMALS), low, high)
    day, night = (POLICY_FIELDS.index(f"{time}_temperature_c") for time in ("day", "night"))
    values[:, day] = np.maximum(values[:, day], low[night])
    values[:, night] = np.minimum(values[:, night], values[:, day])
    return decode(EncodedPolicies(POLICY_FIELDS, values))


def cold_corner(bounds: PolicyBounds, co2_target_ppm: float = 1130.0) -> Policy:
    """The coldest, brightest and most closed policy of the box.

    Lowest set-points, longest light, vents that open latest. A prototype of this environment found
    the optimum of nearly every site there, with a CO2 target of 1130 ppm.
    """
    ends = {name: bounds.of(name) for name in POLICY_FIELDS}
    co2 = ends["co2_target_ppm"]
    return Policy(
        day_temperature_c=ends["day_temperature_c"].min,
        night_temperature_c=min(ends["night_temperature_c"].min, ends["day_temperature_c"].min),
        co2_target_ppm=min(max(co2_target_ppm, co2.min), co2.max),
        supplemental_light_hours=ends["supplemental_light_hours"].max,
        vent_temperature_offset_c=ends["vent_temperature_offset_c"].max,
        vent_rh_threshold_pct=ends["vent_rh_threshold_pct"].max,
    )


def propose(
    policies: Sequence[Policy],
    values: Array,
    *,
    count: int,
    number: int,
    bounds: PolicyBounds,
    settings: SearchSettings,
    rng: np.random.Generator,
) -> list[Policy]:
    """New policies for one objective.

    Args:
        policies: tried so far, at least two.
        values: their objective, ``[n]``, larger is better, finite.
        count: how many new ones.
        number: of the round, from 0.
        bounds: the box.
        settings: widths and elites.
        rng: for the draws.

    Returns:
        At most ``count`` policies that were not tried before, most promising first.
    """
    unit = to_unit(encode(policies), bounds)
    order = np.argsort(-values, kind="stable")
    elites = unit[order[: settings.elites]]
    width = settings.first_width * settings.shrink**number
    drawn = _candidates(elites, width, count * _CANDIDATES_PER_PROPOSAL, rng)
    fresh = _untried(repaired(drawn, bounds), policies)
    if not fresh:
        return []
    points = to_unit(encode(fresh), bounds)
    mean, deviation = predict(unit, values, points)
    ranked = np.argsort(-(mean + _OPTIMISM * deviation), kind="stable")
    return [fresh[k] for k in _spread_out(points, ranked, count, 0.5 * width)]


def _candidates(elites: Array, width: float, count: int, rng: np.random.Generator) -> Array:
    """Half around a normal distribution fitted to the elites, half by differences of them."""
    rank = np.arange(1, len(elites) + 1)
    weights = np.log(len(elites) + 0.5) - np.log(rank)
    weights /= weights.sum()
    centre = weights @ elites
    spread = elites - centre
    covariance = (weights[:, None] * spread).T @ spread + width**2 * np.eye(elites.shape[1])
    normal = rng.multivariate_normal(centre, covariance, size=count // 2, method="cholesky")
    rest = count - count // 2
    base, one, two = rng.integers(0, len(elites), (3, rest))
    step = 0.7 * (elites[one] - elites[two])
    moved = elites[base] + step + rng.normal(0.0, 0.5 * width, (rest, elites.shape[1]))
    return np.concatenate([normal, moved])


def _untried(candidates: Sequence[Policy], tried: Sequence[Policy]) -> list[Policy]:
    """Candidates without repeats and without what was tried, in order."""
    known = set(tried)
    return [policy for policy in dict.fromkeys(candidates) if policy not in known]


def _spread_out(points: Array, ranked: Array, count: int, distance: float) -> list[int]:
    """The first ``count`` of a ranking that keep a distance from each other."""
    chosen: list[int] = []
    for k in ranked.tolist():
        if len(chosen) == count:
            break
        gaps = np.linalg.norm(points[chosen] - points[k], axis=1)
        if not (gaps < distance).any():
            chosen.append(k)
    return chosen


def predict(known: Array, values: Array, points: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of a Gaussian process at new points.

    Matern 5/2 with one length for all fields, chosen by marginal likelihood; only used to rank.

    Args:
        known: ``[n, d]`` in the unit cube.
        values: ``[n]``.
        points: ``[m, d]``.
    """
    # Policies far below the best say little about where the best is: their values are compressed.
    best, scale = float(values.max()), float(np.std(values)) or 1.0
    target = -np.log1p(np.maximum(best - values, 0.0) / scale)
    centre = float(target.mean())
    fits = [_fit(known, target - centre, length) for length in _LENGTHS]
    _, length, factor, weights, variance = max(fits, key=lambda fit: fit[0])
    cross = _matern(points, known, length)
    mean = centre + cross @ weights
    shrunk = np.linalg.solve(factor, cross.T)
    left = np.maximum(1.0 - (shrunk**2).sum(axis=0), 0.0)
    return mean, np.sqrt(variance * left)


def _fit(known: Array, target: Array, length: float) -> tuple[float, float, Array, Array, float]:
    """Log likelihood (signal variance profiled out), length, Cholesky factor, weights, variance."""
    kernel = _matern(known, known, length) + _NOISE_VARIANCE * np.eye(len(known))
    factor = np.linalg.cholesky(kernel)
    half = np.linalg.solve(factor, target)
    variance = max(float(half @ half) / len(target), 1e-12)
    likelihood = -0.5 * len(target) * np.log(variance) - float(np.log(np.diag(factor)).sum())
    return likelihood, length, factor, np.linalg.solve(factor.T, half), variance


def _matern(one: Array, two: Array, length: float) -> Array:
    squared = ((one[:, None, :] - two[None, :, :]) ** 2).sum(axis=-1)
    scaled = _SQRT5 * np.sqrt(squared) / length
    return (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
