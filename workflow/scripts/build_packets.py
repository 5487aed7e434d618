"""Put together what the campaigns of all sources have seen on a shard of sites."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.readers import make_packets

parameters = snakemake.params
folders = [Path(path) for path in snakemake.input.journals]
with locked_job(snakemake.input, snakemake.output):
    make_packets(
        Materials.load(parse_setting(parameters.setting)),
        dict(zip(parameters.sources, folders, strict=True)),
        parameters.feedback,
        list(parameters.sites),
        Path(snakemake.output[0]),
    )
