"""Put one kind of campaign table together for the whole study."""

from pathlib import Path

from slowlab.stages.campaign_files import TABLES
from slowlab.stages.gather import gather

files = [Path(path) for path in snakemake.input]
gather(files, TABLES[snakemake.wildcards.table], Path(snakemake.output[0]))
