"""Run the campaigns of one radius, feedback condition and repeat."""

from pathlib import Path

from slowlab.development.choice_steps import play_radius_step

artifacts = Path(snakemake.input.artifacts[0]).parent
name, root = snakemake.wildcards.name, Path(snakemake.params.root)
play_radius_step(Path(snakemake.input.config), artifacts, name, root)
