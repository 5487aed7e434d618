"""Score the candidates for the fixed reference, year by year."""

from pathlib import Path

from slowlab.development.choice_steps import score_candidates_step

runs = Path(snakemake.params.finished)
score_candidates_step(Path(snakemake.input.config), runs, Path(snakemake.output[0]))
