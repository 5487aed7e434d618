"""Put the results of the development stage into one file and two pictures."""

from pathlib import Path

from slowlab.development.summary import summarise

artifacts = Path(snakemake.input.artifacts[0]).parent
validation = Path(snakemake.input.validation)
summary = Path(snakemake.output.summary)
summarise(Path(snakemake.input.config), artifacts, validation, summary)
