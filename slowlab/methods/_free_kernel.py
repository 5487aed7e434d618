"""Hyperparameters of the season kernel from a campaign's own crops, with weak priors.

This is what a method without knowledge of other sites uses in place of the frozen kernel. All
hyperparameters are fitted at once, to their most probable values, on margins divided by their own
spread. The priors are centred on nothing that was learnt from greenhouses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from slowlab.tools.matern import FloatArray, matern52_at, profiled_misfit
from slowlab.tools.season_kernel import JITTER, SeasonKernel, season_coordinates
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, encode, to_unit

SPREAD_FLOOR_EUR_M2 = 1.0
"""Margins are never divided by less."""
SPREAD_OF_ONE_CROP_EUR_M2 = 10.0
"""Taken for the spread of margins where there is one crop only."""
PRIOR_CENTRES = (*(0.0,) * 6, -0.7, -1.4, -1.4, -4.6, 0.0)
"""Centres of the normal priors: log length scale of each field (1), log season length scale (0.5),
logit of the season share (0.2), log common season (0.25), log noise ratio (0.01), log scale (1)."""
PRIOR_SDS = (*(0.75,) * 6, 0.75, 1.0, 1.0, 1.5, 0.75)
"""Their standard deviations."""
_STARTS = (0.0, -1.0, 1.0)
_STEP = 1e-5
_FRACTIONS = 0.5 ** np.arange(12.0)
_LONGEST_STEP = 2.0
_ITERATIONS = 60
_TOLERANCE = 1e-5


def fit_free_kernel(
    bounds: PolicyBounds,
    policies: Sequence[Policy],
    planting_days: ArrayLike,
    margins_eur_m2: ArrayLike,
    noise_sd_eur_m2: ArrayLike | None = None,
) -> SeasonKernel:
    """The most probable kernel under weak priors; the order of crops has no effect.

    Args:
        bounds: allowed range of each field.
        policies: n policies, at least one.
        planting_days: their planting days, ``[n]``.
        margins_eur_m2: their margins, ``[n]``.
        noise_sd_eur_m2: SD of the errors of predicted margins, ``[n]``, 0 for completed crops.
    """
    unit = to_unit(encode(policies), bounds)
    days, margins = np.asarray(planting_days, float), np.asarray(margins_eur_m2, float)
    errors = np.zeros(len(margins)) if noise_sd_eur_m2 is None else np.asarray(noise_sd_eur_m2)
    order = np.lexsort([errors, margins, *unit.T[::-1], days])
    unit, days, margins, errors = unit[order], days[order], margins[order], errors[order]
    spread = _spread(margins)
    problem = _Problem(unit, days, margins / spread, errors / spread)
    return _kernel(problem.solve(), spread)


def _spread(margins: FloatArray) -> float:
    if len(margins) < 2:
        return SPREAD_OF_ONE_CROP_EUR_M2
    return max(float(np.std(margins, ddof=1)), SPREAD_FLOOR_EUR_M2)


def _kernel(parameters: FloatArray, spread: float) -> SeasonKernel:
    """The kernel of a vector of parameters, in the order of PRIOR_CENTRES."""
    scales = np.exp(parameters[: len(POLICY_FIELDS)])
    season, share, common, noise, scale = parameters[len(POLICY_FIELDS) :].tolist()
    return SeasonKernel(
        policy_length_scales=tuple(scales.tolist()),
        season_length_scale=math.exp(season),
        season_share=1.0 / (1.0 + math.exp(-share)),
        common_season=math.exp(common),
        noise_ratio=math.exp(noise),
        signal_sd_eur_m2=spread * math.exp(0.5 * scale),
    )


class _Problem:
    """Crops with standardised margins; parameters in the order of PRIOR_CENTRES."""

    def __init__(
        self, unit: FloatArray, days: FloatArray, margins: FloatArray, errors: FloatArray
    ) -> None:
        season = season_coordinates(days)
        self._policy_squares = (unit[:, None, :] - unit[None, :, :]) ** 2
        self._season_squares = np.sum((season[:, None, :] - season[None, :, :]) ** 2, axis=-1)
        self._margins, self._errors = margins, errors

    def solve(self) -> FloatArray:
        """The best point from a few fixed starts, which differ in their length scales."""
        centres, sds = np.array(PRIOR_CENTRES), np.array(PRIOR_SDS)
        lengths = np.arange(len(centres)) < len(POLICY_FIELDS)
        found = [minimise(self.objective, centres + shift * sds * lengths) for shift in _STARTS]
        return min(found, key=lambda point: float(self.objective(point[None])[0]))

    def objective(self, points: FloatArray) -> FloatArray:
        """Minus twice the log posterior of k vectors of parameters, ``[k]``; mean profiled out."""
        covariance = self._covariances(points)
        lower = np.linalg.cholesky(covariance)
        ones_and_margins = np.column_stack([np.ones(len(self._margins)), self._margins])
        white = np.linalg.solve(
            lower, np.broadcast_to(ones_and_margins, (len(points), *ones_and_margins.shape))
        )
        prior = np.sum(((points - PRIOR_CENTRES) / PRIOR_SDS) ** 2, axis=-1)
        return profiled_misfit(lower, white[..., 0], white[..., 1]) + prior

    def _covariances(self, points: FloatArray) -> FloatArray:
        """Covariance of standardised margins for each vector of parameters, ``[k, n, n]``."""
        fields = len(POLICY_FIELDS)
        lengths = np.exp(points[:, :fields])
        season_length, share_logit, log_common, log_noise, log_scale = points[:, fields:].T
        share = _column(1.0 / (1.0 + np.exp(-share_logit)))
        policy = matern52_at(np.einsum("ijf,kf->kij", self._policy_squares, lengths**-2.0))
        season = matern52_at(self._season_squares / _column(np.exp(2.0 * season_length)))
        signal = policy * (1.0 - share + share * season) + _column(np.exp(log_common)) * season
        ratio = _column(np.exp(log_noise)) + JITTER
        scale = _column(np.exp(log_scale))
        identity = np.eye(len(self._margins))
        return scale * (signal + ratio * identity) + np.diag(self._errors**2)


def minimise(objective: Callable[[FloatArray], FloatArray], start: FloatArray) -> FloatArray:
    """Minimum near a start by the BFGS method, for objectives that take many points at once.

    Slopes are central differences, and all step lengths of a line search are tried together. For so
    few numbers this is faster than a library, and it involves no threads.

    Args:
        objective: values ``[k]`` at points ``[k, d]``.
        start: where to begin, ``[d]``.
    """
    point, value, inverse = start, float(objective(start[None])[0]), 0.1 * np.eye(len(start))
    slope = _slope(objective, point)
    for _ in range(_ITERATIONS):
        step = -inverse @ slope
        step *= min(1.0, _LONGEST_STEP / max(float(np.linalg.norm(step)), 1e-12))
        values = objective(point + _FRACTIONS[:, None] * step)
        falls = values <= value + 1e-4 * _FRACTIONS * float(slope @ step)
        if not falls.any():
            break
        chosen = int(np.argmax(falls))
        moved, gained = _FRACTIONS[chosen] * step, value - float(values[chosen])
        point, value, before = point + moved, float(values[chosen]), slope
        slope = _slope(objective, point)
        inverse = _updated(inverse, moved, slope - before)
        if gained < _TOLERANCE:
            break
    return point


def _slope(objective: Callable[[FloatArray], FloatArray], point: FloatArray) -> FloatArray:
    steps = _STEP * np.eye(len(point))
    up, down = np.split(objective(np.vstack([point + steps, point - steps])), 2)
    return (up - down) / (2.0 * _STEP)


def _updated(inverse: FloatArray, moved: FloatArray, turned: FloatArray) -> FloatArray:
    """The inverse Hessian after a step, unless the curvature along it is not positive."""
    curvature = float(moved @ turned)
    if curvature <= 1e-12:
        return inverse
    left = np.eye(len(moved)) - np.outer(moved, turned) / curvature
    return left @ inverse @ left.T + np.outer(moved, moved) / curvature


def _column(values: FloatArray) -> FloatArray:
    return values[:, None, None]
