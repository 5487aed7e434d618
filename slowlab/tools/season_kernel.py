"""A Gaussian process of margin over policies and planting days, with a kernel that is given.

With ``x`` the six policy fields scaled to 0..1 and ``s`` the planting day on a circle::

    k((x, s), (x', s')) = kp(x, x') (1 - g + g ks(s, s')) + t ks(s, s')

``kp`` and ``ks`` are Matern 5/2; ``kp`` has a length scale per field. The share ``g`` of the policy
effect changes with the season, and ``t`` is a season effect that all policies have in common. Of a
campaign's own crops only a constant mean and a scale are estimated.

Source: SlowLab, prior-informed local optimiser, inputs and kernel. Two things differ. Noise is that
of replicate crops, plus the error of a margin that was only predicted. The scale is held near that
of the crops the kernel was fitted to, as two crops say next to nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from slowlab.config import ConfigModel, validate_config
from slowlab.tools.artifacts import Artifact, ArtifactError
from slowlab.tools.matern import FloatArray, MarginProcess, matern52, profiled_misfit
from slowlab.world.policy import (
    POLICY_FIELDS,
    FieldsError,
    Policy,
    PolicyBounds,
    checked_fields,
    encode,
    to_unit,
)

YEAR_DAYS = 365.0
"""Length of the season's circle, d; a property of the year, not of a campaign."""
SCALE_PRIOR_CROPS = 4.0
"""Weight of the fitted scale: it counts as much as this many crops."""
JITTER = 1e-9
"""Added to the variance of every crop, relative to the scale."""
SMALLEST_SCALE_SD_EUR_M2 = 1e-3
"""Floor of the scale."""
_SCALE_REACH = 4.0 * math.log(10.0)
_SCALE_STEPS = 33
_SCALE_PASSES = 5

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class KernelContent(ConfigModel):
    """Content of the artifact ``kernel``."""

    policy_length_scales: dict[str, _Positive] = Field(
        description="Length scale of each policy field, in widths of its allowed range."
    )
    season_length_scale: _Positive = Field(description="Length scale on the season's circle.")
    season_share: float = Field(ge=0, le=1, description="Share g of the policy effect.")
    common_season: float = Field(ge=0, description="Variance t of the common season effect.")
    noise_ratio: float = Field(ge=0, description="Noise variance over the scale.")
    signal_sd_eur_m2: _Positive = Field(description="Root of the typical scale, EUR/m2.")
    replicate_sd_eur_m2: float | None = Field(
        default=None,
        ge=0,
        description="SD between like crops, EUR/m2; null to use the noise ratio instead.",
    )


@dataclass(frozen=True)
class SeasonKernel:
    """Hyperparameters of the kernel; see the module.

    Attributes:
        policy_length_scales: one for each field, in the order of ``fields``.
        season_length_scale: length scale on the season's circle, whose radius is 0.5.
        season_share: g, from 0 to 1.
        common_season: t, relative to the variance of the policy effect.
        noise_ratio: noise variance over the scale, where there is no replicate SD.
        signal_sd_eur_m2: root of the typical scale, the centre of its prior, EUR/m2.
        replicate_sd_eur_m2: SD between crops alike in policy and planting day, or None.
        fields: names behind the columns of encoded policies.
    """

    policy_length_scales: tuple[float, ...]
    season_length_scale: float
    season_share: float
    common_season: float
    noise_ratio: float
    signal_sd_eur_m2: float
    replicate_sd_eur_m2: float | None = None
    fields: tuple[str, ...] = POLICY_FIELDS

    def __post_init__(self) -> None:
        """Check that there is a length scale for each of the six fields."""
        checked_fields(self.fields)
        if len(self.policy_length_scales) != len(self.fields):
            raise ValueError(f"there must be {len(self.fields)} length scales")

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> SeasonKernel:
        """The kernel of an artifact ``kernel``.

        Raises:
            ArtifactError: another artifact, or length scales of other fields.
            ConfigError: a number is missing or out of its range.
        """
        if artifact.name != "kernel":
            raise ArtifactError(f"{artifact.name} is no kernel")
        return cls.from_content(validate_config(artifact.content, KernelContent, "kernel"))

    @classmethod
    def from_content(cls, content: KernelContent) -> SeasonKernel:
        """The kernel with these hyperparameters, its length scales taken by name.

        Raises:
            ArtifactError: length scales of other fields.
        """
        scales = content.policy_length_scales
        if sorted(scales) != sorted(POLICY_FIELDS):
            raise ArtifactError(f"kernel: length scales must be of {', '.join(POLICY_FIELDS)}")
        others = content.model_dump(exclude={"policy_length_scales"})
        return cls(tuple(scales[name] for name in POLICY_FIELDS), **others)

    def content(self) -> KernelContent:
        """The hyperparameters by name, as an artifact holds them."""
        names = [name for name in KernelContent.model_fields if name != "policy_length_scales"]
        return KernelContent(
            policy_length_scales=dict(zip(self.fields, self.policy_length_scales, strict=True)),
            **{name: getattr(self, name) for name in names},
        )

    def unit(self, policies: Sequence[Policy], bounds: PolicyBounds) -> FloatArray:
        """Policies scaled to 0..1 in the kernel's order of fields, ``[n, 6]``."""
        return to_unit(encode(policies, self.fields), bounds)

    def base_variance[NumberT: (float, FloatArray)](self, scale: NumberT) -> NumberT:
        """Noise variance of a completed crop, (EUR/m2)2, under a scale in the same unit."""
        if self.replicate_sd_eur_m2 is None:
            return (self.noise_ratio + JITTER) * scale
        return self.replicate_sd_eur_m2**2 + JITTER * scale


