"""The study that a call of Snakemake asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slowlab.config import override
from slowlab.plan.study import StudyConfig, load_study

DEFAULT_STUDY = Path("config") / "config.yaml"


class WorkflowConfigError(ValueError):
    """A call of Snakemake that names no study, or more than one."""


def study_of_workflow(workflow: Any, root: Path) -> StudyConfig:
    """The study of ``--configfile``, or the quick one, with what ``--config`` changes.

    Snakemake would merge several files and check none of them; here one file is one study, read by
    the strict reader.

    Args:
        workflow: Snakemake's workflow object.
        root: the repository.

    Raises:
        WorkflowConfigError: more than one ``--configfile``.
        ConfigError: the file or a changed key does not fit.
    """
    settings = workflow.config_settings
    files = [Path(path) for path in settings.configfiles]
    if len(files) > 1:
        raise WorkflowConfigError("give one --configfile: one file is one study")
    study = load_study(files[0] if files else root / DEFAULT_STUDY)
    return override(study, dict(settings.config)) if settings.config else study
