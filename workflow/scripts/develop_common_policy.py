"""Keep the best single policy that the search has found."""

from pathlib import Path

from slowlab.development.choice_steps import common_policy_step

target = Path(snakemake.output[0])
common_policy_step(Path(snakemake.input.config), Path(snakemake.input.search), target)
