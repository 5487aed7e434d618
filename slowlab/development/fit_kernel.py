"""Hyperparameters of the kernel by maximum likelihood, and the comparison of its two forms.

Two faults of the original are avoided: noise is measured on crops that are alike instead of being
left at the edge of its range, and the folds in which the forms are compared hold whole sites.

Source: SlowLab, prior-informed local optimiser, inputs and kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from slowlab.development.config import KernelConfig, Layout
from slowlab.development.fit_predictor import site_folds
from slowlab.development.kernel_groups import (
    Groups,
    Hyperparameters,
    KernelForm,
    pooled_scale,
    predict_group,
    profiled,
)
from slowlab.world.policy import POLICY_FIELDS

Array = NDArray[np.float64]

_ROUNDS = 4
_FIELDS = len(POLICY_FIELDS)


@dataclass(frozen=True)
class KernelFit:
    """A fitted kernel.

    Attributes:
        form: how the season enters.
        kernel: its numbers.
        signal_sd_eur_m2: root of the pooled scale.
        objective: minus the log likelihood.
    """

    form: KernelForm
    kernel: Hyperparameters
    signal_sd_eur_m2: float
    objective: float


@dataclass(frozen=True)
class FormScore:
    """How a form does on sites that it was not fitted to.

    Attributes:
        ranking_accuracy: share of pairs of second-wave crops that it orders rightly, given the
            first wave and one crop of the second.
        pairs: number of such pairs.
        rmse_eur_m2: error of one crop's margin, given four others of its run.
        mean_rmse_eur_m2: the same for the mean of the four.
    """

    ranking_accuracy: float
    pairs: int
    rmse_eur_m2: float
    mean_rmse_eur_m2: float


def replicate_sd(crops: pd.DataFrame) -> tuple[float, int]:
    """SD of margins between crops alike in site, year, day and policy, and degrees of freedom.

    Args:
        crops: all crops, of which those of replicate runs are used.

    Raises:
        ValueError: there are no two such crops.
    """
    alike = crops[(crops["layout"] == Layout.REPLICATE.value) & crops["completed"]]
    groups = alike.groupby(["site", "run", "start_day"])["margin_eur_m2"]
    freedom = int((groups.count() - 1).sum())
    if freedom < 1:
        raise ValueError("there are no crops alike, from which noise could be measured")
    squares = float(((alike["margin_eur_m2"] - groups.transform("mean")) ** 2).sum())
    return float(np.sqrt(squares / freedom)), freedom


def fit_measured(
    groups: Groups,
    form: KernelForm,
    config: KernelConfig,
    noise_sd_eur_m2: float,
    rng: np.random.Generator,
) -> KernelFit:
    """Fit with a noise ratio that agrees with the measured noise and the fitted scale."""
    start = float(np.var(groups.margins[groups.present]))
    ratio = noise_sd_eur_m2**2 / start
    starts = random_starts(form, config, rng)
    for _ in range(_ROUNDS):
        fit = fit_form(groups, form, config, starts, noise_ratio=ratio)
        ratio = noise_sd_eur_m2**2 / fit.signal_sd_eur_m2**2
        starts = [_vector(fit.kernel, form)]  # later rounds go on from where the last one ended
    return fit


def random_starts(form: KernelForm, config: KernelConfig, rng: np.random.Generator) -> list[Array]:
    """Starting points, uniform in the box of the searched numbers; the first is its centre."""
    box = np.array(_box(form, config))
    others = box[:, 0] + rng.random((config.starts - 1, len(box))) * (box[:, 1] - box[:, 0])
    return [box.mean(axis=1), *others]


def fit_form(
    groups: Groups,
    form: KernelForm,
    config: KernelConfig,
    starts: Iterable[Array],
    *,
    noise_ratio: float | None,
) -> KernelFit:
    """Best of several L-BFGS-B searches.

    Args:
        groups: runs.
        form: of the kernel.
        config: bounds.
        starts: starting points without the noise ratio.
        noise_ratio: held at this value; None to fit it too.
    """
    box = _box(form, config)
    if noise_ratio is None:
        box, extra = [*box, tuple(np.log(config.noise_ratio_bounds))], [np.log(1e-2)]
    else:
        extra = []

    def objective(vector: Array) -> float:
        return profiled(groups, _kernel(vector, form, noise_ratio))[0] / len(groups.site)

    best = None
    for start in starts:
        found = minimize(objective, [*start, *extra], method="L-BFGS-B", bounds=box)
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    kernel = _kernel(best.x, form, noise_ratio)
    value, scales = profiled(groups, kernel)
    return KernelFit(form, kernel, float(np.sqrt(pooled_scale(groups, scales))), value)


def _box(form: KernelForm, config: KernelConfig) -> list[tuple[float, float]]:
    length = tuple(np.log(config.log_length_scale_bounds).tolist())
    box = [length] * (_FIELDS + 1)
    if form is KernelForm.SEASON:
        box += [config.share_logit_bounds, tuple(np.log(config.common_season_bounds).tolist())]
    return box


def _kernel(vector: Array, form: KernelForm, noise_ratio: float | None) -> Hyperparameters:
    """Numbers from a point of the search."""
    scales = tuple(np.exp(vector[: _FIELDS + 1]).tolist())
    share, common = 1.0, 0.0
    if form is KernelForm.SEASON:
        share = float(1.0 / (1.0 + np.exp(-vector[_FIELDS + 1])))
        common = float(np.exp(vector[_FIELDS + 2]))
    ratio = float(np.exp(vector[-1])) if noise_ratio is None else noise_ratio
    return Hyperparameters(scales[:_FIELDS], scales[_FIELDS], share, common, ratio)


def _vector(kernel: Hyperparameters, form: KernelForm) -> Array:
    """The point of the search of fitted numbers, without the noise ratio."""
    numbers = list(np.log([*kernel.policy_length_scales, kernel.season_length_scale]))
    if form is KernelForm.SEASON:
        share = kernel.season_share
        numbers += [np.log(share) - np.log1p(-share), np.log(kernel.common_season)]
    return np.array(numbers)


def compare_forms(
    groups: Groups, config: KernelConfig, noise_sd_eur_m2: float, seed: int
) -> dict[KernelForm, FormScore]:
    """Both forms, fitted and judged on different sites in turn.

    Source: SlowLab, prior-informed local optimiser, choice of the kernel form.
    """
    folds = site_folds(groups.site.tolist(), config.folds)
    fold = np.array([folds[site] for site in groups.site.tolist()])
    scores = {}
    few = config.model_copy(update={"starts": max(2, config.starts // 4)})
    for form in KernelForm:
        ranked, errors, of_mean = [], [], []
        for number in range(config.folds):
            rng = np.random.default_rng([seed, number])
            kernel = fit_measured(
                groups.select(fold != number), form, few, noise_sd_eur_m2, rng
            ).kernel
            held = groups.select(fold == number)
            ranked += _ranking(held, kernel)
            one, two = _single_errors(held, kernel, np.random.default_rng([seed, number, 1]))
            errors += one
            of_mean += two
        scores[form] = FormScore(
            float(np.mean(ranked)),
            len(ranked),
            _root_mean_square(errors),
            _root_mean_square(of_mean),
        )
    return scores


def _ranking(groups: Groups, kernel: Hyperparameters) -> list[bool]:
    """Whether pairs of second-wave crops are ordered rightly."""
    right = []
    for number in range(len(groups.site)):
        days = groups.start_days[number][groups.present[number]]
        first = [k for k, day in enumerate(days) if day == 0]
        second = [k for k, day in enumerate(days) if day > 0]
        if len(first) + len(second) <= len(first) + 1 or len(first) < 2:
            continue
        for known in second:
            rest = [k for k in second if k != known]
            said = predict_group(groups, number, kernel, [*first, known], rest)
            true = groups.margins[number, rest]
            pairs = zip(*np.triu_indices(len(rest), k=1), strict=True)
            right += [bool((said[a] - said[b]) * (true[a] - true[b]) > 0) for a, b in pairs]
    return right


def _single_errors(
    groups: Groups, kernel: Hyperparameters, rng: np.random.Generator, known: int = 4
) -> tuple[list[float], list[float]]:
    """Errors of the other crops of a run, given some at random: of the kernel and of the mean."""
    errors, of_mean = [], []
    for number, count in enumerate(groups.counts.tolist()):
        order = rng.permutation(count).tolist()
        train, test = order[:known], order[known:]
        if test:
            true = groups.margins[number, test]
            errors += (predict_group(groups, number, kernel, train, test) - true).tolist()
            of_mean += (groups.margins[number, train].mean() - true).tolist()
    return errors, of_mean


def _root_mean_square(errors: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def best_form(scores: dict[KernelForm, FormScore]) -> KernelForm:
    """The form that ranks other seasons better; ties go to the lower error."""
    return min(KernelForm, key=lambda f: (-scores[f].ranking_accuracy, scores[f].rmse_eur_m2))


def at_bounds(fit: KernelFit, config: KernelConfig) -> list[str]:
    """Names of the searched numbers that ended at an edge of their range."""
    names = [*POLICY_FIELDS, "season_length_scale", "season_share", "common_season"]
    vector, box = _vector(fit.kernel, fit.form), _box(fit.form, config)
    return [
        name
        for name, value, (low, high) in zip(names, vector, box, strict=False)
        if min(value - low, high - value) < 1e-4 * (high - low)
    ]


def kernel_content(fit: KernelFit, noise_sd_eur_m2: float) -> dict[str, Any]:
    """The content of the artifact ``kernel``."""
    kernel = fit.kernel
    scales = dict(zip(POLICY_FIELDS, map(_short, kernel.policy_length_scales), strict=True))
    return {
        "policy_length_scales": scales,
        "season_length_scale": _short(kernel.season_length_scale),
        "season_share": _short(kernel.season_share),
        "common_season": _short(kernel.common_season),
        "noise_ratio": _short(kernel.noise_ratio),
        "signal_sd_eur_m2": _short(fit.signal_sd_eur_m2),
        "replicate_sd_eur_m2": _short(noise_sd_eur_m2),
    }


def _short(value: float) -> float:
    """Six significant digits: more would only show where a search stopped."""
    return float(f"{value:.6g}")
