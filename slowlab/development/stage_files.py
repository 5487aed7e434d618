"""Files, rules and sites that the steps of the development stage share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from slowlab.canonical import JsonLimits, canonical_json, loads_strict
from slowlab.config import CONFIG_ROOT
from slowlab.development.collect import Ground, site_in_year
from slowlab.development.config import DevelopmentConfig
from slowlab.development.runs import PARTITION
from slowlab.evaluation.runner import YearRunner
from slowlab.evaluation.shards import ShardStore
from slowlab.io import atomic_write_text
from slowlab.stages.progress import LaneReporter
from slowlab.world.contract import Contract, load_contract
from slowlab.world.partitions import draw_partition_site, load_partitions
from slowlab.world.sensors import load_sensors
from slowlab.world.site_distribution import SiteDistribution, load_sites
from slowlab.world.weather_source import WeatherSource

_LIMITS = JsonLimits(max_bytes=64 * 1024 * 1024)
_DECIMALS = 6


def make_ground(config: DevelopmentConfig) -> Ground:
    """Rules, sites and compiled step of a configuration."""
    return Ground.make(contract_of(config), load_sensors(), distribution_of(config))


def contract_of(config: DevelopmentConfig) -> Contract:
    """The contract of a configuration."""
    return load_contract(CONFIG_ROOT / "contracts" / f"{config.contract}.yaml")


def distribution_of(config: DevelopmentConfig) -> SiteDistribution:
    """The site distribution of a configuration."""
    return load_sites(CONFIG_ROOT / "sites" / f"{config.distribution}.yaml")


def years_of(config: DevelopmentConfig, crops: pd.DataFrame) -> list[str]:
    """Labels of the weather years behind some crops."""
    contract, partitions = contract_of(config), load_partitions()
    distribution, labels = distribution_of(config), []
    for number, rows in crops.groupby("site"):
        site = draw_partition_site(
            partitions,
            PARTITION,
            int(str(number)),
            distribution,
            source=WeatherSource().name,
            compartments=contract.facility.compartments,
        )
        labels += [str(site_in_year(site, run).campaign_year) for run in set(rows["run"])]
    return labels


def open_runner(config: DevelopmentConfig, runs: Path, name: str) -> YearRunner:
    """Simulates scoring runs and keeps what is finished."""
    return YearRunner(
        contract_of(config),
        load_sensors(),
        WeatherSource(),
        store=ShardStore(runs),
        progress=LaneReporter(name),
    )


def rounded(content: Any) -> Any:
    """Plain data with numbers of six decimals."""
    if isinstance(content, dict):
        return {str(name): rounded(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [rounded(value) for value in content]
    return round(content, _DECIMALS) + 0.0 if isinstance(content, float) else content


def read_plain(path: Path) -> Any:
    """Plain data of a JSON file."""
    return loads_strict(path.read_bytes(), _LIMITS)


def write_plain(path: Path, content: Any) -> None:
    """Plain data as canonical JSON, in one step."""
    atomic_write_text(path, canonical_json(content) + "\n")
