"""Which radius the local optimiser gets: the best mean score on development sites.

All candidates play with the same random numbers, so their differences are of the radius. Unlike in
the original there are more sites and a candidate beyond the largest of its radii.

Source: SlowLab, prior-informed local optimiser, radius.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from slowlab.development.config import DevelopmentConfig
from slowlab.development.runs import PARTITION
from slowlab.evaluation.recommendations import RecommendationFile, read_recommendations
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import reference_recommendations, score_recommendations
from slowlab.plan.study import MethodEntry, Setting
from slowlab.stages.campaigns import (
    CampaignJob,
    recommendation,
    run_campaigns,
    write_recommendations,
)
from slowlab.stages.materials import Materials
from slowlab.tools.artifacts import ArtifactFolder

TIE_EUR_M2 = 0.005
"""Mean scores this close count as equal."""


@dataclass(frozen=True)
class RadiusScore:
    """One candidate.

    Attributes:
        radius: half-width of the box, in the unit cube.
        mean_eur_m2: mean score over sites, conditions and repeats.
        se_eur_m2: its standard error over sites.
        repeat_sd_eur_m2: SD between repeats of a site and condition; decides ties.
        by_feedback_eur_m2: mean score by feedback condition.
        gain_eur_m2: mean over the fixed reference.
        gain_se_eur_m2: its standard error over sites.
    """

    radius: float
    mean_eur_m2: float
    se_eur_m2: float
    repeat_sd_eur_m2: float
    by_feedback_eur_m2: dict[str, float]
    gain_eur_m2: float
    gain_se_eur_m2: float


def radius_materials(config: DevelopmentConfig, artifacts: Path) -> Materials:
    """What the campaigns need, with artifacts that were just fitted."""
    setting = Setting(
        study=config.id,
        contract=config.contract,
        distribution=config.distribution,
        partition=PARTITION,
    )
    materials = Materials.load(setting)
    return replace(materials, artifacts=ArtifactFolder(artifacts, materials.contract.id))


def play_radius(config: DevelopmentConfig, artifacts: Path, name: str, root: Path) -> None:
    """Run the campaigns of one candidate, condition and repeat; writes their recommendations.

    Args:
        config: names method, sites and partition.
        artifacts: folder of the artifacts that were just fitted.
        name: one of the jobs of the configuration, and the folder that it writes.
        root: above that folder.
    """
    materials = radius_materials(config, artifacts)
    radius = config.radius.every_job()[name]
    feedback, repeat = config.radius.jobs(radius)[name]
    folder = root / name
    entry = MethodEntry(name=config.radius.method, settings={"radius": radius})
    job = CampaignJob(entry, feedback, repeat, tuple(range(config.radius.sites)))
    found = [recommendation(job, record) for record in run_campaigns(materials, job, folder)]
    write_recommendations(folder / "recommendations.json", materials, found)


def score_radii(
    runner: YearRunner, materials: Materials, files: Mapping[float, Sequence[Path]]
) -> pd.DataFrame:
    """Scores of all candidates and of the fixed reference.

    Args:
        runner: simulates.
        materials: sites and rules.
        files: recommendations by radius.

    Returns:
        One row for each radius, site, condition and repeat, ``score_eur_m2``, and beside it the
        score of the fixed reference on that site, ``reference_eur_m2``.
    """
    read = {
        radius: [read_recommendations(path, materials.contract) for path in paths]
        for radius, paths in files.items()
    }
    numbers = sorted({r.site for group in read.values() for file in group for r in _each(file)})
    sites = {site.index: site for site in materials.sites(numbers)}
    fixed = reference_recommendations(list(sites.values()), materials.contract)
    reference = score_recommendations(runner, sites, fixed)[1]
    by_site = reference.set_index("site")["score_eur_m2"]
    parts = []
    for radius, group in read.items():
        scored = score_recommendations(runner, sites, [r for file in group for r in _each(file)])
        part = scored[1][["site", "feedback", "repeat", "score_eur_m2"]]
        parts.append(part.assign(radius=radius, reference_eur_m2=part["site"].map(by_site)))
    return pd.concat(parts, ignore_index=True)


def _each(file: RecommendationFile) -> tuple[Any, ...]:
    return file.recommendations


def rank_radii(scores: pd.DataFrame) -> list[RadiusScore]:
    """The candidates, best first; among equal means the one whose repeats differ less."""
    found = [_radius_score(float(str(radius)), rows) for radius, rows in scores.groupby("radius")]
    best = max(item.mean_eur_m2 for item in found)

    def place(item: RadiusScore) -> tuple[bool, float]:
        tied = best - item.mean_eur_m2 <= TIE_EUR_M2
        return (not tied, item.repeat_sd_eur_m2 if tied else -item.mean_eur_m2)

    return sorted(found, key=place)


def _radius_score(radius: float, rows: pd.DataFrame) -> RadiusScore:
    by_site = rows.groupby("site")[["score_eur_m2", "reference_eur_m2"]].mean()
    gains = by_site["score_eur_m2"] - by_site["reference_eur_m2"]
    root = float(np.sqrt(len(by_site)))
    spread = rows.groupby(["site", "feedback"])["score_eur_m2"].var().mean()
    return RadiusScore(
        radius=radius,
        mean_eur_m2=float(by_site["score_eur_m2"].mean()),
        se_eur_m2=float(by_site["score_eur_m2"].std()) / root,
        repeat_sd_eur_m2=float(np.sqrt(spread)),
        by_feedback_eur_m2={
            str(name): float(group.mean())
            for name, group in rows.groupby("feedback")["score_eur_m2"]
        },
        gain_eur_m2=float(gains.mean()),
        gain_se_eur_m2=float(gains.std()) / root,
    )
