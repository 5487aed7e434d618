"""``slowlab document``: a finished study as a page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowlab.commands.errors import report_user_errors


def document(
    study: Annotated[Path, typer.Option("--study", help="Study file.")] = Path("config/paper.yaml"),
    out: Annotated[
        Path | None,
        typer.Option(
            help="Page.", show_default="docs/results.md, or docs/<study>-study.md without a lock"
        ),
    ] = None,
) -> None:
    """Write tables and figures of a finished study as Markdown, marked for what it is.

    To be called in the repository. The numbers are kept beside the page.
    """
    from slowlab.analysis.numbers_file import read_numbers
    from slowlab.plan.study import load_study
    from slowlab.prereg.declaration import load_declaration
    from slowlab.prereg.place import results_of
    from slowlab.report.document import page_name, write_document
    from slowlab.report.kept import study_run

    with report_user_errors():
        place = results_of(Path(), load_study(study))
        numbers = place.folder / "numbers.json"
        place.require([numbers])
        target = out or Path("docs") / page_name(read_numbers(numbers))
        command = f"uv run snakemake --cores all --configfile {study.as_posix()}"
        declaration = None if place.manifest is None else load_declaration(Path())
        run = study_run(place.folder, command, place.manifest, declaration)
        write_document(place.folder, target, run)
    typer.echo(f"Wrote {target}")
