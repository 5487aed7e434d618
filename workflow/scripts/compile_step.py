"""Compile the step that all campaigns and evaluations share, into the user's cache."""

from pathlib import Path

from slowlab.plan.inputs import parse_setting
from slowlab.stages.compile import compile_step

compile_step(parse_setting(snakemake.params.setting), Path(snakemake.output[0]))