def season_coordinates(planting_days: ArrayLike) -> FloatArray:
    """Planting days on the season's circle of radius 0.5, ``[n, 2]``.

    Source: SlowLab, prior-informed local optimiser, inputs.
    """
    angle = 2.0 * np.pi * np.asarray(planting_days, np.float64).reshape(-1) / YEAR_DAYS
    return 0.5 * (1.0 + np.column_stack([np.sin(angle), np.cos(angle)]))


def covariance(
    kernel: SeasonKernel,
    unit_1: FloatArray,
    days_1: ArrayLike,
    unit_2: FloatArray,
    days_2: ArrayLike,
    fields: Sequence[str] = POLICY_FIELDS,
) -> FloatArray:
    """Covariance without noise between two sets of crops, relative to the scale, ``[n, m]``.

    Args:
        kernel: the hyperparameters.
        unit_1: policies of the first crops scaled to 0..1, ``[n, 6]``.
        days_1: their planting days, ``[n]``.
        unit_2: policies of the second crops, ``[m, 6]``.
        days_2: their planting days, ``[m]``.
        fields: names of the columns of both.

    Raises:
        FieldsError: the columns are not those of the kernel, in its order.
    """
    if tuple(fields) != kernel.fields:
        raise FieldsError(f"the kernel takes the fields {', '.join(kernel.fields)}")
    policy = matern52(unit_1, unit_2, kernel.policy_length_scales)
    season = matern52(
        season_coordinates(days_1), season_coordinates(days_2), kernel.season_length_scale
    )
    share, common = kernel.season_share, kernel.common_season
    return policy * (1.0 - share + share * season) + common * season


