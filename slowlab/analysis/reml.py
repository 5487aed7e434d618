"""One mean and several crossed or nested random effects, by restricted maximum likelihood.

``y = mu + sum_k Z_k u_k + e`` with independent normal effects of variance ``v_k`` at least 0.
The likelihood of the residuals is searched with bounds, then by Newton's steps; a variance that
ends at 0 is held there, so that a fit at the boundary is an ordinary outcome. The mean has
Satterthwaite's degrees of freedom.
Sources: Searle, Casella and McCulloch 1992, Variance Components, sections 6.6 and 8.3; Giesbrecht
and Burns 1985, Biometrics 41, 477-486. Time and memory grow with the cube and the square of the
number of values: a third of a second for 300.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import csr_array

from slowlab.analysis.samples import Array, exact_sample

RESIDUAL = "residual"
_MOST_STEPS = 500
_MOST_POLISHED = 50
_MOST_HALVINGS = 30
_TOLERANCE = 1e-9
"""Largest last step, relative to the variance."""
_FLOOR = 1e-7
"""Smallest variance of the residual, for data of unit variance; there it counts as 0."""
_NEAR_ZERO = 1e-5
"""Up to here, for data of unit variance, a variance whose increase lowers the likelihood is 0."""
_RANK_TOLERANCE = 1e-8


class FitStatus(StrEnum):
    """How a fit ended.

    Attributes:
        FITTED: the maximum lies inside: every variance is above 0.
        SINGULAR: at the maximum some variance is 0; the mean and the others stand without it.
        NOT_CONVERGED: no maximum was found; there are no numbers.
        NO_SPREAD: all values are equal; there is a mean and no error.
        TOO_FEW: too few values; there are no numbers.
    """

    FITTED = "fitted"
    SINGULAR = "singular"
    NOT_CONVERGED = "not_converged"
    NO_SPREAD = "no_spread"
    TOO_FEW = "too_few"


@dataclass(frozen=True)
class RandomEffectsFit:
    """A fitted mean with its variance components, in the unit of the values.

    Attributes:
        status: how it ended.
        mean: generalised least-squares estimate of the mean; None without a fit.
        error: its standard error; None without a fit or spread.
        freedom: Satterthwaite's degrees of freedom of the error; None likewise.
        variances: variance of every effect and of the residual, by name; empty without a fit.
    """

    status: FitStatus
    mean: float | None = None
    error: float | None = None
    freedom: float | None = None
    variances: Mapping[str, float] | None = None


def fit_random_effects(values: ArrayLike, effects: Mapping[str, ArrayLike]) -> RandomEffectsFit:
    """Fit the mean and the variances.

    Args:
        values: ``[n]`` finite values, in an order of the caller's choice that is part of the bytes.
        effects: by name ``[n]`` the level of each value, any whole numbers. An effect must have
            fewer levels than there are values and more than one; two with the same grouping cannot
            be told apart.

    Returns:
        The fit; ``TOO_FEW`` below three values.

    Raises:
        ValueError: an effect does not fit the values.
    """
    y = np.asarray(values, dtype=np.float64)
    groups = {name: _groups(name, levels, len(y)) for name, levels in effects.items()}
    if len(y) < 3:
        return RandomEffectsFit(FitStatus.TOO_FEW)
    sample = exact_sample(y)
    if sample.all_equal:
        return RandomEffectsFit(FitStatus.NO_SPREAD, mean=sample.mean)
    scaled = (y - sample.mean) / sample.sd
    likelihood = _Likelihood(scaled, list(groups.values()))
    found = _maximum(likelihood)
    if found is None:
        return RandomEffectsFit(FitStatus.NOT_CONVERGED)
    at = likelihood.at(found)
    held = bool((found[:-1] == 0.0).any() or found[-1] <= _FLOOR)
    return RandomEffectsFit(
        FitStatus.SINGULAR if held else FitStatus.FITTED,
        mean=sample.mean + sample.sd * at.mean,
        error=sample.sd * math.sqrt(at.mean_variance),
        freedom=_freedom(at, np.append(found[:-1] > 0.0, True)),
        variances={
            name: float(value) * sample.sd**2
            for name, value in zip([*groups, RESIDUAL], found, strict=True)
        },
    )


def separable_effects(effects: Mapping[str, ArrayLike]) -> tuple[str, ...]:
    """Effects whose variances can be told from each other and from the residual's, in order.

    Args:
        effects: by name ``[n]`` the level of each value.

    Returns:
        The names, without an effect whose variance the data cannot tell from those named before
        it, as one that groups the values like another one or has a level for each value.
    """
    count = len(next(iter(effects.values()), ()))
    if count < 3:
        return ()
    centred = np.eye(count) - 1.0 / count
    kept: list[str] = []
    known = [centred]
    for name, levels in effects.items():
        group = np.unique(np.asarray(levels, dtype=np.int64), return_inverse=True)[1]
        same = (group[:, None] == group[None, :]).astype(np.float64)
        kernel = same - same.mean(axis=0) - same.mean(axis=1)[:, None] + same.mean()
        if _independent([*known, kernel]):
            kept.append(name)
            known.append(kernel)
    return tuple(kept)


def _independent(kernels: list[Array]) -> bool:
    """Whether no kernel is a sum of multiples of the others."""
    sizes = [float(np.sqrt((kernel**2).sum())) for kernel in kernels]
    if min(sizes) < _RANK_TOLERANCE:
        return False
    gram = np.array([[float((one * two).sum()) for one in kernels] for two in kernels])
    return float(np.linalg.eigvalsh(gram / np.outer(sizes, sizes))[0]) > _RANK_TOLERANCE


@dataclass(frozen=True)
class _Point:
    """The likelihood at some variances.

    Attributes:
        log_likelihood: restricted, up to a constant.
        gradient: ``[k]`` by the variances.
        information: ``[k, k]`` expected information.
        observed: ``[k, k]`` observed information.
        mean: estimate of the mean.
        mean_variance: its variance.
        mean_gradient: ``[k]`` derivative of that variance.
    """

    log_likelihood: float
    gradient: Array
    information: Array
    observed: Array
    mean: float
    mean_variance: float
    mean_gradient: Array


class _Likelihood:
    """Restricted likelihood of one set of values as a function of the variances."""

    def __init__(self, y: Array, groups: list[NDArray[np.int64]]) -> None:
        self.y = y
        self.n = len(y)
        self.z = [_indicator(group) for group in groups]
        self.same = [(group[:, None] == group[None, :]).astype(np.float64) for group in groups]

    def loss(self, variances: Array) -> tuple[float, Array]:
        """What a minimiser takes: the likelihood and its gradient, with the other sign."""
        point = self.at(variances, curvature=False)
        return -point.log_likelihood, -point.gradient

    def at(self, variances: Array, *, curvature: bool = True) -> _Point:
        """Everything at one point; the residual's variance, the last one, is above 0."""
        covariance = np.diag(np.full(self.n, variances[-1]))
        for value, same in zip(variances, self.same, strict=False):
            covariance += value * same
        factor = cho_factor(covariance, lower=True)
        inverse = cho_solve(factor, np.eye(self.n))
        weight = inverse.sum(axis=1)
        total = float(weight.sum())
        projected = inverse - np.outer(weight, weight) / total
        residual = projected @ self.y
        information = self._information(projected) if curvature else np.empty((0, 0))
        quadratic = self._quadratic(projected, residual) if curvature else information
        log_det = 2.0 * float(np.log(np.diag(factor[0])).sum()) + math.log(total)
        return _Point(
            log_likelihood=-0.5 * (log_det + float(self.y @ residual)),
            gradient=0.5 * (self._squares(residual) - self._traces(projected)),
            information=information,
            observed=quadratic - information,
            mean=float(weight @ self.y) / total,
            mean_variance=1.0 / total,
            mean_gradient=self._squares(weight) / total**2,
        )

    def _squares(self, vector: Array) -> Array:
        """``[k]`` sum of squares of the sums within levels."""
        sums = [z.T @ vector for z in self.z]
        return np.array([float(part @ part) for part in (*sums, vector)])

    def _traces(self, matrix: Array) -> Array:
        """``[k]`` trace of the matrix times ``Z Z'``."""
        inside = [float(np.vdot(matrix, same)) for same in self.same]
        return np.array([*inside, float(np.trace(matrix))])

    def _quadratic(self, matrix: Array, vector: Array) -> Array:
        """``[k, k]`` products ``r' Z Z' P W W' r``."""
        parts = np.array([*(z @ (z.T @ vector) for z in self.z), vector])
        found = parts @ matrix @ parts.T
        return (found + found.T) / 2.0

    def _information(self, matrix: Array) -> Array:
        """``[k, k]`` half the trace of ``P Z Z' P W W'``, the squares of ``Z' P W``."""
        left = [*(z.T @ matrix for z in self.z), matrix]
        size = len(left)
        found = np.empty((size, size))
        for one in range(size):
            for two in range(one + 1):
                both = left[one] if two == size - 1 else (self.z[two].T @ left[one].T)
                found[one, two] = found[two, one] = 0.5 * float((both**2).sum())
        return found


