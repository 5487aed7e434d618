"""What one campaign job leaves on disk: recommendations, tables and journals."""

from __future__ import annotations

from pathlib import Path

from slowlab.evaluation.tables import TableSchema
from slowlab.io import atomic_write_bytes
from slowlab.plan.study import NO_FEEDBACK
from slowlab.stages.campaign_table import (
    CAMPAIGN_SCHEMA,
    CROP_SCHEMA,
    READ_SCHEMA,
    CampaignName,
    campaign_tables,
    count_tools,
    rows_from,
)
from slowlab.stages.campaigns import (
    CampaignJob,
    CampaignRecord,
    recommend_without_campaign,
    recommendation,
    run_campaigns,
    write_recommendations,
)
from slowlab.stages.materials import Materials

TABLES: dict[str, TableSchema] = {
    "campaigns": CAMPAIGN_SCHEMA,
    "crops": CROP_SCHEMA,
    "reads": READ_SCHEMA,
}
"""Tables of a campaign job by the name of their files."""


def make_campaigns(materials: Materials, job: CampaignJob, folder: Path) -> None:
    """Run a job and write its files; the recommendations come last.

    Args:
        materials: what the study's setting names.
        job: what to run.
        folder: gets ``journals/``, the tables and ``recommendations.json``.

    Raises:
        MethodFailedError: a registered method raised an exception.
        OSError: a file cannot be written.
    """
    (folder / "journals").mkdir(parents=True, exist_ok=True)
    if job.feedback == NO_FEEDBACK:
        records: list[CampaignRecord] = []
        recommended = recommend_without_campaign(materials, job)
    else:
        records = run_campaigns(materials, job, folder)
        recommended = [recommendation(job, record) for record in records]
    rows = [
        rows_from(
            CampaignName(record.site, job.entry.name, job.feedback, job.repeat),
            record.history,
            record.result.settlement,
            ending=record.ending,
            tools=count_tools(record.tool_uses),
        )
        for record in records
    ]
    for (name, schema), table in zip(TABLES.items(), campaign_tables(rows), strict=True):
        atomic_write_bytes(folder / f"{name}.parquet", schema.parquet(table))
    write_recommendations(folder / "recommendations.json", materials, recommended)
