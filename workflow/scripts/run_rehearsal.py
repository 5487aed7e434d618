"""Rehearse the confirmatory analysis on the scores of a finished study."""

import json
from pathlib import Path

from slowlab.analysis.rehearsal_file import write_rehearsal
from slowlab.config import validate_config
from slowlab.plan.items import load_method_folders
from slowlab.plan.study import StudyConfig
from slowlab.prereg.declaration import load_declaration
from slowlab.prereg.job import locked_job
from slowlab.report.rehearsal import rehearse_study

study = validate_config(json.loads(snakemake.params.study), StudyConfig, "study")
load_method_folders(study.method_folders)
with locked_job(snakemake.input, snakemake.output) as lock:
    rehearsal = rehearse_study(
        study,
        load_declaration(Path(snakemake.input.declaration).parents[1]),
        Path(snakemake.params.folder),
        Path(snakemake.input.numbers),
        lock,
    )
    write_rehearsal(Path(snakemake.output[0]), rehearsal)
