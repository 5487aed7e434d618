"""What Gaussian processes of margins share: the Matern 5/2 correlation, a profiled mean, averages.

Source: Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, eqs. 2.30 and 4.17.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slowlab.world.policy import Policy

FloatArray = NDArray[np.float64]


def matern52(first: FloatArray, second: FloatArray, length_scales: ArrayLike) -> FloatArray:
    """Matern 5/2 correlation between rows of ``[n, d]`` and ``[m, d]``, ``[n, m]``."""
    scaled = (first[:, None, :] - second[None, :, :]) / np.asarray(length_scales, np.float64)
    return matern52_at(np.sum(scaled**2, axis=-1))


def matern52_at(squared_distance: FloatArray) -> FloatArray:
    """Matern 5/2 correlation at squared distances in length scales, of any shape."""
    distance = np.sqrt(5.0 * squared_distance)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)


def profiled_misfit(lower: FloatArray, ones: FloatArray, margins: FloatArray) -> FloatArray:
    """Minus twice the log likelihood of k covariances, up to a constant, at the best mean, ``[k]``.

    Args:
        lower: Cholesky factors of the covariances, ``[k, n, n]``.
        ones: a vector of ones, whitened by each factor, ``[k, n]``.
        margins: margins, whitened likewise, ``[k, n]``.
    """
    mean = np.sum(ones * margins, axis=-1) / np.sum(ones**2, axis=-1)
    misfit = np.sum((margins - mean[:, None] * ones) ** 2, axis=-1)
    determinant = 2.0 * np.sum(np.log(np.diagonal(lower, axis1=1, axis2=2)), axis=-1)
    return misfit + determinant


class MarginProcess(ABC):
    """A Gaussian process of margin over policies and planting days, conditioned on crops."""

    def scored(
        self, policies: Sequence[Policy], scoring_days: Sequence[float]
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and SD of the average margin over planting days, all of one weight, EUR/m2.

        Args:
            policies: n policies.
            scoring_days: planting days; a day that is listed twice counts twice.

        Returns:
            Mean ``[n]`` and SD ``[n]`` of the noise-free average.

        Raises:
            ValueError: no scoring day.
        """
        if not len(scoring_days):
            raise ValueError("there must be at least one scoring day")
        return self._averaged(policies, np.sort(np.asarray(scoring_days, np.float64)))

    def at(self, policies: Sequence[Policy], day: float) -> tuple[FloatArray, FloatArray]:
        """Mean and SD of the noise-free margin at one planting day, each ``[n]``, EUR/m2."""
        return self.scored(policies, [day])

    @abstractmethod
    def _averaged(
        self, policies: Sequence[Policy], days: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and SD of the average margin over days in ascending order."""
