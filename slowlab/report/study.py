"""From a study file and the study's tables to what the analysis starts from."""

from __future__ import annotations

import hashlib
from pathlib import Path

from slowlab.analysis.study_inputs import (
    AnalysisInputs,
    MethodInfo,
    ReaderInfo,
    StudyDescription,
)
from slowlab.analysis.study_published import METHODS, READERS
from slowlab.config import CONFIG_ROOT
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
from slowlab.plan.items import runs_campaigns
from slowlab.plan.study import MethodEntry, StudyConfig
from slowlab.readers._registry import reader_class
from slowlab.stages.campaign_table import CAMPAIGN_SCHEMA, CROP_SCHEMA, READ_SCHEMA
from slowlab.world.contract import Contract, load_contract
from slowlab.world.drafts import draft_mark
from slowlab.world.site_distribution import SiteDistribution, load_sites

STAND_IN = "STAND-IN"
TABLES = {
    "scores": ("scores.parquet", SCORE_SCHEMA),
    "sites": ("site_scores.parquet", SITE_SCHEMA),
    "campaigns": ("campaigns.parquet", CAMPAIGN_SCHEMA),
    "crops": ("crops.parquet", CROP_SCHEMA),
    "reads": ("reads.parquet", READ_SCHEMA),
}
"""File and schema of each table of a study, in its folder."""
READINGS = "reading_scores.parquet"
"""Scores of readers; absent in a study without readers."""


def describe_study(
    config: StudyConfig, contract: Contract, distribution: SiteDistribution
) -> StudyDescription:
    """The study as its analysis sees it.

    Args:
        config: the study file.
        contract: its rules.
        distribution: what is random about its sites.

    Raises:
        MethodError: a method that does not exist.
        ReaderError: a reader that does not exist.
    """
    wanted = config.analysis
    return StudyDescription(
        study=config.study,
        purpose=config.purpose,
        partition=config.partition,
        sites=config.site_numbers,
        repeats=config.repeats,
        feedback=tuple(config.feedback),
        methods=tuple(_method(entry) for entry in config.methods),
        readers=tuple(_reader(config, name) for name in config.readers),
        baseline=wanted.baseline,
        reference=wanted.reference,
        common=wanted.common,
        knowledge=wanted.knowledge,
        example_method=wanted.example_method,
        timeline_methods=wanted.timeline_methods,
        weather=config.weather,
        marks=study_marks(config, contract, distribution),
        base_seed=wanted.base_seed,
        sesoi_eur_m2=wanted.sesoi_eur_m2,
        alpha=wanted.alpha,
        flips=wanted.flips,
        resamples=wanted.resamples,
    )


def study_marks(
    config: StudyConfig, contract: Contract, distribution: SiteDistribution
) -> tuple[str, ...]:
    """Words that everything shown of the study bears."""
    marks = [] if config.purpose == "confirmatory" else [config.purpose.upper()]
    draft = draft_mark(contract, distribution)
    marks += [draft] if draft else []
    marks += [STAND_IN] if any(entry.stand_in for entry in config.methods) else []
    return tuple(marks)


def load_inputs(config: StudyConfig, folder: str | Path, lock: str | None = None) -> AnalysisInputs:
    """Read the finished tables of a study.

    Args:
        config: the study file.
        folder: where the tables lie, see :data:`TABLES`.
        lock: identity of the preregistration's lock; None where there is none.

    Raises:
        TableError: a table does not fit its schema.
        OSError: a table cannot be read.
    """
    folder = Path(folder)
    contract = load_contract(CONFIG_ROOT / "contracts" / f"{config.contract}.yaml")
    distribution = load_sites(CONFIG_ROOT / "sites" / f"{config.distribution}.yaml")
    files = {name: folder / file for name, (file, _) in TABLES.items()}
    readings = folder / READINGS
    if config.readers:
        files["readings"] = readings
    return AnalysisInputs(
        study=describe_study(config, contract, distribution),
        **{name: schema.read(folder / file) for name, (file, schema) in TABLES.items()},
        contract=contract,
        distribution=distribution,
        readings=SCORE_SCHEMA.read(readings) if config.readers else None,
        hashes={
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
        },
        lock=lock,
    )


def _method(entry: MethodEntry) -> MethodInfo:
    """A method; published numbers stand beside it only where it has its default settings."""
    changed = entry.command is not None or bool(entry.settings)
    return MethodInfo(
        name=entry.name,
        label=entry.shown,
        experiments=runs_campaigns(entry),
        stand_in=entry.stand_in,
        published=None if changed else METHODS.get(entry.registered_name),
    )


def _reader(config: StudyConfig, name: str) -> ReaderInfo:
    """A reader, and the methods of the study whose own last step it is."""
    kind = reader_class(name)
    identity = tuple(
        entry.name
        for entry in config.methods
        if entry.command is None
        and kind.repeats_last_step_of(entry.registered_name, entry.settings)
    )
    return ReaderInfo(
        name=name,
        label=name.replace("_", " "),
        identity_sources=identity,
        published=READERS.get(name),
    )
