"""The files behind a study's setting, read and checked once a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowlab.config import CONFIG_ROOT
from slowlab.plan.study import Setting
from slowlab.tools.artifacts import ArtifactFolder
from slowlab.world.contract import Contract, load_contract
from slowlab.world.partitions import Partitions, draw_partition_site, load_partitions
from slowlab.world.sensors import SensorSpec, load_sensors
from slowlab.world.site import Site
from slowlab.world.site_distribution import SiteDistribution, load_sites
from slowlab.world.weather_source import WeatherSource


@dataclass(frozen=True)
class Materials:
    """What a job needs of the world.

    Attributes:
        setting: names the files.
        contract: rules.
        sensors: instruments.
        distribution: what is random about a site.
        partitions: which sites exist.
        weather: where weather years come from.
        artifacts: what the development stage has left.
    """

    setting: Setting
    contract: Contract
    sensors: SensorSpec
    distribution: SiteDistribution
    partitions: Partitions
    weather: WeatherSource
    artifacts: ArtifactFolder

    @classmethod
    def load(cls, setting: Setting) -> Materials:
        """Read all files of a setting.

        Raises:
            ConfigError: a file is missing or does not fit.
        """
        contract = load_contract(CONFIG_ROOT / "contracts" / f"{setting.contract}.yaml")
        folder = setting.weather_folder
        return cls(
            setting,
            contract,
            load_sensors(CONFIG_ROOT / "sensors" / f"{setting.sensors}.yaml"),
            load_sites(CONFIG_ROOT / "sites" / f"{setting.distribution}.yaml"),
            load_partitions(CONFIG_ROOT / "partitions" / f"{setting.partitions}.yaml"),
            WeatherSource(setting.weather, None if folder is None else Path(folder)),
            ArtifactFolder(CONFIG_ROOT / "artifacts" / setting.artifacts, contract.id),
        )

    def sites(self, numbers: Sequence[int]) -> list[Site]:
        """Private sites of the partition.

        Raises:
            PartitionError: no such partition or site.
            CommitmentError: a sealed seed is not at hand.
        """
        return [
            draw_partition_site(
                self.partitions,
                self.setting.partition,
                number,
                self.distribution,
                source=self.weather.name,
                compartments=self.contract.facility.compartments,
            )
            for number in numbers
        ]
