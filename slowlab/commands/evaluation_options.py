"""Options of the commands that score, search and check, and the study they name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands.errors import InputError

if TYPE_CHECKING:
    from slowlab.evaluation.runner import RunCounts, YearRunner
    from slowlab.world.contract import Contract
    from slowlab.world.site import Site
    from slowlab.world.site_distribution import SiteDistribution

DEFAULT_CONTRACT = "v8"
# Which site distribution a packaged contract was made for.
_DISTRIBUTIONS = {"v8": "v1", "v9-draft": "v2-draft"}

ContractOption = Annotated[
    str, typer.Option("--contract", help="Packaged contract (v8, v9-draft) or a file.")
]
DistributionOption = Annotated[
    str | None,
    typer.Option(
        "--distribution",
        help="Packaged site distribution (v1, v2-draft) or a file.",
        show_default="the contract's",
    ),
]
PartitionOption = Annotated[
    str, typer.Option("--partition", help="development, rehearsal, pilot or test.")
]
WeatherOption = Annotated[
    Path | None,
    typer.Option("--weather", help="Folder of KNMI Cabauw files; default: synthetic years."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes.", show_default="one for each processor"),
]
ShardsOption = Annotated[
    Path,
    typer.Option(
        "--shards", help="Folder of finished runs, from which an interrupted one goes on."
    ),
]
DEFAULT_SHARDS = Path("results/evaluation/shards")


@dataclass(frozen=True)
class Study:
    """Rules and sites of a command.

    Attributes:
        contract: the rules.
        distribution: what is random about a site.
        weather: folder of measured years; None for synthetic ones.
    """

    contract: Contract
    distribution: SiteDistribution
    weather: Path | None

    @property
    def draft(self) -> bool:
        """Whether it must be marked as a draft."""
        return self.contract.draft or self.distribution.draft

    @property
    def label(self) -> str:
        """Name for people, with the mark of a draft."""
        from slowlab.world.drafts import DRAFT_MARK

        name = f"{self.contract.id}, {self.distribution.id}"
        return f"{name} ({DRAFT_MARK})" if self.draft else name

    def sites(self, partition: str, numbers: range | list[int]) -> list[Site]:
        """Sites of a partition, private.

        Raises:
            PartitionError: no such partition or site.
            CommitmentError: a sealed seed is not at hand.
        """
        from slowlab.world.partitions import draw_partition_site, load_partitions

        partitions = load_partitions()
        return [
            draw_partition_site(
                partitions,
                partition,
                number,
                self.distribution,
                source=self._source_name,
                compartments=self.contract.facility.compartments,
            )
            for number in numbers
        ]

    @property
    def _source_name(self) -> str:
        return "synthetic" if self.weather is None else "cabauw"

    @contextmanager
    def runner(self, workers: int | None, shards: Path) -> Iterator[YearRunner]:
        """A runner that keeps finished runs in a folder and shows its progress."""
        from slowlab.commands.progress import day_progress
        from slowlab.evaluation.runner import YearRunner
        from slowlab.evaluation.shards import ShardStore
        from slowlab.world.sensors import load_sensors
        from slowlab.world.weather_source import WeatherSource

        source = WeatherSource(self._source_name, self.weather)
        with (
            day_progress("compartment-days") as progress,
            YearRunner(
                self.contract,
                load_sensors(),
                source,
                store=ShardStore(shards),
                workers=workers or os.cpu_count() or 1,
                progress=progress,
            ) as runner,
        ):
            yield runner


def choose_study(contract: str, distribution: str | None, weather: Path | None = None) -> Study:
    """Contract and distribution by their packaged names, or from files.

    Raises:
        InputError: a contract file without a distribution.
        ConfigError: a file is missing or does not fit.
    """
    from slowlab.world.contract import load_contract
    from slowlab.world.site_distribution import load_sites

    chosen = distribution or _DISTRIBUTIONS.get(contract)
    if chosen is None:
        raise InputError(f"--contract {contract}: say which --distribution of sites goes with it")
    rules = load_contract(_config_file("contracts", contract))
    return Study(rules, load_sites(_config_file("sites", chosen)), weather)


def _config_file(kind: str, name: str) -> Path:
    """The packaged file of that name, or the name as a path."""
    from slowlab.config import CONFIG_ROOT

    packaged = CONFIG_ROOT / kind / f"{name}.yaml"
    return packaged if packaged.is_file() else Path(name)


def describe_counts(counts: RunCounts) -> str:
    """One line on how much was stepped and how fast."""
    rate = counts.lane_days / counts.seconds if counts.seconds else 0.0
    return (
        f"{counts.simulated} runs simulated, {counts.reused} found finished; "
        f"{counts.lane_days:,} compartment-days in {counts.seconds:.0f} s ({rate:,.0f} a second)"
    )
