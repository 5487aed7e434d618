"""Compile the step that all campaigns and evaluations share, into the user's cache."""

from pathlib import Path

from slowlab.stages.compile import compile_step

compile_step(snakemake.params.contract, snakemake.params.sensors, Path(snakemake.output[0]))