def _maximum(likelihood: _Likelihood) -> Array | None:
    """Variances at the maximum, exactly 0 where it lies on the boundary; None if not found.

    A search with bounds finds the neighbourhood and which variances are 0; Newton's steps in the
    others make the digits independent of where the search stopped.
    """
    size = len(likelihood.z) + 1
    lowest = [0.0] * (size - 1) + [_FLOOR]
    found = minimize(
        likelihood.loss,
        np.full(size, 1.0 / size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for low in lowest],
        options={"maxiter": _MOST_STEPS, "ftol": 1e-9, "gtol": 1e-4},
    )
    variances = np.maximum(np.asarray(found.x, dtype=np.float64), lowest)
    for _ in range(_MOST_POLISHED):
        point = likelihood.at(variances)
        held = (variances <= np.array(lowest) + _NEAR_ZERO) & (point.gradient <= 0.0)
        variances = np.where(held, lowest, variances)
        free = ~held
        if not free.any():
            return variances
        moved = _not_lower(likelihood, variances, _step(point, free), point, lowest)
        if (np.abs(moved - variances) <= _TOLERANCE * (_NEAR_ZERO + variances)).all():
            return moved
        variances = moved
    return None


def _not_lower(
    likelihood: _Likelihood, variances: Array, step: Array, point: _Point, lowest: list[float]
) -> Array:
    """The longest of the halved steps that does not lower the likelihood."""
    slack = 1e-11 * (1.0 + abs(point.log_likelihood))
    moved = variances
    for halving in range(_MOST_HALVINGS):
        moved = np.maximum(variances + step * 0.5**halving, lowest)
        found = likelihood.at(moved, curvature=False)
        if found.log_likelihood >= point.log_likelihood - slack:
            break
    return moved


