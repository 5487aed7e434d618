"""Run the campaigns of one method, condition and repeat on a shard of sites."""

from pathlib import Path

from slowlab.plan.inputs import parse_entry, parse_setting, sites_of_shard
from slowlab.plan.items import load_method_folders
from slowlab.prereg.job import locked_job
from slowlab.stages.campaign_files import make_campaigns
from slowlab.stages.campaigns import CampaignJob
from slowlab.stages.materials import Materials

load_method_folders(snakemake.params.method_folders)
wildcards = snakemake.wildcards
job = CampaignJob(
    entry=parse_entry(snakemake.params.entry),
    feedback=wildcards.feedback,
    repeat=int(wildcards.repeat),
    sites=sites_of_shard(wildcards.shard),
)
materials = Materials.load(parse_setting(snakemake.params.setting))
with locked_job(snakemake.input, snakemake.output):
    make_campaigns(materials, job, Path(snakemake.output.recommendations).parent)
