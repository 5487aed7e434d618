"""Work items of a study and the files that they make. Pure: nothing is read or run here.

A campaign item is one method in one feedback condition and one repeat, on a shard of sites that are
stepped together. No result depends on how sites are cut into shards, but paths do, so a study
whose shards change runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from slowlab.methods._registry import discover, method_class
from slowlab.plan.study import NO_FEEDBACK, MethodEntry, StudyConfig

RESULTS = PurePosixPath("results")


@dataclass(frozen=True)
class Shard:
    """Consecutive sites that one job runs together.

    Attributes:
        sites: their numbers.
    """

    sites: tuple[int, ...]

    @property
    def name(self) -> str:
        """First and last number, as in paths."""
        return f"sites-{self.sites[0]:03d}-{self.sites[-1]:03d}"


@dataclass(frozen=True)
class CampaignItem:
    """Campaigns of one job.

    Attributes:
        method: name of the method in the study.
        feedback: feedback condition; ``none`` where no campaign is run.
        repeat: number of the repeat.
        shard: sites.
    """

    method: str
    feedback: str
    repeat: int
    shard: Shard


@dataclass(frozen=True)
class StudyPaths:
    """Where the files of a study lie.

    Attributes:
        study: its name.
        root: folder of all results.
    """

    study: str
    root: PurePosixPath = RESULTS

    @property
    def folder(self) -> PurePosixPath:
        """The study's own folder."""
        return self.root / self.study

    def campaigns(self, item: CampaignItem) -> PurePosixPath:
        """Folder of one campaign item; see ``slowlab.stages.campaign_files``."""
        name = f"{item.feedback}/repeat-{item.repeat}/{item.shard.name}"
        return self.folder / "campaigns" / item.method / name


def shards(study: StudyConfig) -> tuple[Shard, ...]:
    """The study's sites in jobs of at most ``sites_per_shard``."""
    sites, size = study.site_numbers, study.sites_per_shard
    return tuple(Shard(sites[begin : begin + size]) for begin in range(0, len(sites), size))


def runs_campaigns(entry: MethodEntry) -> bool:
    """Whether a method runs campaigns at all.

    Raises:
        MethodError: no such method.
    """
    return entry.command is not None or method_class(entry.registered_name).experiments


def experimenting(study: StudyConfig) -> tuple[str, ...]:
    """Names of the methods that run campaigns, in the study's order."""
    return tuple(entry.name for entry in study.methods if runs_campaigns(entry))


def conditions(study: StudyConfig, entry: MethodEntry) -> tuple[tuple[str, int], ...]:
    """Feedback condition and repeat of each campaign that a method runs on a site."""
    if not runs_campaigns(entry):
        return ((NO_FEEDBACK, 0),)
    return tuple((mode, repeat) for mode in study.feedback for repeat in range(study.repeats))


def campaign_items(study: StudyConfig, methods: Sequence[str] | None = None) -> list[CampaignItem]:
    """All campaign items, by method, condition, repeat and shard.

    Args:
        study: the study.
        methods: names of the methods; all by default.
    """
    return [
        CampaignItem(entry.name, mode, repeat, shard)
        for entry in study.methods
        if methods is None or entry.name in methods
        for mode, repeat in conditions(study, entry)
        for shard in shards(study)
    ]


def packet_shards(study: StudyConfig) -> tuple[Shard, ...]:
    """Shards that hold a site whose campaigns are read."""
    read = set(study.packet_sites)
    return tuple(shard for shard in shards(study) if read & set(shard.sites))


def source_items(study: StudyConfig, shard: Shard) -> list[CampaignItem]:
    """Campaigns whose packets are read: the first repeat of every method that experiments.

    The feedback condition is the study's first one. All sources lie on the same sites, so that
    readers are compared within sites.
    """
    return [CampaignItem(method, study.feedback[0], 0, shard) for method in experimenting(study)]


def load_method_folders(folders: Iterable[str]) -> None:
    """Make the methods of further folders known.

    Raises:
        MethodError: a folder or module that cannot be used.
    """
    for folder in folders:
        discover(Path(folder))
