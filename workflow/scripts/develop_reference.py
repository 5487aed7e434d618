"""Choose the fixed reference and measure the error of a score."""

from pathlib import Path

from slowlab.development.choice_steps import fixed_reference_step

reference, error = Path(snakemake.output.reference), Path(snakemake.output.error)
fixed_reference_step(Path(snakemake.input.config), Path(snakemake.input.scores), reference, error)
