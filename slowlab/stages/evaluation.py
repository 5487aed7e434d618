"""Score the recommendations of one method, or of one reader, on a shard of sites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from slowlab.evaluation.recommendations import Recommendation, read_recommendations
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA, score_recommendations
from slowlab.evaluation.shards import ShardStore
from slowlab.io import atomic_write_bytes
from slowlab.stages.materials import Materials
from slowlab.stages.progress import LaneReporter


def score_files(
    materials: Materials,
    name: str,
    files: Sequence[Path],
    runs: Path,
    scores: Path,
    sites: Path,
) -> None:
    """Score all recommendations of some files in their sites' evaluation years.

    Args:
        materials: what the study's setting names.
        name: what is scored, for the progress lines.
        files: recommendations, each campaign once.
        runs: folder of finished runs: what was scored before is not simulated again, be it for
            another method or before this job was killed.
        scores: gets one row for each recommendation, year and planting.
        sites: gets one row for each recommendation.

    Raises:
        ConfigError, RecommendationError, StrictJsonError: a file does not fit.
        WeatherError: a scoring year cannot be had.
        OSError: a file cannot be read or written.
    """
    found = [r for path in files for r in _read(path, materials)]
    by_year, by_site = _score(materials, name, found, runs)
    atomic_write_bytes(sites, SITE_SCHEMA.parquet(by_site))
    atomic_write_bytes(scores, SCORE_SCHEMA.parquet(by_year))


def _read(path: Path, materials: Materials) -> tuple[Recommendation, ...]:
    return read_recommendations(path, materials.contract).recommendations


def _score(
    materials: Materials, name: str, found: Sequence[Recommendation], runs: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    numbers = sorted({item.site for item in found})
    chosen = {site.index: site for site in materials.sites(numbers)}
    with YearRunner(
        materials.contract,
        materials.sensors,
        materials.weather,
        store=ShardStore(runs),
        progress=LaneReporter(name),
    ) as runner:
        return score_recommendations(runner, chosen, found)
