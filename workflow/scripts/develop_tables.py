"""Turn development runs into tables of crops and of what was read of them."""

from pathlib import Path

from slowlab.development.fit_steps import tabulate

files = [Path(path) for path in snakemake.input.runs]
tabulate(Path(snakemake.input.config), files, Path(snakemake.output[0]).parent)
