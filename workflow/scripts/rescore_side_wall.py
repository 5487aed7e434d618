"""Score the main recommendations of a shard with other side walls."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.side_wall import rescore_side_wall

parameters = snakemake.params
with locked_job(snakemake.input, snakemake.output):
    rescore_side_wall(
        Materials.load(parse_setting(parameters.setting)),
        exchanges_w_m2_k=parameters.exchanges,
        sites=parameters.sites,
        files=[Path(path) for path in snakemake.input.recommendations],
        runs=Path(parameters.runs),
        target=Path(snakemake.output[0]),
    )
