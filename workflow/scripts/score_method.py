"""Score what one method, or one reader, recommends on a shard of sites."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.prereg.job import locked_job
from slowlab.stages.evaluation import score_files
from slowlab.stages.materials import Materials

parameters, output = snakemake.params, snakemake.output
setting = parse_setting(parameters.setting)
with locked_job(snakemake.input, snakemake.output):
    score_files(
        Materials.load(setting),
        name=" ".join(snakemake.wildcards),
        files=[Path(path) for path in snakemake.input.recommendations],
        runs=Path(parameters.runs),
        scores=Path(output.scores),
        sites=Path(output.sites),
    )