def _step(point: _Point, free: NDArray[np.bool_]) -> Array:
    """Newton's step where the likelihood is curved downwards, else that of Fisher scoring."""
    place, gradient = np.ix_(free, free), point.gradient[free]
    step = np.zeros(len(free))
    for block in (point.observed[place], point.information[place]):
        size = np.sqrt(np.abs(np.diag(block)))
        scaled = block / np.outer(size, size)
        if float(np.linalg.eigvalsh(scaled)[0]) > _RANK_TOLERANCE:
            step[free] = np.linalg.solve(scaled, gradient / size) / size
            break
    return step


def _freedom(point: _Point, free: NDArray[np.bool_]) -> float | None:
    """Satterthwaite's degrees of freedom: twice the squared variance over its own variance."""
    slope = point.mean_gradient[free]
    own = slope @ np.linalg.lstsq(point.information[np.ix_(free, free)], slope, rcond=None)[0]
    return 2.0 * point.mean_variance**2 / float(own) if own > 0.0 else None


def _groups(name: str, levels: ArrayLike, count: int) -> NDArray[np.int64]:
    found, places = np.unique(np.asarray(levels, dtype=np.int64), return_inverse=True)
    if len(places) != count or not (count < 3 or 1 < len(found) < count):
        raise ValueError(f"effect {name}: {len(found)} levels for {count} values")
    return places.astype(np.int64)


def _indicator(group: NDArray[np.int64]) -> csr_array:
    n = len(group)
    return csr_array((np.ones(n), (np.arange(n), group)), shape=(n, int(group.max()) + 1))
