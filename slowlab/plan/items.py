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
from slowlab.plan.study import INITIAL, NO_FEEDBACK, MethodEntry, StudyConfig

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
    if entry.command is not None or entry.model is not None:
        return True
    return method_class(entry.registered_name).experiments


def experimenting(study: StudyConfig) -> tuple[str, ...]:
    """Names of the methods that run campaigns, in the study's order."""
    return tuple(entry.name for entry in study.methods if runs_campaigns(entry))


def agents(study: StudyConfig) -> tuple[str, ...]:
    """Names of the methods that are language models, in the study's order."""
    return tuple(entry.name for entry in study.methods if entry.model is not None)


def sources(study: StudyConfig) -> tuple[str, ...]:
    """Names of the methods whose campaigns are read, in the study's order.

    Raises:
        ValueError: a source that runs no campaigns.
    """
    able = experimenting(study)
    if study.reader_sources is None:
        return able
    idle = [name for name in study.reader_sources if name not in able]
    if idle:
        raise ValueError(f"reader_sources: {', '.join(idle)} runs no campaigns")
    return tuple(name for name in able if name in study.reader_sources)


def conditions(study: StudyConfig, entry: MethodEntry) -> tuple[tuple[str, int], ...]:
    """Feedback condition and repeat of each campaign that a method runs on a site."""
    if not runs_campaigns(entry):
        return ((NO_FEEDBACK, 0),)
    return tuple((mode, repeat) for mode in study.feedback for repeat in range(study.repeats))


def scored_conditions(study: StudyConfig, entry: MethodEntry) -> tuple[tuple[str, int], ...]:
    """Feedback condition and repeat of each recommendation of a method that is scored on a site.

    A language model is also scored for what it recommends before any experiment.
    """
    before = ((INITIAL, repeat) for repeat in range(study.repeats) if entry.model is not None)
    return (*conditions(study, entry), *before)


def scored_items(study: StudyConfig, method: str) -> list[CampaignItem]:
    """Everything of one method that is scored, by condition, repeat and shard."""
    return [
        CampaignItem(method, mode, repeat, shard)
        for mode, repeat in scored_conditions(study, study.entry(method))
        for shard in shards(study)
    ]


def side_wall_methods(study: StudyConfig) -> tuple[str, ...]:
    """Names of the methods scored with other side walls; baseline and reference are among them."""
    if study.side_wall is None:
        return ()
    named = study.side_wall.methods or experimenting(study)
    wanted = {*named, study.analysis.baseline, study.analysis.reference}
    return tuple(entry.name for entry in study.methods if entry.name in wanted)


def side_wall_items(study: StudyConfig) -> list[CampaignItem]:
    """What is scored with other side walls: the first repeat of each method's main condition."""
    feedback = "full" if "full" in study.feedback else study.feedback[0]
    found = []
    for name in side_wall_methods(study):
        mode = feedback if runs_campaigns(study.entry(name)) else NO_FEEDBACK
        found += [CampaignItem(name, mode, 0, shard) for shard in shards(study)]
    return found


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
    """Campaigns whose packets are read: the first repeat of every source.

    The feedback condition is the study's first one. All sources lie on the same sites, so that
    readers are compared within sites.
    """
    return [CampaignItem(method, study.feedback[0], 0, shard) for method in sources(study)]


def example_campaign(study: StudyConfig) -> CampaignItem | None:
    """The job with the campaign that figures show as the example, where its journal tells it.

    Returns:
        The first repeat on the first sites, with full feedback where the study has it. None where
        a language model plays it, whose transcript tells more, or where no campaign is run.
    """
    entry = study.entry(study.analysis.example_method)
    if entry.model is not None or not runs_campaigns(entry):
        return None
    feedback = "full" if "full" in study.feedback else study.feedback[0]
    return CampaignItem(entry.name, feedback, 0, shards(study)[0])


def load_method_folders(folders: Iterable[str]) -> None:
    """Make the methods of further folders known.

    Raises:
        MethodError: a folder or module that cannot be used.
    """
    for folder in folders:
        discover(Path(folder))
