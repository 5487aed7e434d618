"""``slowlab document``: a finished study as a page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowlab.commands.errors import report_user_errors


def document(
    study: Annotated[Path, typer.Option("--study", help="Study file.")] = Path("config/paper.yaml"),
    out: Annotated[
        Path | None, typer.Option(help="Page.", show_default="docs/<study>-study.md")
    ] = None,
) -> None:
    """Write tables and figures of a finished study as Markdown, marked for what it is."""
    from slowlab.plan.items import StudyPaths
    from slowlab.plan.study import load_study
    from slowlab.report.document import write_document

    with report_user_errors():
        name = load_study(study).study
        target = out or Path("docs") / f"{name}-study.md"
        command = f"uv run snakemake --cores all --configfile {study.as_posix()}"
        write_document(Path(StudyPaths(name).folder), target, command)
    typer.echo(f"Wrote {target}")
