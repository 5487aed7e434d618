"""A study file: which sites, methods, conditions and readers make a study, and how it is read.

One file is one study; ``config/config.yaml`` is the quick one, ``config/paper.yaml`` has the size
of the paper's. Nothing about a study is written anywhere else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from slowlab.agents.books import Caps
from slowlab.analysis.declared import NAME, KnowledgePair
from slowlab.config import ConfigModel, load_config
from slowlab.plan.entries import MethodEntry, ReaderEntry, named_entry
from slowlab.plan.known_best import OracleSection, SideWallSection
from slowlab.seeds import SeedKey

NO_FEEDBACK = "none"
"""The feedback condition of a method that runs no campaign."""
INITIAL = "initial"
"""Stands for the feedback condition of what a language model recommends before any experiment."""

FeedbackName = Literal["full", "endpoint", "delayed", "shuffled"]


class AnalysisSettings(ConfigModel):
    """How the scores are compared and which campaigns are drawn."""

    baseline: str = Field(pattern=NAME, description="Method that the others are compared with.")
    reference: str = Field(
        pattern=NAME, description="Method without experiments against which gains are counted."
    )
    common: str | None = Field(
        default=None, description="Method that recommends the best single policy; null for none."
    )
    sesoi_eur_m2: float = Field(
        default=2.0, gt=0, description="Smallest effect size of interest, EUR/m2."
    )
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="Level of the tests.")
    base_seed: int = Field(
        default=20261004, ge=0, description="Seed of sign flips and bootstrap samples."
    )
    flips: int = Field(default=100_000, ge=100, description="Random sign patterns of a test.")
    resamples: int = Field(default=10_000, ge=100, description="Bootstrap samples.")
    example_method: str = Field(
        pattern=NAME, description="Method whose first campaign is drawn in figure 1."
    )
    timeline_methods: tuple[str, ...] = Field(
        min_length=1, max_length=4, description="Methods whose first campaigns are drawn."
    )
    knowledge: tuple[KnowledgePair, ...] = Field(
        default=(), description="Comparisons of what methods are told."
    )


class Setting(ConfigModel):
    """What every campaign and evaluation of a study shares, whatever its methods and size."""

    study: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,31}$", description="Name: its results lie in results/<name>/."
    )
    contract: str = Field(default="v8", description="File in contracts/, without .yaml.")
    distribution: str = Field(default="v1", description="File in sites/, without .yaml.")
    sensors: str = Field(default="v0", description="File in sensors/, without .yaml.")
    partitions: str = Field(default="v1", description="File in partitions/, without .yaml.")
    artifacts: str = Field(default="v8", description="Folder in artifacts/.")
    weather: Literal["synthetic", "cabauw"] = Field(
        default="synthetic", description="Source of weather years."
    )
    weather_folder: str | None = Field(
        default=None, description="Folder of measured years; needed by cabauw only."
    )
    partition: str = Field(description="Partition in the partitions file.")

    @model_validator(mode="after")
    def _folder_for_measured_years(self) -> Self:
        if (self.weather == "cabauw") != (self.weather_folder is not None):
            raise ValueError("weather_folder belongs to weather: cabauw, and only to it")
        return self


class StudyConfig(Setting):
    """A study."""

    purpose: Literal["rehearsal", "development", "confirmatory"] = Field(
        default="rehearsal", description="What it is for; all but confirmatory are marked."
    )
    sites: int = Field(ge=1, le=1000, description="Sites, taken in order without skipping.")
    first_site: int = Field(default=0, ge=0, description="Number of the first site.")
    feedback: tuple[FeedbackName, ...] = Field(
        default=("full", "endpoint"), min_length=1, description="Feedback conditions."
    )
    repeats: int = Field(default=2, ge=1, le=100, description="Campaigns per site and condition.")
    sites_per_shard: int = Field(
        default=48, ge=1, le=1000, description="Sites that one job runs together; no result."
    )
    method_folders: tuple[str, ...] = Field(
        default=(), description="Further folders of methods, from the working folder."
    )
    methods: tuple[Annotated[MethodEntry, BeforeValidator(named_entry)], ...] = Field(
        min_length=1, description="Methods, by name or with settings."
    )
    readers: tuple[Annotated[ReaderEntry, BeforeValidator(named_entry)], ...] = Field(
        default=(), description="Readers of finished campaigns, by name or with settings."
    )
    reader_sources: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Methods whose campaigns are read; null for all that run campaigns.",
    )
    reader_sites: int | None = Field(
        default=None,
        ge=1,
        description="Sites whose campaigns are read, drawn without replacement; null for all.",
    )
    oracle: OracleSection | None = Field(
        default=None, description="Best policy known of each site; null: not sought."
    )
    side_wall: SideWallSection | None = Field(
        default=None, description="Scores with other side walls; null for none."
    )
    spending: Caps = Field(
        default=Caps(),
        description="What the language models may cost in all; checked before each call.",
    )
    analysis: AnalysisSettings = Field(description="How the scores are compared.")

    @model_validator(mode="after")
    def _names_are_sound(self) -> Self:
        names = [entry.name for entry in self.methods]
        for what, listed in (
            ("methods", names),
            ("readers", [entry.name for entry in self.readers]),
            ("reader_sources", list(self.reader_sources or ())),
            ("feedback", list(self.feedback)),
        ):
            twice = sorted({name for name in listed if listed.count(name) > 1})
            if twice:
                raise ValueError(f"{what}: {', '.join(twice)} is listed twice")
        for key, name in [
            *((f"analysis.{key}", name) for key, name in _named_methods(self.analysis)),
            *(("reader_sources", name) for name in self.reader_sources or ()),
            *(("side_wall.methods", name) for name in self._side_wall_names),
        ]:
            if name not in names:
                raise ValueError(f"{key}: {name!r} is not among the methods {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _numbers_of_sites_are_sound(self) -> Self:
        oracle, wall = self.oracle, self.side_wall
        searched = self.sites if oracle is None or oracle.sites is None else oracle.sites
        for key, count, most in (
            ("reader_sites", self.reader_sites, self.sites),
            ("oracle.sites", searched, self.sites),
            ("oracle.repeated", None if oracle is None else oracle.repeated, searched),
            ("side_wall.sites", None if wall is None else wall.sites, self.sites),
        ):
            if count is not None and count > most:
                raise ValueError(f"{key}: at most as many as sites, {most}")
        return self

    @property
    def setting(self) -> Setting:
        """What all jobs share; it does not change when a method is added or removed."""
        return Setting(**{name: getattr(self, name) for name in Setting.model_fields})

    @property
    def site_numbers(self) -> tuple[int, ...]:
        """Numbers of the sites, in order."""
        return tuple(range(self.first_site, self.first_site + self.sites))

    @property
    def packet_sites(self) -> tuple[int, ...]:
        """Numbers of the sites whose campaigns are read, ascending; the same for all sources."""
        return self._drawn(self.site_numbers, self.reader_sites, "readers")

    @property
    def oracle_sites(self) -> tuple[int, ...]:
        """Numbers of the sites whose best policy is sought, ascending; none without a section."""
        if self.oracle is None:
            return ()
        return self._drawn(self.site_numbers, self.oracle.sites, "oracle")

    @property
    def repeated_oracle_sites(self) -> tuple[int, ...]:
        """Of these, the ones that are searched twice, ascending."""
        if self.oracle is None:
            return ()
        return self._drawn(self.oracle_sites, self.oracle.repeated, "oracle_again")

    @property
    def side_wall_sites(self) -> tuple[int, ...]:
        """Numbers of the sites scored with other side walls, ascending; none without a section."""
        if self.side_wall is None:
            return ()
        return self._drawn(self.site_numbers, self.side_wall.sites, "side_wall")

    def _drawn(self, sites: tuple[int, ...], count: int | None, purpose: str) -> tuple[int, ...]:
        """``count`` of some sites, drawn without replacement, ascending; all for None."""
        if count is None:
            return sites
        key = SeedKey(self.study, self.partition, 0, purpose, 0, "sites")
        chosen = key.generator().choice(sites, count, replace=False)
        return tuple(sorted(int(site) for site in chosen))

    @property
    def _side_wall_names(self) -> tuple[str, ...]:
        return () if self.side_wall is None else self.side_wall.methods or ()

    def entry(self, name: str) -> MethodEntry:
        """One method of the study.

        Raises:
            KeyError: there is none of that name.
        """
        return {entry.name: entry for entry in self.methods}[name]

    def reader(self, name: str) -> ReaderEntry:
        """One reader of the study.

        Raises:
            KeyError: there is none of that name.
        """
        return {entry.name: entry for entry in self.readers}[name]


def _named_methods(analysis: AnalysisSettings) -> list[tuple[str, str]]:
    """Every method that the analysis names, with the key that names it."""
    keys = ("baseline", "reference", "example_method", "common")
    named = [(key, getattr(analysis, key)) for key in keys]
    named += [("timeline_methods", name) for name in analysis.timeline_methods]
    named += [("knowledge", n) for pair in analysis.knowledge for n in (pair.given, pair.without)]
    return [(key, name) for key, name in named if name is not None]


def load_study(path: str | Path) -> StudyConfig:
    """Read a study file.

    Raises:
        ConfigError: missing file, unknown key, wrong value; names file, line, key and what is
            allowed.
    """
    return load_config(path, StudyConfig)
