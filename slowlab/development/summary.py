"""What the development stage found, in one file and two pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from slowlab.development.artifact_files import ARTIFACTS
from slowlab.development.config import DevelopmentConfig, load_development
from slowlab.development.stage_files import contract_of, rounded, write_plain
from slowlab.io import atomic_write_bytes
from slowlab.plots.development import (
    PREDICTOR_AGES_DAYS,
    PUBLISHED_LENGTH_SCALES,
    PUBLISHED_PREDICTOR_RMSE_EUR_M2,
    kernel_figure,
    predictor_figure,
)
from slowlab.plots.style import figure_bytes
from slowlab.tools.artifacts import Artifact, ArtifactFolder

_PUBLISHED: dict[str, Any] = {
    "fixed_reference_mean_eur_m2": 34.92,
    "difference_sd_one_year_eur_m2": 1.31,
    "difference_sd_three_years_eur_m2": 0.76,
    "score_sd_eur_m2": 2.42,
    "radius_means_eur_m2": {"0.15": 36.38, "0.25": 37.79, "0.35": 38.13},
    "ranking_accuracy": {"season": 0.797, "product": 0.532},
    "rmse_one_from_four_eur_m2": {"season": 11.3, "product": 12.8, "mean": 18.3},
    "margin_sd_eur_m2": 22.3,
}
"""Source: SlowLab, development results; measured weather there, generated weather here."""


def summarise(config_file: Path, folder: Path, validation: Path, target: Path) -> None:
    """Write the summary, print it, and draw the pictures beside it under ``figures``.

    Args:
        config_file: configuration of the stage.
        folder: all artifacts.
        validation: errors of the predictor by age.
        target: the summary.

    Raises:
        ArtifactError: an artifact is missing or damaged.
    """
    config = load_development(config_file)
    store = ArtifactFolder(folder, contract_of(config).id)
    artifacts = {name: store.load(name) for name in ARTIFACTS}
    table = pd.read_parquet(validation).set_index("age")
    content = summary_content(artifacts, table)
    write_plain(target, content)
    for line in summary_lines(content):
        print(line)
    _draw(config, artifacts, table, target.parent / "figures")


def summary_content(artifacts: dict[str, Artifact], table: pd.DataFrame) -> dict[str, Any]:
    """The summary as plain data; published values stand beside ours."""
    kernel, predictor = artifacts["kernel"], artifacts["predictor"]
    errors = table.loc[list(PREDICTOR_AGES_DAYS)]
    return rounded(
        {
            "format": "slowlab-development-summary-1",
            "artifacts": {name: item.sha256 for name, item in artifacts.items()},
            "fixed_reference": artifacts["fixed_reference"].content["candidates"],
            "evaluation_error": artifacts["evaluation_error"].content,
            "common_policy": {
                name: artifacts["common_policy"].content[name]
                for name in ("policy", "mean_margin_eur_m2", "standard_error_eur_m2")
            },
            "predictor": {
                "crops": predictor.provenance["crops"],
                "margin_sd_eur_m2": predictor.provenance["margin_sd_eur_m2"],
                "ages_days": list(PREDICTOR_AGES_DAYS),
                "rmse_eur_m2": {name: errors[name].tolist() for name in errors},
                "published_rmse_eur_m2": dict(PUBLISHED_PREDICTOR_RMSE_EUR_M2),
                "deployed": predictor.provenance["deployed"],
            },
            "kernel": {
                **kernel.content,
                "form_scores": kernel.provenance["form_scores"],
                "at_bounds": kernel.provenance["at_bounds"],
                "published_length_scales": dict(PUBLISHED_LENGTH_SCALES),
            },
            "radius": artifacts["radius"].content,
            "published": _PUBLISHED,
        }
    )


def summary_lines(content: dict[str, Any]) -> list[str]:
    """A few lines for people."""
    lines = [
        f"{item['name']}: {item['mean_score_eur_m2']:.2f} +- {item['standard_error_eur_m2']:.2f}"
        for item in content["fixed_reference"]
    ]
    error = content["evaluation_error"]
    lines.append(
        f"paired difference: SD {error['difference_sd_one_year_eur_m2']:.2f} with one year, "
        f"{error['difference_sd_three_years_eur_m2']:.2f} with three"
    )
    predictor = content["predictor"]
    for name, errors in predictor["rmse_eur_m2"].items():
        shown = " ".join(f"{value:.1f}" for value in errors)
        lines.append(f"predictor, {name}: {shown} (ages {predictor['ages_days']})")
    gate = predictor["deployed"]
    lines.append(
        f"parity: {gate['predictions']} predictions, largest difference "
        f"{gate['largest_difference_eur_m2']:.2g} EUR/m2"
    )
    for name, score in content["kernel"]["form_scores"].items():
        lines.append(
            f"kernel, {name}: ranking {score['ranking_accuracy']:.3f}, "
            f"error {score['rmse_eur_m2']:.1f} (mean of four {score['mean_rmse_eur_m2']:.1f})"
        )
    for item in content["radius"]["candidates"]:
        lines.append(
            f"radius {item['radius']:g}: {item['mean_eur_m2']:.2f}, over the fixed reference "
            f"{item['gain_eur_m2']:+.2f} +- {item['gain_se_eur_m2']:.2f}, "
            f"between repeats {item['repeat_sd_eur_m2']:.2f}"
        )
    return lines


def _draw(
    config: DevelopmentConfig, artifacts: dict[str, Artifact], table: pd.DataFrame, folder: Path
) -> None:
    margin_sd = artifacts["predictor"].provenance["margin_sd_eur_m2"]
    errors = {str(name): table[name].tolist() for name in table}
    kernel = artifacts["kernel"].content
    scales = {**kernel["policy_length_scales"], "season": kernel["season_length_scale"]}
    figures = {
        "predictor": predictor_figure(table.index.tolist(), errors, margin_sd),
        "kernel": kernel_figure(scales, config.kernel.log_length_scale_bounds),
    }
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            atomic_write_bytes(folder / f"{name}.{kind}", figure_bytes(figure, kind))
