"""Hyperparameters of the season kernel from a campaign's own crops, with weak priors.

This is what a method without knowledge of other sites uses in place of the frozen kernel. All
hyperparameters are fitted at once, to their most probable values, on margins divided by their own
spread. The priors are centred on nothing that was learnt from greenhouses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

FloatArray = NDArray[np.float64]


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
        """The best point from a few fixed starts."""
        from scipy.optimize import minimize

        centres, sds = np.array(PRIOR_CENTRES), np.array(PRIOR_SDS)
        wide = [(c - 4.0 * s, c + 4.0 * s) for c, s in zip(centres, sds, strict=True)]
        lengths = np.r_[np.ones(len(POLICY_FIELDS)), np.zeros(len(sds) - len(POLICY_FIELDS))]
        found = [
            minimize(
                self._value_and_slope,
                centres + shift * sds * lengths,
                jac=True,
                method="L-BFGS-B",
                bounds=wide,
                options={"maxiter": 100},
            )
            for shift in _STARTS
        ]
        return min(found, key=lambda result: result.fun).x

    def _value_and_slope(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Objective and its central differences, all computed together."""
        steps = _STEP * np.eye(len(parameters))
        points = np.vstack([parameters, parameters + steps, parameters - steps])
        values = self.objective(points)
        up, down = np.split(values[1:], 2)
        return float(values[0]), (up - down) / (2.0 * _STEP)

    def objective(self, points: FloatArray) -> FloatArray:
        """Minus twice the log posterior of k vectors of parameters, ``[k]``; mean profiled out."""
        covariance = self._covariances(points)
        lower = np.linalg.cholesky(covariance)
        ones_and_margins = np.column_stack([np.ones(len(self._margins)), self._margins])
        white = np.linalg.solve(
            lower, np.broadcast_to(ones_and_margins, (len(points), *ones_and_margins.shape))
        )
        ones, margins = white[..., 0], white[..., 1]
        mean = np.sum(ones * margins, axis=-1) / np.sum(ones**2, axis=-1)
        misfit = np.sum((margins - mean[:, None] * ones) ** 2, axis=-1)
        determinant = 2.0 * np.sum(np.log(np.diagonal(lower, axis1=1, axis2=2)), axis=-1)
        prior = np.sum(((points - PRIOR_CENTRES) / PRIOR_SDS) ** 2, axis=-1)
        return misfit + determinant + prior

    def _covariances(self, points: FloatArray) -> FloatArray:
        """Covariance of standardised margins for each vector of parameters, ``[k, n, n]``."""
        fields = len(POLICY_FIELDS)
        lengths = np.exp(points[:, :fields])
        season_length, share_logit, log_common, log_noise, log_scale = points[:, fields:].T
        share = _column(1.0 / (1.0 + np.exp(-share_logit)))
        policy = _matern52(np.einsum("ijf,kf->kij", self._policy_squares, lengths**-2.0))
        season = _matern52(self._season_squares / _column(np.exp(2.0 * season_length)))
        signal = policy * (1.0 - share + share * season) + _column(np.exp(log_common)) * season
        ratio = _column(np.exp(log_noise)) + JITTER
        scale = _column(np.exp(log_scale))
        identity = np.eye(len(self._margins))
        return scale * (signal + ratio * identity) + np.diag(self._errors**2)


def _column(values: FloatArray) -> FloatArray:
    return values[:, None, None]


def _matern52(squared_distance: FloatArray) -> FloatArray:
    distance = np.sqrt(5.0 * squared_distance)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
