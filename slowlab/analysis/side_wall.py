"""Whether the order of methods depends on the side walls, the least supported number of a site.

Means, differences and ranks at the drawn exchange and at each other one, over the same sites and
recommendations. A change of rank comes with its uncertainty: the interval of the difference, the
change of that difference within sites, and the share of site resamples in which the pair really
changes its order. Nothing here is tested. Source: SlowLab, boundary sensitivity; the uncertainty of
the ranks is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowlab.analysis.bca import Interval, bca_interval
from slowlab.analysis.samples import Array
from slowlab.analysis.study_families import spec_of
from slowlab.analysis.study_inputs import AnalysisInputs
from slowlab.analysis.study_published import comparable, published_side_wall
from slowlab.analysis.study_scores import mean_and_error, number

DRAWN = "drawn"
"""The setting in which every site keeps the exchange that was drawn for it."""
_SEED = 300_000
"""Offset of the seeds of these intervals from the study's base seed."""
_STREAM = 0x51DE
"""Second word of the seed of the resamples for ranks."""
_KEY = ["site", "method", "feedback", "repeat"]


def side_wall_numbers(inputs: AnalysisInputs) -> dict[str, Any] | None:
    """Means, differences and ranks by setting.

    Args:
        inputs: the study; its ``side_wall`` has the columns of
            :data:`slowlab.evaluation.side_wall.SIDE_WALL_SCHEMA`.

    Returns:
        None where nothing was scored with other side walls.
    """
    if inputs.side_wall is None:
        return None
    grid = _grid(inputs)
    names = {item.name: item.published for item in inputs.study.methods}
    shown = comparable(inputs.contract)
    return {
        "baseline": inputs.study.baseline,
        "reference": inputs.study.reference,
        "methods": list(grid.methods),
        "sites": list(grid.sites),
        "left_out": list(grid.left_out),
        "settings": [
            {
                "setting": setting,
                "exchange_w_m2_k": None if place == 0 else float(setting),
                **_setting(inputs, grid, place),
                "published": published_side_wall(setting, names) if shown else None,
            }
            for place, setting in enumerate(grid.settings)
        ],
    }


