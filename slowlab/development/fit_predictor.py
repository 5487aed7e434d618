"""Fit and validation of the process predictor.

Source: SlowLab, process predictor: model, data, validation. No setting is tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from slowlab.development.config import Layout, PredictorConfig
from slowlab.development.dataset import ProcessData
from slowlab.tools.predictor import (
    FittedSet,
    Predictor,
    PredictorContent,
    expanded,
    so_far_matrix,
)
from slowlab.tools.process_features import FEATURE_SETS, TOTALS, input_matrix, input_names
from slowlab.world.contract import Contract
from slowlab.world.policy import POLICY_FIELDS, PolicyBounds

Array = NDArray[np.float64]

NAIVE = "naive"
_DIGITS = 12


@dataclass(frozen=True)
class Validation:
    """Predictions of held-out crops.

    Attributes:
        errors: one row for each example: ``crop``, ``site``, ``age`` and for every set of inputs
            the predicted margin minus the true one, EUR/m2.
        margin_sd_eur_m2: SD of the true margins.
    """

    errors: pd.DataFrame
    margin_sd_eur_m2: float

    def table(self) -> pd.DataFrame:
        """Root mean squared error by age (rows) and set of inputs (columns), EUR/m2."""
        names = [*FEATURE_SETS, NAIVE]
        return self.errors.groupby("age")[names].agg(
            lambda error: float(np.sqrt((error**2).mean()))
        )


def usable(data: ProcessData) -> ProcessData:
    """Normally completed crops under policies of their own."""
    crops = data.crops
    return data.select(
        (crops["completed"] & (crops["layout"] != Layout.REPLICATE.value)).to_numpy()
    )


def site_folds(sites: Sequence[int], folds: int) -> dict[int, int]:
    """Fold of every site: the sites in order are dealt out one by one."""
    return {site: number % folds for number, site in enumerate(sorted(set(sites)))}


def fit_sets(
    data: ProcessData, bounds: PolicyBounds, crop_days: float, penalty: float
) -> dict[str, FittedSet]:
    """The regression of every set of inputs."""
    return {name: _fit_set(name, data, bounds, crop_days, penalty) for name in FEATURE_SETS}


def validate(data: ProcessData, contract: Contract, config: PredictorConfig) -> Validation:
    """Predict every crop from fits without its site."""
    fold = site_folds(data.crops["site"].tolist(), config.folds)
    of_crop = data.crops["site"].map(fold)
    parts = []
    for number in range(config.folds):
        held = (of_crop == number).to_numpy()
        predictor = Predictor(_content(data.select(~held), contract, config, {}), POLICY_FIELDS)
        parts.append(margin_errors(predictor, data.select(held)))
    errors = pd.concat(parts).sort_index()
    return Validation(errors, float(data.crops["margin_eur_m2"].std()))


def margin_errors(predictor: Predictor, data: ProcessData) -> pd.DataFrame:
    """Errors of predicted margins for all examples, see :class:`Validation`."""
    rows = data.examples.index.to_numpy()
    crops = data.examples["crop"].to_numpy()
    policies, days = data.policies(crops), data.crops.loc[crops, "start_day"].tolist()
    readings, truth = data.readings(rows), data.crops.loc[crops, "margin_eur_m2"].to_numpy()
    table = pd.DataFrame(
        {
            "crop": crops,
            "site": data.crops.loc[crops, "site"].to_numpy(),
            "age": data.examples["age"].to_numpy(),
        },
        index=rows,
    )
    for name in FEATURE_SETS:
        inputs = predictor.inputs(name, policies, days, readings)
        finals = predictor.finals(name, inputs, readings)
        table[name] = data.margins_of(crops, finals) - truth
    ages = np.array([item.age_days for item in readings])[:, None]
    linear = so_far_matrix("all", readings) / ages * predictor.content.crop_days
    table[NAIVE] = data.margins_of(crops, linear) - truth
    return table


def fit_predictor(
    data: ProcessData, contract: Contract, config: PredictorConfig, validation: Validation
) -> PredictorContent:
    """The predictor, with the typical errors of its validation."""
    table = validation.table()
    errors = {name: table[name].tolist() for name in FEATURE_SETS}
    return _content(data, contract, config, errors, tuple(map(float, table.index)))


def _content(
    data: ProcessData,
    contract: Contract,
    config: PredictorConfig,
    errors: dict[str, list[float]],
    ages: tuple[float, ...] = (),
) -> PredictorContent:
    crop_days = float(contract.calendar.crop_days)
    return PredictorContent(
        crop_days=crop_days,
        min_age_days=float(contract.analysis_tools.min_crop_age_days),
        bounds=contract.policy,
        sets=fit_sets(data, contract.policy, crop_days, config.penalty),
        typical_error_ages=ages,
        typical_error_eur_m2={name: _rounded(values) for name, values in errors.items()},
    )


def _fit_set(
    name: str, data: ProcessData, bounds: PolicyBounds, crop_days: float, penalty: float
) -> FittedSet:
    """Ridge on standardised and expanded inputs; the intercept is free.

    Crops count once for inputs that do not change with age, and once for every age otherwise.
    """
    examples = data.examples
    if name == "policy_only":
        examples = examples.drop_duplicates("crop")
    rows, crops = examples.index.to_numpy(), examples["crop"].to_numpy()
    readings = data.readings(rows)
    inputs = input_matrix(
        name,
        bounds,
        crop_days,
        data.policies(crops),
        data.crops.loc[crops, "start_day"].tolist(),
        readings,
    )
    targets = data.finals(crops) - so_far_matrix(name, readings)
    centre, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    design = expanded((inputs - centre) / spread)
    intercept, coefficients = ridge(design, targets, penalty)
    return FittedSet(
        inputs=input_names(name),
        targets=TOTALS,
        centre=_rounded(centre),
        spread=_rounded(spread),
        intercept=_rounded(intercept),
        coefficients=tuple(_rounded(row) for row in coefficients),
    )


def ridge(design: Array, targets: Array, penalty: float) -> tuple[Array, Array]:
    """Intercepts ``[t]`` and coefficients ``[p, t]`` with the least penalised squared error."""
    mean_design, mean_targets = design.mean(axis=0), targets.mean(axis=0)
    centred = design - mean_design
    gram = centred.T @ centred + penalty * np.eye(design.shape[1])
    coefficients = np.linalg.solve(gram, centred.T @ (targets - mean_targets))
    return mean_targets - mean_design @ coefficients, coefficients


def _rounded(values: Any) -> tuple[float, ...]:
    """Numbers with so few digits that they do not depend on how sums were grouped."""
    return tuple(float(f"{float(value):.{_DIGITS}g}") + 0.0 for value in values)
