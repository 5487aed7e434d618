"""Choose the radius."""

from pathlib import Path

from slowlab.development.choice_steps import radius_step

radius_step(Path(snakemake.input.config), Path(snakemake.input.scores), Path(snakemake.output[0]))
