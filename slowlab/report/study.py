"""From a study file and the study's tables to what the analysis starts from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from slowlab.agents.models import model_config
from slowlab.analysis.study_inputs import (
    FULL,
    AnalysisInputs,
    MethodInfo,
    ReaderInfo,
    StudyDescription,
)
from slowlab.analysis.study_published import METHODS, READERS
from slowlab.config import CONFIG_ROOT
from slowlab.evaluation.best_known import BEST_KNOWN_SCHEMA
from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA
from slowlab.evaluation.tables import TableSchema
from slowlab.plan.entries import DEFAULT_HARNESS, Entry, MethodEntry, ReaderEntry
from slowlab.plan.items import StudyPaths, example_campaign, runs_campaigns
from slowlab.plan.study import StudyConfig
from slowlab.prereg.agreement import confirmatory_spec
from slowlab.prereg.declaration import load_declaration
from slowlab.readers._registry import reader_class
from slowlab.stages.agent_table import AGENT_SCHEMA, STEP_SCHEMA, journal_step_table
from slowlab.stages.campaign_table import (
    CAMPAIGN_SCHEMA,
    CROP_SCHEMA,
    READ_SCHEMA,
    CampaignName,
)
from slowlab.stages.site_table import SITE_TABLE
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
    "site_facts": ("sites.parquet", SITE_TABLE),
}
"""File and schema of each table of a study, in its folder."""
READINGS = "reading_scores.parquet"
"""Scores of readers; absent in a study without readers."""
AGENT_TABLES = {
    "agents": ("agents.parquet", AGENT_SCHEMA),
    "steps": ("agent_steps.parquet", STEP_SCHEMA),
}
"""Tables of language models; absent in a study without them."""


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
        readers=tuple(_reader(config, entry) for entry in config.readers),
        reader_sources=config.reader_sources,
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
    stand_ins = any(entry.stand_in for entry in (*config.methods, *config.readers))
    marks += [STAND_IN] if stand_ins else []
    return tuple(marks)


def load_inputs(config: StudyConfig, folder: str | Path, lock: str | None = None) -> AnalysisInputs:
    """Read the finished tables of a study.

    Args:
        config: the study file.
        folder: where the tables lie, see :data:`TABLES`; below it, the journals of campaigns.
        lock: identity of the preregistration's lock; None where there is none.

    Raises:
        TableError: a table does not fit its schema.
        LockError: the preregistration declares a test that the study does not have.
        JournalError: the journal of the example campaign does not verify.
        OSError: a table or that journal cannot be read.
    """
    folder = Path(folder)
    contract = load_contract(CONFIG_ROOT / "contracts" / f"{config.contract}.yaml")
    distribution = load_sites(CONFIG_ROOT / "sites" / f"{config.distribution}.yaml")
    found = {name: _File(folder / file, schema) for name, (file, schema) in _tables(config).items()}
    tables = {name: item.schema.read(item.path) for name, item in found.items()}
    hashes = {name: _sha256(item.path) for name, item in found.items()}
    journal = example_journal(config)
    if journal is not None:
        tables["steps"] = journal_step_table(_example_name(config), folder / journal)
        hashes["example_journal"] = _sha256(folder / journal)
    study = describe_study(config, contract, distribution)
    declaration = None if lock is None else load_declaration(CONFIG_ROOT.parent)
    return AnalysisInputs(
        study=study,
        **tables,
        contract=contract,
        distribution=distribution,
        hashes=hashes,
        lock=lock,
        declared=None if declaration is None else confirmatory_spec(declaration, study),
    )


def example_journal(config: StudyConfig) -> str | None:
    """The journal of the example campaign, from the study's folder.

    Returns:
        None where a language model plays it, whose transcript tells its steps and reasons, and
        where the method runs no campaign.
    """
    item = example_campaign(config)
    if item is None:
        return None
    paths = StudyPaths(config.study)
    journal = paths.campaigns(item) / "journals" / f"site-{config.site_numbers[0]:03d}.jsonl"
    return str(journal.relative_to(paths.folder))


@dataclass(frozen=True)
class _File:
    """A table on disk."""

    path: Path
    schema: TableSchema


def _tables(config: StudyConfig) -> dict[str, tuple[str, TableSchema]]:
    """File and schema of every table that a study must have."""
    tables = dict(TABLES)
    if config.readers:
        tables["readings"] = (READINGS, SCORE_SCHEMA)
    if any(entry.model is not None for entry in config.methods):
        tables |= AGENT_TABLES
    if config.oracle is not None:
        tables["oracle"] = ("oracle.parquet", BEST_KNOWN_SCHEMA)
    if config.side_wall is not None:
        tables["side_wall"] = ("side_wall.parquet", SIDE_WALL_SCHEMA)
    return tables


def _example_name(config: StudyConfig) -> CampaignName:
    method = config.analysis.example_method
    return CampaignName(config.site_numbers[0], method, _example_feedback(config), 0)


def _example_feedback(config: StudyConfig) -> str:
    return FULL if FULL in config.feedback else config.feedback[0]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _method(entry: MethodEntry) -> MethodInfo:
    """A method; published numbers stand beside it only where it has its default settings."""
    changed = entry.command is not None or bool(entry.settings)
    published = None if changed else METHODS.get(entry.registered_name)
    return MethodInfo(
        name=entry.name,
        label=entry.shown,
        experiments=runs_campaigns(entry),
        stand_in=entry.stand_in,
        model=entry.model,
        harness=None if entry.model is None else entry.profile,
        predecessor=None if entry.model is None else model_config(entry.model).predecessor,
        published=published if entry.model is None else _published_model(entry),
    )


def _reader(config: StudyConfig, entry: ReaderEntry) -> ReaderInfo:
    """A reader, and the methods of the study whose own last step it is."""
    return ReaderInfo(
        name=entry.name,
        label=entry.shown,
        identity_sources=() if entry.model is not None else _identity_sources(config, entry),
        stand_in=entry.stand_in,
        model=entry.model,
        published=_published_reader(entry),
    )


def _identity_sources(config: StudyConfig, entry: ReaderEntry) -> tuple[str, ...]:
    kind = reader_class(entry.registered_name)
    return tuple(
        method.name
        for method in config.methods
        if method.command is None
        and method.model is None
        and kind.repeats_last_step_of(method.registered_name, method.settings)
    )


def _published_reader(entry: ReaderEntry) -> str | None:
    if entry.model is not None:
        return _published_model(entry)
    return None if entry.settings else READERS.get(entry.registered_name)


def _published_model(entry: Entry) -> str | None:
    """The published name of a model, which has one under the published harness only."""
    own = entry.profile == DEFAULT_HARNESS
    return model_config(str(entry.model)).published_as if own else None
