"""Score what the campaigns of all radii recommend."""

from pathlib import Path

from slowlab.development.choice_steps import radius_scores_step

artifacts = Path(snakemake.input.artifacts[0]).parent
root, runs = Path(snakemake.params.root), Path(snakemake.params.finished)
radius_scores_step(Path(snakemake.input.config), artifacts, root, runs, Path(snakemake.output[0]))
