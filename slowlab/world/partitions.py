"""Partitions: disjoint families of sites, each with a master seed and its weather years.

Development and rehearsal have public seeds and may be looked at freely. Pilot and test have sealed
seeds: the configuration holds a salted commitment, the seed itself lies in a private opening file.

Source: SlowLab site partition v1; the rehearsal partition and the generated years are ours.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from slowlab.config import CONFIG_ROOT, ConfigModel, load_config
from slowlab.world.commitments import (
    DOMAIN,
    Commitment,
    CommitmentError,
    commit,
    reveal,
    write_opening,
)
from slowlab.world.site import Site, WeatherPools, YearLabel, draw_site
from slowlab.world.site_distribution import SiteDistribution

DEFAULT_PARTITIONS = CONFIG_ROOT / "partitions" / "v1.yaml"
MASTER_SEED_BITS = 63


class PartitionError(ValueError):
    """A partition, weather source or site that does not exist, or a seed that is not at hand."""


class PoolSpec(ConfigModel):
    """Names of the weather years of one pool: given one by one, or as a prefix and a count."""

    years: tuple[YearLabel, ...] | None = Field(
        default=None, description="Labels of the years, one by one."
    )
    prefix: str | None = Field(default=None, description="Labels are prefix + number, from 0.")
    count: int | None = Field(default=None, ge=1, le=1000, description="Number of labels.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        by_prefix = self.prefix is not None and self.count is not None
        stray = (self.prefix is None) != (self.count is None)
        if stray or (self.years is not None) == by_prefix:
            raise ValueError("give either `years`, or `prefix` and `count`")
        return self

    @property
    def labels(self) -> tuple[YearLabel, ...]:
        """The labels; numbers have three digits, so that they sort as they count."""
        if self.years is not None:
            return self.years
        return tuple(f"{self.prefix}{number:03d}" for number in range(self.count or 0))


class PoolChoice(ConfigModel):
    """The pools that a partition draws from."""

    campaign: str = Field(description="Pool of the campaign years.")
    evaluation: str = Field(description="Pool of the scoring years.")


class Partition(ConfigModel):
    """One family of sites."""

    sites: int = Field(ge=1, le=100_000, description="Number of sites; they are numbered from 0.")
    purpose: str = Field(description="What the sites are for.")
    master_seed: int | None = Field(
        default=None, ge=0, le=2**63 - 1, description="Public seed; null where it is sealed."
    )
    commitment: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="Digest of the sealed seed; null until it is drawn.",
    )
    weather: dict[str, PoolChoice] = Field(description="Pools by weather source.")

    @model_validator(mode="after")
    def _public_or_sealed(self) -> Self:
        if self.master_seed is not None and self.commitment is not None:
            raise ValueError("a public seed needs no commitment; give one of the two")
        return self


class Partitions(ConfigModel):
    """All partitions and the weather pools that they draw from."""

    id: str = Field(pattern=r"^[A-Za-z0-9._-]+$", description="Identity.")
    weather_pools: dict[str, dict[str, PoolSpec]] = Field(
        description="Weather years by source and pool; pools of one source never overlap."
    )
    partitions: dict[str, Partition] = Field(description="Families of sites by name.")

    @model_validator(mode="after")
    def _pools_are_disjoint(self) -> Self:
        for source, pools in self.weather_pools.items():
            labels = [label for spec in pools.values() for label in spec.labels]
            if len(set(labels)) != len(labels):
                raise ValueError(f"weather_pools.{source}: a year is listed twice")
        return self

    @model_validator(mode="after")
    def _partitions_are_sound(self) -> Self:
        seeds = [
            item.master_seed for item in self.partitions.values() if item.master_seed is not None
        ]
        digests = [
            item.commitment for item in self.partitions.values() if item.commitment is not None
        ]
        if len(set(seeds)) != len(seeds) or len(set(digests)) != len(digests):
            raise ValueError("two partitions share a seed")
        for name, item in self.partitions.items():
            for source in item.weather:
                self.pools(name, source)
        return self

    def partition(self, name: str) -> Partition:
        """One partition; raises PartitionError where there is none of that name."""
        if name not in self.partitions:
            raise PartitionError(f"no partition {name!r}; there are {', '.join(self.partitions)}")
        return self.partitions[name]

    def pools(self, name: str, source: str) -> WeatherPools:
        """Weather pools of one partition for one source.

        Raises:
            PartitionError: unknown partition, source or pool.
        """
        item = self.partition(name)
        if source not in item.weather or source not in self.weather_pools:
            raise PartitionError(
                f"partition {name!r} has no weather source {source!r}; "
                f"it has {', '.join(item.weather)}"
            )
        choice, pools = item.weather[source], self.weather_pools[source]
        for pool in (choice.campaign, choice.evaluation):
            if pool not in pools:
                raise PartitionError(f"{source} has no pool {pool!r}; it has {', '.join(pools)}")
        return WeatherPools(pools[choice.campaign].labels, pools[choice.evaluation].labels)

    def commitment(self, name: str) -> Commitment:
        """The published commitment of a sealed partition.

        Raises:
            PartitionError: the partition is public, or its seed is not drawn yet.
        """
        digest = self.partition(name).commitment
        if digest is None:
            raise PartitionError(f"partition {name!r} has no commitment")
        return Commitment(domain=DOMAIN, label=name, digest=digest)


def load_partitions(path: str | Path = DEFAULT_PARTITIONS) -> Partitions:
    """Read the partitions.

    Raises:
        ConfigError: the file is missing or does not fit; the message says where and what is
        allowed.
    """
    return load_config(path, Partitions)


def private_folder() -> Path:
    """Where openings lie: ``$SLOWLAB_PRIVATE_DIR``, or ``.slowlab/private`` in the home folder."""
    named = os.environ.get("SLOWLAB_PRIVATE_DIR")
    return Path(named) if named else Path.home() / ".slowlab" / "private"


def opening_path(name: str, folder: str | Path | None = None) -> Path:
    """Path of the opening of one partition."""
    return Path(folder if folder is not None else private_folder()) / f"{name}.opening.json"


def seal_partition(name: str, folder: str | Path | None = None) -> Commitment:
    """Draw a secret master seed, keep its opening privately and return what is to be published.

    Args:
        name: the partition, which is the label of the commitment.
        folder: private folder; by default :func:`private_folder`.

    Raises:
        CommitmentError: an opening exists, or the folder is tracked by git.
    """
    commitment, opening = commit({"master_seed": secrets.randbits(MASTER_SEED_BITS)}, name)
    write_opening(opening_path(name, folder), opening)
    return commitment


def master_seed(partitions: Partitions, name: str, folder: str | Path | None = None) -> int:
    """The master seed of a partition: public, or from its checked opening.

    Raises:
        PartitionError: unknown partition, or a sealed seed that is not drawn yet.
        CommitmentError: the opening is missing, damaged or of another commitment.
    """
    item = partitions.partition(name)
    if item.master_seed is not None:
        return item.master_seed
    if item.commitment is None:
        raise PartitionError(
            f"the sealed seed of partition {name!r} is not drawn yet; seal it first"
        )
    secret = reveal(opening_path(name, folder), partitions.commitment(name))
    seed = secret.get("master_seed") if isinstance(secret, dict) else None
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise CommitmentError(f"the opening of partition {name!r} holds no master seed")
    return seed


def draw_partition_site(
    partitions: Partitions,
    name: str,
    index: int,
    distribution: SiteDistribution,
    *,
    source: str,
    compartments: int,
    folder: str | Path | None = None,
) -> Site:
    """Draw one site of a partition.

    Args:
        partitions: the partitions.
        name: name of the partition.
        index: number of the site, from 0.
        distribution: hidden ranges and prices.
        source: weather source whose pools are used.
        compartments: number of compartments of the contract.
        folder: private folder of sealed seeds.

    Raises:
        PartitionError: unknown partition or source, or no such site.
        CommitmentError: the sealed seed is not at hand.
        SiteError: the site cannot be drawn.
    """
    item = partitions.partition(name)
    if not 0 <= index < item.sites:
        raise PartitionError(f"partition {name!r} has sites 0 to {item.sites - 1}, not {index}")
    return draw_site(
        distribution,
        master_seed(partitions, name, folder),
        index,
        pools=partitions.pools(name, source),
        compartments=compartments,
        partition=name,
    )
