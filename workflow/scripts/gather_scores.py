"""Put the scores of all methods together; stop where one is missing."""

from pathlib import Path

from slowlab.evaluation.score import SCORE_SCHEMA, SITE_SCHEMA
from slowlab.prereg.job import locked_job
from slowlab.stages.gather import gather

target = Path(snakemake.output[0])
schema = SITE_SCHEMA if target.name == "site_scores.parquet" else SCORE_SCHEMA
files = [Path(path) for path in snakemake.input]
expected = [tuple(key) for key in snakemake.params.expected]
with locked_job(snakemake.input, snakemake.output):
    gather(files, schema, target, expected)
