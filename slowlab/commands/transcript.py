"""``slowlab transcript``: transcripts of language models, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

app = typer.Typer(no_args_is_help=True, help="Look at transcripts of language models.")


@app.callback()
def _group() -> None:
    """Keep the name of the only command as a word of its own."""


@app.command()
def page(
    files: Annotated[
        list[Path], typer.Argument(help="Transcripts, or folders with transcripts anywhere below.")
    ],
    out: Annotated[
        Path, typer.Option(help="A folder for the pages and a list of them, or one .html file.")
    ],
) -> None:
    """Write transcripts as HTML pages: every turn with its reason, prompt, answer and result.

    A page loads nothing and runs nothing. Transcripts are verified and not changed.
    """
    from slowlab.agents.page import SameCampaignError, write_page, write_pages

    with report_user_errors():
        found = _transcripts(files)
        single = out.suffix == ".html"
        if single and len(found) > 1:
            raise InputError(f"--out {out}: one page holds one transcript, {len(found)} were given")
        try:
            written = write_page(found[0], out) if single else write_pages(found, out)
        except SameCampaignError as error:
            raise InputError(str(error)) from None
    typer.echo(f"Wrote {written}")


def _transcripts(files: list[Path]) -> list[Path]:
    """Files as given, and all transcripts below folders."""
    from slowlab.agents.transcript_format import find_transcripts

    found: list[Path] = []
    for path in files:
        below = find_transcripts(path) if path.is_dir() else [path]
        if not below:
            raise InputError(f"{path}: holds no transcript")
        found += below
    return list(dict.fromkeys(found))
