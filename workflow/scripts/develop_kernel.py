"""Fit the kernel of the local optimiser and compare its two forms."""

from pathlib import Path

from slowlab.development.fit_steps import fit_kernel_step

folder = Path(snakemake.input.data[0]).parent
fit_kernel_step(Path(snakemake.input.config), folder, Path(snakemake.output[0]))
