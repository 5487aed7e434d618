"""Scores on a common scale, and what k attempts are worth.

Anchored scores place a margin between that of a policy that needs no experiment and that of the
best policy known; the estimators over subsets say what an average, the best or the self-chosen of
k attempts scores. The ideas are those of AutoLab (arXiv:2606.05080), written for margins, which
may fall below the lower anchor. NaN means missing and never becomes a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from slowlab.analysis.samples import DECIMALS, Array, exact_mean


class AnchorFault(StrEnum):
    """Why a site has no anchored score.

    Attributes:
        MISSING: the score or an anchor is missing.
        NO_HEADROOM: the anchors are not further apart than the evaluation error.
    """

    MISSING = "missing"
    NO_HEADROOM = "no_headroom"


@dataclass(frozen=True, eq=False)
class AnchoredScores:
    """Scores between anchors, one for each site.

    Attributes:
        values: ``[site]`` scores; NaN where there is none.
        faults: ``[site]`` why there is none, None where there is one.
    """

    values: Array
    faults: tuple[AnchorFault | None, ...]

    @property
    def clipped(self) -> Array:
        """``[site]`` scores cut to [0, 1]; NaN where there is none."""
        return np.clip(self.values, 0.0, 1.0)


def anchored_scores(
    scores: ArrayLike, reference: ArrayLike, oracle: ArrayLike, evaluation_error: ArrayLike
) -> AnchoredScores:
    """Signed anchored score u = (J - reference) / (oracle - reference).

    The reference scores 0 and the oracle 1 by construction. A score below the reference is
    negative, one above the oracle exceeds 1.

    Args:
        scores: ``[site]`` margins J, EUR/m2.
        reference: ``[site]`` margins of the policy that needs no experiment.
        oracle: ``[site]`` margins of the best policy known.
        evaluation_error: error of a difference of two margins, EUR/m2, at least 0; one for all
            sites or ``[site]``. A headroom that does not exceed it leaves the site without a score.

    Raises:
        ValueError: the error is negative, or the lengths differ.
    """
    _check_error(evaluation_error)
    j, low, high = _columns(scores, reference, oracle)
    headroom = high - low
    faults = _faults([j, low, high], headroom, evaluation_error)
    return AnchoredScores(_ratio(j - low, headroom, faults), faults)


def mid_anchored_scores(
    scores: ArrayLike,
    reference: ArrayLike,
    baseline: ArrayLike,
    oracle: ArrayLike,
    evaluation_error: ArrayLike,
) -> AnchoredScores:
    """Score with three anchors: reference 0, baseline 1/2, oracle 1, straight lines between.

    The outer lines are continued below the reference and above the oracle.

    Args:
        scores: ``[site]`` margins, EUR/m2.
        reference: ``[site]`` margins of the policy that needs no experiment.
        baseline: ``[site]`` margins of the numerical baseline.
        oracle: ``[site]`` margins of the best policy known.
        evaluation_error: error of a difference of two margins, EUR/m2; one for all sites or
            ``[site]``. Each anchor must exceed the one before by more, else the site has no score.

    Raises:
        ValueError: the error is negative, or the lengths differ.
    """
    _check_error(evaluation_error)
    j, low, middle, high = _columns(scores, reference, baseline, oracle)
    smaller = np.minimum(middle - low, high - middle)
    faults = _faults([j, low, middle, high], smaller, evaluation_error)
    lower = 0.5 * _ratio(j - low, middle - low, faults)
    upper = 0.5 + 0.5 * _ratio(j - middle, high - middle, faults)
    return AnchoredScores(np.where(j < middle, lower, upper), faults)


def average_at_k(scores: ArrayLike) -> Array:
    """Avg@k: the mean over all attempts of a site, which is that over all subsets of any size.

    Args:
        scores: ``[site, attempt]`` scores; NaN where missing.

    Returns:
        ``[site]`` means of the attempts with a score; NaN where there is none.
    """
    return np.array([_mean_known(row) for row in _table(scores)], dtype=np.float64)


def best_at_k(scores: ArrayLike, k: int) -> Array:
    """Best@k: the mean, over all subsets of k attempts, of the best score in the subset.

    Args:
        scores: ``[site, attempt]`` scores; NaN where missing.
        k: number of attempts, at least 1.

    Returns:
        ``[site]`` expectations; NaN where fewer than k attempts have a score.

    Raises:
        ValueError: k is below 1.
    """
    table = _table(scores)
    return _chosen_at_k(table, table, k)


def worst_at_k(scores: ArrayLike, k: int) -> Array:
    """Worst@k: as :func:`best_at_k`, of the worst score in the subset."""
    table = _table(scores)
    return _chosen_at_k(table, -table, k)


def self_selected_at_k(scores: ArrayLike, seen: ArrayLike, k: int) -> Array:
    """Selected@k: the mean, over all subsets of k attempts, of the score the agent would choose.

    The agent chooses the attempt with the highest value that it saw itself, as the best margin in
    its own campaign. Equal values are chosen between at random; an attempt whose value is missing
    is chosen only among its like.

    Args:
        scores: ``[site, attempt]`` scores; NaN where missing, which leaves the attempt out.
        seen: ``[site, attempt]`` values that the agent saw; NaN where it saw none.
        k: number of attempts, at least 1.

    Returns:
        ``[site]`` expectations; NaN where fewer than k attempts have a score.

    Raises:
        ValueError: k is below 1, or the shapes differ.
    """
    table, known = _table(scores), _table(seen)
    if table.shape != known.shape:
        raise ValueError("one seen value for each score")
    return _chosen_at_k(table, np.where(np.isnan(known), -np.inf, known), k)


@dataclass(frozen=True, eq=False)
class Dominance:
    """How often methods beat each other.

    Attributes:
        pairwise: ``[method, method]`` share of common sites on which the row's method beats the
            column's, ties counting half; NaN on the diagonal and without common sites.
        overall: ``[method]`` mean of its row over opponents; NaN without any.
        sites: ``[method, method]`` numbers of common sites.
    """

    pairwise: Array
    overall: Array
    sites: np.ndarray


def dominance(scores: ArrayLike, tie_band: float) -> Dominance:
    """Compare methods pair by pair on the sites that both have.

    Args:
        scores: ``[method, site]`` scores; NaN where missing.
        tie_band: differences up to this size, rounded to 1e-9, are ties, in the unit of the
            scores, at least 0.

    Raises:
        ValueError: the band is negative or the table is not two-dimensional.
    """
    table = _table(scores)
    if not tie_band >= 0.0:
        raise ValueError("the tie band must not be negative")
    difference = np.round(table[:, None, :] - table[None, :, :], DECIMALS)
    known = np.isfinite(difference)
    wins = np.where(np.abs(difference) <= tie_band, 0.5, difference > 0.0)
    counts = known.sum(axis=2)
    np.fill_diagonal(counts, 0)
    pairwise = np.full(counts.shape, np.nan)
    np.divide((wins * known).sum(axis=2), counts, out=pairwise, where=counts > 0)
    overall = np.array([_mean_known(row) for row in pairwise])
    return Dominance(pairwise, overall, counts)


def _mean_known(values: Array) -> float:
    known = values[np.isfinite(values)]
    return exact_mean(known) if known.size else np.nan


def _chosen_at_k(scores: Array, ranks: Array, k: int) -> Array:
    """Expected score of the attempt with the largest rank in a random subset of k."""
    if k < 1:
        raise ValueError("k must be at least 1")
    result = np.full(len(scores), np.nan)
    for site, row in enumerate(scores):
        scored = np.isfinite(row)
        if scored.sum() >= k:
            values = row[scored] - row[scored].min()  # equal scores then give that very score
            weights = _rank_weights(ranks[site, scored], k)
            result[site] = row[scored].min() + math.fsum(weights * values)
    return result


def _rank_weights(values: Array, k: int) -> Array:
    """Chance that each value is the largest of a random subset of k; equal values share theirs."""
    n = len(values)
    order = np.argsort(values, kind="stable")
    chances = np.empty(n)
    chances[order] = [math.comb(rank, k - 1) / math.comb(n, k) for rank in range(n)]
    for value in np.unique(values):
        tied = values == value
        chances[tied] = exact_mean(chances[tied])
    return chances


def _table(scores: ArrayLike) -> Array:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected two dimensions, got {table.ndim}")
    return table


def _columns(*columns: ArrayLike) -> tuple[Array, ...]:
    arrays = tuple(np.atleast_1d(np.asarray(column, dtype=np.float64)) for column in columns)
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        raise ValueError("scores and anchors must have one value for each site")
    return arrays


def _check_error(evaluation_error: ArrayLike) -> None:
    if not (np.asarray(evaluation_error, dtype=np.float64) >= 0.0).all():
        raise ValueError("the evaluation error must not be negative")


def _faults(columns: list[Array], gap: Array, error: ArrayLike) -> tuple[AnchorFault | None, ...]:
    known = np.isfinite(np.stack(columns)).all(axis=0)
    return tuple(
        AnchorFault.MISSING if not there else (None if wide else AnchorFault.NO_HEADROOM)
        for there, wide in zip(known, gap > error, strict=True)
    )


def _ratio(above: Array, gap: Array, faults: tuple[AnchorFault | None, ...]) -> Array:
    usable = np.array([fault is None for fault in faults], dtype=bool)
    return np.divide(above, gap, out=np.full(len(gap), np.nan), where=usable)
