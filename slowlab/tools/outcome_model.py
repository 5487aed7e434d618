"""A Gaussian process of margin on policy and planting date, fitted to one campaign's crops.

Inputs are the six policy fields scaled to 0..1 and the planting day on a circle; the covariance is
Matern 5/2 with one length scale for each of the eight inputs. Margins are standardised.
Hyperparameters are those of the highest marginal likelihood among several random starts.

Source: SlowLab, analysis tools (``fit_outcome_model``, ``predict``), details of the process. There
the search is L-BFGS-B. Ours is a truncated Newton method, which finds the same maxima; SciPy's
L-BFGS-B wakes all threads of its linear algebra for a ten by ten matrix and takes up to 25 times
as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular

from slowlab.tools.matern import FloatArray, MarginProcess, matern52
from slowlab.tools.season_kernel import season_coordinates
from slowlab.world.policy import POLICY_FIELDS, Policy, PolicyBounds, encode, to_unit

INPUTS = (*POLICY_FIELDS, "season_sine", "season_cosine")
"""The eight inputs, in the order of the length scales."""
LENGTH_SCALE_BOUNDS = (0.05, 20.0)
SIGNAL_VARIANCE_BOUNDS = (0.01, 100.0)
NOISE_VARIANCE_BOUNDS = (1e-6, 10.0)
JITTER = 1e-9
"""Added to the variance of every crop; like both variances for standardised margins."""
FEWEST_CROPS = 2
RESTARTS = 8
MOST_EVALUATIONS = 400
"""Evaluations of the likelihood for each start."""

_BOUNDS = np.log(
    [LENGTH_SCALE_BOUNDS] * len(INPUTS) + [SIGNAL_VARIANCE_BOUNDS, NOISE_VARIANCE_BOUNDS]
)


@dataclass(frozen=True)
class OutcomeModel(MarginProcess):
    """A fitted process, conditioned on crops.

    Attributes:
        bounds: allowed range of each policy field.
        length_scales: one for each of INPUTS, on its scaled input.
        signal_variance: of standardised margins.
        noise_variance: of standardised margins.
        inputs: scaled inputs of the crops, ``[n, 8]``.
        targets: their standardised margins, ``[n]``.
        centre_eur_m2: mean margin of the fitted crops.
        spread_eur_m2: their SD; 1 where all are alike.
    """

    bounds: PolicyBounds
    length_scales: FloatArray
    signal_variance: float
    noise_variance: float
    inputs: FloatArray
    targets: FloatArray
    centre_eur_m2: float
    spread_eur_m2: float

    @property
    def noise_sd_eur_m2(self) -> float:
        """SD between crops that are alike in all inputs."""
        return self.spread_eur_m2 * float(np.sqrt(self.noise_variance))

    @property
    def signal_sd_eur_m2(self) -> float:
        """SD of the process itself."""
        return self.spread_eur_m2 * float(np.sqrt(self.signal_variance))

    def _averaged(
        self, policies: Sequence[Policy], days: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        unit = to_unit(encode(policies), self.bounds)
        points = [_inputs(unit, np.full(len(unit), day)) for day in days]
        cross = np.mean([self._covariance(point, self.inputs) for point in points], axis=0)
        year = np.column_stack([np.zeros((len(days), 6)), season_coordinates(days)])
        prior = float(self._covariance(year, year).mean())
        lower = self._lower()
        mean = cross @ cho_solve((lower, True), self.targets)
        explained = np.sum(solve_triangular(lower, cross.T, lower=True) ** 2, axis=0)
        sd = np.sqrt(np.maximum(prior - explained, 0.0))
        return self.centre_eur_m2 + self.spread_eur_m2 * mean, self.spread_eur_m2 * sd

    def believe(self, policy: Policy, day: float) -> OutcomeModel:
        """The model if a crop came out as it is predicted now; everything fitted stays."""
        predicted, _ = self.at([policy], day)
        point = _inputs(to_unit(encode([policy]), self.bounds), np.array([day]))
        standardised = (predicted - self.centre_eur_m2) / self.spread_eur_m2
        inputs = np.vstack([self.inputs, point])
        return replace(self, inputs=inputs, targets=np.append(self.targets, standardised))

    def leave_one_out_rmse_eur_m2(self) -> float:
        """Root mean square error of each crop predicted from the others, at the fitted numbers.

        Source: Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, eq. 5.12.
        """
        inverse = cho_solve((self._lower(), True), np.eye(len(self.targets)))
        errors = inverse @ self.targets / np.diag(inverse)
        return self.spread_eur_m2 * float(np.sqrt(np.mean(errors**2)))

    def _covariance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return self.signal_variance * matern52(first, second, self.length_scales)

    def _lower(self) -> FloatArray:
        """Cholesky factor of the covariance of standardised margins."""
        total = self._covariance(self.inputs, self.inputs)
        return np.linalg.cholesky(total + (self.noise_variance + JITTER) * np.eye(len(total)))


def fit_outcome_model(
    bounds: PolicyBounds,
    policies: Sequence[Policy],
    planting_days: ArrayLike,
    margins_eur_m2: ArrayLike,
    rng: np.random.Generator,
    restarts: int = RESTARTS,
) -> OutcomeModel:
    """Fit the hyperparameters to crops and condition on them; the order of crops has no effect.

    Args:
        bounds: allowed range of each policy field.
        policies: n policies, at least FEWEST_CROPS.
        planting_days: their planting days, ``[n]``.
        margins_eur_m2: their margins, ``[n]``.
        rng: draws the starts, log-uniform between the bounds.
        restarts: number of starts.

    Raises:
        ValueError: too few crops, arrays of other lengths, or numbers that are not finite.
    """
    days = np.asarray(planting_days, np.float64).reshape(-1)
    margins = np.asarray(margins_eur_m2, np.float64).reshape(-1)
    unit = to_unit(encode(policies), bounds)
    if len(unit) < FEWEST_CROPS or not len(unit) == len(days) == len(margins):
        raise ValueError(f"there must be {FEWEST_CROPS} crops or more, each with day and margin")
    if not np.isfinite([days, margins]).all():
        raise ValueError("planting days and margins must be finite")
    order = np.lexsort([margins, *unit.T[::-1], days])
    inputs, margins = _inputs(unit[order], days[order]), margins[order]
    centre, spread = float(margins.mean()), float(margins.std())
    spread = spread if spread > 0.0 else 1.0
    targets = (margins - centre) / spread
    best = _most_likely(inputs, targets, rng, restarts)
    return OutcomeModel(
        bounds, best[:-2], float(best[-2]), float(best[-1]), inputs, targets, centre, spread
    )


def _inputs(unit: FloatArray, days: FloatArray) -> FloatArray:
    """The eight scaled inputs, ``[n, 8]``."""
    return np.column_stack([unit, season_coordinates(days)])


def _most_likely(
    inputs: FloatArray, targets: FloatArray, rng: np.random.Generator, restarts: int
) -> FloatArray:
    """Length scales, signal and noise variance with the highest likelihood, ``[10]``."""
    from scipy.optimize import minimize  # takes 0.3 s

    starts = rng.uniform(*_BOUNDS.T, size=(restarts, len(_BOUNDS)))
    squares = (inputs[:, None, :] - inputs[None, :, :]) ** 2
    ends = [
        minimize(
            negative_log_likelihood,
            start,
            args=(squares, targets),
            jac=True,
            method="TNC",
            bounds=_BOUNDS,
            options={"maxfun": MOST_EVALUATIONS},
        )
        for start in starts
    ]
    best = min(ends, key=lambda end: float(end.fun))
    return np.exp(best.x)


def negative_log_likelihood(
    logarithms: FloatArray, squares: FloatArray, targets: FloatArray
) -> tuple[float, FloatArray]:
    """Minus the log marginal likelihood and its gradient.

    Args:
        logarithms: logs of the eight length scales, the signal and the noise variance, ``[10]``.
        squares: squared differences of the scaled inputs, ``[n, n, 8]``.
        targets: standardised margins, ``[n]``.

    Source: Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, eqs. 2.30 and 5.9;
    for Matern 5/2 with a = sqrt(5) r, the derivative by the log of a length scale l is
    5/3 (1 + a) exp(-a) (difference/l)^2.
    """
    scales, (signal, noise) = np.exp(logarithms[:-2]), np.exp(logarithms[-2:])
    scaled = squares / scales**2
    distance = np.sqrt(5.0 * scaled.sum(axis=-1))
    decay = np.exp(-distance)
    process = signal * (1.0 + distance + distance**2 / 3.0) * decay
    identity = np.eye(len(targets))
    lower = np.linalg.cholesky(process + (noise + JITTER) * identity)
    weights = cho_solve((lower, True), targets)
    value = 0.5 * (targets @ weights + len(targets) * np.log(2.0 * np.pi))
    value += float(np.sum(np.log(np.diag(lower))))
    inner = 0.5 * (cho_solve((lower, True), identity) - np.outer(weights, weights))
    shape = signal * 5.0 / 3.0 * (1.0 + distance) * decay
    by_scale = np.einsum("ij,ijk->k", inner * shape, scaled)
    by_signal, by_noise = np.sum(inner * process), noise * np.trace(inner)
    return float(value), np.array([*by_scale, by_signal, by_noise])
