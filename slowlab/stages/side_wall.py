"""Score the main recommendations of a study with other side walls; no campaign is run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowlab.evaluation.recommendations import read_recommendations
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.shards import ShardStore
from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA, score_with_side_walls
from slowlab.io import atomic_write_bytes
from slowlab.stages.materials import Materials
from slowlab.stages.progress import LaneReporter


def rescore_side_wall(
    materials: Materials,
    exchanges_w_m2_k: Sequence[float],
    sites: Sequence[int],
    files: Sequence[Path],
    runs: Path,
    target: Path,
) -> None:
    """Score recommendations for some sites with other side walls.

    Args:
        materials: what the study's setting names.
        exchanges_w_m2_k: exchanges of all side walls, W/m2 wall/K.
        sites: numbers of the sites.
        files: recommendations, each campaign once; those for other sites are passed over.
        runs: folder of finished runs, so that a killed job continues.
        target: gets one row for each recommendation and exchange.

    Raises:
        ConfigError, RecommendationError, StrictJsonError: a file does not fit.
        LaneParameterError: an exchange outside the model's bounds.
        WeatherError: a scoring year cannot be had.
        OSError: a file cannot be read or written.
    """
    wanted = [
        item
        for path in files
        for item in read_recommendations(path, materials.contract).recommendations
        if item.site in sites
    ]
    with YearRunner(
        materials.contract,
        materials.sensors,
        materials.weather,
        store=ShardStore(runs),
        progress=LaneReporter("side walls"),
    ) as runner:
        private = {site.index: site for site in materials.sites(sites)}
        found = score_with_side_walls(runner, private, wanted, exchanges_w_m2_k)
    atomic_write_bytes(target, SIDE_WALL_SCHEMA.parquet(found))
