"""From draws of the Bayesian second look to what is reported of them: plain data.

R-hat is the rank-normalised split one, effective sample sizes are bulk and tail (Vehtari, Gelman,
Simpson, Carpenter and Buerkner 2021, Bayesian Analysis 16, 667-718), all as ArviZ computes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.samples import Array, round_result
from slowlab.analysis.second_look_data import LookData, Outcome, Sorted
from slowlab.analysis.second_look_model import Fit, Priors

INSIDE, BEYOND, UNDECIDED = "inside", "beyond", "undecided"
"""How an interval lies to the region of practical equivalence."""
STATISTICS = ("sd", "lowest", "highest", "skewness")
"""What replicated differences are compared by, test by test."""
_PREDICTIVE = 0x9E
_TAILS = (0.05, 0.95)  # quantiles of the tail size; what ArviZ takes by itself


@dataclass(frozen=True)
class LookLimits:
    """Gates, and what is reported.

    Attributes:
        rope_eur_m2: region of practical equivalence.
        probability: probability within the intervals.
        largest_r_hat: gate.
        smallest_ess: gate, bulk and tail.
        most_divergences: gate.
        other_scales: factors on the scale of effects with which results are given again.
    """

    rope_eur_m2: tuple[float, float]
    probability: float
    largest_r_hat: float
    smallest_ess: int
    most_divergences: int
    other_scales: tuple[float, float]


def effect_rows(data: LookData, fit: Fit | None, limits: LookLimits) -> list[dict[str, Any]]:
    """What the posterior says of the mean of every declared test, in order.

    Intervals are equal-tailed. The reading is ``inside`` if the interval lies within the region of
    practical equivalence, ``beyond`` if it lies outside it on one side, else ``undecided``; None
    for a test without posterior.

    Args:
        data: the tests.
        fit: the draws; None where no test is modelled.
        limits: region and probability.
    """
    return [_effect(data, fit, limits, item) for item in data.outcomes]


def scale_rows(fit: Fit, priors: Priors, limits: LookLimits) -> list[dict[str, Any]]:
    """Means and intervals under other prior scales of effects, by weighting the draws.

    The weights are the ratios of prior densities. Where fewer than ``limits.smallest_ess`` draws
    are left, in the sense of Kish (1965, Survey Sampling), nothing is said.

    Args:
        fit: the draws.
        priors: scales that they were drawn with.
        limits: other scales, probability, and the fewest draws.

    Returns:
        For each of the other scales its ``scale``, ``draws`` left, and ``tests``: ``mean``, ``low``
        and ``high`` in the order of the modelled tests, or None.
    """
    rows = []
    tests = fit.posterior["mu"].shape[-1]
    effects = fit.posterior["mu"].reshape(-1, tests)
    for scale in limits.other_scales:
        change = _log_prior(fit, priors, scale) - _log_prior(fit, priors, 1.0)
        weights = np.exp(change - change.max())
        weights /= weights.sum()
        left = 1.0 / float((weights**2).sum())
        known = left >= limits.smallest_ess
        rows.append(
            {
                "scale": scale,
                "draws": round_result(left),
                "tests": [_weighted(column, weights, limits.probability) for column in effects.T]
                if known
                else None,
            }
        )
    return rows


def replicated(data: LookData, fit: Fit, seed: int) -> tuple[Array, Array]:
    """Statistics of the differences, and of differences that the model draws for the same sites.

    Args:
        data: the tests.
        fit: the draws.
        seed: seed of the sampler.

    Returns:
        ``[test, statistic]`` of the study and ``[chain, draw, test, statistic]`` of replications.
    """
    rng = np.random.default_rng([seed, _PREDICTIVE])
    missing = ~np.isfinite(data.values)
    chains, draws, tests = fit.posterior["mu"].shape
    sites = len(data.sites)
    found = np.empty((chains, draws, tests, len(STATISTICS)))
    for chain in range(chains):
        mu, omega, sigma = (fit.posterior[name][chain] for name in ("mu", "omega", "sigma"))
        shared = rng.standard_normal((draws, sites, len(data.cells))) * omega[:, None]
        own = rng.standard_normal((draws, sites, tests)) * sigma[:, None]
        drawn = mu[:, None] + shared @ data.loadings.T + own
        found[chain] = _statistics(np.where(missing, np.nan, drawn))
    return _statistics(data.values), found


def check_rows(data: LookData, observed: Array, drawn: Array) -> list[dict[str, Any]]:
    """Where the study lies among replications: the share as large, ties counted half.

    Args:
        data: the tests.
        observed: ``[test, statistic]``.
        drawn: ``[chain, draw, test, statistic]``.
    """
    flat = drawn.reshape(-1, *drawn.shape[2:])
    above, equal = (flat > observed).mean(axis=0), (flat == observed).mean(axis=0)
    low, middle, high = np.quantile(flat, (0.025, 0.5, 0.975), axis=0)
    return [
        {
            "test": test,
            "statistic": name,
            "observed": round_result(observed[row, column]),
            "replicated": round_result(middle[row, column]),
            "replicated_low": round_result(low[row, column]),
            "replicated_high": round_result(high[row, column]),
            "share_as_large": round_result(above[row, column] + equal[row, column] / 2.0),
        }
        for row, test in enumerate(data.tests)
        for column, name in enumerate(STATISTICS)
    ]


def diagnostic_rows(data: LookData, fit: Fit) -> list[dict[str, Any]]:
    """R-hat and effective sample sizes of every parameter.

    Args:
        data: the tests.
        fit: the draws.
    """
    import arviz as az

    names = {
        "mu": data.tests,
        "sigma": data.tests,
        "omega": data.cells,
        "tau": fit.questions,
    }
    rows = []
    for parameter, subjects in names.items():
        for place, subject in enumerate(subjects):
            chains = fit.posterior[parameter][:, :, place]
            rows.append(
                {
                    "parameter": parameter,
                    "about": subject,
                    "r_hat": _finite(az.rhat(chains)),
                    "ess_bulk": _finite(az.ess(chains, method="bulk")),
                    "ess_tail": _finite(az.ess(chains, method="tail", prob=_TAILS)),
                }
            )
    return rows


def gates(rows: list[dict[str, Any]], divergences: int, limits: LookLimits) -> list[dict[str, Any]]:
    """Each gate with its limit, the worst value and where it was found.

    A value that is not a number misses its gate. Without a model there is nothing to miss.

    Args:
        rows: rows of :func:`diagnostic_rows`.
        divergences: divergent transitions of all chains.
        limits: the limits.
    """
    found = []
    for name, limit, worst in (
        ("r_hat", limits.largest_r_hat, _largest),
        ("ess_bulk", limits.smallest_ess, _smallest),
        ("ess_tail", limits.smallest_ess, _smallest),
    ):
        if rows:
            row = worst(rows, name)
            value = row[name]
            holds = value is not None and (value <= limit if worst is _largest else value >= limit)
            where = f"{row['parameter']} of {row['about']}"
            found.append(
                {"name": name, "limit": limit, "measured": value, "where": where, "holds": holds}
            )
    if rows:
        found.append(
            {
                "name": "divergences",
                "limit": limits.most_divergences,
                "measured": divergences,
                "where": "all chains",
                "holds": divergences <= limits.most_divergences,
            }
        )
    return found


def _effect(data: LookData, fit: Fit | None, limits: LookLimits, item: Sorted) -> dict[str, Any]:
    row: dict[str, Any] = {
        "test": item.name,
        "outcome": item.outcome.value,
        "same_as": item.twin,
        "sign": item.sign,
        "value": None if item.value is None else round_result(item.value),
    }
    source = item.twin if item.outcome is Outcome.SAME else item.name
    if fit is None or source not in data.tests:
        return row | dict.fromkeys(_EFFECT)
    draws = item.sign * fit.posterior["mu"][:, :, data.tests.index(source)].ravel()
    tail = (1.0 - limits.probability) / 2.0
    low, high = np.quantile(draws, (tail, 1.0 - tail))
    bottom, top = limits.rope_eur_m2
    numbers = {
        "mean": draws.mean(),
        "sd": draws.std(ddof=1),
        "low": low,
        "high": high,
        "p_positive": (draws > 0.0).mean(),
        "p_inside": ((draws >= bottom) & (draws <= top)).mean(),
        "p_above": (draws > top).mean(),
        "p_below": (draws < bottom).mean(),
    }
    reading = UNDECIDED
    if low > bottom and high < top:
        reading = INSIDE
    elif low > top or high < bottom:
        reading = BEYOND
    return (
        row | {name: round_result(value) for name, value in numbers.items()} | {"reading": reading}
    )


_EFFECT = (
    "mean",
    "sd",
    "low",
    "high",
    "p_positive",
    "p_inside",
    "p_above",
    "p_below",
    "reading",
)


def _log_prior(fit: Fit, priors: Priors, scale: float) -> Array:
    """``[chain * draw]`` log prior density of ``tau``, up to a constant of the factor."""
    ratio = fit.posterior["tau"] / (priors.effect_scale_eur_m2 * scale)
    return -0.5 * (ratio**2).sum(axis=2).ravel()


def _weighted(values: Array, weights: Array, probability: float) -> dict[str, float]:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    tail = (1.0 - probability) / 2.0
    places = np.searchsorted(total, (tail, 1.0 - tail)).clip(max=len(values) - 1)
    low, high = values[order][places]
    return {
        "mean": round_result(float(weights @ values)),
        "low": round_result(low),
        "high": round_result(high),
    }


def _statistics(values: Array) -> Array:
    """``[..., test, statistic]`` of ``[..., site, test]`` differences, NaN where there is none."""
    counts = np.isfinite(values).sum(axis=-2)
    centred = values - np.nanmean(values, axis=-2, keepdims=True)
    second = np.nansum(centred**2, axis=-2)
    third = np.nansum(centred**3, axis=-2) / counts
    return np.stack(
        [
            np.sqrt(second / (counts - 1)),
            np.nanmin(values, axis=-2),
            np.nanmax(values, axis=-2),
            third / (second / counts) ** 1.5,
        ],
        axis=-1,
    )


def _finite(value: Any) -> float | None:
    return round_result(value) if np.isfinite(value) else None


def _largest(rows: list[dict[str, Any]], name: str) -> Mapping[str, Any]:
    return max(rows, key=lambda row: np.inf if row[name] is None else row[name])


def _smallest(rows: list[dict[str, Any]], name: str) -> Mapping[str, Any]:
    return min(rows, key=lambda row: -np.inf if row[name] is None else row[name])


def divergences_of(stats: Mapping[str, NDArray[Any]]) -> int:
    """Divergent transitions of all chains."""
    return int(stats["diverging"].sum())
