"""Compare the deployed predictor with the fitted one; stop where they differ."""

from pathlib import Path

from slowlab.development.fit_steps import parity_step

fitted = Path(snakemake.input.fitted)
target = Path(snakemake.output.predictor)
parity_step(Path(snakemake.input.config), fitted, target, Path(snakemake.output.report))
