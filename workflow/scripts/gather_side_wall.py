"""Put the scores with other side walls together; stop where one is missing."""

from pathlib import Path

from slowlab.evaluation.side_wall import SIDE_WALL_SCHEMA
from slowlab.prereg.job import locked_job
from slowlab.stages.gather import gather

files = [Path(path) for path in snakemake.input]
expected = [tuple(key) for key in snakemake.params.expected]
with locked_job(snakemake.input, snakemake.output):
    gather(files, SIDE_WALL_SCHEMA, Path(snakemake.output[0]), expected)
