"""What is kept beside the page of a documented study, so that anybody can make all of it again.

The numbers, compressed without a date, are enough for every table and figure; the facts of the run
are what the page tells besides: command, times, lock, and why there are as many sites.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from slowlab.analysis.second_look_file import missed_gates, read_second_look
from slowlab.analysis.second_look_table import TITLE
from slowlab.canonical import canonical_json, loads_strict
from slowlab.config import ConfigModel, validate_config
from slowlab.io import atomic_write_bytes, atomic_write_text
from slowlab.plan.run_log import seconds_by_rule, workflow_runs
from slowlab.plots.second_look_plot import TITLES
from slowlab.prereg.declaration import Declaration
from slowlab.prereg.manifest import Manifest

NUMBERS, RUN = "numbers.json.gz", "run.json"
LOOK = "second_look.md"
"""Table of the second look, or why there is none; it is made from the numbers later."""
_FOLDER = "results"


class Run(ConfigModel):
    """One call of the workflow."""

    wall_s: float | None = Field(description="Its length, s; null where it was killed.")
    cores: int = Field(ge=1, description="Cores it was given.")
    succeeded: bool = Field(description="Whether it came to its end.")


class LockFacts(ConfigModel):
    """The lock under which a study was run."""

    id: str = Field(description="SHA-256 of the manifest as canonical JSON: the lock's name.")
    amendment: int = Field(ge=0, description="Number of the amendment; 0 for the first lock.")
    files: int = Field(ge=1, description="Locked files.")


class SiteFacts(ConfigModel):
    """Why a study has as many sites."""

    declared: int = Field(description="Sites that were declared.")
    fewest: int = Field(description="Sites that are run whatever the power says.")
    needed: dict[str, int] = Field(description="Sites that each primary test asks for.")
    power: float = Field(description="Power asked for.")
    effect_eur_m2: float = Field(description="True difference to be found, EUR/m2.")
    level: float = Field(description="Level of a test at which power is planned.")
    source: str = Field(description="Where the deviations come from.")


class StudyRun(ConfigModel):
    """What a page tells about a study besides its numbers."""

    format: Literal["slowlab-study-run-1"] = "slowlab-study-run-1"
    command: str = Field(description="What makes the study.")
    runs: tuple[Run, ...] = Field(default=(), description="When the workflow ran, oldest first.")
    stages: dict[str, tuple[int, float]] = Field(
        default_factory=dict, description="Jobs and their seconds by stage."
    )
    lock: LockFacts | None = Field(default=None, description="The lock; null without one.")
    sites: SiteFacts | None = Field(default=None, description="Of a locked study.")


def study_run(
    folder: Path,
    command: str,
    manifest: Manifest | None = None,
    declaration: Declaration | None = None,
) -> StudyRun:
    """The facts of a finished study.

    Args:
        folder: where its results lie.
        command: what makes it.
        manifest: its lock, if it has one.
        declaration: what was declared, if it is locked.
    """
    return StudyRun(
        command=command,
        runs=tuple(
            Run(wall_s=run.wall_s, cores=run.cores, succeeded=run.succeeded)
            for run in workflow_runs(folder)
        ),
        stages=seconds_by_rule(folder),
        lock=None
        if manifest is None
        else LockFacts(id=manifest.id, amendment=manifest.amendment, files=len(manifest.files)),
        sites=None if declaration is None else site_facts(declaration),
    )


def site_facts(declaration: Declaration) -> SiteFacts:
    """The declared number of sites and what it rests on."""
    return SiteFacts(
        declared=declaration.design.sites,
        fewest=declaration.power.fewest_sites,
        needed=declaration.sites_needed(),
        power=declaration.power.target,
        effect_eur_m2=declaration.statistics.sesoi_eur_m2,
        level=declaration.families[0].level(declaration.statistics.alpha),
        source=declaration.power.source,
    )


def kept_folder(page: Path, study: str) -> Path:
    """Where the files of a page are kept."""
    return page.parent / _FOLDER / study


def pictures_folder(page: Path, study: str) -> Path:
    """Where the pictures of a page lie."""
    return page.parent / "figures" / study


def keep(page: Path, numbers: Mapping[str, Any], run: StudyRun) -> Path:
    """Write numbers and run of a study beside its page; equal content gives equal bytes.

    Raises:
        OSError: a file cannot be written.
    """
    folder = kept_folder(page, numbers["study"]["name"])
    text = canonical_json(dict(numbers)) + "\n"
    atomic_write_bytes(folder / NUMBERS, gzip.compress(text.encode("utf-8"), 9, mtime=0))
    atomic_write_text(folder / RUN, canonical_json(run.model_dump(mode="json")) + "\n")
    return folder


def keep_second_look(page: Path, study: str, results: Path) -> None:
    """Keep table and pictures of the second look of a study, or the gates that it misses.

    What an earlier call kept is taken away first.

    Args:
        page: the page of the study.
        study: name of the study.
        results: folder of its results.

    Raises:
        SecondLookError: the second look cannot be read.
        OSError: a file cannot be read or written.
    """
    kept, look = kept_folder(page, study) / LOOK, results / "second_look.json"
    shown = {results / "tables" / LOOK: kept}
    for name in TITLES:
        shown[results / "figures" / f"{name}.png"] = pictures_folder(page, study) / f"{name}.png"
    for target in shown.values():
        target.unlink(missing_ok=True)
    missed = missed_gates(read_second_look(look)) if look.is_file() else []
    if missed:
        atomic_write_text(kept, f"# {TITLE}\n\nNot shown: it misses {'; '.join(missed)}.\n")
    elif look.is_file() and all(source.is_file() for source in shown):
        for source, target in shown.items():
            atomic_write_bytes(target, source.read_bytes())


def read_run(path: Path) -> StudyRun:
    """Read what :func:`keep` wrote.

    Raises:
        ConfigError, StrictJsonError: it is none.
        OSError: it cannot be read.
    """
    return validate_config(loads_strict(path.read_bytes()), StudyRun, str(path))
