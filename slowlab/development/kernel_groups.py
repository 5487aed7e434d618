"""The likelihood of a kernel over many runs at once.

Every run has a constant mean and a scale of its own, both profiled out; the hyperparameters are
common. Runs are padded to one length, so that one evaluation is a handful of array operations.

Source: SlowLab, prior-informed local optimiser: inputs, kernel, fit of the hyperparameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.tools.season_kernel import JITTER, season_coordinates
from slowlab.world.policy import POLICY_FIELDS, EncodedPolicies, PolicyBounds, to_unit

Array = NDArray[np.float64]

SMALLEST_SCALE = 1e-6
"""Floor of a run's scale, (EUR/m2)2."""


class KernelForm(StrEnum):
    """How the season enters.

    ``season``: the form of :mod:`slowlab.tools.season_kernel`. ``product``: the product of the
    policy's and the season's correlation, so that crops of other seasons say little.
    """

    SEASON = "season"
    PRODUCT = "product"


@dataclass(frozen=True)
class Hyperparameters:
    """Numbers of a kernel, all relative to the scale of a run.

    Attributes:
        policy_length_scales: in the order of ``POLICY_FIELDS``.
        season_length_scale: on the season's circle.
        season_share: g; 1 in the product form.
        common_season: t; 0 in the product form.
        noise_ratio: noise variance over scale.
    """

    policy_length_scales: tuple[float, ...]
    season_length_scale: float
    season_share: float
    common_season: float
    noise_ratio: float


@dataclass(frozen=True)
class Groups:
    """Crops of g runs, padded to n crops a run.

    Attributes:
        site: ``[g]``.
        policy_gaps: squared differences of scaled policies, ``[g, n, n, 6]``.
        season_gaps: squared distances on the season's circle, ``[g, n, n]``.
        start_days: ``[g, n]``.
        margins: ``[g, n]``, EUR/m2; 0 where there is no crop.
        present: whether there is a crop, ``[g, n]``.
    """

    site: NDArray[np.int64]
    policy_gaps: Array
    season_gaps: Array
    start_days: Array
    margins: Array
    present: NDArray[np.bool_]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Crops of every run, ``[g]``."""
        return self.present.sum(axis=1)

    def select(self, keep: NDArray[np.bool_]) -> Groups:
        """Some of the runs."""
        return Groups(**{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})


def make_groups(crops: pd.DataFrame, bounds: PolicyBounds, smallest: int) -> Groups:
    """Runs of a table of crops, those with too few crops left out.

    Args:
        crops: as in :class:`slowlab.development.dataset.ProcessData`.
        bounds: by which policies are scaled.
        smallest: fewest crops of a run.
    """
    found = [rows for _, rows in crops.groupby(["site", "run"], sort=True) if len(rows) >= smallest]
    width = max(len(rows) for rows in found)
    units, days, margins = (np.zeros((len(found), width, *tail)) for tail in ((6,), (), ()))
    present = np.zeros((len(found), width), dtype=bool)
    for number, rows in enumerate(found):
        ordered = rows.sort_values(["start_day", *POLICY_FIELDS])
        here = slice(0, len(ordered))
        encoded = EncodedPolicies(POLICY_FIELDS, ordered[list(POLICY_FIELDS)].to_numpy(np.float64))
        units[number, here] = to_unit(encoded, bounds)
        days[number, here] = ordered["start_day"]
        margins[number, here] = ordered["margin_eur_m2"]
        present[number, here] = True
    seasons = season_coordinates(days.ravel()).reshape(*days.shape, 2)
    return Groups(
        np.array([rows["site"].iloc[0] for rows in found]),
        (units[:, :, None, :] - units[:, None, :, :]) ** 2,
        ((seasons[:, :, None, :] - seasons[:, None, :, :]) ** 2).sum(axis=-1),
        days,
        margins,
        present,
    )


def correlation(groups: Groups, kernel: Hyperparameters) -> Array:
    """Covariance without noise relative to the scale, ``[g, n, n]``; the two forms in one formula.

    Padding has covariance 0 with everything and variance 1.
    """
    policy = _matern52((groups.policy_gaps / np.array(kernel.policy_length_scales) ** 2).sum(-1))
    season = _matern52(groups.season_gaps / kernel.season_length_scale**2)
    share, common = kernel.season_share, kernel.common_season
    full = policy * (1.0 - share + share * season) + common * season
    both = groups.present[:, :, None] & groups.present[:, None, :]
    return np.where(both, full, 0.0) + np.eye(full.shape[1]) * ~groups.present[:, :, None]


def _matern52(squared: Array) -> Array:
    distance = np.sqrt(5.0 * squared)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)


def profiled(groups: Groups, kernel: Hyperparameters) -> tuple[float, Array]:
    """Minus the log likelihood with every run's best mean and scale, and the scales ``[g]``."""
    noise = (kernel.noise_ratio + JITTER) * groups.present
    width = groups.present.shape[1]
    total = correlation(groups, kernel) + noise[:, :, None] * np.eye(width)
    lower = np.linalg.cholesky(total)
    sides = np.stack([groups.present.astype(np.float64), groups.margins], axis=-1)
    ones, values = np.moveaxis(np.linalg.solve(lower, sides), -1, 0)
    mean = (ones * values).sum(1) / (ones * ones).sum(1)
    residual = values - mean[:, None] * ones
    scales = np.maximum((residual**2).sum(1) / groups.counts, SMALLEST_SCALE)
    log_determinant = np.log(np.einsum("gii->gi", lower)).sum(1)
    return float((0.5 * groups.counts * np.log(scales) + log_determinant).sum()), scales


def pooled_scale(groups: Groups, scales: Array) -> float:
    """The scale of a typical run, without the bias of their fitted means, (EUR/m2)2."""
    return float((groups.counts * scales).sum() / (groups.counts - 1).sum())


def predict_group(
    groups: Groups,
    number: int,
    kernel: Hyperparameters,
    train: Sequence[int],
    test: Sequence[int],
) -> Array:
    """Margins that a run's training crops say about its other crops, ``[len(test)]``."""
    one = groups.select(np.arange(len(groups.site)) == number)
    full = correlation(one, kernel)[0]
    inner = full[np.ix_(train, train)] + (kernel.noise_ratio + JITTER) * np.eye(len(train))
    margins = one.margins[0, list(train)]
    weights = np.linalg.solve(inner, np.column_stack([np.ones(len(train)), margins]))
    mean = weights[:, 1].sum() / weights[:, 0].sum()
    return mean + full[np.ix_(test, train)] @ (weights[:, 1] - mean * weights[:, 0])