@dataclass(frozen=True, eq=False)
class _Grid:
    """Scores of sites that have one of every method in every setting.

    Attributes:
        settings: the drawn one, then the others, ascending.
        methods: in the study's order.
        sites: ascending.
        left_out: sites that lack a score.
        scores: ``[setting, method, site]``, EUR/m2.
    """

    settings: tuple[str, ...]
    methods: tuple[str, ...]
    sites: tuple[int, ...]
    left_out: tuple[int, ...]
    scores: Array

    def ranks(self, draws: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Ranks from 1 by mean score, ``[setting, method]``, or ``[setting, method, draw]``.

        Methods with equal means share the better rank.
        """
        means = self.scores.mean(axis=2) if draws is None else self.scores[:, :, draws].mean(axis=3)
        means = np.round(means, 9)
        return 1 + (means[:, None] > means[:, :, None]).sum(axis=2)


def _grid(inputs: AnalysisInputs) -> _Grid:
    changed, study = inputs.side_wall, inputs.study
    assert changed is not None
    changed = changed[changed["site"].isin(study.sites)]
    own = inputs.sites.merge(changed[_KEY].drop_duplicates(), on=_KEY)
    values = sorted(changed["exchange_w_m2_k"].unique())
    frames = [own, *(changed[changed["exchange_w_m2_k"] == value] for value in values)]
    present = set(changed["method"])
    methods = tuple(item.name for item in study.methods if item.name in present)
    every = sorted(changed["site"].unique().tolist())
    tables = [
        frame.pivot(index="method", columns="site", values="score_eur_m2")
        .reindex(index=list(methods), columns=every)
        .to_numpy(dtype=np.float64)
        for frame in frames
    ]
    scores = np.stack(tables)
    whole = np.isfinite(scores).all(axis=(0, 1))
    return _Grid(
        settings=(DRAWN, *(f"{value:g}" for value in values)),
        methods=methods,
        sites=tuple(site for site, there in zip(every, whole, strict=True) if there),
        left_out=tuple(site for site, there in zip(every, whole, strict=True) if not there),
        scores=scores[:, :, whole],
    )


def _setting(inputs: AnalysisInputs, grid: _Grid, place: int) -> dict[str, Any]:
    """One setting: its methods, whether ranks changed, and which pairs changed their order."""
    ranks = grid.ranks() if grid.sites else np.zeros(grid.scores.shape[:2], dtype=int)
    changed = bool((ranks[place] != ranks[0]).any())
    return {
        "methods": {
            name: {
                **mean_and_error(grid.scores[place, row]),
                "rank": int(ranks[place, row]) if grid.sites else None,
                "rank_drawn": int(ranks[0, row]) if grid.sites else None,
                **_against(inputs, grid, place, row, inputs.study.baseline, "minus_baseline"),
                **_against(inputs, grid, place, row, inputs.study.reference, "minus_reference"),
            }
            for row, name in enumerate(grid.methods)
        },
        "ranking_changes": changed if place and grid.sites else None,
        **_rank_uncertainty(inputs, grid, place),
    }


def _against(
    inputs: AnalysisInputs, grid: _Grid, place: int, row: int, other: str, name: str
) -> dict[str, Any]:
    """A method less another one, and how that differs from the drawn setting, within sites."""
    if other not in grid.methods or other == grid.methods[row]:
        return {name: None, f"{name}_change": None}
    base = grid.methods.index(other)
    seed = inputs.study.base_seed + _SEED + 2 * (place * len(grid.methods) + row)
    differences = grid.scores[:, row] - grid.scores[:, base]
    here = _interval(inputs, differences[place], seed)
    moved = _interval(inputs, differences[place] - differences[0], seed + 1) if place else None
    return {name: _plain(here), f"{name}_change": None if moved is None else _plain(moved)}


def _rank_uncertainty(inputs: AnalysisInputs, grid: _Grid, place: int) -> dict[str, Any]:
    """Shares of site resamples in which ranks stay, and in which a pair changes its order."""
    if place == 0 or not grid.sites:
        return {"ranking_kept_share": None, "first_kept_share": None, "flips": []}
    resamples = spec_of(inputs).resamples
    rng = np.random.default_rng([inputs.study.base_seed, _STREAM])
    draws = rng.integers(0, len(grid.sites), size=(resamples, len(grid.sites)))
    ranks = grid.ranks(draws)
    kept = (ranks[place] == ranks[0]).all(axis=0)
    first = ((ranks[place] == 1) == (ranks[0] == 1)).all(axis=0)
    return {
        "ranking_kept_share": number(kept.mean()),
        "first_kept_share": number(first.mean()),
        "flips": [
            flip
            for pair in combinations(range(len(grid.methods)), 2)
            if (flip := _flip(inputs, grid, place, pair, ranks)) is not None
        ],
    }


def _flip(
    inputs: AnalysisInputs,
    grid: _Grid,
    place: int,
    pair: Sequence[int],
    ranks: NDArray[np.intp],
) -> dict[str, Any] | None:
    """A pair whose means change their order, with what speaks for it; None where they keep it."""
    one, two = pair
    differences = grid.scores[:, one] - grid.scores[:, two]
    drawn, here = np.round(differences.mean(axis=1)[[0, place]], 9)
    if drawn * here >= 0:
        return None
    better, worse = (one, two) if drawn > 0 else (two, one)
    before = ranks[0, better] < ranks[0, worse]
    after = ranks[place, better] > ranks[place, worse]
    seed = inputs.study.base_seed + _SEED + 50_000 + 100 * one + two
    sign = 1.0 if better == one else -1.0
    return {
        "better_as_drawn": grid.methods[better],
        "worse_as_drawn": grid.methods[worse],
        "drawn": _plain(_interval(inputs, sign * differences[0], seed)),
        "here": _plain(_interval(inputs, sign * differences[place], seed)),
        "change": _plain(_interval(inputs, sign * (differences[place] - differences[0]), seed)),
        "flipped_share": number((before & after).mean()),
    }


def _interval(inputs: AnalysisInputs, values: Array, seed: int) -> Interval:
    spec = spec_of(inputs)
    return bca_interval(values, seed, level=spec.confidence, resamples=spec.resamples)


def _plain(found: Interval) -> Mapping[str, Any]:
    return {
        "estimate": number(found.mean),
        "ci_low": number(found.low),
        "ci_high": number(found.high),
        "ci_kind": found.kind.value,
    }
