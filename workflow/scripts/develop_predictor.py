"""Fit and validate the process predictor."""

from pathlib import Path

from slowlab.development.fit_steps import fit_predictor_step

folder = Path(snakemake.input.data[0]).parent
target = Path(snakemake.output.predictor)
fit_predictor_step(Path(snakemake.input.config), folder, target, Path(snakemake.output.validation))
