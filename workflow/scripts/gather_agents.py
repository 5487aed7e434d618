"""Put one kind of table about language models together for the whole study."""

from pathlib import Path

from slowlab.prereg.job import locked_job
from slowlab.stages.agent_files import AGENT_TABLES
from slowlab.stages.gather import gather

files = [Path(path) for path in snakemake.input]
with locked_job(snakemake.input, snakemake.output):
    gather(files, AGENT_TABLES[snakemake.wildcards.table], Path(snakemake.output[0]))
