"""What one job of a language model leaves on disk, beside transcripts and journals."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from slowlab.agents.books import Caps
from slowlab.agents.connection import connect
from slowlab.agents.transcript import read_transcript
from slowlab.campaign.journal_format import Record
from slowlab.campaign.settlement import CampaignStatus
from slowlab.evaluation.recommendations import Recommendation
from slowlab.evaluation.tables import TableSchema
from slowlab.io import atomic_write_bytes
from slowlab.plan.agents import model_of
from slowlab.plan.study import INITIAL
from slowlab.stages.agent_campaigns import AgentCampaigns, AgentFolders, AgentStage
from slowlab.stages.agent_table import AGENT_SCHEMA, STEP_SCHEMA, agent_tables
from slowlab.stages.campaign_files import TABLES
from slowlab.stages.campaign_table import CampaignName, campaign_tables, count_tools, rows_from
from slowlab.stages.campaigns import (
    CampaignJob,
    CampaignRecord,
    recommendation,
    write_recommendations,
)
from slowlab.stages.materials import Materials

AGENT_TABLES: dict[str, TableSchema] = {"agents": AGENT_SCHEMA, "agent_steps": STEP_SCHEMA}
"""Tables of a language model's job by the name of their files."""


def make_agent_campaigns(
    materials: Materials,
    job: CampaignJob,
    folders: Mapping[str, Path],
    transcripts: Path,
    purse: Path,
    spending: Caps,
) -> None:
    """Run a job of a language model and write its files.

    Args:
        materials: what the study's setting names.
        job: method, repeat and sites.
        folders: where the files of each feedback condition go, and under ``initial`` those of what
            was recommended before any experiment.
        transcripts: folder of this method's and repeat's transcripts; it survives.
        purse: what all jobs of the study have spent.
        spending: what they may spend.

    Raises:
        ConfigError: no such model or profile, or its key is not in the environment.
        SpendingCapError: a cap was reached; what was paid for is kept.
        MethodFailedError: the harness raised an exception.
        OSError: a file cannot be written.
    """
    feedback = tuple(name for name in folders if name != INITIAL)
    places = AgentFolders(transcripts, {name: folders[name] / "journals" for name in feedback})
    for folder in places.journals.values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with connect(model_of(job.entry), purse, spending) as connection:
        played = AgentStage(materials, job, feedback, connection, places).run()
    for mode in feedback:
        records = [played.records[mode, site] for site in job.sites]
        _write(materials, _condition(job, mode), records, folders[mode], places)
    before = [_initial(job, played, site) for site in job.sites]
    write_recommendations(folders[INITIAL] / "recommendations.json", materials, before)


def _condition(job: CampaignJob, mode: str) -> CampaignJob:
    return CampaignJob(job.entry, mode, job.repeat, job.sites)


def _write(
    materials: Materials,
    job: CampaignJob,
    records: Sequence[CampaignRecord],
    folder: Path,
    places: AgentFolders,
) -> None:
    """The tables and recommendations of one feedback condition; the recommendations come last."""
    names = [CampaignName(r.site, job.entry.name, job.feedback, job.repeat) for r in records]
    rows = [
        rows_from(
            name,
            record.history,
            record.result.settlement,
            ending=record.ending,
            tools=count_tools(record.tool_uses),
        )
        for name, record in zip(names, records, strict=True)
    ]
    _write_tables(folder, TABLES, campaign_tables(rows))
    told = [(name, _told(places, name)) for name in names]
    _write_tables(folder, AGENT_TABLES, agent_tables(told))
    found = [recommendation(job, record) for record in records]
    write_recommendations(folder / "recommendations.json", materials, found)


def _told(places: AgentFolders, name: CampaignName) -> Sequence[Record]:
    """The records of a campaign; those of the shared beginning where it ended there."""
    paths = [places.transcript((mode, name.site)) for mode in (name.feedback, INITIAL)]
    found = next((path for path in paths if path.exists()), None)
    return () if found is None else read_transcript(found).records


def _write_tables(
    folder: Path, schemas: Mapping[str, TableSchema], tables: Sequence[pd.DataFrame]
) -> None:
    for (name, schema), table in zip(schemas.items(), tables, strict=True):
        atomic_write_bytes(folder / f"{name}.parquet", schema.parquet(table))


def _initial(job: CampaignJob, played: AgentCampaigns, site: int) -> Recommendation:
    """What was recommended before any experiment; missing after a technical failure."""
    policy, failure = played.initial[site], played.failures.get(site)
    status = CampaignStatus.FINISHED if failure is None else CampaignStatus.INFRASTRUCTURE_FAILURE
    return Recommendation(
        site=site,
        method=job.entry.name,
        feedback=INITIAL,
        repeat=job.repeat,
        campaign=status,
        failure=failure,
        policy=None if policy is None or failure else policy.model_dump(),
    )
