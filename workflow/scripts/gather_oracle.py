"""Put the searches of all shards together and add the error of the headroom."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.materials import Materials
from slowlab.stages.oracle import gather_oracle

parameters = snakemake.params
with locked_job(snakemake.input, snakemake.output):
    gather_oracle(
        Materials.load(parse_setting(parameters.setting)),
        files=[Path(path) for path in snakemake.input],
        sites=parameters.sites,
        again=parameters.again,
        target=Path(snakemake.output[0]),
    )