@dataclass(frozen=True)
class PolicyPosterior(MarginProcess):
    """What is believed about margins after some crops.

    Attributes:
        kernel: the hyperparameters.
        bounds: allowed range of each field.
        unit: policies of the crops scaled to 0..1, ``[n, 6]``.
        days: their planting days, ``[n]``.
        margins_eur_m2: their margins, ``[n]``.
        variances: variances of their noise, (EUR/m2)2, ``[n]``.
        mean_eur_m2: the constant mean.
        scale: variance of the policy effect, (EUR/m2)2.
    """

    kernel: SeasonKernel
    bounds: PolicyBounds
    unit: FloatArray
    days: FloatArray
    margins_eur_m2: FloatArray
    variances: FloatArray
    mean_eur_m2: float
    scale: float

    def _averaged(
        self, policies: Sequence[Policy], days: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        unit = self.kernel.unit(policies, self.bounds)
        cross = np.mean([self._cross(unit, day) for day in days], axis=0)
        return self._predicted(cross, self.scale * self._variance_of_average(days))

    def believe(self, policy: Policy, day: float) -> PolicyPosterior:
        """The posterior if a crop came out as it is predicted now; mean and scale stay.

        Source: SlowLab, prior-informed local optimiser, acquisition (kriging believer).
        """
        predicted, _ = self.at([policy], day)
        noise = self.kernel.base_variance(self.scale)
        return replace(
            self,
            unit=np.vstack([self.unit, self.kernel.unit([policy], self.bounds)]),
            days=np.append(self.days, day),
            margins_eur_m2=np.append(self.margins_eur_m2, predicted),
            variances=np.append(self.variances, noise),
        )

    def _cross(self, unit: FloatArray, day: float) -> FloatArray:
        """Covariance of policies at one day with the crops, ``[n, crops]``."""
        days = np.full(len(unit), day)
        return self.scale * covariance(self.kernel, unit, days, self.unit, self.days)

    def _variance_of_average(self, days: FloatArray) -> float:
        """Prior variance of one policy's average over days, relative to the scale."""
        points = season_coordinates(days)
        season = matern52(points, points, self.kernel.season_length_scale).mean()
        share = self.kernel.season_share
        return float(1.0 - share + (share + self.kernel.common_season) * season)

    def _predicted(self, cross: FloatArray, prior_variance: float) -> tuple[FloatArray, FloatArray]:
        covariances = self.scale * _signal(self.kernel, self.unit, self.days)
        whiten = _whitening(covariances + np.diag(self.variances))
        residual = self.margins_eur_m2 - self.mean_eur_m2
        explained = cross @ whiten.T
        mean = self.mean_eur_m2 + explained @ (whiten @ residual)
        variance = prior_variance - np.sum(explained**2, axis=1)
        return mean, np.sqrt(np.maximum(variance, 0.0))


def fit_posterior(
    kernel: SeasonKernel,
    bounds: PolicyBounds,
    policies: Sequence[Policy],
    planting_days: ArrayLike,
    margins_eur_m2: ArrayLike,
    noise_sd_eur_m2: ArrayLike | None = None,
) -> PolicyPosterior:
    """Estimate mean and scale from crops and condition on them; their order has no effect.

    Args:
        kernel: the hyperparameters.
        bounds: allowed range of each field.
        policies: n policies, at least one.
        planting_days: their planting days, ``[n]``.
        margins_eur_m2: their margins, ``[n]``.
        noise_sd_eur_m2: SD of the errors of margins that were predicted and not measured, ``[n]``,
            0 for completed crops; it comes on top of the noise that every crop has.

    Raises:
        ValueError: no crops, arrays of other lengths, or numbers that are not finite.
    """
    days, margins = _vector(planting_days), _vector(margins_eur_m2)
    errors = np.zeros(len(margins)) if noise_sd_eur_m2 is None else _vector(noise_sd_eur_m2)
    unit = kernel.unit(policies, bounds)
    if not len(unit) or len({len(unit), len(days), len(margins), len(errors)}) != 1:
        raise ValueError("there must be one crop or more, with a day and a margin for each")
    if not np.isfinite(np.concatenate([days, margins, errors])).all():
        raise ValueError("planting days, margins and errors must be finite")
    order = np.lexsort([errors, margins, *unit.T[::-1], days])
    unit, days, margins, errors = unit[order], days[order], margins[order], errors[order]
    scale = _scale(kernel, unit, days, margins, errors)
    variances = errors**2 + kernel.base_variance(scale)
    whiten = _whitening(scale * _signal(kernel, unit, days) + np.diag(variances))
    ones = whiten.sum(axis=1)
    mean = float(ones @ (whiten @ margins) / (ones @ ones))
    return PolicyPosterior(kernel, bounds, unit, days, margins, variances, mean, scale)


def scale_objective(
    kernel: SeasonKernel,
    unit: FloatArray,
    days: FloatArray,
    margins_eur_m2: FloatArray,
    error_sd_eur_m2: FloatArray,
    scales: FloatArray,
) -> FloatArray:
    """Minus twice the log posterior of k scales, ``[k]``, up to a constant; mean profiled out.

    The prior is inverse gamma, written for ``log(scale)``: with noise in proportion to the scale,
    the best scale is ``(r' K^-1 r + w s0^2) / (n + w)``, where ``w`` is SCALE_PRIOR_CROPS and
    ``s0`` the kernel's signal SD.
    """
    identity, column = np.eye(len(days)), scales[:, None, None]
    noise = np.diag(error_sd_eur_m2**2) + kernel.base_variance(column) * identity
    lower = np.linalg.cholesky(column * _signal(kernel, unit, days) + noise)
    whiten = np.linalg.inv(lower)
    ones, margins = whiten.sum(axis=2), whiten @ margins_eur_m2
    prior = np.log(scales) + kernel.signal_sd_eur_m2**2 / scales
    return profiled_misfit(lower, ones, margins) + SCALE_PRIOR_CROPS * prior


def _scale(
    kernel: SeasonKernel,
    unit: FloatArray,
    days: FloatArray,
    margins: FloatArray,
    errors: FloatArray,
) -> float:
    """The most probable scale, on a grid over its logarithm that is refined around the best."""
    centre = 2.0 * math.log(max(kernel.signal_sd_eur_m2, SMALLEST_SCALE_SD_EUR_M2))
    low, high = centre - _SCALE_REACH, centre + _SCALE_REACH
    for _ in range(_SCALE_PASSES):
        grid = np.linspace(low, high, _SCALE_STEPS)
        values = scale_objective(kernel, unit, days, margins, errors, np.exp(grid))
        best = int(np.argmin(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, _SCALE_STEPS - 1)]
    return math.exp(float(grid[best]))


def _signal(kernel: SeasonKernel, unit: FloatArray, days: FloatArray) -> FloatArray:
    """Covariance of crops without noise, relative to the scale, ``[n, n]``."""
    return covariance(kernel, unit, days, unit, days)


def _whitening(total: FloatArray) -> FloatArray:
    """Matrix that makes margins with this covariance independent, each with variance 1.

    There are few crops, so an explicit inverse is exact enough, and it needs no threads.
    """
    return np.linalg.inv(np.linalg.cholesky(total))


def _vector(values: ArrayLike) -> FloatArray:
    return np.asarray(values, np.float64).reshape(-1)
