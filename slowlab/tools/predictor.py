"""The frozen process predictor: from a growing crop's readings to its final totals and margin.

A ridge regression on standardised inputs, their squares and pairwise products, one for each set of
inputs. For meters that were read it predicts what is still to come, for the others the whole. The
fitted numbers carry the names of their inputs and the order and bounds of the policy fields, and
refuse others. It reads the history and nothing else.

Source: SlowLab, process predictor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from slowlab.campaign.history import History
from slowlab.config import ConfigModel, validate_config
from slowlab.tools.artifacts import Artifact, ArtifactError
from slowlab.tools.errors import ToolError, ToolReason
from slowlab.tools.process_features import (
    FEATURE_SETS,
    TOTALS,
    CropReadings,
    UnitSeries,
    crop_readings,
    input_matrix,
    input_names,
    seen_crop,
)
from slowlab.world.economics import FixedCosts, LedgerTotals, Prices, crop_statement
from slowlab.world.policy import Policy, PolicyBounds

Array = NDArray[np.float64]


class FittedSet(ConfigModel):
    """The regression of one set of inputs."""

    inputs: tuple[str, ...] = Field(description="Names of the inputs, in order.")
    targets: tuple[str, ...] = Field(description="Names of the totals, in order.")
    centre: tuple[float, ...] = Field(description="Mean of each input.")
    spread: tuple[float, ...] = Field(description="SD of each input.")
    intercept: tuple[float, ...] = Field(description="Constant of each target.")
    coefficients: tuple[tuple[float, ...], ...] = Field(
        description="For each expanded input one number a target."
    )


class PredictorContent(ConfigModel):
    """Content of the artifact ``predictor``."""

    crop_days: float = Field(gt=0, description="Length of the crops it was fitted to, d.")
    min_age_days: float = Field(ge=0, description="Youngest crop it was fitted to, d.")
    bounds: PolicyBounds = Field(description="Bounds by which policies are scaled.")
    sets: dict[str, FittedSet] = Field(description="The regressions, by set of inputs.")
    typical_error_ages: tuple[float, ...] = Field(description="Ages of the typical errors, d.")
    typical_error_eur_m2: dict[str, tuple[float, ...]] = Field(
        description="Error of the margin on held-out sites at these ages, by set of inputs."
    )


@dataclass(frozen=True)
class CropPrediction:
    """What is expected of a growing crop at its regular end, per m2 of floor.

    Attributes:
        unit: compartment.
        run_index: crop number.
        age_days: age at the readings used, d.
        feature_set: ``harvest_lai`` or ``all``.
        harvest_kg_m2: final harvest.
        heat_kwh_m2: final heat.
        light_kwh_m2: final lamp electricity.
        co2_kg_m2: final CO2.
        margin_eur_m2: margin at the task's public prices.
        typical_error_eur_m2: root mean squared error of such margins on sites that were held out.
    """

    unit: int
    run_index: int
    age_days: float
    feature_set: str
    harvest_kg_m2: float
    heat_kwh_m2: float
    light_kwh_m2: float
    co2_kg_m2: float
    margin_eur_m2: float
    typical_error_eur_m2: float


@dataclass(frozen=True)
class Predictor:
    """The fitted predictor.

    Attributes:
        content: its numbers.
        fields: order of the policy columns.
    """

    content: PredictorContent
    fields: tuple[str, ...]

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> Predictor:
        """The predictor of an artifact ``predictor``.

        Raises:
            ArtifactError: another artifact, or inputs that this version does not make.
            ConfigError: numbers are missing or of the wrong form.
        """
        if artifact.name != "predictor":
            raise ArtifactError(f"{artifact.name} is no predictor")
        content = validate_config(artifact.content, PredictorContent, "predictor")
        for name, fitted in content.sets.items():
            if fitted.inputs != input_names(name) or fitted.targets != TOTALS:
                raise ArtifactError(f"predictor: inputs or targets of {name} are other ones")
        return cls(content, artifact.fields)

    def inputs(
        self,
        feature_set: str,
        policies: Sequence[Policy],
        start_days: Sequence[float],
        readings: Sequence[CropReadings],
    ) -> Array:
        """Inputs of n crops as the regression of a set expects them, ``[n, inputs]``."""
        content = self.content
        return input_matrix(
            feature_set,
            content.bounds,
            content.crop_days,
            policies,
            start_days,
            readings,
            self.fields,
        )

    def finals(self, feature_set: str, inputs: Array, readings: Sequence[CropReadings]) -> Array:
        """Final totals of n crops, ``[n, 4]``, in the order and units of ``TOTALS``."""
        fitted = self.content.sets[feature_set]
        predicted = np.maximum(apply_fitted(fitted, inputs), 0.0)
        return predicted + so_far_matrix(feature_set, readings)

    def typical_error(self, feature_set: str, age_days: float) -> float:
        """Typical error of a margin at an age, between those of the nearest ages, EUR/m2."""
        errors = self.content.typical_error_eur_m2[feature_set]
        return float(np.interp(age_days, self.content.typical_error_ages, errors))


def expanded(standardised: Array) -> Array:
    """Inputs, their squares and pairwise products, ``[n, d + d + d (d - 1) / 2]``."""
    first, second = np.triu_indices(standardised.shape[1], k=1)
    products = standardised[:, first] * standardised[:, second]
    return np.column_stack([standardised, standardised**2, products])


def apply_fitted(fitted: FittedSet, inputs: Array) -> Array:
    """What a regression says for n rows of inputs, ``[n, targets]``, not clipped."""
    standardised = (inputs - np.array(fitted.centre)) / np.array(fitted.spread)
    return np.array(fitted.intercept) + expanded(standardised) @ np.array(fitted.coefficients)


def so_far_matrix(feature_set: str, readings: Sequence[CropReadings]) -> Array:
    """Totals so far of what a set reads and 0 for the rest, ``[n, 4]``."""
    read = FEATURE_SETS[feature_set]
    return np.array(
        [[item.so_far[name] if name in read else 0.0 for name in TOTALS] for item in readings]
    ).reshape(-1, len(TOTALS))


def predict_crop(
    history: History, unit: int, run_index: int, artifact: Artifact | Predictor
) -> CropPrediction:
    """Predict the end of a growing crop from what was read of it.

    Args:
        history: what was seen.
        unit: compartment.
        run_index: crop number.
        artifact: the artifact ``predictor``, or the predictor made from it.

    Raises:
        ToolError: no such crop, it does not grow any more, is too young, or was not read enough.
        ArtifactError: no artifact of a predictor.
    """
    predictor = artifact if isinstance(artifact, Predictor) else Predictor.from_artifact(artifact)
    crop = seen_crop(history, unit, run_index)
    if crop.closed:
        raise ToolError(ToolReason.NOT_GROWING, "only a growing crop is predicted")
    readings = crop_readings(UnitSeries(history, unit), crop.start_day)
    _check_age(readings.age_days, history.task, predictor)
    chosen = readings.feature_set
    inputs = predictor.inputs(chosen, [crop.policy], [crop.start_day], [readings])
    totals = dict(
        zip(TOTALS, predictor.finals(chosen, inputs, [readings])[0].tolist(), strict=True)
    )
    return CropPrediction(
        unit,
        run_index,
        readings.age_days,
        chosen,
        totals["harvest"],
        totals["heat"],
        totals["light"],
        totals["co2"],
        margin_of(totals, history.task["prices"], history.task["calendar"]["crop_days"]),
        predictor.typical_error(chosen, readings.age_days),
    )


def margin_of(totals: Mapping[str, float], prices: Mapping[str, float], crop_days: float) -> float:
    """Margin of final totals at a task's public prices, EUR/m2.

    Args:
        totals: by the names of ``TOTALS``.
        prices: prices and fixed costs as the task tells them.
        crop_days: length of the crop, d.
    """
    ledger = LedgerTotals(
        totals["harvest"], totals["heat"], totals["light"], totals["co2"], 0.0, crop_days
    )
    return crop_statement(ledger, *task_prices(prices)).margin


def task_prices(prices: Mapping[str, Any]) -> tuple[Prices, FixedCosts]:
    """Prices and costs of a task, by name."""
    site = Prices(**{name: float(prices[name]) for name in Prices.model_fields})
    return site, FixedCosts(
        harvest_handling_eur_per_kg=prices["harvest_handling_eur_per_kg"],
        planting_eur_per_m2=prices["planting_eur_per_m2"],
        cleanup_eur_per_m2=prices["cleaning_eur_per_m2"],
        background_service_eur_per_m2_day=prices["background_service_eur_per_m2_day"],
        fruit_dry_matter_fraction=1.0,  # harvest is fresh weight already
    )


def _check_age(age_days: float, task: Mapping[str, Any], predictor: Predictor) -> None:
    """Refuse crops younger than those the predictor was fitted to, or of another length."""
    youngest = predictor.content.min_age_days
    if age_days + 0.01 < youngest:
        raise ToolError(
            ToolReason.TOO_YOUNG, f"readings at least {youngest:g} days after planting are needed"
        )
    if task["calendar"]["crop_days"] != predictor.content.crop_days:
        raise ToolError(
            ToolReason.NOT_GROWING,
            f"predictions are for crops of {predictor.content.crop_days:g} days",
        )
