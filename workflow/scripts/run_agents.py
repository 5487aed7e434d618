"""Run the campaigns of one job of a language model, in all feedback conditions."""

from pathlib import Path

from slowlab.agents.books import Caps
from slowlab.plan.inputs import parse_entry, parse_setting, sites_of_shard
from slowlab.plan.study import INITIAL
from slowlab.prereg.job import locked_job
from slowlab.stages.agent_files import make_agent_campaigns
from slowlab.stages.campaigns import CampaignJob
from slowlab.stages.materials import Materials

parameters, wildcards = snakemake.params, snakemake.wildcards
entry, repeat = parse_entry(parameters.entry), f"repeat-{wildcards.repeat}"
with locked_job(snakemake.input, snakemake.output):
    make_agent_campaigns(
        Materials.load(parse_setting(parameters.setting)),
        CampaignJob(entry, INITIAL, int(wildcards.repeat), sites_of_shard(wildcards.shard)),
        {
            mode: Path(parameters.folder) / entry.name / mode / repeat / wildcards.shard
            for mode in [*parameters.feedback, INITIAL]
        },
        Path(parameters.transcripts) / entry.name / repeat,
        Path(parameters.purse),
        Caps.model_validate_json(snakemake.resources.spending),
    )
