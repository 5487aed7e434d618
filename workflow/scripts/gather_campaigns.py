"""Put one kind of campaign table together for the whole study."""

from pathlib import Path

from slowlab.prereg.job import locked_job
from slowlab.stages.campaign_files import TABLES
from slowlab.stages.gather import gather

files = [Path(path) for path in snakemake.input]
with locked_job(snakemake.input, snakemake.output):
    gather(files, TABLES[snakemake.wildcards.table], Path(snakemake.output[0]))
