"""Play one job of development runs under random policies."""

from pathlib import Path

from slowlab.development.fit_steps import collect_job

collect_job(Path(snakemake.input.config), int(snakemake.wildcards.job), Path(snakemake.output[0]))
