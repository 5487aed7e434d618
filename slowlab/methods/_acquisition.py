"""What to plant next: expected improvement of the scored margin, and batches of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from slowlab.methods._design import without
from slowlab.tools.season_kernel import PolicyPosterior
from slowlab.world.policy import Policy, encode

FloatArray = NDArray[np.float64]


def expected_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """Expected excess over a value under normal beliefs, in the unit of the mean, ``[n]``.

    ``(m - b) Phi(z) + s phi(z)`` with ``z = (m - b) / s``; ``max(m - b, 0)`` where ``s`` is 0.

    Args:
        mean: means, ``[n]``.
        sd: standard deviations, ``[n]``.
        best: the value to be exceeded.
    """
    from scipy.special import ndtr

    gain = np.asarray(mean, np.float64) - best
    spread = np.where(sd > 0.0, sd, 1.0)
    z = gain / spread
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return np.where(sd > 0.0, gain * ndtr(z) + spread * density, np.maximum(gain, 0.0))


def in_policy_order(policies: Sequence[Policy]) -> list[Policy]:
    """Each policy once, sorted by its values: an order that tells nothing about compartments."""
    once = without(policies, [])
    order = np.lexsort(encode(once).values.T[::-1])
    return [once[index] for index in order]


def best_mean(
    posterior: PolicyPosterior, policies: Sequence[Policy], scoring_days: Sequence[float]
) -> tuple[Policy, float]:
    """The policy with the highest mean of the scored margin, and that mean in EUR/m2.

    Among equals, the first in the order of their values counts.

    Raises:
        ValueError: no policies.
    """
    ordered = in_policy_order(policies)
    if not ordered:
        raise ValueError("there must be at least one policy")
    means, _ = posterior.scored(ordered, scoring_days)
    index = int(np.argmax(means))
    return ordered[index], float(means[index])


def choose_batch(
    posterior: PolicyPosterior,
    pool: Sequence[Policy],
    tried: Sequence[Policy],
    count: int,
    planting_day: float,
    scoring_days: Sequence[float],
) -> list[Policy]:
    """Choose policies to plant, one after the other, by expected improvement.

    After each choice the posterior is conditioned on its predicted margin at the day of planting
    (kriging believer). The value to be exceeded is the highest posterior mean of the scored margin
    among tried and already chosen policies.

    Source: SlowLab, prior-informed local optimiser, acquisition.

    Args:
        posterior: what is believed.
        pool: candidates; those that were tried are left out.
        tried: policies already planted, at least one.
        count: how many to choose; fewer are returned where the pool is exhausted.
        planting_day: when they will be planted.
        scoring_days: planting days of the score.
    """
    left, chosen = without(pool, tried), list[Policy]()
    while left and len(chosen) < count:
        _, best = best_mean(posterior, [*tried, *chosen], scoring_days)
        improvement = expected_improvement(*posterior.scored(left, scoring_days), best)
        chosen.append(left.pop(int(np.argmax(improvement))))
        posterior = posterior.believe(chosen[-1], planting_day)
    return chosen
