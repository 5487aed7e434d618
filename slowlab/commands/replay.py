"""``slowlab replay``: run journals and transcripts again and compare every record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowlab.commands import campaign_options as opt
from slowlab.commands.errors import InputError, describe, report_user_errors
from slowlab.commands.progress import day_progress
from slowlab.commands.transcript_replays import DIFFERS, SHOWN, replay_file, replay_folder

if TYPE_CHECKING:
    from slowlab.campaign.journal_format import JournalContent, Record
    from slowlab.campaign.replay import Comparison, ReplayReport
    from slowlab.campaign.session import Session


def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Journals and transcripts; many journals run in lockstep."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--all", help="Replay every transcript below this folder.", metavar="FOLDER"),
    ] = None,
    weather: opt.WeatherOption = None,
) -> None:
    """Run recorded campaigns again and compare every record byte by byte.

    The requests of a journal are run on the same site. A transcript is run through the harness for
    language models, with its recorded answers: no model is asked, no simulator runs and nothing
    goes over a network. Nothing is written. Ends with code 1 if a file is damaged or anything came
    out otherwise.
    """
    with report_user_errors():
        if (folder is None) == (not files):
            raise InputError("give files, or --all with a folder")
        passed = (
            replay_folder(folder) if folder is not None else _replay_files(files or [], weather)
        )
    if not passed:
        raise typer.Exit(DIFFERS)


def _replay_files(files: list[Path], weather: Path | None) -> bool:
    """Replay journals and transcripts; whether all came out as recorded."""
    from slowlab.agents.replaying import is_transcript

    transcripts = [path for path in files if is_transcript(path)]
    journals = [path for path in files if path not in transcripts]
    results = [replay_file(path) for path in transcripts]
    if journals:
        contents = _read(journals)
        with day_progress() as on_day:
            reports = _replay(contents, weather, on_day)
        for report in reports:
            _print(report, named=len(files) > 1)
        results += [report.passed for report in reports]
    return all(results)


def _read(files: list[Path]) -> dict[Path, JournalContent]:
    """Read and verify all journals before any is run."""
    from slowlab.campaign.journal import JournalError, read_journal

    contents = {}
    for path in files:
        try:
            contents[path] = read_journal(path)
        except JournalError as error:
            typer.echo(f"damaged: {describe(error)}", err=True)
            raise typer.Exit(DIFFERS) from None
        if not contents[path].records:
            raise InputError(f"{path}: holds no record")
    return contents


def _replay(
    contents: dict[Path, JournalContent], weather: Path | None, on_day: object
) -> list[ReplayReport]:
    """Open every campaign from its header and run it."""
    from slowlab.campaign.opening import Opener, spec_from_header
    from slowlab.campaign.replay import replay_journals
    from slowlab.world.partitions import load_partitions
    from slowlab.world.weather_source import WeatherSource

    source = WeatherSource() if weather is None else WeatherSource("cabauw", weather)
    opener = Opener.make(load_partitions(), source)

    def open_session(header: Record, comparison: Comparison) -> Session:
        return opener.open(spec_from_header(header.payload), comparison)

    return replay_journals(contents, open_session, on_day=on_day)


def _print(report: ReplayReport, *, named: bool) -> None:
    prefix = f"{report.path}: " if named else ""
    for note in report.notes:
        typer.echo(f"{prefix}note: {note}")
    for mismatch in report.mismatches[:SHOWN]:
        typer.echo(f"{prefix}{mismatch.sentence()}")
    if len(report.mismatches) > SHOWN:
        typer.echo(f"{prefix}... and {len(report.mismatches) - SHOWN} more")
    typer.echo(f"{prefix}replayed {report.records} records, {len(report.mismatches)} mismatches")
