"""Compute every number that a table, a figure or the report of a study shows."""

import json
from pathlib import Path

from slowlab.analysis.numbers_file import write_numbers
from slowlab.analysis.study_numbers import build_numbers
from slowlab.config import validate_config
from slowlab.plan.items import load_method_folders
from slowlab.plan.study import StudyConfig
from slowlab.prereg.job import locked_job
from slowlab.report.study import load_inputs

study = validate_config(json.loads(snakemake.params.study), StudyConfig, "study")
load_method_folders(study.method_folders)
with locked_job(snakemake.input, snakemake.output) as lock:
    inputs = load_inputs(study, snakemake.params.folder, lock)
    write_numbers(Path(snakemake.output[0]), build_numbers(inputs))
